"""Maps of the plane: regions of equal labels on a grid, and the lines between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shaketable.core.types import Array, FloatArray
from shaketable.views.drawing import Row


def make_line(start: Sequence[float], end: Sequence[float]) -> Row:
    """Return a row of chart data with the ends of a line, or the corners of a rectangle."""
    (x, y), (x2, y2) = start, end
    return {"x": x, "y": y, "x2": x2, "y2": y2}


def list_regions(ticks: Sequence[FloatArray], labels: Array) -> list[Row]:
    """Return upright rectangles, each as long as the ``class`` stays the same.

    `ticks` are the places along x and y at which `labels`, (along x, along y), were found.
    """
    (left, below), (width, height) = ticks, ((a[1] - a[0]) / 2 for a in ticks)
    rows = []
    for u, column in zip(left.tolist(), labels, strict=True):
        ends = np.flatnonzero(np.append(column[1:] != column[:-1], True))
        for start, end in zip([0, *(ends[:-1] + 1)], ends, strict=True):
            corners = (u - width, below[start] - height), (u + width, below[end] + height)
            rows.append(make_line(*corners) | {"class": str(column[start])})
    return rows


def list_borders(ticks: Sequence[FloatArray], labels: Array) -> list[Row]:
    """Return the lines between neighbouring places of a grid that have different labels.

    >>> list_borders([np.arange(2.0)] * 2, np.array([["a", "a"], ["b", "b"]]))
    [{'x': 0.5, 'y': -0.5, 'x2': 0.5, 'y2': 1.5}]
    """
    rows = []
    width, height = (float(a[1] - a[0]) / 2 for a in ticks)
    along_x, along_y = (a.tolist() for a in ticks)
    for i, (first, last) in _find_stretches(labels[1:] != labels[:-1]):
        x = along_x[i] + width
        rows.append(make_line((x, along_y[first] - height), (x, along_y[last] + height)))
    for j, (first, last) in _find_stretches((labels[:, 1:] != labels[:, :-1]).T):
        y = along_y[j] + height
        rows.append(make_line((along_x[first] - width, y), (along_x[last] + width, y)))
    return rows


def _find_stretches(changes: Array) -> list[tuple[int, tuple[int, int]]]:
    """Return the number of a line, and the first and last place of every stretch that is true."""
    stretches = []
    for number, line in enumerate(changes):
        steps = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
        stretches += [(number, (int(a), int(b) - 1)) for a, b in steps.reshape(-1, 2)]
    return stretches
