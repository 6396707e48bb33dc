"""What is shown of mean accuracy and its variation over sets, and its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaketable.statistics.estimate import Estimate
from shaketable.views import blocks as b
from shaketable.views.blocks import Block, Card, Cards, Chart, Column, Definition, Sentence, Table

if TYPE_CHECKING:
    from shaketable.findings.mcv.effects import Effects
    from shaketable.findings.mcv.finding import Entry, MCVBoard
    from shaketable.findings.mcv.variation import Correlation, VariationTable

MCV = (
    "One point per model: up is more accurate on average, left is steadier. Bars reach from its "
    "lowest to its highest accuracy on any set, rings are its accuracy on clean points, thin lines "
    "95 % intervals of the CV. Dashed lines through the reference separate the groups I (above and "
    "left: better and steadier), II (above and right), III (below and left) and IV."
)
FACTORS = (
    "Accuracy of the sets with a factor minus that of the same sets without it, with 95 % "
    "intervals; left of zero the factor costs accuracy."
)
_CHANCE = ": the difference may be chance"
_GROUPS = (
    "groups against the reference: I better and steadier, II better but less steady, III worse but "
    "steadier, IV worse and less steady; they follow from the numbers as measured"
)
_FEW_MODELS = 10
_PAIRS = {"cv-mean": "CV and mean", "cv-clean": "CV and clean", "mean-clean": "mean and clean"}


def make_blocks(boards: Sequence[MCVBoard]) -> list[Block]:
    """Return one section per board, and the definitions."""
    definitions = [
        Definition(
            "CV = 100 σ / μ per cent, where μ is the mean and σ the standard deviation (divided by "
            "n) of the accuracies on all n sets, clean points among them"
        ),
        Definition(
            "Effect of a factor = mean over the sets that hold it of accuracy − accuracy of the "
            "same set without it; of two together = accuracy with both − with the first − with the "
            "second + on clean points",
            "Dai & Berleant (2022): two-factor perturbation, Eq. 1 to 4, Algorithm 1. A low CV is "
            "steady, not good.",
        ),
    ]
    return [*(block for board in boards for block in _show_board(board)), *definitions]


def _show_board(board: MCVBoard) -> list[Block]:
    sets = len(board.suite.specs)
    several = len(board.entries) > 1
    return [
        b.Heading(f"Mean and variation: {board.title}", "sets", f"Suite {board.suite.name}"),
        Sentence(
            f"{sets} sets of {board.draws}: clean points, single faults, and faults in sequence. "
            "Sets with names are drawn independently, even if two hold the same faults; names list "
            "the faults in their order.",
            level="detail",
        ),
        Cards([_make_card(entry, several) for entry in board.entries]),
        *(
            Sentence("wrong on all points of all sets, so there is no CV", about=label)
            for label in board.left_out
        ),
        Chart(lambda: _charts().mcv_plot([board]), MCV),
        _tabulate_means(board, several),
        *([Sentence(f"{board.table.reference_words}; {_GROUPS}")] if several else []),
        *([_tabulate_changes(board)] if several else []),
        *([Chart(lambda: _charts().effects_chart(board), FACTORS)] if board.has_effects else []),
        _tabulate_effects(board),
        *_tabulate_correlations(board.table.correlations),
        _tabulate_sets(board),
    ]


def _charts() -> Any:
    return import_module("shaketable.findings.mcv.charts")  # slow


def _make_card(entry: Entry, several: bool) -> Card:
    s = entry.stability
    group = "the reference" if entry.is_reference else f"group {entry.group}"
    cv = b.split_cell(s.cv, Column("CV", "rate"))
    return Card(
        entry.label,
        s.mean,
        "mean accuracy",
        "rate",
        [
            f"CV {cv[0]} ({cv[1][0]}){f', {group}' if several else ''}; chance alone would make it "
            f"{100 * s.floor:.2f}%"
        ],
        entry.sentences,
    )


def _tabulate_means(board: MCVBoard, several: bool) -> Table:
    def list_ends(e: Entry) -> list[b.Entry]:
        v = e.variation
        return [b.Entry(v.least, v.lowest), b.Entry(v.most, v.highest)]

    return Table(
        f"accuracy over {len(board.suite.specs)} sets of suite {board.suite.name} on {board.data}, "
        f"{board.draws}, with 95 % intervals",
        (
            Column("model"),
            Column("CV", "rate", quantity="CV over sets"),
            Column("CV by chance", "rate"),
            Column("mean", "rate", quantity="mean accuracy over sets"),
            Column("clean", "rate"),
            Column("lowest", "rate"),
            Column("highest", "rate"),
            Column("group"),
        ),
        [
            (
                e.label,
                e.stability.cv,
                e.stability.floor,
                e.stability.mean,
                e.stability.clean,
                *list_ends(e),
                None if not several else "reference" if e.is_reference else e.group,
            )
            for e in board.entries
        ],
        limit=60,
        what="models",
    )


def _tabulate_changes(board: MCVBoard) -> Table:
    reference = board.table.reference or "the reference of its network"
    return Table(
        f"minus {reference}, on the same points and noise, with 95 % intervals",
        (
            Column("model"),
            Column("mean", "points", quantity="difference of means"),
            Column("CV", "points", quantity="difference of CVs"),
            Column("in words"),
        ),
        [
            (e.label, e.mean_change, e.cv_change, e.words)
            for e in board.entries
            if not e.is_reference
        ],
        limit=60,
        what="models",
    )


def _tabulate_effects(board: MCVBoard) -> Table:
    """Effects of factors, of their order and of pairs, one column per model."""
    columns = [_list_effects(entry.effects) for entry in board.entries]
    names = dict.fromkeys(name for column in columns for name in column)
    return Table(
        "change of accuracy by factors and their levels, their order, and two together beyond the "
        "sum of both, with 95 % intervals",
        (
            Column("factor"),
            *(Column(e.label, "points", quantity="effects of factors") for e in board.entries),
        ),
        [(name, *(column.get(name) for column in columns)) for name in names],
        limit=100,
    )


def _list_effects(effects: Effects) -> dict[str, Estimate]:
    """Return all effects of one model by the names of their rows."""
    by_name: dict[str, Estimate] = {}
    for main in effects.main:
        by_name[main.factor] = main.value
        by_name |= {f"  {level.factor}": level.value for level in main.several_levels}
    for o in effects.kind_orders:
        by_name[f"{' then '.join(o.first)} minus {' then '.join(o.second)}"] = o.value
    for i in effects.interactions:
        by_name[f"{i.first} with {i.second}, beyond the sum"] = i.value
    return by_name


def _tabulate_correlations(correlations: Mapping[str, Correlation | None]) -> list[Table]:
    known = {name: c for name, c in correlations.items() if c is not None}
    if not known:
        return []
    models = next(iter(known.values())).models
    few = "; too few to say much" if models < _FEW_MODELS else ""
    return [
        Table(
            f"correlations over {models} models{few}",
            (Column(""), Column("Spearman", "correlation"), Column("Pearson", "correlation")),
            [(_PAIRS[name], c.spearman, c.pearson) for name, c in known.items()],
        )
    ]


def _tabulate_sets(board: MCVBoard) -> Table:
    scores = [entry.variation.scores for entry in board.entries]
    return Table(
        f"accuracy on every set of suite {board.suite.name}",
        (
            Column("set"),
            *(Column(e.label, "rate", quantity="accuracy on a set") for e in board.entries),
        ),
        [(name, *(b.Entry(s[name], heat=1 - s[name]) for s in scores)) for name in scores[0]],
        level="detail",
        limit=500,
    )


def make_score_blocks(table: VariationTable, title: str) -> list[Block]:
    """Return one row per model of a table of scores: CV, mean, range and group."""

    def list_ends(row: Any) -> list[b.Entry]:
        names = getattr(row, "lowest", ""), getattr(row, "highest", "")
        return [b.Entry(v, name) for v, name in zip((row.least, row.most), names, strict=True)]

    return [
        b.Heading("", "sets", title),
        Table(
            title,
            (
                Column("model"),
                Column("CV", "rate"),
                *(Column(name, "number") for name in ("mean", "clean", "lowest", "highest")),
                Column("group"),
            ),
            [
                (
                    row.label,
                    row.cv / 100,
                    row.mean,
                    row.clean,
                    *list_ends(row),
                    "reference"
                    if row.label == table.references[row.label]
                    else table.groups[row.label],
                )
                for row in table.rows
            ],
            limit=200,
            what="models",
        ),
        Sentence(f"{table.reference_words}; {_GROUPS}"),
        *_tabulate_correlations(table.correlations),
    ]


def describe_main(effects: Effects) -> str:
    """Say which factor costs most accuracy, if that is shown."""
    if not effects.main:
        return "No effect of a factor is known: no set is also in the suite without the factor."
    most, *others = effects.main
    cost, name = _format_points(most.value.subtract_from(0)), most.factor
    if not (most.shown and most.value.high < 0):
        return (
            f"No factor is shown to cost accuracy{_count_judged(effects.main)}; {name} costs most "
            f"as measured, {cost}."
        )
    if not others:
        return f"{name} costs {cost}."
    confidence = 1 - 0.05 / len(others)
    rivals = [
        o.factor
        for o in others
        if effects.difference(name, o.factor, confidence=confidence).high >= 0
    ]
    if rivals:
        return (
            f"{name} costs most as measured, {cost}, but {' and '.join(rivals)} may cost as much."
        )
    return f"{name} costs most: {cost}, on average over the sets that hold it."


def describe_order(effects: Effects) -> str:
    """Say whether the order of factors matters, if that is shown."""
    if not effects.kind_orders:
        return "No effect of the order is known: no two sets differ only in the order of factors."
    most = max(effects.kind_orders, key=lambda o: (o.shown, abs(o.value.value)))
    first, second = (" then ".join(order) for order in (most.first, most.second))
    if not most.shown:
        change = f"{first} minus {second}, {_format_points(most.value, sign='+')}"
        return (
            f"No effect of the order is shown{_count_judged(effects.kind_orders)}; the largest as "
            f"measured is {change}."
        )
    value = most.value
    if value.value < 0:
        first, second, value = second, first, value.subtract_from(0)
    return f"The order matters: {first} is easier than {second} by {_format_points(value)}."


def describe_interaction(effects: Effects) -> str:
    """Say whether two factors cost more or less together than the sum of both, if that is shown."""
    if not effects.interactions:
        return "No interaction is known: no set holds two factors that are also sets alone."
    most = max(effects.interactions, key=lambda i: (i.shown, abs(i.value.value)))
    both, value = f"{most.first} and {most.second}", most.value
    if not most.shown:
        return (
            f"No interaction is shown{_count_judged(effects.interactions)}; the largest as "
            f"measured: {both} together change accuracy by {_format_points(value, sign='+')} "
            "beyond the sum of both."
        )
    word, size = ("more", value.subtract_from(0)) if value.value < 0 else ("less", value)
    return f"Together {both} cost {word} than the sum of both, by {_format_points(size)}."


def describe_changes(mean: Estimate | None, cv: Estimate | None) -> str:
    """Say whether a model is more accurate and steadier than the reference, if that is shown."""
    if mean is None or cv is None:
        return "not paired with the reference"
    of_mean = _compare(mean, "more accurate", "less accurate", "mean")
    of_cv = _compare(cv, "less steady", "steadier", "CV")
    both = of_mean.endswith(_CHANCE) and of_cv.endswith(_CHANCE)
    return f"mean and CV{_CHANCE}" if both else f"{of_mean}; {of_cv}"


def _compare(e: Estimate, more: str, less: str, what: str) -> str:
    return more if e.low > 0 else less if e.high < 0 else f"{what}{_CHANCE}"


def _count_judged(effects: Sequence[object]) -> str:
    """Say that several effects are judged at once, so one interval alone shows nothing."""
    return f" (among {len(effects)} judged together)" if len(effects) > 1 else ""


def _format_points(e: Estimate, *, sign: str = "") -> str:
    value, low, high = (
        f"{round(100 * v, 2) + 0.0:{sign}.2f}"  # no negative zero
        for v in (e.value, e.low, e.high)
    )
    return f"{value} percentage points [{low}, {high}]"
