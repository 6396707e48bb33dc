"""The chart of correlations: one metric against another, one dot per model."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.correlation.numbers import Correlation
from shaketable.findings.correlation.view import format_correlation, name_metric
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, Row, make_columns, make_tooltip
from shaketable.views.text import to_one_line


def scatter_chart(correlations: Sequence[Correlation]) -> Chart:
    """Draw one panel per pair of metrics, with the intervals of both."""
    panels = [_draw(c) for c in correlations]
    title = "One metric against another, one dot per model"
    if len(correlations) == 1:
        title = _make_title(correlations[0])
    return drawing.stack_panels(panels, title=title, otherwise="no two metrics are correlated")


def _draw(correlation: Correlation) -> Chart:
    rows: list[Row] = [
        {"model": model, **make_columns(a, "x"), **make_columns(b, "y")}
        for model, (a, b) in zip(correlation.models, correlation.values, strict=True)
    ]
    first, second = name_metric(correlation.first), name_metric(correlation.second)
    scale = alt.Scale(zero=False, padding=12)
    base = drawing.make_chart(rows).encode(
        tooltip=make_tooltip(model="model", x=f"{first}, %", y=f"{second}, %"),
    )
    x, x_low = (
        alt.X(f"{name}:Q", title=f"{first}, per cent", scale=scale) for name in ("x", "x_low")
    )
    y, y_low = (
        alt.Y(f"{name}:Q", title=f"{second}, per cent", scale=scale) for name in ("y", "y_low")
    )
    colour = drawing.COLOURS[0]
    layers = (
        base.mark_rule(opacity=0.35, color=colour).encode(x_low, y, alt.X2("x_high:Q")),
        base.mark_rule(opacity=0.35, color=colour).encode(x, y_low, alt.Y2("y_high:Q")),
        base.mark_point(filled=True, size=60, opacity=1, color=colour).encode(x, y),
    )
    return alt.layer(*layers).properties(title=_make_title(correlation), height=HEIGHT)


def _make_title(correlation: Correlation) -> str:
    names = f"{name_metric(correlation.second)} against {name_metric(correlation.first)}"
    rank = format_correlation(correlation.spearman)
    return to_one_line(f"{names} on {correlation.data}, Spearman {rank}")
