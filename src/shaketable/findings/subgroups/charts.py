"""Charts of accuracies by group of points; every number is one of the finding."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.subgroups.finding import GroupBoard
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_tooltip
from shaketable.views.text import to_one_line

MAX_GROUPS = 30
"""Groups that a chart shows at most, the worst first."""

_TIPS = {
    "points": "points",
    "value": "accuracy, %",
    "low": "95 % interval from, %",
    "high": "to, %",
}


def groups_chart(boards: Sequence[GroupBoard]) -> Chart:
    """Accuracy of every group, one panel per column, one dot per model."""
    return drawing.stack_panels(
        [_draw_board(board) for board in boards],
        title=_make_title(boards[0]) if len(boards) == 1 else "Accuracy by group of points",
        otherwise="there are no fitted models",
    )


def _draw_board(board: GroupBoard) -> Chart:
    listed = [group.label for group in board.models[0].chosen.groups[:MAX_GROUPS]]
    rows: list[Row] = [
        {
            "model": model.label,
            "group": group.label,
            "noise": model.chosen.noise,
            "points": group.n,
            "value": 100 * group.accuracy.value,
            "low": 100 * group.accuracy.low,
            "high": 100 * group.accuracy.high,
        }
        for model in board.models
        for group in model.chosen.groups
        if group.label in listed
    ]
    names = [model.label for model in board.models]
    base = drawing.make_chart(rows).encode(
        y=alt.Y("group:N", title=board.by, sort=listed, axis=alt.Axis(grid=True)),
        yOffset=alt.YOffset("model:N", sort=names),
        color=drawing.model_colour(names, legend=len(names) > 1),
        tooltip=make_tooltip(model="model", group=board.by, noise="noise", **_TIPS),
    )
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100))
    dots = drawing.dots_with_bars(base, title="accuracy, per cent", scale=scale)
    height = 20 + len(listed) * (14 + 12 * len(names))
    return alt.layer(*dots).properties(title=_make_title(board), height=height)


def _make_title(board: GroupBoard) -> str:
    return to_one_line(f"Accuracy by {board.by}, under {', '.join(board.noises)}")
