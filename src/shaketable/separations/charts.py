"""Charts of a separation: one function per figure."""

from __future__ import annotations

import altair as alt
import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset
from shaketable.separations.separation import Separation, SeparationRecord
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, make_tooltip
from shaketable.views.numbers import format_short_distance
from shaketable.views.text import to_one_line

MAX_POINTS = 4000
"""Largest number of points in a scatter; of more, only every n-th is drawn."""


def nearest_chart(separation: Separation | SeparationRecord) -> Chart:
    """Draw the distances of all points to their nearest opponents: histogram, cumulative share.

    Needs ``separation.nearest``.
    """
    p = separation.p if isinstance(separation, Separation) else separation.norm
    if separation.nearest is None:
        raise InputError(
            "the chart needs every point's nearest opponent; measure the separation with "
            "points=True"
        )
    distance = np.sort(separation.nearest[np.isfinite(separation.nearest)])
    n = len(distance)
    counts, edges = np.histogram(distance, bins=min(40, max(5, round(n**0.5))))
    bars = [
        {"start": a, "end": b, "points": c}
        for a, b, c in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    ]
    at = np.unique(np.linspace(0, n - 1, 200).round().astype(int))
    steps = [{"distance": float(distance[i]), "share": 100 * (int(i) + 1) / n} for i in at]
    title = f"{norm_title(p)} distance to the nearest point of another class"
    scale = alt.Scale(domainMin=0)
    histogram = (
        drawing.make_chart(bars)
        .mark_bar(style="count", opacity=0.6)
        .encode(
            x=alt.X("start:Q", title=title, scale=scale, bin="binned"),
            x2=alt.X2("end:Q"),
            y=alt.Y("points:Q", title="points (bars)"),
            tooltip=make_tooltip(start="distance from", end="distance to", points="points"),
        )
    )
    cumulative = (
        drawing.make_chart(steps)
        .mark_line(style="share", interpolate="step-after")
        .encode(
            x=alt.X("distance:Q", title=title, scale=scale),
            y=alt.Y(
                "share:Q", title="points at most this far, % (line)", axis=alt.Axis(grid=False)
            ),
            tooltip=make_tooltip(distance="distance", share="points at most this far, %"),
        )
    )
    text = f"2r = {format_short_distance(separation.two_r)}"
    mark = drawing.vertical_rule(separation.two_r, text, among=[0.0, *edges.tolist()])
    whole = alt.layer(alt.layer(histogram, mark), cumulative).resolve_scale(y="independent")
    title = "Distance of every point to the nearest point of another class"
    return drawing.stack_panels([whole.properties(height=HEIGHT)], title=title)


def left_out_chart(separation: Separation) -> Chart:
    """Draw eps_min against the number of closest pairs that are left out.

    Needs at least two pairs in ``separation.closest``.
    """
    rows = [
        {"pairs": m, "epsilon": separation.epsilon_min_without(m)}
        for m in range(len(separation.closest_distance))
    ]
    if len(rows) < 2:
        raise InputError(
            f"the chart needs at least 2 pairs, got {len(rows)}; measure the separation with a "
            "larger closest"
        )
    whole = alt.Axis(format="d", tickMinStep=1, grid=False)
    base = drawing.make_chart(rows).encode(
        x=alt.X("pairs:Q", title="closest pairs left out", axis=whole),
        y=alt.Y("epsilon:Q", title="eps_min", scale=alt.Scale(zero=True, nice=True)),
        tooltip=make_tooltip(pairs="pairs left out", epsilon="eps_min"),
    )
    layers = (
        base.mark_line(style="count", interpolate="step-after"),
        base.mark_point(style="count", filled=True, size=45, opacity=1),
    )
    title = "eps_min without the closest pairs"
    return drawing.stack_panels([alt.layer(*layers).properties(height=220)], title=title)


def points_chart(separation: Separation | SeparationRecord, dataset: Dataset) -> Chart:
    """Draw two-dimensional points by class, the closest pair of different classes joined.

    Needs a data set with two features.
    """
    if dataset.d != 2:
        raise InputError(f"dataset must have 2 features to be drawn, got {dataset.d}")
    step = -(-dataset.n // MAX_POINTS)
    chosen = np.union1d(np.arange(0, dataset.n, step), np.array(separation.pair))
    names = [str(label) for label in dataset.classes]
    values = zip(
        dataset.rows(chosen).reshape(-1, 2).tolist(), dataset.y[chosen], chosen, strict=True
    )
    rows = [
        {"x": x, "y": y, "class": names[code], "row": dataset.source_row(int(i))}
        for (x, y), code, i in values
    ]
    closest = {dataset.source_row(i) for i in separation.pair}
    first, second = (to_one_line(dataset.feature_name(i)) for i in range(2))
    by_class, legend = alt.Scale(domain=names), drawing.make_legend(names)
    x = alt.X("x:Q", title=first, scale=alt.Scale(zero=False))
    y = alt.Y("y:Q", title=second, scale=alt.Scale(zero=False))
    tooltip = make_tooltip(**{"class": "class", "row": "row", "x": first, "y": second})
    cloud = drawing.make_chart(rows).encode(
        x=x,
        y=y,
        color=alt.Color("class:N", title="class", scale=by_class, legend=legend),
        shape=alt.Shape("class:N", title="class", scale=by_class, legend=legend),
        tooltip=tooltip,
    )
    pair = drawing.make_chart([r for r in rows if r["row"] in closest]).encode(x=x, y=y)
    layers = (
        cloud.mark_point(size=22, filled=True, opacity=0.65),
        pair.mark_line(style="pair"),
        pair.mark_point(size=180, style="pair").encode(tooltip=tooltip),
    )
    title = "The data, and the closest pair of different classes"
    return drawing.stack_panels([alt.layer(*layers).properties(height=420)], title=title)
