"""Arcs of a circle that belong to a Voronoi cell: the ``genuine-exact`` region in the plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shaketable.adversary.region import Region
from shaketable.adversary.voronoi.cells import TIE
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray

PAIRS = 1 << 20
"""Pairs of a point and a neighbour, or of a point and a ray, that are processed together."""

_HALVINGS = 54  # bisection of an angle to the last bit
_NEAREST = 32  # neighbours that take most of a circle


class Arcs(NamedTuple):
    """Arcs of circles around rows."""

    owner: IntArray
    """Place of the row that each arc belongs to."""
    begin: FloatArray
    """Angle in radians, in [0, 2 pi)."""
    end: FloatArray


def has_room(region: Region, rows: IntArray) -> Array:
    r"""Whether the ``genuine-exact`` region of each row holds a point; exact in 1 and 2 dimensions.

    In one dimension the two points at distance epsilon are tested. In the plane every neighbour z
    takes a connected arc out of the circle of radius epsilon, the points at distance epsilon or
    less from z: away from the direction of z, distances from it only grow along the circle, in
    every norm (monotonicity lemma; Martini, Swanepoel & Weiss, Expo. Math. 2001, Prop. 31). In L2
    the arc is

    .. math:: |\theta - \theta_z| \le \arccos \frac{\lVert z - x\rVert}{2\epsilon}

    and in other norms its ends are bisected to the last bit. Bounds of the value range take arcs as
    well. A row has room if an arc is left. (Single points that closed bounds might leave between
    arcs are not looked for.)
    """
    require_few_dimensions(region)
    if region.x.shape[1] == 1:
        both = [region.contains(rows, region.x[rows] + s * region.epsilon) for s in (-1, 1)]
        return np.asarray(both[0] | both[1])
    room = np.zeros(len(rows), bool)
    size = max(1, PAIRS // len(region.x))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        owner, begin, end = find_free_arcs(region, part)
        step = region.epsilon * point_at_angles((begin + end) / 2, region.p)
        moved = region.x[part[owner]] + step
        if region.bounds is not None:
            moved = np.clip(moved, region.bounds.low, region.bounds.high)
        inside = region.contains(part[owner], moved)
        room[start + owner[inside]] = True
    return room


def require_few_dimensions(region: Region) -> None:
    """Refuse regions of more than two dimensions, or with p below 1."""
    d = region.x.shape[1]
    if region.beside is not None:
        raise InputError(
            "a cover is for cells of points that move in all their columns, got those of a table; "
            "use random or rays"
        )
    if d > 2:
        raise InputError(f"covers are for 1 or 2 dimensions, got {d}; use random search")
    if region.p < 1:
        raise InputError(f"covers need a norm, p of 1 or more, got {region.p!r}")


def point_at_angles(angle: FloatArray, p: float) -> FloatArray:
    """Unit vectors of the p-norm at these angles, (angles, 2)."""
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    unit[np.abs(unit) < 1e-15] = 0  # of the axes
    return np.asarray(unit / pnorm(unit, p)[:, None])


def find_free_arcs(region: Region, rows: IntArray) -> Arcs:
    """Arcs of the circle of radius epsilon that lie in the Voronoi cells of these rows."""
    roughly = _find_gaps(_find_taken_arcs(region, rows, most=_NEAREST), len(rows))
    left = np.unique(roughly.owner)  # the nearest neighbours leave little for others to take
    free = _find_gaps(_find_taken_arcs(region, rows[left], most=len(region.x)), len(left))
    return free._replace(owner=left[free.owner])


def _find_gaps(taken: Arcs, n: int) -> Arcs:
    """Arcs of n circles that remain between those taken."""
    order = np.lexsort((taken.begin, taken.owner))
    starts = np.searchsorted(taken.owner[order], np.arange(n + 1))
    arcs: list[tuple[int, float, float]] = []
    for row in range(n):
        own = order[starts[row] : starts[row + 1]]
        if not len(own):
            arcs.append((row, 0.0, 2 * np.pi))
            continue
        begin, end = taken.begin[own], taken.end[own]
        past = end.max() - 2 * np.pi  # arcs may go on beyond a full turn
        reached = np.maximum(np.maximum.accumulate(end), past)
        following = np.append(begin[1:], begin[0] + 2 * np.pi)
        free = following > reached + 4 * TIE
        arcs += [(row, *arc) for arc in zip(reached[free], following[free], strict=True)]
    table = np.array(arcs, dtype=np.float64).reshape(-1, 3)
    return Arcs(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


def _find_taken_arcs(region: Region, rows: IntArray, *, most: int) -> Arcs:
    """Arcs of the circle that bounds and up to `most` nearest neighbours per row take."""
    epsilon, p = region.epsilon, region.p
    owner, z = _find_neighbours(region, rows, most)
    wall_owner, walls, room = find_walls(region, rows)
    towards = np.concatenate([z, walls])
    middle = np.arctan2(towards[:, 1], towards[:, 0])

    def is_taken(angle: FloatArray) -> Array:
        step = epsilon * point_at_angles(angle, p)
        by_points = pnorm(step[: len(z)] - z, p) <= epsilon * (1 + TIE)
        by_walls = (step[len(z) :] * walls).sum(axis=1) > room + TIE * epsilon
        return np.concatenate([by_points, by_walls])

    if p == 2:
        share = np.concatenate([pnorm(z, 2) / 2, room]) / epsilon
        back = forth = np.arccos(np.minimum(share, 1))
    else:
        back, forth = (_find_last(is_taken, middle, way) for way in (-1, 1))
    begin = middle - back
    turns = np.floor(begin / (2 * np.pi)) * 2 * np.pi
    return Arcs(np.concatenate([owner, wall_owner]), begin - turns, middle + forth - turns)


def _find_last(is_taken: Callable[[FloatArray], Array], middle: FloatArray, way: int) -> FloatArray:
    """Largest angle from the middle, below pi, up to which angles are taken in one direction."""
    low, high = np.zeros(len(middle)), np.full(len(middle), np.pi)
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        inside = is_taken(middle + way * half)
        low, high = np.where(inside, half, low), np.where(inside, high, half)
    return high


def _find_neighbours(region: Region, rows: IntArray, most: int) -> tuple[IntArray, FloatArray]:
    """Steps to the nearest other points within two epsilon, and the places of their rows."""
    n = len(region.x)
    z = region.x - region.x[rows][:, None]
    distance = pnorm(z.reshape(-1, 2), region.p).reshape(len(rows), n)
    distance[(distance == 0) | (distance > 2 * region.epsilon * (1 + TIE))] = np.inf
    which = np.argpartition(distance, min(most, n - 1), axis=1)[:, :most]
    owner, place = np.nonzero(np.isfinite(np.take_along_axis(distance, which, axis=1)))
    return owner, z[owner, which[owner, place]]


def find_walls(region: Region, rows: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Bounds of the value range within epsilon: places of rows, directions, and distances."""
    axes = np.concatenate([np.eye(2), -np.eye(2)])
    if region.bounds is None:
        return np.zeros(0, np.int64), axes[:0], np.zeros(0)
    x = region.x[rows]
    room = np.concatenate([region.bounds.high - x, x - region.bounds.low], axis=1)
    owner, which = np.nonzero(room < region.epsilon * (1 - TIE))
    return owner, axes[which], room[owner, which]
