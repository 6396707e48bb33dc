"""The chart of correlations: one metric against another, one dot per model."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shaketable.findings.correlation.numbers import Correlation
from shaketable.findings.correlation.view import format_correlation, name_metric
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, Row, make_columns, make_tooltip
from shaketable.views.scatter import Frame, draw_points
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
        {"model": model, "shape": drawing.find_shape(place)}
        | make_columns(a, "x")
        | make_columns(b)
        for place, model, (a, b) in zip(
            drawing.find_places(correlation.models),
            correlation.models,
            correlation.values,
            strict=True,
        )
    ]
    first, second = name_metric(correlation.first), name_metric(correlation.second)
    ends = [{"value": r["x"], "low": r["x_low"], "high": r["x_high"]} for r in rows]
    across, up = drawing.find_domain(ends), drawing.find_domain(rows)
    frame = Frame(across, up, drawing.WIDTH, HEIGHT)
    layers = draw_points(
        rows,
        frame,
        x_title=f"{first}, per cent",
        y_title=f"{second}, per cent",
        tooltip=make_tooltip(model="model", x=f"{first}, %", value=f"{second}, %"),
        names="model",
        across="x",
    )
    return alt.layer(*layers).properties(title=_make_title(correlation), height=HEIGHT)


def _make_title(correlation: Correlation) -> str:
    names = f"{name_metric(correlation.second)} against {name_metric(correlation.first)}"
    rank = format_correlation(correlation.spearman)
    return to_one_line(f"{names} on {correlation.data}, Spearman {rank}")
