"""Its section of a page."""

from typing import TYPE_CHECKING

from shaketable.findings.finding import Methods, Section
from shaketable.views import page
from worst_loss.charts import worst_chart

if TYPE_CHECKING:
    from worst_loss.finding import WorstLoss


def make_section(finding: "WorstLoss", methods: Methods) -> Section:
    """Return a chart, a table and the definition."""
    for series in finding.worst.values():
        methods.note("Largest loss", series.relative_loss)
    caption = "Points are estimates, bars their 95 % intervals."
    figures = page.make_figures(worst_chart(finding), place="worst-loss", caption=caption)
    html = page.render(
        "worst_loss", "section.html.j2", "section", worst=finding.worst, figures=figures
    )
    definitions = page.render("worst_loss", "section.html.j2", "definitions")
    return Section("worst-loss", "Largest loss", html, definitions=definitions)
