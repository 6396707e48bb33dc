"""Differences in accuracy of models, in the terminal."""

from __future__ import annotations

from shaketable.findings.comparison.finding import Comparison, Gap, Pair, compute_gaps
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table

FEW_PAIRS, FEW_CONDITIONS = 3, 8
"""Numbers up to which every difference is printed; of more, one row per pair."""

MAX_ROWS = 20
"""Pairs that are listed at most."""

_TITLE = (
    "which model is more accurate: accuracy of the first minus that of the second, in percentage "
    "points, on the same points and noise"
)


def print_comparison(finding: Comparison, full: str = "--json or --report") -> None:
    """Print all differences if they are few, else one row per pair, and which flags give all."""
    pairs = finding.pairs
    if len(pairs) <= FEW_PAIRS and len(finding.conditions) <= FEW_CONDITIONS:
        rows = [
            [condition.noise, *(_format_gap(pair.at(condition)) for pair in pairs)]
            for condition in finding.conditions
        ]
        if any(pair.mean is not None for pair in pairs):
            rows.append(["mean over corruptions", *map(_format_mean, pairs)])
        print_table(f"{_TITLE}; * {finding.judged}", ["noise", *map(_name, pairs)], rows)
        _print_rankings(finding)
        return
    compute_gaps(pairs[:MAX_ROWS])
    rows = [_make_row(pair) for pair in pairs[:MAX_ROWS]]
    header = [
        "pair",
        "clean",
        "mean over corruptions",
        "first better",
        "second better",
        "may be chance",
        "largest",
        "under",
    ]
    if not any(row[2] for row in rows):
        header, rows = _drop(header), [_drop(row) for row in rows]
    print_table(f"{_TITLE}; under how many corruptions; * {finding.judged}", header, rows)
    if more := len(pairs[MAX_ROWS:]):
        print_lines(f"{more} more pairs are not listed")
    print_lines(f"every difference with its interval: {full}")
    _print_rankings(finding)


def _print_rankings(finding: Comparison) -> None:
    """Print which models may be the most accurate, and of which data if there are several."""
    several = len({ranking.data for ranking in finding.rankings}) > 1
    for ranking in finding.rankings:
        print_lines(f"{ranking.data}, {ranking.words}" if several else ranking.words)


def _make_row(pair: Pair) -> list[str]:
    counts = [str(pair.count_better(label)) for label in (pair.first, pair.second, "")]
    largest = pair.largest
    entries = [_format_gap(pair.clean), _format_mean(pair), *counts, _format_gap(largest)]
    return [_name(pair), *entries, largest.condition.noise]


def _drop(row: list[str]) -> list[str]:
    """Return a row without the mean, which studies do not have."""
    return [*row[:2], *row[3:]]


def _name(pair: Pair) -> str:
    return f"{pair.first} minus {pair.second}"


def _format_gap(gap: Gap | None) -> str:
    return "" if gap is None else _format(gap.value, gap.shown)


def _format_mean(pair: Pair) -> str:
    return "" if pair.mean is None else _format(pair.mean, pair.mean_shown)


def _format(value: Estimate, shown: bool) -> str:
    return format_entry(value, signed=True) + (" *" if shown else "  ")
