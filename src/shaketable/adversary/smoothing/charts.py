"""The chart of certificates: certified accuracy by epsilon, and what attacks leave."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from shaketable.adversary.smoothing.numbers import Certificates
from shaketable.core.norms import norm_title
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, Row, make_tooltip
from shaketable.views.text import to_one_line

_STEPS = 200
"""Sizes at which the line is drawn; between two of them it has the lower value."""

_VALUE = {"value": "accuracy, %", "low": "95 % interval from, %", "high": "to, %"}


def certified_chart(found: Sequence[Certificates]) -> Chart:
    """Certified accuracy against epsilon, one line per model; points are what attacks left."""
    lines: list[Row] = []
    points: list[Row] = []
    for each in found:
        last = max([*each.radii(each.p), *each.epsilons])
        sizes = np.linspace(0, last, _STEPS)
        rows = zip(sizes.tolist(), each.curve(sizes.tolist()), strict=True)
        lines += [
            {"model": each.model, "part": "certified", "epsilon": e, **drawing.make_columns(value)}
            for e, value in rows
        ]
        points += [
            {
                "model": each.model,
                "part": "left by attacks",
                "epsilon": at.epsilon,
                **drawing.make_columns(at.left),
            }
            for at in each.refuted
        ]
    colour = drawing.model_colour([each.model for each in found], legend=len(found) > 1)
    tooltip = make_tooltip(model="model", part="what", epsilon="epsilon", **_VALUE)
    x = alt.X("epsilon:Q", title=f"{norm_title(found[0].p)} epsilon")
    scale, title = alt.Scale(domain=[0, 100]), "accuracy, per cent"
    y, low = (alt.Y(f"{name}:Q", title=title, scale=scale) for name in ("value", "low"))
    base = drawing.make_chart(lines).encode(x=x, color=colour, tooltip=tooltip)
    layers: list[Chart] = [
        base.mark_area(opacity=0.15, interpolate="step-before").encode(low, alt.Y2("high:Q")),
        base.mark_line(interpolate="step-before").encode(y),
    ]
    if points:
        dots = drawing.make_chart(points).encode(x=x, color=colour, tooltip=tooltip)
        layers.append(dots.mark_rule(strokeWidth=1.5, opacity=0.7).encode(low, alt.Y2("high:Q")))
        layers.append(dots.mark_point(filled=True, size=60, opacity=1).encode(y))
    name = f"Certified accuracy of smoothed models on {found[0].attacked.data}"
    name = f"{found[0].model}: certified accuracy" if len(found) == 1 else name
    return drawing.finish_chart(
        alt.layer(*layers).properties(height=HEIGHT, title=to_one_line(name))
    )
