"""Correlations of metrics in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from shaketable.findings.correlation import words
from shaketable.findings.correlation.numbers import Correlation
from shaketable.findings.correlation.words import format_correlation, name_metric
from shaketable.views.terminal import print_lines, print_notes, print_table


def print_correlations(
    correlations: Sequence[Correlation], shown: Sequence[bool] | None = None, judged: str = ""
) -> None:
    """Print one row per pair of metrics; `shown` marks those that are other than 0."""
    marks = ["" for _ in correlations] if shown is None else ["*" if x else " " for x in shown]
    rows = []
    for c, mark in zip(correlations, marks, strict=True):
        reliability = " and ".join(f"{100 * x:.0f} %" for x in c.reliability)
        entries = [format_correlation(c.spearman) + mark, format_correlation(c.pearson)]
        names = f"{name_metric(c.first)} with {name_metric(c.second)}"
        rows.append([names, c.data, str(len(c.models)), *entries, reliability])
    header = ["metrics", "data", "models", "Spearman", "Pearson", "not error of measurement"]
    print_table(f"correlations over models, with 95 % intervals{judged}", header, rows)
    if shown is None:
        print_lines(*(c.words for c in correlations))
    print_lines(words.CAVEAT)
    left_out = dict.fromkeys(label for c in correlations for label in c.left_out)
    if left_out and shown is None:
        print_notes([f"left out, with one of the metrics only: {', '.join(left_out)}"])
