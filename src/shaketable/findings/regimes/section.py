"""Section of a page about training regimes."""

from __future__ import annotations

from shaketable.findings.finding import Methods, Section
from shaketable.findings.regimes import words
from shaketable.findings.regimes.finding import Regimes
from shaketable.findings.regimes.measurements import name_metric
from shaketable.views import page


def make_sections(finding: Regimes, methods: Methods) -> list[Section]:
    """Return the section with the table of all models, and folded those of its parts."""
    table = finding.table
    for (_, metric), value in table.values.items():
        methods.note(name_metric(metric), value)
    for (_, metric), value in table.differences.items():
        methods.note(f"Difference of {name_metric(metric)} from the baseline", value)
    html = page.render(
        "shaketable.findings.regimes",
        "section.html.j2",
        "regimes",
        whole=table,
        parts=finding.parts,
        what=table.by if isinstance(table.by, str) else "group",
        name_metric=name_metric,
        unlike="" if table.is_balanced else words.UNLIKE,
        no_baseline=words.NO_BASELINE,
    )
    return [Section("regimes", "Training regimes", html, 12)]
