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
    """Return rectangles that cover the plane, each with the ``class`` of all places in it.

    `ticks` are the places along x and y at which `labels`, (along x, along y), were found. A
    rectangle is as high as the label stays the same, and as wide as the next columns have the same.

    >>> list_regions([np.arange(2.0)] * 2, np.array([["a", "b"], ["a", "b"]]))[0]
    {'x': -0.5, 'y': -0.5, 'x2': 1.5, 'y2': 0.5, 'class': 'a'}
    """
    width, height = (float(a[1] - a[0]) / 2 for a in ticks)
    along_x, along_y = (a.tolist() for a in ticks)
    rows: list[Row] = []
    before: dict[tuple[int, int, str], Row] = {}
    for x, column in zip(along_x, labels, strict=True):
        ends = np.flatnonzero(np.append(column[1:] != column[:-1], True)).tolist()
        here = {}
        for start, end in zip([0, *(e + 1 for e in ends[:-1])], ends, strict=True):
            key = start, end, str(column[start])
            if key not in before:
                corners = (x - width, along_y[start] - height), (x, along_y[end] + height)
                rows.append(make_line(*corners) | {"class": key[2]})
            here[key] = before.get(key, rows[-1])
            here[key]["x2"] = x + width
        before = here
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
