"""Search in few dimensions, by k-d trees.

What a tree finds is measured once more by `pnorm`, so that rounding inside the tree can neither
change a distance nor hide that two points are equally near.
"""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.norms import pnorm
from shaketable.core.types import FloatArray, IntArray
from shaketable.separations.search.question import Answer, Question

MAX_TREE_P = 10
"""Largest finite order of the norm; above it |x|**p underflows inside a tree."""

_VANISHING = 1e-290  # powers that have lost digits inside a tree
_MARGIN = 1 + 1e-9  # distances whose ratio is smaller are measured once more


def search(question: Question) -> Answer:
    """Answer as `search.search` does, with distances as measures of every type of data."""
    x, group, p = np.asarray(question.x, np.float64), question.group, question.p
    classes, parts = question.class_codes, question.part_codes
    nearest, opponent = np.full(len(x), math.inf), np.zeros(len(x), np.int64)
    by_class = np.full((classes.max() + 1,) * 2, math.inf)
    by_part = np.full(3, math.inf)
    needed = np.ones(len(x), bool) if question.concerns_all else question.asked
    for target_group, target_part in sorted(set(zip(group.tolist(), parts.tolist(), strict=True))):
        targets = np.flatnonzero((group == target_group) & (parts == target_part))
        queries = np.flatnonzero((group != target_group) & needed)
        if not len(queries):
            continue
        distance, index = _nearest(x[queries], x[targets], p)
        rows = targets[index]
        tied = distance == nearest[queries]
        better = (distance < nearest[queries]) | (tied & (rows < opponent[queries]))
        nearest[queries[better]], opponent[queries[better]] = distance[better], rows[better]
        np.minimum.at(by_part, parts[queries] + target_part, distance)
        target_class = classes[targets[0]]
        ends = (
            np.minimum(classes[queries], target_class),
            np.maximum(classes[queries], target_class),
        )
        np.minimum.at(by_class, ends, distance)
    closest, closest_rows = _closest(x, group, p, nearest, question.closest)
    nearest = np.where(question.asked, nearest, -1.0)
    return Answer(nearest, opponent, by_class, by_part, closest, closest_rows)


def _nearest(queries: FloatArray, targets: FloatArray, p: float) -> tuple[FloatArray, IntArray]:
    """Distance to the nearest target for every query, and the first one at that distance."""
    from scipy.spatial import cKDTree  # 0.3 s, wanted only here

    distinct, first = np.unique(targets, axis=0, return_index=True)
    unit = _unit(targets, queries)
    tree = cKDTree(distinct * unit)
    ranks = list(range(1, min(2, len(distinct)) + 1))
    rough, places = map(np.asarray, tree.query(queries * unit, k=ranks, p=p, workers=-1))
    index = first[places[:, 0]]
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
    x: FloatArray, group: IntArray, p: float, nearest: FloatArray, count: int
) -> tuple[FloatArray, IntArray]:
    """Distances and rows of the `count` closest pairs.

    These pairs have at most 2 `count` points, so the lower row of each is among the first 2 `count`
    rows by distance to the nearest opponent, then by row.
    """
    pairs: set[tuple[float, int, int]] = set()
    for i in np.lexsort((np.arange(len(x)), nearest))[: 2 * count].tolist():
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


def pairs_within(question: Question, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `search.pairs_within`."""
    from scipy.spatial import cKDTree

    x, group, p = np.asarray(question.x, np.float64), question.group, question.p
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
