"""The chart of the summary: wrong answers of all models under a suite, as one heat map."""

from __future__ import annotations

import altair as alt

from shaketable.findings.mce.scores import Scoreboard
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

MAX_MODELS = 6
"""Models of which every level is drawn; of more, the mean over the levels of every kind."""


def heat_map(board: Scoreboard) -> Chart:
    """Error by kind of corruption (rows), model and severity (columns), on one scale."""
    has_levels = len(board.scores) <= MAX_MODELS
    rows: list[Row] = []
    for score in board.scores:
        for ladder in score.ladders:
            cells = (
                [(level.number, level.spec, level.error) for level in ladder.levels]
                if has_levels
                else [(1, ladder.title, ladder.mean)]
            )
            rows += [
                {
                    "model": score.label,
                    "kind": ladder.title,
                    "level": number,
                    "noise": noise,
                    **make_columns(error),
                }
                for number, noise, error in cells
            ]
    kinds = [ladder.title for ladder in board.scores[0].ladders]
    total = {kind: sum(r["value"] for r in rows if r["kind"] == kind) for kind in kinds}
    if not board.of_norms:
        kinds.sort(key=lambda kind: -total[kind])
    axis = alt.Axis(grid=False, domain=False, ticks=False, labelLimit=200)
    header = alt.Axis(grid=False, domain=False, ticks=False, orient="top", labelAngle=0)
    shades = alt.Scale(range=["#eaf1f8", "#0b4a83"], domain=[0, max(r["high"] for r in rows)])
    base = drawing.make_chart(rows).mark_rect()
    chart = base.encode(
        x=alt.X("model:N", title=None, sort=board.labels, axis=header),
        y=alt.Y("kind:N", title=None, sort=kinds, axis=axis),
        color=alt.Color("value:Q", scale=shades, title="wrong, %"),
        tooltip=make_tooltip(
            model="model",
            noise="corruption",
            value="wrong answers, %",
            low="95 % interval from, %",
            high="to, %",
        ),
    )
    if has_levels:
        chart = chart.encode(xOffset=alt.XOffset("level:O"))
    what = "norm" if board.of_norms else "kind"
    levels = f", {'level' if board.of_norms else 'severity'} 1 to {board.levels}"
    about = f"Wrong answers by {what} of corruption and model{levels if has_levels else ''}"
    suite = to_one_line(f"suite {board.suite.name} on {board.data}")
    panel = alt.layer(chart).properties(height=max(120, 18 * len(kinds)))
    return drawing.stack_panels([panel], title=f"{about}: {suite}")
