"""Training regimes in the terminal."""

from __future__ import annotations

from shaketable.findings.regimes import words
from shaketable.findings.regimes.finding import Regimes
from shaketable.findings.regimes.measurements import name_metric
from shaketable.findings.regimes.tables import RegimeTable
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table


def print_regimes(finding: Regimes) -> None:
    """Print values, differences from the baseline, and the answer on clean accuracy."""
    table = finding.table
    what = table.by if isinstance(table.by, str) else "group"
    header = [what, *map(name_metric, table.metrics)]
    print_table(f"every {what} in %: {table.title}", header, _list_values(table))
    if not table.is_balanced:
        print_lines(words.UNLIKE)
    if not table.baseline:
        print_lines(words.NO_BASELINE)
        return
    print_table(
        f"minus {table.baseline}, in percentage points, on the same points and noise; "
        f"* {table.judged}",
        header,
        _list_differences(table),
    )
    print_lines(table.clean_words)
    if finding.parts:
        print_lines(f"each of {len(finding.parts)} parts alone: --json or --report")


def _list_values(table: RegimeTable) -> list[list[str]]:
    rows = []
    for group in table.groups:
        values = [table.values.get((group.label, metric)) for metric in table.metrics]
        rows.append([group.label, *("" if e is None else format_entry(e) for e in values)])
    return rows


def _list_differences(table: RegimeTable) -> list[list[str]]:
    rows = []
    for label in (g.label for g in table.groups if g.label != table.baseline):
        cells = []
        for metric in table.metrics:
            value, mark = table.differences.get((label, metric)), (label, metric) in table.shown
            text = "" if value is None else format_entry(value, signed=True)
            cells.append(text + (" *" if mark else "  "))
        rows.append([label, *cells])
    return rows
