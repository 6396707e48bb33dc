"""Chart of losses by feature; every number is one of the finding."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.features.finding import FeatureBoard
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_tooltip
from shaketable.views.text import to_one_line

MAX_FEATURES = 40
"""Features that a chart shows at most."""

_TIPS = {"value": "accuracy lost, points", "low": "95 % interval from", "high": "to"}


def features_chart(boards: Sequence[FeatureBoard]) -> Chart:
    """Accuracy lost under noise in every feature, one dot per model.

    There is one panel per data set and noise.
    """
    title = "Accuracy lost under noise in one feature"
    if len(boards) == 1:
        title = f"{title}, {to_one_line(boards[0].data)}"
    return drawing.stack_panels(
        [_draw_board(board) for board in boards],
        title=title,
        otherwise="no model had noise in one feature at a time",
    )


def _draw_board(board: FeatureBoard) -> Chart:
    rows: list[Row] = [
        {
            "model": model.label,
            "group": loss.feature,
            "noise": loss.noise,
            "value": 100 * loss.value.value,
            "low": 100 * loss.value.low,
            "high": 100 * loss.value.high,
        }
        for first in board.rows[:MAX_FEATURES]
        for model, loss in zip(board.models, board.at(first), strict=True)
    ]
    names, features = [m.label for m in board.models], list(dict.fromkeys(r["group"] for r in rows))
    base = drawing.make_chart(rows).encode(
        y=alt.Y("group:N", title=None, sort=features, axis=alt.Axis(grid=True)),
        yOffset=alt.YOffset("model:N", sort=names),
        color=drawing.model_colour(names, legend=len(names) > 1),
        tooltip=make_tooltip(model="model", group="feature", noise="noise", **_TIPS),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    dots = drawing.dots_with_bars(base, title="accuracy lost, percentage points", scale=scale)
    height = 20 + len(features) * (14 + 12 * len(names))
    chart = alt.layer(drawing.vertical_rule(0, scale=scale), *dots)
    title = to_one_line(f"{board.noise}, {board.data}")
    return chart.properties(title=title, height=height)
