"""Sections of a page about which model is more accurate: the answer, and all differences."""

from __future__ import annotations

from markupsafe import Markup

from shaketable.findings.comparison.finding import Comparison
from shaketable.findings.finding import Methods, Section
from shaketable.views import page

FEW_PAIRS = 3
"""Pairs that the top of the page answers; of more, it refers to the section."""

FEW_CONDITIONS = 8
"""Conditions that are shown unfolded."""


def make_sections(finding: Comparison, methods: Methods) -> list[Section]:
    """Return the answer, which stands above all notes, and the section with all differences."""
    for pair in finding.pairs[: page.MAX_COMPARISONS]:
        methods.note("Difference in accuracy", pair.gaps[0].value)
    few = finding.pairs if len(finding.pairs) <= FEW_PAIRS else ()
    html = _render(
        "comparison",
        pairs=finding.pairs[: page.MAX_COMPARISONS],
        more=len(finding.pairs[page.MAX_COMPARISONS :]),
        conditions=finding.conditions,
        judged=finding.judged,
        is_open=len(finding.conditions) <= FEW_CONDITIONS,
    )
    return [
        Section(
            "answer",
            "Answer",
            _render("answer", few=few, all=finding.pairs, rankings=finding.rankings),
            5,
        ),
        Section("comparison", "Comparison", html, 15),
    ]


def _render(macro: str, **content: object) -> Markup:
    return page.render("shaketable.findings.comparison", "section.html.j2", macro, **content)
