"""Charts of accuracies by group of points; every number is one of the finding."""

from __future__ import annotations

import altair as alt

from shaketable.findings.subgroups.finding import GroupBoard
from shaketable.views import drawing, labels
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

MAX_GROUPS = 30
"""Groups that a chart shows at most, the worst first."""

_TIPS = {
    "points": "points",
    "value": "accuracy, %",
    "low": "95 % interval from, %",
    "high": "to, %",
}


def groups_chart(board: GroupBoard) -> Chart:
    """Accuracy of every group, one dot per model."""
    listed = [group.label for group in board.models[0].chosen.groups[:MAX_GROUPS]]
    rows: list[Row] = [
        {
            "model": model.label,
            "group": group.label,
            "noise": model.chosen.noise,
            "points": group.n,
            **make_columns(group.accuracy),
        }
        for model in board.models
        for group in model.chosen.groups
        if group.label in listed
    ]
    dots = drawing.grouped_dots(
        rows,
        "group",
        title="accuracy, per cent",
        scale=alt.Scale(domain=drawing.find_domain(rows, at_most=100)),
        tooltip=make_tooltip(model="model", group=board.by, noise="noise", **_TIPS),
        groups=board.by,
        legend=len(board.models) > 1,
    )
    panel = alt.layer(*dots).properties(height=labels.find_height(listed, len(board.models)))
    title = to_one_line(f"Accuracy by {board.by}, under {', '.join(board.noises)}")
    return drawing.stack_panels([panel], title=title)
