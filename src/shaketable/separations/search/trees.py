"""Nearest neighbours across groups of points in few dimensions, by k-d trees.

The trees find; what they find is measured once more by `pnorm`, so that rounding inside a tree
can neither change a distance nor hide that two points are equally near.
"""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.answer import Nearest

MAX_TREE_P = 10
"""Largest order; above it |x|**p underflows inside a tree."""

_VANISHING = 1e-290  # powers that have lost digits inside a tree
_MARGIN = 1 + 1e-9  # relative; what lies closer together than that is measured once more


def search(
    x: Array,
    group: IntArray,
    p: float,
    *,
    of: Array | None = None,
    cell: IntArray | None = None,
    part: IntArray | None = None,
    top: int = 0,
) -> Nearest:
    """Find nearest points of other groups, as `neighbours.search` describes."""
    x = np.asarray(x, np.float64)
    near, who = np.full(len(x), math.inf), np.zeros(len(x), np.int64)
    in_part = np.zeros(len(x), np.int64) if part is None else part
    in_cell = np.zeros(len(x), np.int64) if cell is None else cell
    cells = np.full((in_cell.max() + 1,) * 2, math.inf)
    parts = np.full(3, math.inf)
    everyone = cell is not None or part is not None or top > 0 or of is None
    for g, in_part_g in sorted(set(zip(group.tolist(), in_part.tolist(), strict=True))):
        targets = np.flatnonzero((group == g) & (in_part == in_part_g))
        queries = np.flatnonzero((group != g) & (True if everyone else of))
        if not len(queries):
            continue
        distance, index = _nearest(x[queries], x[targets], p)
        found = targets[index]
        better = (distance < near[queries]) | ((distance == near[queries]) & (found < who[queries]))
        near[queries[better]], who[queries[better]] = distance[better], found[better]
        np.minimum.at(parts, in_part[queries] + in_part_g, distance)
        cell_g = in_cell[targets[0]]
        ends = np.minimum(in_cell[queries], cell_g), np.maximum(in_cell[queries], cell_g)
        np.minimum.at(cells, ends, distance)
    closest, rows = _closest(x, group, p, near, top)
    wanted = np.zeros(len(x), bool) if of is None else of
    return Nearest(np.where(wanted, near, -1.0), who, cells, parts, closest, rows)


def _nearest(queries: FloatArray, targets: FloatArray, p: float) -> tuple[FloatArray, IntArray]:
    """Distance to the nearest target for every query, and the first one at that distance."""
    from scipy.spatial import cKDTree  # 0.3 s, wanted only here

    distinct, first = np.unique(targets, axis=0, return_index=True)
    unit = _unit(targets, queries)
    tree = cKDTree(distinct * unit)
    ranks = list(range(1, min(2, len(distinct)) + 1))
    rough, found = map(np.asarray, tree.query(queries * unit, k=ranks, p=p, workers=-1))
    index = first[found[:, 0]]
    distance = pnorm(queries - targets[index], p)
    powers = rough[:, 0] ** (1 if math.isinf(p) else p)
    for query in np.flatnonzero((powers < _VANISHING) & (distance > 0)):
        each = pnorm(queries[query] - targets, p)
        index[query], distance[query] = each.argmin(), each.min()
    if len(ranks) == 2:
        close = np.flatnonzero(rough[:, 1] <= rough[:, 0] * _MARGIN)
        reach = rough[close, 0] * _MARGIN
        balls = tree.query_ball_point(queries[close] * unit, reach, p=p, workers=-1)
        for query, ball in zip(close, balls, strict=True):
            candidates = np.sort(first[ball])
            each = pnorm(queries[query] - targets[candidates], p)
            index[query] = candidates[each.argmin()]
            distance[query] = each.min()
    return distance, index


def _unit(*points: FloatArray) -> float:
    """Power of two that puts the largest value near 1, so that powers in a tree stay finite."""
    exponents = [math.frexp(np.abs(x).max())[1] for x in points]
    return 2.0 ** -min(1000, max(-1000, *exponents))


def _closest(
    x: FloatArray, group: IntArray, p: float, near: FloatArray, count: int
) -> tuple[FloatArray, IntArray]:
    """The closest pairs: those of the `count` nearest pairs' points, which are 2 `count` at most.

    A pair among the closest has its lower row among the first 2 `count` by (distance, row).
    """
    pairs: set[tuple[float, int, int]] = set()
    for i in np.lexsort((np.arange(len(x)), near))[: 2 * count].tolist():
        others = np.flatnonzero(group != group[i])
        distance = pnorm(x[others] - x[i], p)
        for k in np.lexsort((others, distance))[:count].tolist():
            j = int(others[k])
            pairs.add((float(distance[k]), min(i, j), max(i, j)))
    ordered = sorted(pairs)[:count]
    return (
        np.array([d for d, _, _ in ordered]),
        np.array([(i, j) for _, i, j in ordered], np.int64).reshape(-1, 2),
    )


def pairs_within(x: Array, group: IntArray, p: float, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `neighbours` describes."""
    from scipy.spatial import cKDTree

    x = np.asarray(x, np.float64)
    queries = np.flatnonzero(radius >= 0)
    unit = _unit(x)
    reach = radius[queries] * unit * _MARGIN
    balls = cKDTree(x * unit).query_ball_point(x[queries] * unit, reach, p=p, workers=-1)
    sizes = np.fromiter(map(len, balls), np.int64, len(balls))
    i = np.repeat(queries, sizes)
    j = np.concatenate([np.empty(0, np.int64), *balls]).astype(np.int64)
    keep = group[i] != group[j]
    i, j = i[keep], j[keep]
    keep = pnorm(x[i] - x[j], p) <= radius[i]
    i, j = i[keep], j[keep]
    swap = group[i] > group[j]
    return np.unique(np.column_stack([np.where(swap, j, i), np.where(swap, i, j)]), axis=0)
