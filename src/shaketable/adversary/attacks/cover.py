"""Cover: a dense set of points of the region, in one and two dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, declare
from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import TIE
from shaketable.core.checks import check_real
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.spec import Call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.models.classifier import Classifier

_KNOTS = 1 << 10  # per eighth of the circle, to measure its length
_INSET = 1e-6  # distance of the last points from the ends of an arc, in radians


@declare("cover", "resolution=0.05", "the whole region, in one or two dimensions")
@dataclass(frozen=True)
class Cover:
    r"""Query points on rays, so dense that every point of the region is near one of them.

    Near means within `resolution` times epsilon in the norm: :math:`\lVert x'-a\rVert \le
    \text{resolution} \cdot \epsilon`. Neighbouring rays are at most half the resolution apart, and
    neighbouring points of a ray at most one resolution; a ray ends where the region does, and its
    end is queried. Rays are queried ring by ring from the inside; what is found lies on the first
    ring with a misclassified point. In one dimension there are two rays. With ``genuine-exact``
    only points at distance epsilon are queried: in one dimension there are two of them.

    Cells can be narrower than rays are apart, so rays also lead to their corners. These are known
    for the ball and the value range in every norm, for cells in L2, and for the part of the circle
    that ``genuine-exact`` leaves in every norm. For ``genuine-max`` in other norms than L2 the
    statement above holds for points whose neighbourhood, as wide as the resolution, belongs to the
    region.

    >>> Cover(0.01).spec
    'cover(resolution=0.01)'
    """

    resolution: float = 0.05

    def __post_init__(self) -> None:
        share = check_real("resolution", self.resolution, "lie in [1e-6, 1]", low=1e-6, high=1)
        object.__setattr__(self, "resolution", share)

    @property
    def spec(self) -> str:
        """Name and resolution."""
        return str(Call("cover", (), {"resolution": self.resolution}))

    def covers(self, region: Region) -> str:
        """How closely it searches a region, in words."""
        places = f"every place is within {self.resolution:g} epsilon of a queried point"
        narrow = region.constraint == "genuine-max" and region.x.shape[1] > 1 and region.p != 2
        return f"{places}, except in cells narrower than that" if narrow else places

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        require_few_dimensions(region)
        queries = LabelQueries(model, region)
        best, hit = region.x[rows], np.zeros(len(rows), bool)
        rays = len(_spread_directions(region, self.resolution / 2))
        size = max(1, PAIRS // max(len(region.x), rays))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            self._cover(queries, rows[part], y[part], best[part], hit[part])
        return AttackResult(best, hit, queries.count)

    def _cover(
        self, queries: LabelQueries, rows: IntArray, y: IntArray, best: FloatArray, hit: Array
    ) -> None:
        """Query the regions of a few rows, and write what is found to `best` and `hit`."""
        region = queries.region
        owner, ends = self._find_rays(region, rows)
        hit[:] = queries.are_hits(rows, y, best)
        distance = pnorm(ends - region.x[rows[owner]], region.p)
        rings = region.epsilon * np.linspace(0, 1, math.ceil(1 / self.resolution) + 1)[1:]
        if region.constraint == "genuine-exact":
            rings = np.array([np.inf])
        before = 0.0
        for ring in rings:
            asked = np.flatnonzero(~hit[owner] & (distance > before))
            share = np.minimum(1, ring / distance[asked])[:, None]
            origin = region.x[rows[owner[asked]]]
            tried = np.where(share < 1, origin + share * (ends[asked] - origin), ends[asked])
            hits = queries.are_hits(rows[owner[asked]], y[owner[asked]], tried)
            new, first = np.unique(owner[asked[hits]], return_index=True)
            hit[new], best[new] = True, tried[hits][first]
            before = ring

    def _find_rays(self, region: Region, rows: IntArray) -> tuple[IntArray, FloatArray]:
        """Ends of all rays, and the place in `rows` of the row that each belongs to."""
        circle = _spread_directions(region, self.resolution / 2)
        owners = [np.arange(len(rows)).repeat(len(circle))]
        units = [np.tile(circle, (len(rows), 1))]
        for extra, directions in _find_corners(region, rows):
            owners.append(extra)
            units.append(directions)
        owner, unit = np.concatenate(owners), np.concatenate(units)
        unit = unit / pnorm(unit, region.p)[:, None]
        origin, bounds = region.x[rows[owner]], region.bounds
        reach = np.full(len(owner), region.epsilon)
        if bounds is not None and region.constraint != "genuine-exact":
            room = np.where(unit > 0, bounds.high - origin, origin - bounds.low)
            with np.errstate(divide="ignore", invalid="ignore"):
                walls = np.where(unit == 0, np.inf, room / np.abs(unit))
            reach = np.minimum(reach, walls.min(axis=1))
        ends = origin + reach[:, None] * unit
        if bounds is not None:  # rounding may carry ends out of the value range
            near = np.clip(ends, bounds.low, bounds.high)
            ends = np.where(np.abs(near - ends) <= TIE * region.epsilon, near, ends)
        if region.constraint != "genuine-exact":
            ends = region.pull(rows[owner], ends)
        return owner, ends


def _spread_directions(region: Region, gap: float) -> FloatArray:
    """Unit vectors all around, at most `gap` apart in the norm, corners of the ball included."""
    if region.x.shape[1] == 1:
        return np.array([[-1.0], [1.0]])
    angles = []
    for eighth in range(8):  # so that the corners of L1 and L-inf are among them
        knots = np.linspace(eighth, eighth + 1, _KNOTS + 1) * np.pi / 4
        along = np.cumsum(pnorm(np.diff(point_at_angles(knots, region.p), axis=0), region.p))
        count = math.ceil(along[-1] * (1 + 1e-3) / gap)  # chords are shorter than the arc
        where = np.linspace(0, along[-1], count, endpoint=False)
        angles.append(np.interp(where, np.concatenate([[0], along]), knots))
    return point_at_angles(np.concatenate(angles), region.p)


def _find_corners(region: Region, rows: IntArray) -> list[tuple[IntArray, FloatArray]]:
    """Directions in which the region may be narrow, each with the position of its row in `rows`."""
    if region.x.shape[1] == 1:
        return []
    if region.constraint == "genuine-exact":
        owner, begin, end = find_free_arcs(region, rows)
        inset = np.minimum(_INSET, (end - begin) / 4)
        angles = np.concatenate([begin + inset, (begin + end) / 2, end - inset])
        return [(np.tile(owner, 3), point_at_angles(angles, region.p))]
    corners = []
    if region.bounds is not None:
        walls = np.array([region.bounds.low, region.bounds.high])
        for corner in np.stack(np.meshgrid(walls, walls), axis=-1).reshape(-1, 2):
            towards = corner - region.x[rows]
            places = np.flatnonzero(towards.any(axis=1))
            corners.append((places, towards[places]))
    if region.voronoi is not None and region.p == 2 and region.epsilon > 0:
        for place, row in enumerate(rows):
            vertices = _find_vertices(region, row)
            corners.append((np.full(len(vertices), place), vertices))
    return corners


def _find_vertices(region: Region, row: int) -> FloatArray:
    """Corners of a Voronoi cell in L2, relative to its point; only neighbours in reach count.

    Corners v solve v·a = v·b = 1 for two neighbours of the cell, where a and b are the duals
    2z/|z|^2, or u/r for a wall in direction u at distance r: they are the edges of the convex hull
    of all duals. A frame around the ball closes open cells.
    """
    from scipy.spatial import ConvexHull

    z = region.x - region.x[row]
    square = np.square(z).sum(axis=1)
    near = (square > 0) & (square <= (2 * region.epsilon) ** 2)
    frame = np.concatenate([np.eye(2), -np.eye(2)]) / (2 * region.epsilon)
    _, walls, room = find_walls(region, np.array([row]))
    walls = walls / np.maximum(room, TIE * region.epsilon)[:, None]  # x itself may be on one
    duals = np.concatenate([2 * z[near] / square[near, None], walls, frame])
    scale = np.abs(duals).max()
    faces = ConvexHull(duals / scale).equations
    return np.asarray(faces[:, :2] / (-faces[:, 2:] * scale))


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
    if not region.has_plain_cells:
        raise InputError(
            "a cover is for cells of points that move in all their columns, got those of a table "
            "or of an embedding; use random or rays"
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
