"""The page of a worst case: verdict, curves, differences, maps, examples and evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shaketable.adversary import words
from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.charts import curves_chart, map_chart
from shaketable.adversary.curve import Curve
from shaketable.adversary.worst_case import WorstCase
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset
from shaketable.data.facts import describe_data
from shaketable.data.images import are_images
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views import page
from shaketable.views.images import to_data_uri
from shaketable.views.numbers import format_distance
from shaketable.views.text import join_distinct, join_names, to_sentence

MAX_EXAMPLES = 6
"""Largest number of examples shown per curve, the nearest first."""

MAX_MAPS = 6
"""Largest number of maps shown."""

_FEATURES = 3  # features shown of a point that is not an image: those that changed most


@dataclass(frozen=True)
class Card:
    """What the page says first about one model."""

    model: str
    clean: float
    accuracy: AdversarialAccuracy | None
    """The first curve's accuracy at the largest epsilon at which 1-NN would lose nothing."""
    random: Estimate | None
    """Accuracy under random noise of the same size."""
    sentences: list[str]
    tone: str
    """``kept``, ``lost`` or ``open``."""

    @classmethod
    def of(cls, worst: WorstCase, model: str) -> Card:
        """Card of one model."""
        avoidable = worst.avoidable(model)
        accuracy = avoidable[0].at if avoidable else None
        lost = any(a.lost for a in avoidable)
        proven = bool(avoidable) and all(a.at.proven for a in avoidable)
        return cls(
            model=model,
            clean=worst.of(model)[0].clean,
            accuracy=accuracy,
            random=worst.random.get(model, {}).get(accuracy.epsilon) if accuracy else None,
            sentences=[to_sentence(s) for s in worst.sentences(model)],
            tone="lost" if lost else "kept" if proven else "open",
        )


@dataclass(frozen=True)
class Row:
    """One epsilon in the table of a model."""

    epsilon: float
    at_eps_min: bool
    accuracies: list[AdversarialAccuracy]
    """One per constraint."""
    random: Estimate | None


@dataclass(frozen=True)
class Comparison:
    """Two models under one constraint."""

    name: str
    first: str
    second: str
    by_epsilon: dict[float, Difference]


@dataclass(frozen=True)
class Example:
    """An adversarial example as it is shown."""

    row: int
    label: str
    predicted: str
    distance: float
    images: list[tuple[str, str]]
    """Names and addresses of images: the point, the example, their difference. Or none."""
    changes: list[str]
    """For a point that is not an image: the features that changed most."""


@dataclass(frozen=True)
class ExampleTable:
    """The nearest examples of a curve, at the smallest epsilon that has any."""

    curve: Curve
    accuracy: AdversarialAccuracy
    shown: list[Example]


def write_worst_case(
    path: str | Path, found: WorstCase, *, title: str | None = None, notes: Iterable[str] = ()
) -> Path:
    """Write a worst case as one HTML page, and return its path.

    The page shows what models lose although 1-NN on the same points would not; accuracies by
    epsilon; which model withstands more; examples as images or as changes of features; maps of the
    plane for points with two features; and the evidence: which attacks ran, how many queries they
    took, and what is proven.

    Parameters
    ----------
    path
        File to write; an existing one is replaced.
    found
        Result of `worst_case`.
    title
        Heading of the page; by default it names the models and the data.
    notes
        Sentences to show near the top, besides those of the worst case.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = [[0.2], [0.8], [0.9]], [False, True, True]
    >>> found = st.worst_case(lambda x: x[:, 0] > 0.5, data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_worst_case(Path(folder) / "page.html", found).name)
    page.html
    """
    models, comparisons = join_names(found.models, "models"), _list_comparisons(found)
    return page.write(
        path,
        "adversary/page.html.j2",
        title=title or f"The worst case for {models} on {found.data.name}",
        notes=[*found.notes, *notes],
        worst=found,
        cards=[Card.of(found, model) for model in found.models],
        tables={model: _list_rows(found, model) for model in found.models},
        differences=comparisons[: page.MAX_COMPARISONS],
        more_differences=len(comparisons[page.MAX_COMPARISONS :]),
        examples=[t for curve in found.curves if (t := _show_examples(found, curve)) is not None],
        facts=_describe_settings(found),
        figures={
            "curves": page.make_figures(curves_chart(found), caption=words.WORST_CASE),
            "maps": _draw_maps(found) if found.data.d == 2 and found.data.table is None else [],
        },
    )


