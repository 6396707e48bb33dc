"""Charts of errors under suites: by norm or kind, and at every level."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing, labels
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

_VALUE = {"value": "error, %", "low": "95 % interval from, %", "high": "to, %"}


def means_chart(board: Scoreboard) -> Chart:
    """Mean error under every norm or kind of a suite, one dot per model."""
    title = "Mean error by norm" if board.of_norms else "Mean error by kind"
    title = "Error by noise" if board.levels == 1 else title
    about = to_one_line(f"suite {board.suite.name} ({board.sizes}) on {board.data}")
    rows = [
        _make_row(score, ladder.title if board.levels > 1 else ladder.levels[0].spec, ladder.mean)
        for score in board.scores
        for ladder in score.ladders
    ]
    scale = _make_error_scale(board, rows)
    dots = drawing.grouped_dots(
        rows,
        "noise",
        title="mean error, per cent" if board.levels > 1 else "error, per cent",
        scale=scale,
        tooltip=make_tooltip(model="model", noise="noise", **_VALUE),
    )
    clean = _draw_clean_rules(board).encode(x=alt.X("value:Q", scale=scale))
    height = labels.find_height(drawing.list_distinct(rows, "noise"), len(board.scores))
    panel = alt.layer(clean, *dots).properties(height=height)
    return drawing.stack_panels([panel], title=f"{title}, {about}")


def draw_error_panels(board: Scoreboard) -> list[Chart]:
    """Draw the error at every level: one panel per norm on a common scale, one line per model."""
    by_norm: dict[str, list[Row]] = {}
    for score in board.scores:
        for ladder in score.ladders:
            by_norm.setdefault(ladder.title, []).extend(
                _make_row(score, level.spec, level.error)
                | {"level": level.number, "epsilon": level.size}
                for level in ladder.levels
            )
    all_rows = [row for rows in by_norm.values() for row in rows]
    scale = _make_error_scale(board, all_rows)
    colour = drawing.model_colour(board.labels, legend=False)
    steps = list(range(1, board.levels + 1))
    axis = alt.Axis(values=steps, format="d", grid=False, labelSeparation=2)
    levels = alt.Scale(domain=[0.5, board.levels + 0.5], nice=False)
    panels: list[Chart] = []
    for norm, rows in by_norm.items():
        base = drawing.make_chart(rows).encode(
            x=alt.X("level:Q", title="level", scale=levels, axis=axis),
            color=colour,
            tooltip=make_tooltip(
                model="model", noise="noise", level="level", epsilon="size", **_VALUE
            ),
        )
        lines = drawing.line_with_bars(base, title="error, per cent", scale=scale)
        clean = _draw_clean_rules(board).encode(y=alt.Y("value:Q", scale=scale), color=colour)
        panels.append(alt.layer(clean, *lines).properties(title=norm, width=190, height=150))
    return panels


def _draw_clean_rules(board: Scoreboard) -> alt.Chart:
    """Draw dashed lines at the errors on clean points; the caller adds the axis."""
    rows = [{"model": s.label, "value": 100 * s.clean.value} for s in board.scores]
    rules: alt.Chart = drawing.make_chart(rows).mark_rule(strokeDash=[5, 4], strokeWidth=1.5)
    return rules.encode(
        color=drawing.model_colour(board.labels),
        tooltip=make_tooltip(model="model", value="error on clean points, %"),
    )


def _make_error_scale(board: Scoreboard, rows: Sequence[Row]) -> alt.Scale:
    clean = (100 * score.clean.value for score in board.scores)
    return alt.Scale(domain=[0, drawing.find_domain(rows, *clean, at_most=100)[1]])


def _make_row(score: Score, noise: str, estimate: Estimate) -> Row:
    return {"model": score.label, "noise": noise, **make_columns(estimate)}
