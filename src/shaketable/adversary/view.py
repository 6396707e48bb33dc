"""What is shown of a worst case: verdicts, curves, differences, maps, examples and evidence."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shaketable.adversary.accuracy import Examples, KeptExamples
from shaketable.adversary.lines import RANDOM
from shaketable.core.norms import norm_title
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.images import are_images
from shaketable.statistics.difference import Difference
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Facts,
    Heading,
    Picture,
    Sentence,
    Table,
)
from shaketable.views.images import to_data_uri
from shaketable.views.numbers import format_distance, format_percent, format_share
from shaketable.views.text import join_distinct

if TYPE_CHECKING:
    from shaketable.adversary.accuracy import AdversarialAccuracy
    from shaketable.adversary.avoidable import Avoidable
    from shaketable.adversary.curve import Curve
    from shaketable.adversary.worst_case import WorstCase
    from shaketable.data.dataset import Dataset
    from shaketable.views import drawing

LEAD = (
    "Around every point an adversary searched for one that the model misclassifies. Each one found "
    "proves that the model can be fooled there. Where none was found, one may still exist, unless "
    "the accuracy is marked as proven."
)
_CURVES = (
    "One line per constraint, bars are 95 % intervals. Standard accuracy may have to fall from "
    "eps_min on, the dashed line; genuine accuracy need not."
)
_MAP = (
    "Colours are the model's labels, dots the points in the colour of their own labels, grey lines "
    "the borders of Voronoi cells. Each cross is a misclassified point, joined to the point it was "
    "found for."
)
_PAIRED = (
    "Both models of a row were attacked at the same points. Each interval is for one comparison by "
    "itself. An accuracy that is not proven is an upper bound, so a difference compares only what "
    "the attacks found. If the models were attacked by different means, such as one with gradients "
    "and one without, it says nothing about the models"
)
_NO_MAPS = "maps need the model, so only the page of adversary has them"
_EXAMPLES = (
    "The nearest examples at the smallest epsilon that has any. Would a person give them the label "
    "that the model gave? If so, the point is hard; if not, the model is wrong"
)
_EVIDENCE = (
    "An accuracy is an upper bound unless it is proven, because an attack may miss misclassified "
    "points. Each attack is run on the points for which no earlier attack found one"
)
_NO_ROOM = "no point has room"
_REGIONS = (
    ("standard", "‖x′ − x‖ ≤ ε. From eps_min on even a perfect classifier may have to fail."),
    (
        "genuine-max",
        "the part of this ball that is closer to x than to any other attacked point, its Voronoi "
        "cell. 1-NN on the same points keeps all labels.",
    ),
    ("genuine-exact", "of that part, the points at distance ε; points x without any are left out."),
    ("area", "∫ a(ε) dε from 0 to the last ε, by the trapezoidal rule."),
)
_FEATURES = 3  # features shown of a point that is not an image: those that changed most
_MAX_EXAMPLES = 6  # of a curve, the nearest first
_MAX_MAPS = 6
_MAX_COLUMNS = 5


def make_blocks(found: WorstCase) -> list[Block]:
    """Return verdicts, accuracies by epsilon, differences, examples, attacks, settings, maps."""
    return [
        *_show_verdicts(found),
        *_show_distances(found),
        *_show_accuracies(found),
        *_show_differences(found),
        *_show_examples(found),
        *_say_left_out(found),
        *_show_evidence(found),
        *_show_method(found),
        *_show_maps(found),
    ]


def _show_verdicts(found: WorstCase) -> list[Block]:
    points = len(found.curves[0].attacked.rows)
    return [
        Heading("The worst case", "worst-case", "Worst case"),
        Sentence(f"{points} points; {found.norm} eps_min = {write_eps_min(found)}", found.name),
        Sentence(LEAD, level="detail"),
        Cards([_make_card(found, model) for model in found.models]),
    ]


def _make_card(found: WorstCase, model: str) -> Card:
    """Accuracy of the first curve at the largest epsilon at which 1-NN would lose nothing."""
    clean = f"accuracy: {format_share(found.of(model)[0].clean)} on the points as they are"
    avoidable = found.avoidable(model)
    if not avoidable:
        why = "every epsilon is above eps_min, where losses may be inevitable"
        return Card(model, None, "accuracy up to eps_min", sentences=[why], asides=[clean])
    at = avoidable[0].at
    if noisy := found.random.get(model, {}).get(at.epsilon):
        clean += f", {format_percent(noisy)} under random noise of the same size"
    lost, proven = any(a.lost for a in avoidable), all(a.at.proven for a in avoidable)
    return Card(
        model,
        at.estimate,
        f"{at.title} ({found.norm} epsilon {format_distance(at.epsilon)})",
        sentences=found.sentences(model),
        asides=[clean],
        tone="lost" if lost else "kept" if proven else "open",
    )


def _show_distances(found: WorstCase) -> list[Block]:
    if not found.distances:
        return []
    from shaketable.adversary.distances_view import show_distances

    title = Heading("Distance to the nearest failure")
    return [title, *show_distances([distances for _, distances in found.distances])]


def _show_accuracies(found: WorstCase) -> list[Block]:
    def draw() -> drawing.Chart:
        from shaketable.adversary.charts import curves_chart  # slow to import

        return curves_chart(found)

    return [
        Heading("Accuracy at the worst point, by epsilon"),
        Chart(draw, _CURVES + _describe_cells(found)),
        *(block for model in found.models for block in _show_model(found, model)),
    ]


def _describe_cells(found: WorstCase) -> str:
    """Say that a constraint changed nothing, where curves are the same."""
    same = dict.fromkeys(
        f"{a.name} and {b.name} ({model})"
        for model in found.models
        for a, b in combinations(found.of(model), 2)
        if "none" in (a.constraint, b.constraint)
        and [(x.epsilon, x.value) for x in a] == [(x.epsilon, x.value) for x in b]
    )
    if not same:
        return ""
    return f" The same at every epsilon, so one line: {', '.join(same)}. Voronoi cells never bound."


def _show_model(found: WorstCase, model: str) -> list[Block]:
    """Accuracies of a model, one row per epsilon; then the area under each curve, and notes."""
    curves, noisy = found.of(model), found.random.get(model, {})
    lines = [
        line
        for line in found.lines.get(model, ())
        if any(a.epsilon in line.by_epsilon for a in curves[0])
    ]
    rows = [
        [
            _mark(at[0].epsilon, found.eps_min),
            *(cell for a in at for cell in (_enter(a), _enter_proven(a))),
            noisy.get(at[0].epsilon),
            *(line.by_epsilon.get(at[0].epsilon) for line in lines),
        ]
        for at in zip(*curves, strict=True)
    ]
    table = Table(
        f"accuracy of {model} by {found.norm} epsilon, with 95 % intervals",
        (
            Column("epsilon", "distance"),
            *(
                Column(f"{curve.name}{part}", "rate", quantity="adversarial accuracy")
                for curve in curves
                for part in ("", ", proven")
            ),
            Column(RANDOM, "rate"),
            *(Column(line.name, "rate") for line in lines),
        ),
        rows,
        limit=200,
        marked=[i for i, a in enumerate(curves[0]) if a.epsilon == found.eps_min],
    )
    notes = dict.fromkeys(note for curve in curves for note in curve.accuracies[-1].notes)
    return [table, *map(_describe_curve, curves), *map(Sentence, notes)]


def _describe_curve(curve: Curve) -> Sentence:
    last = format_distance(curve.accuracies[-1].epsilon)
    text = f"area {curve.area:.4g} up to epsilon {last}; {curve.bound}"
    return Sentence(text, curve.name, tone="quiet")


def _mark(epsilon: float, eps_min: float | None) -> Cell:
    return Entry(epsilon, "eps_min") if epsilon == eps_min else epsilon


def _enter_proven(a: AdversarialAccuracy) -> Cell:
    """The share that is proven to withstand, where that is not all of the accuracy."""
    return a.lower if a.n and not a.proven and a.settled.any() else None


def _enter(a: AdversarialAccuracy) -> Cell:
    """An accuracy, and the number of points where these are not all."""
    if not a.n:
        return _NO_ROOM
    if a.remains.all():
        return a.estimate
    return Entry(
        a.estimate, f"{a.n} points {'have' if a.remains_exactly else 'found to have'} room"
    )


def _show_differences(found: WorstCase) -> list[Block]:
    """Two models under one constraint, by epsilon; in words at the largest one."""
    pairs: dict[tuple[str, str, str], dict[float, Difference]] = {}
    for a, difference in found.differences():
        names = a.name, difference.first, difference.second
        pairs.setdefault(names, {})[a.epsilon] = difference
    if not pairs:
        return []
    epsilons = _choose_columns([a.epsilon for a in found.curves[0]], found.eps_min)
    shown, last = [*map(format_distance, epsilons)], epsilons[-1]
    table = Table(
        "accuracy of the first minus that of the second, with 95 % intervals, by epsilon",
        (
            *map(Column, ("accuracy", "first", "second")),
            *(Column(f"at {e}", "points", quantity="difference") for e in shown),
            Column(f"in words, at epsilon {shown[-1]}"),
        ),
        [
            [
                *names,
                *(Entry(by[e].value, shown=by[e].shown) if e in by else None for e in epsilons),
                by[last].words if last in by else "",
            ]
            for names, by in pairs.items()
        ],
        limit=45,
        shown="the interval excludes 0",
        what="comparisons",
    )
    return [
        Heading("Which model withstands more?"),
        Sentence(_PAIRED, level="detail"),
        table,
    ]


def _choose_columns(epsilons: list[float], eps_min: float | None) -> list[float]:
    """Return the epsilons of a table that has a column for each: of many, the last is eps_min.

    >>> _choose_columns([1, 2, 3, 4, 5, 6], eps_min=4)
    [1, 2, 3, 4]
    """
    if len(epsilons) <= _MAX_COLUMNS:
        return epsilons
    last = epsilons.index(eps_min) if eps_min in epsilons else len(epsilons) // 2
    return epsilons[max(0, last + 1 - _MAX_COLUMNS) : last + 1]


def _show_maps(found: WorstCase) -> list[Block]:
    """Maps of the first curves, each at its largest epsilon; for points with two features."""
    data, curves = found.data, [c for c in found.curves if c.target is not None]
    if data is None or not _has_plane(data) or not curves:
        return []

    def show(curve: Curve) -> Chart:
        def draw() -> drawing.Chart:
            from shaketable.adversary.charts import map_chart  # slow to import

            return map_chart(curve, curve.accuracies[-1])

        return Chart(draw, _MAP, own_size=True)

    return [
        Heading("Where the adversary went", "maps", "Maps"),
        *map(show, curves[:_MAX_MAPS]),
    ]


def _show_examples(found: WorstCase) -> list[Block]:
    tables = [table for curve in found.curves for table in _tabulate_examples(found, curve)]
    if not tables:
        return []
    return [
        Heading("Adversarial examples", level="detail"),
        Sentence(_EXAMPLES, level="detail"),
        *tables,
    ]


def _say_left_out(found: WorstCase) -> list[Block]:
    """Say what a results file cannot show."""
    if all(curve.target is not None for curve in found.curves):
        return []
    if found.data is None:
        fell = any(len(a.examples) for curve in found.curves for a in curve)
        text = "adversarial examples are shown where the data are given (--data)" * fell
    else:
        text = _NO_MAPS if _has_plane(found.data) else ""
    return [Sentence(text, "left out", tone="quiet", level="detail")] if text else []


def _has_plane(data: Dataset) -> bool:
    return data.d == 2 and data.table is None


def _tabulate_examples(found: WorstCase, curve: Curve) -> list[Table]:
    """The nearest examples at the smallest epsilon that has any; no table without examples."""
    accuracy = next((a for a in curve if len(a.examples)), None)
    if accuracy is None or (data := found.data) is None:
        return []
    examples = choose_nearest(accuracy, data)
    if examples is None:
        return []
    distances = examples.distances(data, found.p)
    classes = [*map(str, data.classes), "none of the classes"]  # code -1 is the last
    visible = are_images(data)
    rows: list[list[Cell]] = []
    for i in range(len(examples)):
        row = int(examples.rows[i])
        x, moved = data.rows(np.array([row]))[0], examples.moved[i]
        source = data.source_row(row)
        shown = _render_images(source, x, moved) if visible else [None] * 3
        rows.append(
            [
                source,
                *shown,
                Entry(classes[data.y[row]], f"model says {classes[examples.codes[i]]}"),
                float(distances[i]),
                "" if visible else "; ".join(_list_changes(data, x, moved)),
            ]
        )
    return [
        Table(
            f"examples for {curve.model}, {accuracy.name}, epsilon "
            f"{format_distance(accuracy.epsilon)}: {len(rows)} of {len(accuracy.examples)}, rows "
            "counted from 0",
            (
                Column("row"),
                *map(Column, ("the point", "the example", "the difference", "label")),
                Column(f"{found.norm} distance", "distance"),
                Column("what changed most"),
            ),
            rows,
            level="detail",
        )
    ]


def choose_nearest(accuracy: AdversarialAccuracy, data: Dataset) -> Examples | None:
    """Return the nearest examples, the nearest first; None where a results file keeps none."""
    if isinstance(accuracy.examples, KeptExamples):
        return accuracy.examples.draw(data)
    return accuracy.examples.choose(find_nearest(accuracy.examples.distances(data, accuracy.p)))


def find_nearest(distances: FloatArray) -> IntArray:
    """Places of the examples that are shown."""
    return np.argsort(distances, kind="stable")[:_MAX_EXAMPLES]


def _render_images(row: int, x: Array, moved: Array) -> list[Picture]:
    """The point, the example, and their difference, scaled up."""
    step = moved.astype(np.float64) - x
    largest = float(np.abs(step).max()) or 1.0
    scale = f"× {float(f'{0.5 / largest:.2g}'):g}"
    return [
        Picture(to_data_uri(x), f"Row {row}: the point"),
        Picture(to_data_uri(np.clip(moved, 0, 1)), f"Row {row}: the example"),
        Picture(
            to_data_uri(0.5 + 0.5 * step / largest), f"Row {row}: the difference, {scale}", scale
        ),
    ]


def _list_changes(data: Dataset, x: Array, moved: Array) -> list[str]:
    """Features with the largest scaled changes; their values are in the units of the file."""
    before, after = x.reshape(1, -1), moved.reshape(1, -1)
    # missing values do not move
    most = np.argsort(-np.nan_to_num(np.abs(after - before))[0], kind="stable")[:_FEATURES]
    if data.scaling is not None:
        before, after = data.scaling.undo(before), data.scaling.undo(after)
    return [
        f"{data.feature_name(i)}: {before[0, i]:.4g} to {after[0, i]:.4g}"
        for i in most
        if before[0, i] != after[0, i] and not np.isnan(after[0, i])
    ]


def _show_evidence(found: WorstCase) -> list[Block]:
    """Which attacks ran, on how many points, and how many queries they took."""
    trials: list[list[Cell]] = [
        [curve.model, curve.name, a.epsilon, trial.spec, trial.tried, trial.found, trial.queries]
        for curve in found.curves
        for a in curve
        for trial in a.trials
    ]
    table = Table(
        "attacks",
        (
            Column("model"),
            Column("accuracy"),
            Column("epsilon", "distance"),
            Column("attack"),
            Column("points attacked", "count"),
            Column("examples found", "count"),
            Column("queries", "count"),
        ),
        trials,
        level="detail",
        limit=200,
    )
    heading = Heading("Attacks", level="detail")
    return [heading, Sentence(_EVIDENCE, level="detail"), *([table] if trials else [])]


def _show_method(found: WorstCase) -> list[Block]:
    first = found.curves[0]
    accuracies = [a for curve in found.curves for a in curve]
    settings = {
        "Points attacked": str(len(first.attacked.rows)),
        "Norm": found.norm,
        "eps_min": write_eps_min(found, repr),
        "Epsilon": join_distinct(format_distance(a.epsilon) for a in first),
        "Attacks": join_distinct(t.spec for a in accuracies for t in a.trials) or "none",
        "Value range": first.attacked.bounds,
        "Seed": str(first.attacked.seed),
        "Queries": f"{sum(a.queries for a in accuracies):,}",
    }
    return [
        Definition(
            "a(ε) = share of points x whose label the model gives to every x′ of a region R_{ε}(x)",
            "Proper measure for adversarial robustness (2020), Definitions 1 to 3 and Theorem 2.",
        ),
        Facts(_REGIONS, "Regions, and the area under a curve"),
        Facts([*settings.items()], "How the worst case was searched"),
    ]


def write_eps_min(found: WorstCase, write: Callable[[float], str] = format_distance) -> str:
    """Value of eps_min, or why there is none."""
    if found.eps_min is not None:
        return write(found.eps_min)
    is_table = found.curves[0].attacked.is_table
    return "undefined: no opponents" if is_table else "0: classes touch"


def describe_avoidable(avoidable: Avoidable) -> str:
    """How many correct answers are lost that 1-NN on the same points keeps, in a sentence."""
    a = avoidable.at
    where = f"({a.name}, epsilon {format_distance(a.epsilon)})"
    if avoidable.lost:
        kept = f"which {norm_title(a.p)} 1-NN on the attacked points keeps"
        return f"{avoidable.lost} of {avoidable.of} correct answers lost, {kept} {where}"
    known = "proven" if a.proven else "which does not prove that none can be"
    return f"none of {avoidable.of} correct answers lost, {known} {where}"
