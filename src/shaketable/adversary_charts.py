"""Charts of adversaries: accuracy along epsilon, and in the plane where they went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from shaketable import drawing
from shaketable.adversary.curves import Curve
from shaketable.adversary.measures import AdversarialAccuracy
from shaketable.drawing import HEIGHT, Chart, Row, tips
from shaketable.errors import InputError
from shaketable.models import Classifier
from shaketable.norms import norm_title
from shaketable.subjects import one_line
from shaketable.types import FloatArray, IntArray

_VALUE = {"value": "accuracy, %", "low": "95 % interval from, %", "high": "to, %"}
_SIDE, _GRID = 420, 110  # pixels of a map, and cells of its raster

Noise = Sequence[tuple[float, tuple[float, float, float]]]
"""Accuracy under random noise of every size: value, and the ends of its interval."""


def curves_chart(
    curves: Sequence[Curve],
    *,
    eps_min: float | None = None,
    random: Mapping[str, Noise] | None = None,
) -> Chart:
    """Accuracy against epsilon: a panel a model, a line a measure, eps_min marked.

    `random` has accuracies under random noise of the same sizes, by model.
    """
    panels = []
    for model in dict.fromkeys(curve.model for curve in curves):
        rows: list[Row] = []
        for curve in curves:
            if curve.model == model:
                rows.append(_row(curve.title, 0.0, (curve.clean,) * 3))
                known = [a for a in curve if a.n and a.epsilon > 0]
                rows += [_row(a.title, a.epsilon, (a.value, a.low, a.high)) for a in known]
        rows += [_row("random noise", e, found) for e, found in (random or {}).get(model, ())]
        panels.append(_panel(rows, eps_min).properties(title=one_line(model)))
    first = curves[0]
    norm = norm_title(first.accuracies[0].p)
    title = f"Worst case within {norm} epsilon on {first.data}"
    title = f"{title}, {first.model}" if len(panels) == 1 else title
    return drawing.finish(panels, title=one_line(title))


def _panel(rows: Sequence[Row], eps_min: float | None) -> Chart:
    names = list(dict.fromkeys(row["model"] for row in rows))
    base = drawing.chart(rows).encode(
        x=alt.X("epsilon:Q", title="epsilon"),
        color=drawing.model_colour(names),
        tooltip=tips(model="measure", epsilon="epsilon", **_VALUE),
    )
    scale = alt.Scale(domain=[0, 100])
    lines = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    marks = () if eps_min is None else (drawing.vertical_rule(eps_min, "eps_min"),)
    return alt.layer(*lines, *marks).properties(height=HEIGHT)


def map_chart(
    classifier: Classifier, x: FloatArray, y: IntArray, found: AdversarialAccuracy, rows: IntArray
) -> Chart:
    """Decision regions, points, their Voronoi cells, and where the adversary went, in the plane."""
    if x.shape[1] != 2:
        raise InputError(f"a map is for points of two features, got {x.shape[1]}")
    low, high = x.min(axis=0) - found.epsilon, x.max(axis=0) + found.epsilon
    at = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1).reshape(-1, 2)
    codes = classifier(grid.astype(x.dtype))
    labels = [str(label) for label in classifier.codes]
    size = [(b - a) / (_GRID - 1) / 2 for a, b in zip(low, high, strict=True)]
    regions = [
        {"x": u - size[0], "x2": u + size[0], "y": v - size[1], "y2": v + size[1],
         "class": labels[code] if code >= 0 else "none"}
        for (u, v), code in zip(grid.tolist(), codes, strict=True)
    ]  # fmt: skip
    scales = [alt.Scale(domain=[a, b], nice=False) for a, b in zip(low, high, strict=True)]
    axes = [alt.X("x:Q", title="x1", scale=scales[0]), alt.Y("y:Q", title="x2", scale=scales[1])]
    colour = alt.Color("class:N", title=None, scale=alt.Scale(domain=labels))
    points = [{"x": a, "y": b, "class": labels[c]} for (a, b), c in zip(x.tolist(), y, strict=True)]
    places = np.searchsorted(rows, found.examples.rows)
    moves = [
        {"x": a, "y": b, "x2": c, "y2": d, "class": labels[code] if code >= 0 else "none"}
        for (a, b), (c, d), code in zip(
            x[places].tolist(), found.examples.moved.reshape(-1, 2).tolist(),
            found.examples.codes, strict=True,
        )
    ]  # fmt: skip
    edges = [{"x": a, "y": b} for a, b in _edges(grid, x, found.p).tolist()]
    ends = alt.X2("x2:Q"), alt.Y2("y2:Q")
    away = drawing.chart(moves).encode(*axes, *ends)
    layers = (
        drawing.chart(regions).mark_rect(opacity=0.22).encode(*axes, *ends, color=colour),
        drawing.chart(edges).mark_square(size=3, opacity=0.35, color="#767d88").encode(*axes),
        away.mark_rule(strokeWidth=1, opacity=0.6),
        drawing.chart([{"x": m["x2"], "y": m["y2"]} for m in moves])
        .mark_point(shape="cross", angle=45, size=40, strokeWidth=1.5, color="#2b3037")
        .encode(*axes),
        drawing.chart(points).mark_point(filled=True, size=22, opacity=1)
        .encode(*axes, color=colour, tooltip=tips(**{"class": "class"})),
    )  # fmt: skip
    title = f"{classifier.name}, {found.title}, {norm_title(found.p)} epsilon {found.epsilon:g}"
    wide = (high - low)[0] / (high - low).max(), (high - low)[1] / (high - low).max()
    chart = alt.layer(*layers).properties(
        width=max(120, _SIDE * wide[0]), height=max(120, _SIDE * wide[1]), title=one_line(title),
        config=dict(drawing.THEME),
    )  # fmt: skip
    return chart


def _edges(grid: FloatArray, x: FloatArray, p: float) -> FloatArray:
    """Places of a raster at which the nearest point changes."""
    from scipy.spatial import cKDTree  # slow to load

    nearest = np.asarray(cKDTree(x).query(grid, p=p)[1]).reshape(_GRID, _GRID)
    changes = np.zeros(nearest.shape, bool)
    changes[1:] |= nearest[1:] != nearest[:-1]
    changes[:, 1:] |= nearest[:, 1:] != nearest[:, :-1]
    return grid[changes.ravel()]


def _row(model: str, epsilon: float, found: tuple[float, float, float]) -> Row:
    value, low, high = (100 * v for v in found)
    return {"model": model, "epsilon": epsilon, "value": value, "low": low, "high": high}
