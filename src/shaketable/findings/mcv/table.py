"""mCV boards and tables of scores in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from shaketable.findings.mcv.boards import Entry, MCVBoard, list_levels
from shaketable.findings.mcv.effects import Effects
from shaketable.findings.mcv.variation import Correlation, Variation, VariationTable
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table

GROUPS = (
    "groups against the reference: I better and steadier, II better but less steady, III worse but "
    "steadier, IV worse and less steady"
)
_FEW_MODELS = 10
_PAIRS = {"cv-mean": "CV and mean", "cv-clean": "CV and clean", "mean-clean": "mean and clean"}


def print_variation(table: VariationTable, title: str) -> None:
    """Print one row per model of a table of scores: CV, mean, range and group."""
    rows = []
    for row in table.rows:
        low, high = f"{row.least:.4g}", f"{row.most:.4g}"
        if isinstance(row, Variation):
            low, high = f"{low} ({row.lowest})", f"{high} ({row.highest})"
        clean = "" if row.clean is None else f"{row.clean:.4g}"
        group = "reference" if row.label == table.references[row.label] else table.groups[row.label]
        rows.append([row.label, f"{row.cv:.2f}", f"{row.mean:.4g}", clean, low, high, group])
    header = ["model", "CV, %", "mean", "clean", "lowest", "highest", "group"]
    print_table(title, header, rows)
    print_lines(f"{table.reference_words}; {GROUPS}")
    _print_correlations(table.correlations)


def print_board(board: MCVBoard) -> None:
    """Print the numbers of the mCV plot, differences, sentences, effects and correlations."""
    rows = [_make_row(entry) for entry in board.entries]
    header = [
        "model",
        "CV, %",
        "CV by chance",
        "mean, %",
        "clean, %",
        "lowest, %",
        "highest, %",
        "group",
    ]
    columns = len(header) if len(rows) > 1 else -1  # a model alone has no group
    print_table(
        f"{board.data}: accuracy over {len(board.suite.specs)} sets of suite {board.suite.name}, "
        f"{board.draws}; 95 % intervals in brackets",
        header[:columns],
        [row[:columns] for row in rows],
    )
    for label in board.left_out:
        print_lines(f"{label}: no right answer in any set, so there is no CV")
    if len(board.entries) > 1:
        print_lines(f"{board.table.reference_words}; {GROUPS}")
        _print_changes(board)
    for entry in board.entries:
        print_lines("", entry.label)
        print_lines(*(f"  {sentence}" for sentence in entry.sentences))
    _print_effects(board)
    _print_correlations(board.table.correlations)


def _make_row(entry: Entry) -> list[str]:
    s, v = entry.stability, entry.variation
    ends = [(v.least, v.lowest), (v.most, v.highest)]
    return [
        entry.label,
        format_entry(s.cv),
        f"{100 * s.floor:.2f}",
        format_entry(s.mean),
        format_entry(s.clean),
        *(f"{100 * value:.2f} ({name})" for value, name in ends),
        "reference" if entry.is_reference else entry.group,
    ]


def _print_changes(board: MCVBoard) -> None:
    rows = [
        [
            e.label,
            format_entry(e.mean_change, signed=True),
            format_entry(e.cv_change, signed=True),
            e.group,
            e.words,
        ]
        for e in board.entries
        if e.mean_change is not None and e.cv_change is not None
    ]
    if rows:
        reference = board.table.reference or "the reference of its network"
        print_table(
            f"minus {reference}, on the same points and noise, in percentage points",
            ["model", "mean", "CV", "group", "in words"],
            rows,
        )


def _print_effects(board: MCVBoard) -> None:
    """Print the effects of factors, of their order and of pairs, one column per model."""
    columns = {entry.label: _list_effects(entry.effects) for entry in board.entries}
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    if names:
        rows = [
            [name, *(_format_change(column.get(name)) for column in columns.values())]
            for name in names
        ]
        title = "change of accuracy by factors, their order, and both together, percentage points"
        print_table(title, ["", *columns], rows)


def _list_effects(effects: Effects) -> dict[str, Estimate]:
    """Return all effects of one model by the names of their rows."""
    by_name: dict[str, Estimate] = {}
    for main in effects.main:
        by_name[main.factor] = main.value
        by_name |= {f"  {level.factor}": level.value for level in list_levels(main)}
    for o in effects.kind_orders:
        by_name[f"{' then '.join(o.first)}, minus {' then '.join(o.second)}"] = o.value
    for i in effects.interactions:
        by_name[f"{i.first} with {i.second}, beyond the sum"] = i.value
    return by_name


def _format_change(e: Estimate | None) -> str:
    return "" if e is None else format_entry(e, signed=True)


def _print_correlations(correlations: Mapping[str, Correlation | None]) -> None:
    known = {name: c for name, c in correlations.items() if c is not None}
    if known:
        rows = [
            [_PAIRS[name], f"{c.spearman:.3f}", f"{c.pearson:.3f}"] for name, c in known.items()
        ]
        models = next(iter(known.values())).models
        few = "; too few to say much" if models < _FEW_MODELS else ""
        print_table(f"correlations over {models} models{few}", ["", "Spearman", "Pearson"], rows)