def _list_rows(worst: WorstCase, model: str) -> list[Row]:
    """Rows of the table of a model, one per epsilon."""
    noisy = worst.random.get(model, {})
    return [
        Row(
            first.epsilon,
            first.epsilon == worst.eps_min,
            [first, *others],
            noisy.get(first.epsilon),
        )
        for first, *others in zip(*worst.of(model), strict=True)
    ]


def _list_comparisons(worst: WorstCase) -> list[Comparison]:
    """Differences grouped by constraint and pair of models."""
    pairs: dict[tuple[str, str, str], dict[float, Difference]] = {}
    for a, difference in worst.differences():
        names = a.name, difference.first, difference.second
        pairs.setdefault(names, {})[a.epsilon] = difference
    return [Comparison(*names, by_epsilon) for names, by_epsilon in pairs.items()]


def _show_examples(worst: WorstCase, curve: Curve) -> ExampleTable | None:
    """The nearest examples at the smallest epsilon that has any; None without examples."""
    accuracy = next((a for a in curve if len(a.examples)), None)
    if accuracy is None:
        return None
    data, examples = worst.data, accuracy.examples
    distances = examples.distances(data, worst.p)
    nearest = np.argsort(distances, kind="stable")[:MAX_EXAMPLES]
    visible = are_images(data)
    classes = [*map(str, data.classes), "none of the classes"]  # code -1 is the last
    shown = []
    for i in nearest:
        row = int(examples.rows[i])
        x, moved = data.rows(np.array([row]))[0], examples.moved[i]
        shown.append(
            Example(
                row=data.source_row(row),
                label=classes[data.y[row]],
                predicted=classes[examples.codes[i]],
                distance=float(distances[i]),
                images=_render_images(x, moved) if visible else [],
                changes=[] if visible else _describe_changes(data, x, moved),
            )
        )
    return ExampleTable(curve, accuracy, shown)


def _render_images(x: Array, moved: Array) -> list[tuple[str, str]]:
    """Names and addresses of the point, the example, and their difference, scaled up."""
    step = moved.astype(np.float64) - x
    largest = float(np.abs(step).max()) or 1.0
    shown = {
        "the point": x,
        "the example": np.clip(moved, 0, 1),
        f"the difference, × {float(f'{0.5 / largest:.2g}'):g}": 0.5 + 0.5 * step / largest,
    }
    return [(name, to_data_uri(image)) for name, image in shown.items()]


def _describe_changes(data: Dataset, x: Array, moved: Array) -> list[str]:
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


def _draw_maps(worst: WorstCase) -> list[page.Figure]:
    """Maps of the first curves, each at its largest epsilon; for points with two features."""
    return [
        figure
        for curve in worst.curves[:MAX_MAPS]
        for figure in page.make_figures(
            map_chart(curve, curve.accuracies[-1]), caption=words.MAP, own_size=True
        )
    ]


def _describe_settings(worst: WorstCase) -> dict[str, str]:
    """Data, points, norm, attacks and seed, for the end of the page."""
    first = worst.curves[0]
    accuracies = [a for curve in worst.curves for a in curve]
    return describe_data(worst.data) | {
        "Points attacked": str(len(first.target.rows)),
        "Norm": worst.norm,
        "eps_min": words.write_eps_min(worst, repr),
        "Epsilon": join_distinct(format_distance(a.epsilon) for a in first),
        "Attacks": join_distinct(t.spec for a in accuracies for t in a.trials) or "none",
        "Value range": str(first.target.bounds or "none"),
        "Seed": str(first.target.seed),
        "Queries": f"{sum(a.queries for a in accuracies):,}",
    }
