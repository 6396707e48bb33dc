"""Chart of losses by feature; every number is one of the finding."""

from __future__ import annotations

import altair as alt

from shaketable.findings.features.finding import FeatureBoard
from shaketable.views import drawing, labels
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

MAX_FEATURES = 40
"""Features that a chart shows at most."""

_TIPS = {"value": "accuracy lost, points", "low": "95 % interval from", "high": "to"}


def features_chart(board: FeatureBoard) -> Chart:
    """Accuracy lost under noise in every feature, one dot per model."""
    rows: list[Row] = [
        {
            "model": model.label,
            "group": loss.feature,
            "noise": loss.noise,
            **make_columns(loss.value),
        }
        for first in board.rows[:MAX_FEATURES]
        for model, loss in zip(board.models, board.at(first), strict=True)
    ]
    scale = alt.Scale(domain=drawing.find_domain(rows, 0.0))
    dots = drawing.grouped_dots(
        rows,
        "group",
        title="accuracy lost, percentage points",
        scale=scale,
        tooltip=make_tooltip(model="model", group="feature", noise="noise", **_TIPS),
        legend=len(board.models) > 1,
    )
    height = labels.find_height(drawing.list_distinct(rows, "group"), len(board.models))
    panel = alt.layer(drawing.vertical_rule(0, scale=scale), *dots).properties(height=height)
    title = f"Accuracy lost under noise in one feature, {to_one_line(board.data)}"
    return drawing.stack_panels([panel], title=title)
