"""Points with intervals in both directions, and their names beside them, clear of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

from shaketable.views import drawing
from shaketable.views.drawing import COLOURS, Chart, Row

LETTER, LINE = 6.3, 14.0
"""Width of a letter and height of a line in pixels, at the size of 11 that names are written in."""

_Box: TypeAlias = tuple[float, float, float, float]
_ROOM = 96, 40  # pixels that "better in both" needs
_MARK = 7.0  # pixels around a point that names keep out of
_SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0))


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
) -> list[Chart]:
    """Return the layers of points at ``clean``, ``value`` with their intervals and names.

    Parameters
    ----------
    rows
        Each with ``clean``, ``clean_low``, ``clean_high`` along x, ``value``, ``low``, ``high``
        along y, and ``shape``, that of its point.
    frame
        Area of the chart.
    x_title, y_title
        Titles of the axes.
    tooltip
        What is shown of a point under the mouse.
    names
        Field with the names of the points.
    """
    base = drawing.make_chart(rows).encode(tooltip=tooltip, color=alt.value(COLOURS[0]))
    x, x_low = (frame.x(name, x_title) for name in ("clean", "clean_low"))
    y, y_low = (frame.y(name, y_title) for name in ("value", "low"))
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.7, clip=True)
    return [
        bars.encode(x_low, alt.X2("clean_high:Q"), y),
        bars.encode(x, y_low, alt.Y2("high:Q")),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x, y, shape=alt.Shape("shape:N", scale=None)
        ),
        *_write_names([(r["clean"], r["value"], r[names]) for r in rows], frame),
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


def _write_names(points: Sequence[tuple[float, float, str]], frame: Frame) -> list[Chart]:
    """Write the names of points (x, y, name) beside them, on a strip of the background."""
    texts = [text for *_, text in points]
    places = place_labels(
        [frame.to_pixels(x, y) for x, y, _ in points], texts, width=frame.width, height=frame.height
    )
    rows = []
    for place, text in zip(places, texts, strict=True):
        x, y = frame.from_pixels(*place)
        rows.append({"x": x, "y": y, "text": text})
    base = drawing.make_chart(rows).encode(frame.x("x"), frame.y("y"), text="text:N")
    look: dict[str, Any] = {"fontSize": 11, "baseline": "middle"}
    return [base.mark_text(**look, style="halo"), base.mark_text(**look)]


def place_labels(
    points: Sequence[tuple[float, float]], texts: Sequence[str], *, width: float, height: float
) -> list[tuple[float, float]]:
    """Return the centre of every text in pixels: near its point, clear of points and other texts.

    Points are in pixels from the upper left corner of a chart of the given size. Places beside
    the corners of a point come first, since its error bars leave to its sides. Where there is no
    room at all, the place that covers the least is taken.

    >>> place_labels([(50, 50), (52, 50)], ["a", "b"], width=100, height=100)
    [(60.15, 36.0), (41.85, 36.0)]
    """
    marks = [_box((x, y), (_MARK, _MARK)) for x, y in points]
    taken: list[_Box] = []
    centres = []
    for (x, y), text in zip(points, texts, strict=True):
        half = LETTER * len(text) / 2, LINE / 2
        tries = [
            (x + right * (_MARK + half[0] + away), y + down * (_MARK + half[1] + away))
            for away in range(0, 24, 4)
            for right, down in _SIDES
        ]
        others = [*taken, *marks]
        centre = min(tries, key=lambda place: _find_cover(_box(place, half), others, width, height))
        taken.append(_box(centre, half))
        centres.append(centre)
    return centres


def _box(centre: tuple[float, float], half: tuple[float, float]) -> _Box:
    """Left, top, right and bottom of a box, from its centre and half its sides."""
    (x, y), (a, b) = centre, half
    return x - a, y - b, x + a, y + b


def _find_cover(box: _Box, others: Sequence[_Box], width: float, height: float) -> float:
    """Area of a box that covers others, or lies outside the chart."""
    outside = _overlap(box, box) - _overlap(box, (0, 0, width, height))
    return round(outside + sum(_overlap(box, other) for other in others), 6)


def _overlap(first: _Box, second: _Box) -> float:
    """Area that two boxes have in common."""
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, wide) * max(0.0, high)
