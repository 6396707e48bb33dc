"""Reliability diagram and curve of selective accuracy; every number is one of the finding."""

from __future__ import annotations

import altair as alt

from shaketable.findings.confidence.finding import Confidence, ModelConfidence
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line

MAX_LINES = 7
"""Lines of a chart at most: clean points, and the corruptions with the most errors."""

_TIPS = {"value": "accuracy, %", "low": "95 % interval from, %", "high": "to, %"}


def draw_reliability(model: ModelConfidence) -> list[Chart]:
    """Accuracy in bins of confidence, clean beside the corruption with the most errors."""
    return [_draw_bins(each) for each in dict.fromkeys((model.clean, model.worst))]


def _draw_bins(confidence: Confidence) -> Chart:
    rows: list[Row] = [
        {"confidence": 100 * b.confidence, "share": 100 * b.share, **make_columns(b.accuracy)}
        for b in confidence.numbers.bins
    ]
    scale = alt.Scale(domain=[0, 100])
    axis = alt.Axis(values=[0, 25, 50, 75, 100])
    x = alt.X("confidence:Q", title="confidence, per cent", scale=scale, axis=axis)
    y, low = (
        alt.Y(f"{name}:Q", title="accuracy, per cent", scale=scale, axis=axis)
        for name in ("value", "low")
    )
    base = drawing.make_chart(rows).encode(
        x=x,
        tooltip=make_tooltip(confidence="confidence, %", share="share of answers, %", **_TIPS),
    )
    size = alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 100], range=[25, 500]))
    ends: list[Row] = [{"confidence": at, "value": at} for at in (0, 100)]
    panel = alt.layer(
        drawing.make_chart(ends).mark_line(style="reference").encode(x, y),
        base.mark_rule(strokeWidth=1.5, style="count").encode(low, alt.Y2("high:Q")),
        base.mark_point(filled=True, opacity=0.9, style="count").encode(y, size),
    )
    name = "clean" if confidence.is_clean else to_one_line(confidence.noise)
    return drawing.finish_chart(panel.properties(height=260, title=name))


def draw_selective(model: ModelConfidence) -> Chart:
    """Accuracy against the share of answers that is refused, one line per corruption."""
    most = sorted(model.corrupted, key=lambda c: c.accuracy.value)[: MAX_LINES - 1]
    shown = [model.clean, *(c for c in model.corrupted if c in most)]
    rows: list[Row] = [
        {
            "model": model.label,
            "noise": to_one_line(each.noise),
            "refused": 100 * refused,
            **make_columns(accuracy),
        }
        for each in shown
        for refused, accuracy in each.numbers.selective.items()
    ]
    names = drawing.list_distinct(rows, "noise")
    colour = drawing.noise_colour(names)
    scale = alt.Scale(domain=drawing.find_domain(rows, at_most=100), nice=False, zero=False)
    ticks = drawing.list_distinct(rows, "refused")
    base = drawing.make_chart(rows).encode(
        x=alt.X("refused:Q", title="refused, per cent of the answers", axis=alt.Axis(values=ticks)),
        color=colour if len(names) > 1 else colour.legend(None),
        tooltip=make_tooltip(noise="noise", refused="refused, %", **_TIPS),
    )
    y, low = (alt.Y(f"{n}:Q", title="accuracy, per cent", scale=scale) for n in ("value", "low"))
    panel = alt.layer(
        base.mark_area(opacity=0.1, clip=True).encode(low, alt.Y2("high:Q")),
        base.mark_line().encode(y),
        base.mark_point(filled=True, size=40, opacity=1).encode(y, drawing.shape_like(colour)),
    ).properties(height=drawing.HEIGHT)
    title = to_one_line(f"Accuracy of {model.label} if the least sure answers are refused")
    return drawing.stack_panels([panel], title=title)
