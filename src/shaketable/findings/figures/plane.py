"""The plane: balls of noise around points, and copies that are classified wrongly.

Siedel et al. (2022), Fig. 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import altair as alt
import numpy as np

from shaketable.core.checks import check_copies
from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title, pnorm_level
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.corruptions.corruption import noisy_copies
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.noise import Noise, choose_range
from shaketable.evaluation.resolve import resolve
from shaketable.findings.figures.registry import FIGURES, FigureKind
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.models.fitting import fit
from shaketable.views import drawing
from shaketable.views.drawing import Chart, Row, make_tooltip
from shaketable.views.numbers import format_short_distance
from shaketable.views.planes import list_borders, list_regions, make_line
from shaketable.views.scatter import Frame
from shaketable.views.text import to_one_line

_SIDE = 400  # pixels
_GRID = 140  # places per side at which the model is asked
_WINDOW = 9.0  # half the side of the magnified part, in sizes of the noise
_CORNERS = 48  # of the outline of a ball
_INK = "#2b3037"
_Window: TypeAlias = tuple[FloatArray, FloatArray]  # lower left and upper right corner


@dataclass(frozen=True, eq=False)
class _Scene:
    """What is drawn: points with their noisy copies, and the model's answers."""

    data: Dataset
    classifier: Classifier
    x: FloatArray
    """Evaluated points, (points, 2)."""
    y: IntArray
    copies: FloatArray
    """(points, k, 2)."""
    wrong: Array
    """Copies that are classified wrongly, (points, k)."""
    right: Array
    """Points that are classified correctly without noise."""
    level: tuple[float, float] | None
    """Order of the norm, and the size of the noise; None for other noise."""
    pair: FloatArray | None
    """The closest pair of different classes, if eps_min was measured."""

    def has_pair(self, window: _Window) -> bool:
        """Whether the closest pair is in sight."""
        return self.pair is not None and bool(_find_inside(self.pair, window).all())


def draw_plane(
    model: Any,
    data: Any,
    *,
    corruption: str = "linf(eps_min)",
    k: int = 10,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    refit: bool = False,
    centre: tuple[float, float] | None = None,
    name: str | None = None,
) -> Chart:
    """Points of the plane in balls of noise, with wrongly classified copies (figures 1 and 2).

    Parameters
    ----------
    model, data
        As in `evaluate`; points must have two features that are plain numbers.
    corruption
        Spec of the noise; outlines are drawn for balls of p-norms.
    k, seed, bounds, refit
        As in `evaluate`: the copies are those that it measures.
    centre
        Middle of the part that is magnified; by default the point with the most copies that are
        classified wrongly although the point itself is not.
    name
        Name of the model.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2, 0.0], [0.8, 0.0]], [False, True]
    >>> type(st.figures.draw_plane(lambda x: x[:, 0] > 0.5, data, k=2)).__name__
    '_ConcatChart'
    """
    data = as_dataset(data)
    _check_plane(data)
    rows = np.arange(data.n_train or 0, data.n)
    if refit:
        train, rows = data.parts(seed=seed)
        model = fit(model, data, train, seed=seed, name=name)
    classifier = as_classifier(model, data, name=name, unscale=not refit)
    noise = Noise(k=k, seed=seed, bounds=choose_range(data, bounds))
    scene = _make_scene(data, rows, classifier, corruption, noise)
    every = np.concatenate([scene.data.x, scene.copies.reshape(-1, 2)])
    low, high = every.min(axis=0), every.max(axis=0)
    margin = 0.03 * (high - low)
    whole = window = low - margin, high + margin
    half = np.inf if scene.level is None else _WINDOW * scene.level[1]
    magnified = bool(2 * half < 0.7 * (high - low).min())
    panels = []
    if magnified:
        middle = _choose_centre(scene) if centre is None else np.asarray(centre, dtype=np.float64)
        window = middle - half, middle + half
        panels.append(_draw_panel(scene, whole, title="a  All points", framed=window))
    title = "b  The framed part, magnified" if magnified else ""
    panels.append(_draw_panel(scene, window, title=title))
    return drawing.compose_figure(
        panels,
        finding=_describe(scene, _find_inside(scene.x, window), magnified=magnified),
        about=_explain(scene, window),
        columns=2,
        letters=130 if magnified else 62,
    )


