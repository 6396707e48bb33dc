"""mCV boards and tables of scores, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping

from shaketable.mcv_boards import Entry, MCVBoard
from shaketable.spec import format_value
from shaketable.statistics import Estimate
from shaketable.terminal import print_table
from shaketable.variation import Correlation, Variation, VariationTable

_PAIRS = {"cv-mean": "CV and mean", "cv-clean": "CV and clean", "mean-clean": "mean and clean"}


def print_variation(table: VariationTable, title: str) -> None:
    """Models of a table of scores: CV, mean, ends and groups."""
    rows = []
    for row in table.rows:
        low, high = (f"{row.least:.6g}", f"{row.most:.6g}")
        if isinstance(row, Variation):
            low, high = f"{low} ({row.lowest})", f"{high} ({row.highest})"
        clean = "" if row.clean is None else f"{row.clean:.6g}"
        group = table.groups[row.label]
        rows.append([row.label, f"{row.cv:.2f}", f"{row.mean:.6g}", clean, low, high, group])
    header = ["model", "CV, %", "mean", "clean", "lowest", "highest", "group"]
    print_table(title, header, rows)
    print(f"{table.reference_words}; group I is better and steadier")
    _print_correlations(table.correlations)


def print_board(board: MCVBoard) -> None:
    """Models over the sets of a suite: the numbers of the mCV plot, differences and effects."""
    first = board.entries[0].result.first
    draws = f"{first.k} {'draw' if first.k == 1 else 'draws'} each"
    rows = [_row(entry) for entry in board.entries]
    header = ["model", "CV, %", "mean, %", "clean, %", "lowest, %", "highest, %", "group"]
    columns = len(header) if len(rows) > 1 else -1  # a model alone has no group
    print_table(
        f"{board.data}: accuracy over {len(board.suite.specs)} sets of suite {board.suite.name}, "
        f"{first.n} test points, {draws}; 95 % intervals in brackets",
        header[:columns],
        [row[:columns] for row in rows],
    )
    for label in board.left_out:
        print(f"{label}: no right answer in any set, so there is no CV")
    if len(board.entries) > 1:
        print(f"{board.table.reference_words}; group I is better and steadier")
        _print_changes(board)
    for entry in board.entries:
        print(f"\n{entry.label}")
        for sentence in entry.sentences:
            print(f"  {sentence}")
    _print_effects(board)
    _print_correlations(board.table.correlations)


def _row(entry: Entry) -> list[str]:
    s, v = entry.stability, entry.variation
    ends = [(v.least, v.lowest), (v.most, v.highest)]
    return [
        entry.label,
        s.cv.percent(),
        s.mean.percent(),
        s.clean.percent(),
        *(f"{100 * value:.2f} ({name})" for value, name in ends),
        entry.group,
    ]


def _print_changes(board: MCVBoard) -> None:
    rows = [
        [e.label, e.mean_change.percent(sign="+"), e.cv_change.percent(sign="+"), e.group, e.words]
        for e in board.entries
        if e.mean_change is not None and e.cv_change is not None
    ]
    if rows:
        print_table(
            f"minus {board.table.reference}, on the same points and noise, in percentage points",
            ["model", "mean", "CV", "group", "in words"],
            rows,
        )


def _print_effects(board: MCVBoard) -> None:
    """What every factor, order and pair of factors costs, a column a model."""
    columns: dict[str, dict[str, Estimate]] = {}
    for entry in board.entries:
        effects = entry.effects
        found = {m.factor: m.value for m in effects.main}
        found |= {
            f"{' then '.join(o.first)}, minus {' then '.join(o.second)}": o.value
            for o in effects.kind_orders
        }
        found |= {
            f"{i.first} with {i.second}, beyond the sum": i.value for i in effects.interactions
        }
        columns[entry.label] = found
    names = list(dict.fromkeys(name for found in columns.values() for name in found))
    if names:
        rows = [[name, *(_change(found.get(name)) for found in columns.values())] for name in names]
        title = "change of accuracy by factors, their order, and both together, percentage points"
        print_table(title, ["", *columns], rows)


def _change(e: Estimate | None) -> str:
    return "" if e is None else e.percent(sign="+")


def _print_correlations(found: Mapping[str, Correlation | None]) -> None:
    known = {name: c for name, c in found.items() if c is not None}
    if known:
        rows = [
            [_PAIRS[name], f"{c.spearman:.3f}", f"{c.pearson:.3f}"] for name, c in known.items()
        ]
        models = format_value(next(iter(known.values())).models)
        print_table(f"correlations over {models} models", ["", "Spearman", "Pearson"], rows)
