"""Section of a page about correlations of metrics."""

from __future__ import annotations

from shaketable.findings.correlation import charts, words
from shaketable.findings.correlation.finding import Correlations
from shaketable.findings.finding import Methods, Section
from shaketable.views import page

MAX_CHARTS = 4
"""Pairs of metrics that are drawn, those with MSCR first."""


def make_sections(
    finding: Correlations, methods: Methods, *, anchor: str = "correlations"
) -> list[Section]:
    """Return the section with all pairs of metrics, and charts of some."""
    for pair in finding.pairs:
        methods.note("Correlation", pair.spearman)
        methods.note("Correlation", pair.pearson)
    order = sorted(finding.pairs, key=lambda c: "mscr" not in (c.first, c.second))
    html = page.render(
        "shaketable.findings.correlation",
        "section.html.j2",
        "correlations",
        anchor=anchor,
        pairs=[
            (
                pair,
                f"{words.name_metric(pair.first)} with {words.name_metric(pair.second)}",
                words.format_correlation(pair.spearman),
                words.format_correlation(pair.pearson),
                shown,
            )
            for pair, shown in zip(finding.pairs, finding.shown, strict=True)
        ],
        judged=finding.judged,
        caveat=words.CAVEAT,
        figures=page.make_figures(
            charts.scatter_chart(order[:MAX_CHARTS]), place=anchor, caption=words.SCATTER
        ),
    )
    return [Section(anchor, "Correlations", html, 72)]