def _check_plane(data: Dataset) -> None:
    if data.d != 2 or data.x.ndim != 2 or data.table is not None:
        raise InputError(
            f"the figure is for points of two features that are plain numbers, got {data.d} "
            "features; choose other data, such as bands"
        )


def _make_scene(
    data: Dataset, rows: IntArray, classifier: Classifier, spec: str, noise: Noise
) -> _Scene:
    """Draw the noisy copies of the points in these rows, and classify them."""
    resolved = resolve([spec], data, noise.bounds)
    (corruption,) = resolved.corruptions
    check_copies(noise.k, len(rows), data.d)
    keys = noise.keys(data, corruption, rows, np.arange(noise.k))
    x, y = data.rows(rows), data.y[rows]
    copies = noisy_copies(corruption.bind(noise.bounds), x, keys)
    wrong = (classifier(copies) != np.repeat(y, noise.k)).reshape(len(rows), noise.k)
    separations = resolved.separations
    return _Scene(
        data,
        classifier,
        x.astype(np.float64),
        y,
        copies.reshape(len(rows), noise.k, 2).astype(np.float64),
        wrong,
        classifier(x) == y,
        pnorm_level(corruption.spec),
        data.x[list(separations[0].pair)].astype(np.float64) if separations else None,
    )


def _choose_centre(scene: _Scene) -> FloatArray:
    """Return the point with the most wrong copies, among those that are right without noise."""
    wrong = np.where(scene.right, scene.wrong.sum(axis=1), -1)
    return np.asarray(scene.x[int(wrong.argmax())])


def _find_inside(points: FloatArray, window: _Window) -> Array:
    """Return whether points are inside a part of the plane."""
    return np.asarray(((points >= window[0]) & (points <= window[1])).all(axis=-1))


def _draw_panel(
    scene: _Scene, window: _Window, *, title: str, framed: _Window | None = None
) -> Chart:
    """Draw a part of the plane: with balls and copies, or with a frame around a smaller part."""
    close, (low, high) = framed is None, window
    sides = (high - low) / (high - low).max() if close else np.ones(2)
    width, height = (_SIDE * np.maximum(0.4, sides)).tolist()
    frame = Frame((low[0], high[0]), (low[1], high[1]), width, height)
    first, second = (to_one_line(scene.data.feature_name(i)) for i in (0, 1))
    axes = frame.x("x", first), frame.y("y", second)
    ends = alt.X2("x2:Q"), alt.Y2("y2:Q")
    labels = [str(label) for label in scene.data.classes]
    named = np.array([*labels, "none"])  # code -1 is the last
    ticks = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    answers = named[scene.classifier(grid.astype(scene.data.x.dtype))].reshape(_GRID, _GRID)
    domain = alt.Scale(domain=labels)
    colour = alt.Color("class:N", title="class", scale=domain)
    shape = alt.Shape(
        "class:N", title="class", scale=alt.Scale(domain=labels, range=list(drawing.SHAPES))
    )
    regions = drawing.make_chart(list_regions(ticks, answers)).mark_rect(
        opacity=0.16, clip=True, aria=False
    )
    borders = drawing.make_chart(list_borders(ticks, answers)).mark_rule(
        clip=True, strokeWidth=1.2, color=_INK, strokeCap="square", aria=False
    )
    layers: list[Chart] = [
        regions.encode(*axes, *ends, color=colour),
        borders.encode(*axes, *ends),
    ]
    if close:
        inside = _find_inside(scene.copies, window)
        layers += _draw_noise(scene, inside, axes, colour, named)
    chosen = _find_inside(scene.x, window)
    points = drawing.make_chart(
        {"x": u, "y": v, "class": named[c]}
        for (u, v), c in zip(scene.x[chosen].tolist(), scene.y[chosen], strict=True)
    )
    dots = points.mark_point(filled=True, size=50 if close else 14, opacity=1, clip=True)
    tooltip = make_tooltip(**{"class": "class", "x": first, "y": second})
    layers.append(dots.encode(*axes, color=colour, shape=shape, tooltip=tooltip))
    if scene.pair is not None and close and scene.has_pair(window):
        pair = drawing.make_chart([make_line(*scene.pair.tolist())])
        layers.append(pair.mark_rule(style="pair").encode(*axes, *ends))
    if framed is not None:
        corners = drawing.make_chart([make_line(*(corner.tolist() for corner in framed))])
        box = corners.mark_rect(filled=False, fill="transparent", stroke=_INK, strokeWidth=2)
        layers.append(box.encode(*axes, *ends))
    return alt.layer(*layers).properties(title=title, width=width, height=height)


