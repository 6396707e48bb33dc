"""Its chart."""

from typing import TYPE_CHECKING

import altair as alt

from shaketable.views import drawing
from shaketable.views.drawing import Chart, make_chart, make_tooltip

if TYPE_CHECKING:
    from worst_loss.finding import WorstLoss


def worst_chart(finding: "WorstLoss") -> Chart:
    """Largest loss of every model, with its interval."""
    rows = [
        {"model": label, "noise": s.first.corruption, "value": 100 * e.value}
        | {"low": 100 * e.low, "high": 100 * e.high}
        for label, s in finding.worst.items()
        for e in [s.relative_loss]
    ]
    base = make_chart(rows).encode(
        y=alt.Y("model:N", title=None), tooltip=make_tooltip(model="model", value="loss, %")
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    dots = drawing.dots_with_bars(base, title="loss, per cent", scale=scale)
    return drawing.stack_panels([alt.layer(*dots)], title="Largest loss of accuracy")
