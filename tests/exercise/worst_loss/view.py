"""What is shown: a chart and a table."""

from typing import TYPE_CHECKING

from shaketable.views.blocks import Block, Chart, Column, Definition, Heading, Table

if TYPE_CHECKING:
    from shaketable.views import drawing
    from worst_loss.finding import WorstLoss


def make_blocks(finding: "WorstLoss") -> list[Block]:
    """Return a chart, a table and the definition."""
    columns = Column("model"), Column("corruption"), Column("largest loss", "change")
    rows = [(label, s.first.corruption, s.relative_loss) for label, s in finding.worst.items()]
    return [
        Heading("Which corruption costs most?", "worst-loss", "Largest loss"),
        Chart(lambda: draw(finding), "Points are estimates, bars their 95 % intervals."),
        Table("Largest loss of accuracy", columns, rows),
        Definition("Largest loss = min over corruptions of the relative change of the accuracy"),
    ]


def draw(finding: "WorstLoss") -> "drawing.Chart":
    """Draw the largest loss of every model, with its interval."""
    import altair as alt  # slow to import, and needed for pages only

    from shaketable.views import drawing

    rows = [
        {"model": label, "noise": s.first.corruption, "value": 100 * e.value}
        | {"low": 100 * e.low, "high": 100 * e.high}
        for label, s in finding.worst.items()
        for e in [s.relative_loss]
    ]
    tooltip = drawing.make_tooltip(model="model", value="loss, %")
    base = drawing.make_chart(rows).encode(y=alt.Y("model:N", title=None), tooltip=tooltip)
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    dots = drawing.dots_with_bars(base, title="loss, per cent", scale=scale)
    return drawing.stack_panels([alt.layer(*dots)], title="Largest loss of accuracy")
