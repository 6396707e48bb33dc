"""Charts of the worst case: accuracy by epsilon, and maps of points with two features."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.curve import Curve
from shaketable.adversary.distances import Distances
from shaketable.adversary.lines import RANDOM
from shaketable.adversary.worst_case import WorstCase
from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title
from shaketable.core.types import FloatArray
from shaketable.views import drawing
from shaketable.views.drawing import HEIGHT, Chart, Row, make_tooltip
from shaketable.views.planes import list_regions, make_line
from shaketable.views.text import to_one_line

_VALUE = {"value": "accuracy, %", "low": "95 % interval from, %", "high": "to, %"}
_DASHES = ([1, 0], [8, 4], [2, 3], [8, 3, 2, 3])  # of lines of one colour
_SIDE = 420  # pixels of the longer side of a map
_GREY = "#767d88"
_STEPS = 400  # places of a curve of distances at most
_GRID = 110  # places per side at which the model is asked


def curves_chart(worst: WorstCase) -> Chart:
    """Accuracy against epsilon: one panel per model, one line per constraint, eps_min marked.

    Constraints with the same accuracies share a line, which names them all.
    """
    panels = []
    for model in worst.models:
        lines: dict[tuple[object, ...], list[str]] = {}
        rows: list[Row] = []
        for curve in worst.of(model):
            points = [_make_row(model, curve.name, 0.0, (curve.clean,) * 3)]
            known = [a for a in curve if a.n and a.epsilon > 0]
            points += [_make_row(model, a.name, a.epsilon, (a.value, a.low, a.high)) for a in known]
            partly = [a for a in known if not a.proven and a.settled.any()]
            rows += [
                _make_row(
                    model,
                    f"{a.name}, proven",
                    a.epsilon,
                    (a.lower.value, a.lower.low, a.lower.high),
                )
                for a in partly
            ]
            same = lines.setdefault(tuple((p["epsilon"], p["value"]) for p in points), [])
            same.append(curve.name)
            rows += points
        names = {name: " = ".join(same) for same in lines.values() for name in same}
        firsts = {same[0] for same in lines.values()}
        rows = [
            r | {"part": names.get(r["part"], r["part"])}
            for r in rows
            if r["part"] in firsts or r["part"] not in names
        ]
        noise = worst.random.get(model, {})
        rows += [_make_row(model, RANDOM, 0.0, (worst.of(model)[0].clean,) * 3)] if noise else []
        for epsilon, noisy in noise.items():
            rows.append(_make_row(model, RANDOM, epsilon, (noisy.value, noisy.low, noisy.high)))
        rows += [
            _make_row(model, line.name, epsilon, (e.value, e.low, e.high))
            for line in worst.lines.get(model, ())
            for epsilon, e in sorted(line.by_epsilon.items())
        ]
        panels.append(_make_panel(rows, worst.eps_min).properties(title=to_one_line(model)))
    title = f"Worst case within {worst.norm} epsilon on {worst.name}"
    title = f"{title}, {worst.models[0]}" if len(panels) == 1 else title
    return drawing.stack_panels(panels, title=to_one_line(title))


def _make_panel(rows: Sequence[Row], eps_min: float | None) -> Chart:
    """Draw one model: its constraints differ in dash and shape, its colour is that of the page."""
    names = drawing.list_distinct(rows, "part")
    shapes = alt.Scale(domain=names, range=[*map(drawing.find_shape, range(len(names)))])
    dashes = alt.Scale(domain=names, range=[_DASHES[i % len(_DASHES)] for i in range(len(names))])
    legend = drawing.make_legend(names)
    colour = drawing.model_colour((row["model"] for row in rows), legend=False)
    base = drawing.make_chart(rows).encode(
        x=alt.X("epsilon:Q", title="epsilon"),
        color=colour,
        tooltip=make_tooltip(model="model", part="adversary", epsilon="epsilon", **_VALUE),
    )
    scale = alt.Scale(domain=[0, 100])
    bars, line, *_, points = drawing.line_with_bars(base, title="accuracy, per cent", scale=scale)
    layers: list[Chart] = [
        bars,
        line.encode(strokeDash=alt.StrokeDash("part:N", title=None, scale=dashes, legend=legend)),
        points.encode(shape=alt.Shape("part:N", title=None, scale=shapes, legend=legend)),
    ]
    epsilons = [row["epsilon"] for row in rows]
    if eps_min is not None and eps_min <= 2 * max(epsilons):
        layers.append(drawing.vertical_rule(eps_min, "eps_min", among=epsilons))
    return alt.layer(*layers).properties(height=HEIGHT)


def distances_chart(each: Sequence[Distances]) -> Chart:
    """Share of points that withstand, by size: a band from what is proven to what was found."""
    rows: list[Row] = []
    for d in each:
        clean = float((d.high > 0).mean())
        at, proven, found = d.curve()
        start = {"model": d.name, "epsilon": 0.0, "low": 100 * clean, "high": 100 * clean}
        rows.append(start)
        keep = np.unique(np.linspace(0, len(at) - 1, min(len(at), _STEPS)).astype(int))
        rows += [
            {
                "model": d.name,
                "epsilon": float(at[i]),
                "low": 100 * float(proven[i]),
                "high": 100 * float(found[i]),
            }
            for i in keep
            if at[i] > 0
        ]
    base = drawing.make_chart(rows).encode(
        x=alt.X("epsilon:Q", title="distance"),
        color=drawing.model_colour(row["model"] for row in rows),
        tooltip=make_tooltip(model="model", epsilon="distance", low="proven, %", high="found, %"),
    )
    scale = alt.Scale(domain=[0, 100])
    y = alt.Y("low:Q", title="points that withstand, per cent", scale=scale)
    band = base.mark_area(interpolate="step-after", opacity=0.25).encode(y=y, y2="high:Q")
    lines = [
        base.mark_line(interpolate="step-after", strokeDash=dash).encode(
            y=alt.Y(f"{end}:Q", scale=scale)
        )
        for end, dash in (("low", [4, 3]), ("high", [1, 0]))
    ]
    layers: list[Chart] = [band, *lines]
    sizes = [row["epsilon"] for row in rows]
    eps_min = each[0].eps_min
    if eps_min is not None and eps_min <= max(sizes):
        layers.append(drawing.vertical_rule(eps_min, "eps_min", among=sizes))
    title = to_one_line(f"Distance to the nearest failure: {', '.join(d.name for d in each)}")
    return drawing.finish_chart(alt.layer(*layers).properties(height=HEIGHT, title=title))


def map_chart(curve: Curve, accuracy: AdversarialAccuracy) -> Chart:
    """Decision regions, points, their Voronoi cells, and adversarial examples, in the plane."""
    if (target := curve.target) is None:
        raise InputError("a map needs the model, which no results file holds; attack again")
    classifier = target.classifier
    x, y = target.points.reshape(len(target.rows), -1), target.y
    if x.shape[1] != 2 or target.data.table is not None:
        raise InputError(
            f"a map is for points of two features that are plain numbers, got {x.shape[1]}"
        )
    labels = [str(label) for label in classifier.codes]
    named = np.array([*labels, "none"])  # code -1 is the last
    low, high = x.min(axis=0) - accuracy.epsilon, x.max(axis=0) + accuracy.epsilon
    ticks = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
    codes = classifier(grid.reshape(-1, 2).astype(x.dtype)).reshape(_GRID, _GRID)
    fine = [np.linspace(a, b, 3 * _GRID) for a, b in zip(low, high, strict=True)]
    places = np.searchsorted(target.rows, accuracy.examples.rows)
    moved = accuracy.examples.moved.reshape(-1, 2)
    moves = [make_line(a, b) for a, b in zip(x[places].tolist(), moved.tolist(), strict=True)]
    points = [{"x": a, "y": b, "class": c} for (a, b), c in zip(x.tolist(), named[y], strict=True)]

    scales = [alt.Scale(domain=[a, b], nice=False) for a, b in zip(low, high, strict=True)]
    names = [target.data.feature_name(i) for i in (0, 1)]
    axes = (
        alt.X("x:Q", title=names[0], scale=scales[0]),
        alt.Y("y:Q", title=names[1], scale=scales[1]),
    )
    ends = alt.X2("x2:Q"), alt.Y2("y2:Q")
    colour = alt.Color("class:N", title=None, scale=alt.Scale(domain=labels))
    regions = drawing.make_chart(list_regions(ticks, named[codes])).mark_rect(opacity=0.22)
    borders = drawing.make_chart(_find_borders(x.astype(np.float64), accuracy.p, fine)).mark_rule(
        clip=True, strokeWidth=0.8, strokeCap="round", opacity=0.45, color=_GREY
    )
    lines = drawing.make_chart(moves).mark_rule(strokeWidth=1, opacity=0.6, color=_GREY)
    crosses = drawing.make_chart([{"x": m["x2"], "y": m["y2"]} for m in moves]).mark_text(
        text="×", fontSize=13, baseline="middle"
    )
    dots = drawing.make_chart(points).mark_point(filled=True, size=22, opacity=1)
    layers = (
        regions.encode(*axes, *ends, color=colour),
        borders.encode(*axes, *ends),
        lines.encode(*axes, *ends),
        crosses.encode(*axes),
        dots.encode(*axes, color=colour, tooltip=make_tooltip(**{"class": "class"})),
    )
    size = f"{norm_title(accuracy.p)} epsilon {accuracy.epsilon:g}"
    title = f"{classifier.name}: {accuracy.name}, {size}"
    sides = np.maximum(120, _SIDE * (high - low) / (high - low).max())
    return drawing.finish_chart(
        alt.layer(*layers).properties(width=sides[0], height=sides[1], title=to_one_line(title))
    )


def _find_borders(x: FloatArray, p: float, ticks: Sequence[FloatArray]) -> list[Row]:
    """Borders of Voronoi cells: lines in L2, else grid places where the nearest point changes."""
    from scipy.spatial import Voronoi, cKDTree  # slow to load

    if p == 2:
        corner, size = np.array([a[0] for a in ticks]), max(float(a[-1] - a[0]) for a in ticks)
        frame = corner + size * np.array([[-9, 0.5], [10, 0.5], [0.5, -9], [0.5, 10]])
        places = np.unique(x, axis=0)
        diagram = Voronoi(np.concatenate([places, frame]))
        own = (diagram.ridge_points < len(places)).all(axis=1)
        ends = diagram.vertices[np.array(diagram.ridge_vertices)[own]]
        return [make_line(a, b) for a, b in ends.tolist()]
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
    nearest = np.asarray(cKDTree(x).query(grid, p=p)[1])
    changes = np.zeros(nearest.shape, bool)
    changes[1:] |= nearest[1:] != nearest[:-1]
    changes[:, 1:] |= nearest[:, 1:] != nearest[:, :-1]
    return [make_line(place, place) for place in grid[changes].tolist()]


def _make_row(model: str, part: str, epsilon: float, shares: tuple[float, float, float]) -> Row:
    value, low, high = (100 * share for share in shares)
    row = {"model": model, "part": part, "epsilon": epsilon}
    return row | {"value": value, "low": low, "high": high}
