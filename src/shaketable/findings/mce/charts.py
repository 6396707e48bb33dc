"""Charts of errors under suites: by norm or kind, and at every level."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.statistics.estimate import Estimate
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

_VALUE = {"value": "error, %", "low": "95 % interval from, %", "high": "to, %"}
ERRORS_TITLE = "Error at every size of the noise"
_NO_SUITE = "no model was evaluated under a whole suite that has a metric"


def means_chart(boards: Sequence[Scoreboard]) -> Chart:
    """Mean error under every norm or kind of a suite, one dot per model."""
    norms = all(b.scores[0].ladders[0].p is not None for b in boards)
    title = "Mean error by norm" if norms else "Mean error by kind"
    title = "Error by noise" if all(b.levels == 1 for b in boards) else title
    if len(boards) == 1:
        title = f"{title}, {_make_title(boards[0])}"
    return drawing.stack_panels([_draw_means(b) for b in boards], title=title, otherwise=_NO_SUITE)


def errors_chart(boards: Sequence[Scoreboard]) -> Chart:
    """Error at every level of suites that have several: one panel per norm, one line per model."""
    boards = [b for b in boards if b.levels > 1]
    has_names = len(boards) > 1
    return drawing.arrange_panels(
        [panel for b in boards for panel in draw_error_panels(b, named=has_names)],
        title=ERRORS_TITLE,
        subtitle=[_make_title(b) for b in boards],
        columns=3,
        otherwise=f"{_NO_SUITE} of several sizes per norm",
    )


def _draw_means(board: Scoreboard) -> Chart:
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
    height = len(drawing.list_distinct(rows, "noise")) * (18 + 12 * len(board.scores))
    return alt.layer(clean, *dots).properties(title=_make_title(board), height=height)


def draw_error_panels(board: Scoreboard, *, named: bool = False) -> list[Chart]:
    """Draw one panel per norm on a common scale; `named` adds the name of the data to titles."""
    by_norm: dict[str, list[Row]] = {}
    for score in board.scores:
        for ladder in score.ladders:
            by_norm.setdefault(ladder.title, []).extend(
                _make_row(score, level.spec, level.error)
                | {"level": level.number, "epsilon": level.size}
                for level in ladder.levels
            )
    all_rows = [row for rows in by_norm.values() for row in rows]
    scale, colour = _make_error_scale(board, all_rows), drawing.model_colour(board.labels)
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
        clean = _draw_clean_rules(board).encode(y=alt.Y("value:Q", scale=scale))
        title = to_one_line(f"{norm}, {board.data}") if named else norm
        panels.append(alt.layer(clean, *lines).properties(title=title, width=190, height=150))
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


def _make_title(board: Scoreboard) -> str:
    return to_one_line(f"suite {board.suite.name} ({board.sizes}) on {board.data}")
