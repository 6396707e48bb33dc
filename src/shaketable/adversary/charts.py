"""Charts of adversaries: accuracy along epsilon, and in the plane where they went."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.curve import Curve
from shaketable.adversary.worst_case import WorstCase
from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title
from shaketable.core.types import Array, FloatArray
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, Row, make_tooltip
from shaketable.views.text import to_one_line

_VALUE = {"value": "accuracy, %", "low": "95 % interval from, %", "high": "to, %"}
_SIDE, _GRID = 420, 110  # pixels of a map, and cells of its raster


def curves_chart(found: WorstCase) -> Chart:
    """Accuracy against epsilon: a panel a model, a line a measure, eps_min marked."""
    panels = []
    for model in found.models:
        rows: list[Row] = []
        for curve in found.of(model):
            rows.append(_row(curve.name, 0.0, (curve.clean,) * 3))
            known = [a for a in curve if a.n and a.epsilon > 0]
            rows += [_row(a.name, a.epsilon, (a.value, a.low, a.high)) for a in known]
        noise = found.random.get(model, {})
        rows += [_row("random noise", 0.0, (found.of(model)[0].clean,) * 3)] if noise else []
        for epsilon, noisy in noise.items():
            rows.append(_row("random noise", epsilon, (noisy.value, noisy.low, noisy.high)))
        panels.append(_panel(rows, found.eps_min).properties(title=to_one_line(model)))
    title = f"Worst case within {found.norm} epsilon on {found.data.name}"
    title = f"{title}, {found.models[0]}" if len(panels) == 1 else title
    return drawing.stack_panels(panels, title=to_one_line(title))


def _panel(rows: Sequence[Row], eps_min: float | None) -> Chart:
    names = list(dict.fromkeys(row["model"] for row in rows))
    base = drawing.make_chart(rows).encode(
        x=alt.X("epsilon:Q", title="epsilon"),
        color=drawing.model_colour(names),
        tooltip=make_tooltip(model="measure", epsilon="epsilon", **_VALUE),
    )
    scale = alt.Scale(domain=[0, 100])
    layers: list[Chart] = [*drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)]
    if eps_min is not None and eps_min <= 2 * max(row["epsilon"] for row in rows):
        layers.append(drawing.vertical_rule(eps_min, "eps_min"))
    return alt.layer(*layers).properties(height=HEIGHT)


def map_chart(curve: Curve, found: AdversarialAccuracy) -> Chart:
    """Decision regions, points, their Voronoi cells, and where the adversary went, in the plane."""
    target, classifier = curve.target, curve.target.classifier
    x, y = target.points.reshape(len(target.rows), -1), target.y
    if x.shape[1] != 2:
        raise InputError(f"a map is for points of two features, got {x.shape[1]}")
    labels = [str(label) for label in classifier.codes]
    named = np.array([*labels, "none"])  # code -1 is the last
    low, high = x.min(axis=0) - found.epsilon, x.max(axis=0) + found.epsilon
    at = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1)
    codes = classifier(grid.reshape(-1, 2).astype(x.dtype)).reshape(_GRID, _GRID)
    scales = [alt.Scale(domain=[a, b], nice=False) for a, b in zip(low, high, strict=True)]
    names = [target.data.feature_name(i) for i in (0, 1)]
    axes = [
        alt.X("x:Q", title=names[0], scale=scales[0]), alt.Y("y:Q", title=names[1], scale=scales[1])
    ]  # fmt: skip
    ends = alt.X2("x2:Q"), alt.Y2("y2:Q")
    colour = alt.Color("class:N", title=None, scale=alt.Scale(domain=labels))
    points = [{"x": a, "y": b, "class": c} for (a, b), c in zip(x.tolist(), named[y], strict=True)]
    places = np.searchsorted(target.rows, found.examples.rows)
    went = zip(x[places].tolist(), found.examples.moved.reshape(-1, 2).tolist(), strict=True)
    moves = [{"x": a, "y": b, "x2": c, "y2": d} for (a, b), (c, d) in went]
    fine = [np.linspace(a, b, 3 * _GRID) for a, b in zip(low, high, strict=True)]
    borders = _borders(x.astype(np.float64), found.p, fine)
    layers = (
        drawing.make_chart(_rectangles(at, named[codes])).mark_rect(opacity=0.22)
        .encode(*axes, *ends, color=colour),
        drawing.make_chart(borders)
        .mark_rule(clip=True, strokeWidth=0.8, strokeCap="round", opacity=0.45, color="#767d88")
        .encode(*axes, *ends),
        drawing.make_chart(moves).mark_rule(strokeWidth=1, opacity=0.6, color="#767d88")
        .encode(*axes, *ends),
        drawing.make_chart([{"x": m["x2"], "y": m["y2"]} for m in moves])
        .mark_text(text="×", fontSize=13, baseline="middle").encode(*axes),
        drawing.make_chart(points).mark_point(filled=True, size=22, opacity=1)
        .encode(*axes, color=colour, tooltip=make_tooltip(**{"class": "class"})),
    )  # fmt: skip
    title = f"{classifier.name}: {found.name}, {norm_title(found.p)} epsilon {found.epsilon:g}"
    sides = np.maximum(120, _SIDE * (high - low) / (high - low).max())
    return alt.layer(*layers).properties(
        width=sides[0], height=sides[1], title=to_one_line(title), config=dict(drawing.THEME)
    )


def _rectangles(at: Sequence[FloatArray], labels: Array) -> list[Row]:
    """Decision regions as upright rectangles, as long as the label stays the same."""
    (left, below), (wide, high) = at, ((a[1] - a[0]) / 2 for a in at)
    rows = []
    for u, column in zip(left.tolist(), labels, strict=True):
        ends = np.flatnonzero(np.append(column[1:] != column[:-1], True))
        for start, end in zip([0, *(ends[:-1] + 1)], ends, strict=True):
            rows.append(
                {"x": u - wide, "x2": u + wide, "y": below[start] - high, "y2": below[end] + high,
                 "class": str(column[start])}
            )  # fmt: skip
    return rows


def _borders(x: FloatArray, p: float, at: Sequence[FloatArray]) -> list[Row]:
    """Borders of Voronoi cells: lines in L2, else places of a raster where the nearest changes."""
    from scipy.spatial import Voronoi, cKDTree  # slow to load

    if p == 2:
        corner, size = np.array([a[0] for a in at]), max(float(a[-1] - a[0]) for a in at)
        frame = corner + size * np.array([[-9, 0.5], [10, 0.5], [0.5, -9], [0.5, 10]])
        places = np.unique(x, axis=0)
        cells = Voronoi(np.concatenate([places, frame]))
        own = (cells.ridge_points < len(places)).all(axis=1)
        ends = cells.vertices[np.array(cells.ridge_vertices)[own]]
        return [{"x": a, "y": b, "x2": c, "y2": d} for (a, b), (c, d) in ends.tolist()]
    grid = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1)
    nearest = np.asarray(cKDTree(x).query(grid, p=p)[1])
    changes = np.zeros(nearest.shape, bool)
    changes[1:] |= nearest[1:] != nearest[:-1]
    changes[:, 1:] |= nearest[:, 1:] != nearest[:, :-1]
    return [{"x": a, "y": b, "x2": a, "y2": b} for a, b in grid[changes].tolist()]


def _row(model: str, epsilon: float, found: tuple[float, float, float]) -> Row:
    value, low, high = (100 * v for v in found)
    return {"model": model, "epsilon": epsilon, "value": value, "low": low, "high": high}
