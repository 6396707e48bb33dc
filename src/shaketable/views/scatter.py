"""Points with intervals in both directions, and their names beside them, clear of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import altair as alt
import numpy as np

from shaketable.core.types import FloatArray
from shaketable.views import drawing
from shaketable.views.drawing import COLOURS, Chart, Row

LETTER, LINE = 6.3, 14.0
"""Width of a letter and height of a line in pixels, at the size of 11 that names are written in."""

_ROOM = 96, 40  # pixels that "better in both" needs
_MARK = 7.0  # pixels around a point that names keep out of
_CORNERS = ((1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0))
_SIDES: Sequence[tuple[float, float]] = (
    *_CORNERS,  # and for names farther away:
    *((1, -0.5), (-1, -0.5), (1, 0.5), (-1, 0.5)),
)
_AWAY = (0, 4, 8, 13, 19, 26, 34, 44, 56, 70)  # pixels of names from the corners of their points
_LEAD = 4.0  # pixels beyond which a line leads from a point to its name
_STRANGER = 0.3  # square pixels that it costs if another point is closer to a name than its own
_MANY = 60  # points that have names or numbers at most
_RING = 5.0  # half the side of other marks
_WIDTHS = (270.0, 330.0, 420.0, 560.0, 760.0, 1100.0)  # of a chart, at which names are kept apart


@dataclass(frozen=True)
class Frame:
    """The area of a chart: what its axes reach over, and its size in pixels."""

    across: Sequence[float]
    up: Sequence[float]
    width: float
    height: float

    def x(self, field: str, title: str = "") -> alt.X:
        """Return the encoding of a field along the x axis; other layers have its title."""
        scale = alt.Scale(domain=list(self.across), nice=False)
        return alt.X(f"{field}:Q", scale=scale, title=title or alt.Undefined)

    def y(self, field: str, title: str = "") -> alt.Y:
        """Return the encoding of a field along the y axis; other layers have its title."""
        scale = alt.Scale(domain=list(self.up), nice=False)
        return alt.Y(f"{field}:Q", scale=scale, title=title or alt.Undefined)

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point in pixels from the upper left corner.

        >>> Frame((0, 10), (0, 10), 100, 200).to_pixels(5, 10)
        (50.0, 0.0)
        """
        (left, right), (bottom, top) = self.across, self.up
        return self.width * (x - left) / (right - left), self.height * (top - y) / (top - bottom)

    def from_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return the point at a place in pixels from the upper left corner."""
        (left, right), (bottom, top) = self.across, self.up
        return left + x / self.width * (right - left), top - y / self.height * (top - bottom)


def draw_points(
    rows: Sequence[Row],
    frame: Frame,
    *,
    x_title: str,
    y_title: str,
    tooltip: list[alt.Tooltip],
    names: str,
    across: str = "clean",
) -> list[Chart]:
    """Return the layers of points with their intervals and names.

    Each has the colour of its model.

    Parameters
    ----------
    rows
        Each with ``value``, ``low``, ``high`` along y, ``model``, and ``shape``, that of its point.
    frame
        Area of the chart.
    x_title, y_title
        Titles of the axes.
    tooltip
        What is shown of a point under the mouse.
    names
        Field with the names of the points.
    across
        Field along x, the beginning of the names of those of its interval.
    """
    points = [(r[across], r["value"], r[names]) for r in rows]
    colour, labels = write_names([r["model"] for r in rows], points, frame)
    base = drawing.make_chart(rows).encode(tooltip=tooltip, color=colour)
    ends = f"{across}_low", f"{across}_high"
    scales = [alt.Scale(domain=list(span), nice=False) for span in (frame.across, frame.up)]
    right, x_title = drawing.draw_arrows(base, "x", title=x_title, scale=scales[0], ends=ends)
    up, y_title = drawing.draw_arrows(base, "y", title=y_title, scale=scales[1])
    x, x_low = (frame.x(name, x_title) for name in (across, ends[0]))
    y, y_low = (frame.y(name, y_title) for name in ("value", "low"))
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.7, clip=True)
    dots = base.mark_point(filled=True, size=75, opacity=1)
    return [
        bars.encode(x_low, alt.X2(f"{ends[1]}:Q"), y),
        bars.encode(x, y_low, alt.Y2("high:Q")),
        *(arrow.encode(y) for arrow in right),
        *(arrow.encode(x) for arrow in up),
        *labels,
        dots.encode(x, y, shape=alt.Shape("shape:N", scale=None)),
    ]


def draw_quadrant(frame: Frame, x: float, y: float) -> list[Chart]:
    """Return the layers of dashed lines through a point, and of the quadrant above and right."""
    right, top = frame.across[1], frame.up[1]
    corner = drawing.make_chart([{"x": x, "y": y, "x2": right, "y2": top}])
    left, bottom = frame.to_pixels(x, y)
    words = corner.mark_text(align="right", baseline="top", dx=-6, dy=6, fontStyle="italic").encode(
        frame.x("x2"), frame.y("y2"), alt.TextValue("better in both")
    )
    has_room = frame.width - left > _ROOM[0] and bottom > _ROOM[1]
    return [
        corner.mark_rect(opacity=0.13, color=COLOURS[2]).encode(
            frame.x("x"), alt.X2("x2:Q"), frame.y("y"), alt.Y2("y2:Q")
        ),
        *([words] if has_room else []),
        corner.mark_rule(style="reference").encode(frame.x("x")),
        corner.mark_rule(style="reference").encode(frame.y("y")),
    ]


def write_names(
    models: Sequence[str],
    points: Sequence[tuple[float, float, str]],
    frame: Frame,
    *,
    avoid: Sequence[tuple[float, float]] = (),
    corners: Sequence[tuple[float, float]] = (),
) -> tuple[alt.Color, list[Chart]]:
    """Write the names of points beside them, with a line to those farther away.

    Names keep their distance in pixels from their points, whatever the width of the chart is. Where
    there is no room for all, points are numbered instead, and the legend says which is which. Of
    more than 60, names are in tooltips alone, and the chart says so.

    Parameters
    ----------
    models
        Of the points, for their colours.
    points
        x, y and name of each.
    frame
        Area of the chart.
    avoid
        Other marks, x and y.
    corners
        Widths and heights in pixels of what stands in the corners of the chart: upper left, upper
        right, lower left, lower right.

    Returns
    -------
    colour, layers
        The colours of the models, with the legend if it is needed.
    """
    if len(points) > _MANY:
        return drawing.model_colour(models, legend=False), [_say_how_to_name(len(points))]
    texts = [text for *_, text in points]
    widths = [*dict.fromkeys((*_WIDTHS, frame.width))]
    frames = [replace(frame, width=width) for width in widths]
    places = [[f.to_pixels(x, y) for x, y, _ in points] for f in frames]
    taken = [
        [_box(f.to_pixels(x, y), (_RING, _RING)) for x, y in avoid]
        + [
            (right * (f.width - w), low * (f.height - h), right * f.width or w, low * f.height or h)
            for (w, h), (low, right) in zip(corners, product((0, 1), repeat=2), strict=False)
        ]
        for f in frames
    ]
    sizes: dict[str, Any] = {"widths": widths, "height": frame.height, "taken": taken}
    labels = place_labels(places, texts, **sizes)
    colour = drawing.model_colour(models, legend=False)
    if any(label.hidden for label in labels) and len(set(models)) == len(points):
        numbers = [str(i + 1) for i in range(len(points))]
        labels = place_labels(places, numbers, **sizes)
        keys = [f"{number}  {text}" for number, text in zip(numbers, texts, strict=True)]
        colour = colour.legend(drawing.make_legend(models, keys))
        texts = numbers
    rows: list[Row] = [
        {"x": x, "y": y, "text": text, **_lead(label, text)}
        for (x, y, _), text, label in zip(points, texts, labels, strict=True)
    ]
    base = drawing.make_chart(rows).encode(frame.x("x"), frame.y("y"))
    leaders = base.transform_filter("datum.leads").mark_rule(
        x2Offset=alt.ExprRef("datum.endx"),
        y2Offset=alt.ExprRef("datum.endy"),
        strokeWidth=1,
        opacity=0.8,
        color=COLOURS[6],
        aria=False,
    )
    look: dict[str, Any] = {
        "fontSize": 11,
        "baseline": "middle",
        "dx": alt.ExprRef("datum.dx"),
        "dy": alt.ExprRef("datum.dy"),
    }
    named = base.encode(text="text:N")
    return colour, [
        *([leaders.encode(alt.X2("x:Q"), alt.Y2("y:Q"))] if any(r["leads"] for r in rows) else []),
        named.mark_text(**look, style="halo"),
        named.mark_text(**look),
    ]


def _say_how_to_name(n: int) -> Chart:
    words = drawing.make_chart([{"text": f"{n} points: names on pointing, and in the table"}])
    mark = words.mark_text(align="right", baseline="bottom", dx=-6, dy=-36, fontStyle="italic")
    chart: Chart = mark.encode(x=alt.value("width"), y=alt.value("height"), text="text:N")
    return chart


def _box(centre: tuple[float, float], half: tuple[float, float]) -> tuple[float, ...]:
    """Left, top, right and bottom of a box, from its centre and half its sides."""
    (x, y), (a, b) = centre, half
    return x - a, y - b, x + a, y + b


@dataclass(frozen=True)
class Label:
    """Where a name is written: its centre in pixels right of its point and below."""

    dx: float
    dy: float
    strange: bool
    """Whether another point is as close, at some width of the chart."""
    hidden: bool
    """Whether it covers something, or is outside."""


def _lead(label: Label, text: str) -> Row:
    """Return where a name is written, and whether and to where a line leads to it."""
    half = LETTER * len(text) / 2, LINE / 2
    at = np.array([label.dx, label.dy])
    end = np.clip(0, at - half, at + half)
    leads = label.strange or float(np.hypot(*end)) > 2**0.5 * _MARK + _LEAD
    return {
        "dx": label.dx,
        "dy": label.dy,
        "leads": leads,
        "endx": round(float(end[0]), 2),
        "endy": round(float(end[1]), 2),
    }


def place_labels(
    places: Sequence[Sequence[tuple[float, float]]],
    texts: Sequence[str],
    *,
    widths: Sequence[float],
    height: float,
    taken: Sequence[Sequence[Sequence[float]]] = (),
) -> list[Label]:
    """Return where every text is written.

    Texts are near their points, clear of points and other texts, and no other point is closer, at
    all widths of the chart. Places beside the corners of a point come first, since its error bars
    leave to its sides. Where there is no room, the place that covers the least is taken.

    Parameters
    ----------
    places
        Points in pixels from the upper left corner of the chart, for every width.
    texts
        One per point.
    widths, height
        Of the chart in pixels.
    taken
        Boxes (left, top, right, bottom) that texts keep out of, for every width.

    Examples
    --------
    >>> labels = place_labels([[(50, 50), (52, 50)]], ["a", "b"], widths=[100], height=100)
    >>> [(label.dx, label.dy) for label in labels]
    [(-10.15, -14.0), (10.15, -14.0)]
    """
    points = np.asarray(places, dtype=np.float64)  # (widths, points, 2)
    marks = np.concatenate([points - _MARK, points + _MARK], axis=2)
    limits = np.array([[0, 0, width, height] for width in widths])[:, None]
    known = taken if taken and len(taken[0]) else np.empty((len(widths), 0, 4))
    marks = np.concatenate([marks, np.asarray(known, dtype=np.float64)], axis=1)
    written = np.empty((len(widths), 0, 4))
    labels: list[Label] = []
    for i, text in enumerate(texts):
        half = np.array([LETTER * len(text) / 2, LINE / 2])
        tries = np.array(
            [side * (_MARK + half + away) for away in _AWAY for side in np.array(_SIDES)]
        )
        centres = points[:, i, None] + tries  # (widths, tries, 2)
        boxes = np.concatenate([centres - half, centres + half], axis=2)
        others = np.concatenate([written, marks], axis=1)
        cover = _overlap(boxes[:, :, None], others[:, None]).sum(axis=(0, 2))
        outside = 4 * half.prod() - _overlap(boxes, limits)
        gaps = np.hypot(
            *np.maximum(0, np.abs(points[:, None] - centres[:, :, None]) - half).transpose(
                3, 0, 1, 2
            )
        )
        own = gaps[:, :, i].copy()
        gaps[:, :, i] = np.inf
        strange = (gaps.min(axis=2) <= own).sum(axis=0)
        far = np.repeat(_AWAY, len(_SIDES))
        hidden = cover + outside.sum(axis=0)
        cost = hidden + _STRANGER * strange + 0.01 * far * len(widths)
        best = int(np.round(cost, 6).argmin())
        written = np.concatenate([written, boxes[:, best, None]], axis=1)
        dx, dy = (round(float(at), 2) for at in tries[best])
        labels.append(Label(dx, dy, bool(strange[best]), bool(hidden[best] > 1)))
    return labels


def _overlap(first: FloatArray, second: FloatArray) -> FloatArray:
    """Area that boxes have in common; the last axis is left, top, right and bottom."""
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(
        first[..., :2], second[..., :2]
    )
    area: FloatArray = np.maximum(0.0, sides).prod(axis=-1)
    return area
