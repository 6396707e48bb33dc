"""Names beside the points of a chart, placed so that they do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

LETTER, LINE = 6.3, 14.0
"""Width of a letter and height of a line in pixels, at the size of 11 that names are written in."""

_Box: TypeAlias = tuple[float, float, float, float]
_MARK = 7.0  # pixels around a point that names keep out of
_SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0))


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
    marks = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in points]
    taken: list[_Box] = []
    centres = []
    for (x, y), text in zip(points, texts, strict=True):
        half = LETTER * len(text) / 2, LINE / 2
        best = None
        for ring in range(6):
            for right, down in _SIDES:
                centre = (
                    x + right * (_MARK + half[0] + 4 * ring),
                    y + down * (_MARK + half[1] + 4 * ring),
                )
                box = (
                    centre[0] - half[0],
                    centre[1] - half[1],
                    centre[0] + half[0],
                    centre[1] + half[1],
                )
                covered = sum(_overlap(box, other) for other in (*taken, *marks))
                covered += half[0] * half[1] * 4 - _overlap(box, (0, 0, width, height))
                if best is None or covered < best[0] - 1e-9:
                    best = covered, centre, box
            if best is not None and best[0] <= 1e-9:
                break
        assert best is not None
        taken.append(best[2])
        centres.append(best[1])
    return centres


def _overlap(first: _Box, second: _Box) -> float:
    """Area that two boxes (left, top, right, bottom) have in common."""
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, wide) * max(0.0, high)