def _draw_noise(
    scene: _Scene, inside: Array, axes: tuple[Any, ...], colour: alt.Color, named: Any
) -> list[Chart]:
    """Draw the balls of points and their copies, those that are classified wrongly as crosses."""
    layers: list[Chart] = []
    near = inside.any(axis=1)
    if scene.level is not None and scene.level[0] > 0:
        outline = scene.level[1] * make_outline(scene.level[0])
        rows: list[Row] = [
            {"x": x, "y": y, "ball": number, "place": place}
            for number, centre in enumerate(scene.x[near])
            for place, (x, y) in enumerate((centre + outline).tolist())
        ]
        balls = drawing.make_chart(rows).mark_line(
            clip=True, strokeWidth=1, color="#767d88", opacity=0.9, aria=False
        )
        layers.append(balls.encode(*axes, detail="ball:N", order="place:Q"))
    codes = np.repeat(scene.y[:, None], scene.wrong.shape[1], axis=1)
    for which in (~scene.wrong, scene.wrong):
        chosen = inside & which
        copies = drawing.make_chart(
            {"x": x, "y": y, "class": named[code]}
            for (x, y), code in zip(scene.copies[chosen].tolist(), codes[chosen], strict=True)
        )
        if which is scene.wrong:
            crosses = copies.mark_text(
                text="×", fontSize=15, fontWeight="bold", baseline="middle", aria=False
            )
            layers.append(crosses.encode(*axes))
        else:
            dots = copies.mark_circle(size=9, opacity=0.75, clip=True, aria=False)
            layers.append(dots.encode(*axes, color=colour))
    return layers


def make_outline(p: float) -> FloatArray:
    """Return corners of the outline of the unit ball of a norm in the plane, closed, (corners, 2).

    >>> bool(np.allclose((abs(make_outline(3)) ** 3).sum(axis=1), 1))
    True
    """
    if math.isinf(p):
        return np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]], dtype=np.float64)
    angle = np.linspace(0, 2 * np.pi, _CORNERS + 1)
    x, y = np.cos(angle), np.sin(angle)
    return np.stack([np.sign(x) * np.abs(x) ** (2 / p), np.sign(y) * np.abs(y) ** (2 / p)], axis=1)


def _describe(scene: _Scene, shown: Array, *, magnified: bool) -> str:
    clean, noisy = 100 * scene.right.mean(), 100 * (1 - scene.wrong.mean())
    wrong, copies = int(scene.wrong[shown].sum()), scene.wrong[shown].size
    where = "in the magnified part" if magnified else "of all points"
    return (
        f"{scene.classifier.name} classifies {wrong} of {copies} noisy copies {where} wrongly; its "
        f"accuracy on {len(scene.x)} points is {clean:.1f} %, with noise {noisy:.1f} %."
    )


def _explain(scene: _Scene, window: _Window) -> str:
    noise = "noise"
    if scene.level is not None:
        size = format_short_distance(scene.level[1])
        noise = f"{norm_title(scene.level[0])} noise of size {size}"
        noise += ", eps_min" if scene.pair is not None else ""
    text = (
        f"Shading and dark lines: answers of the model. Large marks: evaluated points of "
        f"{scene.data.name}; dots: their copies under {noise}; crosses: copies that are "
        "classified wrongly."
    )
    if scene.level is not None and scene.level[0] > 0:
        text += " Grey outlines: the balls that noise is drawn from."
    if scene.has_pair(window):
        text += " Thick line: the closest pair of different classes."
    return text


FIGURES.add("plane", FigureKind(draw_plane, source="model"))
