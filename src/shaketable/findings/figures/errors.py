"""Clean error against the mean error under a suite (Siedel et al. 2024, Fig. 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name, split_top_level
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.mce.scores import Score, Scoreboard
from shaketable.findings.results import Found, as_results
from shaketable.views import drawing
from shaketable.views.drawing import COLOURS, WIDTH, Chart, Row, make_tooltip
from shaketable.views.scatter import Frame, draw_points
from shaketable.views.text import to_one_line

_HEIGHT = 380
_GAP = 9.0  # pixels between an arrow and the points that it joins
_VALUE = {"value": "error, %", "low": "95 % interval from, %", "high": "to, %"}


def draw_errors(
    found: Found, *, metric: str = "", arrows: Sequence[tuple[str, str]] | None = None
) -> Chart:
    """Clean error against mCE, with arrows between paired models (Fig. 4 of the p-norm paper).

    Parameters
    ----------
    found
        Findings, records or a results file of models under a suite that is scored by its mean
        error, such as common-19 or pnorm.
    metric
        Such as ``mce`` or ``mce_xn``; by default that of every suite.
    arrows
        Pairs of models (from, to) by their labels. By default each model of a study is reached
        from the same network without its last part of training, as ``net(augmix + C1)`` from
        ``net(augmix)``; else from the one trained without noise.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(20, 8, 8))
    >>> records = st.evaluate({"a": lambda x: x[:, ::2].mean(axis=(1, 2)) > 0.5,
    ...                        "b": lambda x: x.mean(axis=(1, 2)) > 0.5},
    ...                       (x, x.mean(axis=(1, 2)) > 0.5), st.suite("pnorm"), k=1, bounds=(0, 1))
    >>> type(st.figures.draw_errors(records)).__name__
    '_ConcatChart'
    """
    finding = as_results(found).findings.get("mce")
    boards = _choose_boards(finding, metric)
    panels, counts = [], [0, 0]
    for board in boards:
        panel, better, pairs = _draw_board(board, arrows)
        panels.append(panel)
        counts = [counts[0] + better, counts[1] + pairs]
    name = boards[0].scores[0].metric if len(boards) == 1 else "the mean error"
    if counts[1]:
        text = f"{counts[0]} of {counts[1]} arrows improve both clean error and {name}."
    else:
        text = f"Clean error and {name} of {len(boards[0].scores)} models."
    return drawing.compose_figure(
        panels,
        finding=text,
        about="Errors in per cent; lower left is better. Bars: 95 % intervals. Arrows join models "
        "that differ in their training: solid where both errors fall, dashed otherwise.",
    )


def _choose_boards(finding: object, metric: str) -> list[Scoreboard]:
    whole = finding.boards if isinstance(finding, SuiteErrors) else ()
    boards = {b.suite.metric: b for x in whole for b in (x, *x.parts) if b.suite.metric != "ice"}
    if not boards:
        raise InputError(
            "the figure needs models under a suite that is scored by its mean error; run study or "
            "evaluate with the suite common-19 or pnorm"
        )
    if metric and metric not in boards:
        raise unknown_name("metric", metric, boards)
    return [boards[metric]] if metric else [b for b in whole if b.suite.metric != "ice"]


def _draw_board(
    board: Scoreboard, arrows: Sequence[tuple[str, str]] | None
) -> tuple[Chart, int, int]:
    """Return the panel of a suite, the number of arrows to better models, and that of all."""
    rows = [_make_row(score) for score in board.scores]
    by_label = {row["model"]: row for row in rows}
    pairs = find_pairs(board.scores) if arrows is None else arrows
    for label in (label for pair in pairs for label in pair):
        if label not in by_label:
            raise unknown_name("model of an arrow", label, by_label)
    ends = [{"low": row["clean_low"], "high": row["clean_high"]} for row in rows]
    across, up = (_bound(drawing.find_domain(part, at_most=100)) for part in (ends, rows))
    frame = Frame(across, up, WIDTH, _HEIGHT)
    drawn = [_make_arrow(by_label[a], by_label[b], frame) for a, b in pairs]
    metric = board.scores[0].metric
    tooltip = make_tooltip(model="model", clean="clean error, %", **_VALUE)
    points = draw_points(
        rows,
        frame,
        x_title="error on clean points, per cent",
        y_title=f"{metric}, per cent",
        tooltip=tooltip,
        names="model",
    )
    title = to_one_line(f"{metric} on {board.data}, suite {board.suite.name}")
    chart = alt.layer(*(_draw_arrows(drawn, frame) if drawn else ()), *points)
    better = sum(arrow["better"] for arrow in drawn)
    return chart.properties(title=title, width=WIDTH, height=_HEIGHT), better, len(drawn)


def _bound(domain: Sequence[float]) -> list[float]:
    """Return the range of an axis of errors, which are never below 0."""
    return [max(0.0, domain[0]), domain[1]]


def find_pairs(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Return labels of models to join: each with the same network of simpler training."""
    known = {(s.first.network, display_name(s.first.train)): s.label for s in scores}
    pairs = []
    for (network, training), label in known.items():
        parts = split_top_level(training, "+")
        shorter = [" + ".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
        starts = (s for s in [*shorter, "clean"] if (network, s) in known and s != training)
        if (start := next(starts, None)) is not None:
            pairs.append((known[network, start], label))
    return pairs


def _make_row(score: Score) -> Row:
    clean, mean = score.clean, score.mean
    return {
        "model": score.label,
        "clean": 100 * clean.value,
        "clean_low": 100 * clean.low,
        "clean_high": 100 * clean.high,
        "value": 100 * mean.value,
        "low": 100 * mean.low,
        "high": 100 * mean.high,
        "shape": "circle",
    }


def _make_arrow(start: Row, end: Row, frame: Frame) -> Row:
    """Return an arrow between two points that leaves room for their marks, and its direction."""
    a, b = (frame.to_pixels(row["clean"], row["value"]) for row in (start, end))
    across, down = b[0] - a[0], b[1] - a[1]
    length = math.hypot(across, down) or 1.0
    gap = min(_GAP, 0.3 * length)
    ends = [
        frame.from_pixels(x + sign * gap * across / length, y + sign * gap * down / length)
        for (x, y), sign in ((a, 1), (b, -1))
    ]
    return {
        "x": ends[0][0],
        "y": ends[0][1],
        "x2": ends[1][0],
        "y2": ends[1][1],
        "angle": math.degrees(math.atan2(down, across)) + 90,
        "better": end["clean"] < start["clean"] and end["value"] < start["value"],
    }


def _draw_arrows(arrows: Sequence[Row], frame: Frame) -> list[Chart]:
    layers: list[Chart] = []
    base = drawing.make_chart(arrows)
    styles: tuple[tuple[str, str, list[int]], ...] = (
        ("datum.better", COLOURS[2], [1, 0]),
        ("!datum.better", COLOURS[6], [5, 4]),
    )
    for which, colour, dash in styles:
        part = base.transform_filter(which)
        line = part.mark_rule(color=colour, strokeWidth=2, strokeDash=dash)
        layers.append(line.encode(frame.x("x"), frame.y("y"), alt.X2("x2:Q"), alt.Y2("y2:Q")))
        head = part.mark_point(filled=True, shape="triangle", size=90, opacity=1, color=colour)
        angle = alt.Angle("angle:Q", scale=None)
        layers.append(head.encode(frame.x("x2"), frame.y("y2"), angle=angle))
    return layers


FIGURES.add("errors", FigureKind(draw_errors))
