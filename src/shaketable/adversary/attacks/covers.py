"""Covers in one and two dimensions: every point of the region has an asked one near it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shaketable.adversary.attacks.attack import Found
from shaketable.adversary.attacks.searches import Questions
from shaketable.adversary.cells.cells import TIE
from shaketable.adversary.region import Region
from shaketable.core.checks import check_real
from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.spec import Call
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.models.classifier import Classifier

_PAIRS = 1 << 20  # of a point and a neighbour or a ray, that are looked at together
_KNOTS = 1 << 10  # of an eighth of the circle, to measure its length
_HALVINGS = 54
_FEW = 32  # neighbours that take most of a circle
_INSET = 1e-6  # of the last points before the end of an arc, in radians


class Arcs(NamedTuple):
    """Arcs of circles: which circle, and angles from where to where, the first below 2 pi."""

    of: IntArray
    begin: FloatArray
    end: FloatArray


@dataclass(frozen=True)
class Cover:
    r"""Rays of asked points, so dense that every point of the region is near one of them.

    Near is within `resolution` of epsilon, in the norm: :math:`\lVert x'-a\rVert \le
    \text{resolution} \cdot \epsilon`. Rays are half the resolution apart where they are farthest,
    points of a ray one resolution; a ray ends where the region does, and its end is asked about.
    What is found lies on the first ring, from the inside, that holds a wrong label. On the line the
    rays are two, and with ``genuine-exact`` only points epsilon away are asked about: there two
    points are all.

    For it to hold in cells that are narrower than rays are apart, rays also lead to their corners.
    They are known for the ball and the value range in every norm, for cells in L2, and for what
    ``genuine-exact`` leaves of the circle in every norm. For ``genuine-max`` in other norms it
    holds for all points whose surroundings, as wide as the resolution, belong to the region.

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
        """How closely it looks at a region, in words."""
        places = f"all places within {self.resolution:g} epsilon of one that was asked about"
        narrow = region.constraint == "genuine-max" and region.x.shape[1] > 1 and region.p != 2
        return f"{places}, but for cells narrower than that" if narrow else places

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> Found:
        """Search for wrong labels around these rows of the region's points."""
        _require_few_dimensions(region)
        questions = Questions(model, region)
        best, hit = region.x[rows], np.zeros(len(rows), bool)
        size = max(1, _PAIRS // max(len(region.x), len(_circle(region, self.resolution / 2))))
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            self._cover(questions, rows[some], y[some], best[some], hit[some])
        return Found(best, hit, questions.asked)

    def _cover(
        self, questions: Questions, rows: IntArray, y: IntArray, best: FloatArray, hit: Array
    ) -> None:
        """Ask about a few rows, and write down what is found."""
        region = questions.region
        of, ends = self._rays(region, rows)
        hit[:] = questions.wrong(rows, y, best)
        distance = pnorm(ends - region.x[rows[of]], region.p)
        rings = region.epsilon * np.linspace(0, 1, math.ceil(1 / self.resolution) + 1)[1:]
        if region.constraint == "genuine-exact":
            rings = np.array([np.inf])
        before = 0.0
        for ring in rings:
            ask = np.flatnonzero(~hit[of] & (distance > before))
            share = np.minimum(1, ring / distance[ask])[:, None]
            origin = region.x[rows[of[ask]]]
            tried = np.where(share < 1, origin + share * (ends[ask] - origin), ends[ask])
            wrong = questions.wrong(rows[of[ask]], y[of[ask]], tried)
            found, first = np.unique(of[ask[wrong]], return_index=True)
            hit[found], best[found] = True, tried[wrong][first]
            before = ring

    def _rays(self, region: Region, rows: IntArray) -> tuple[IntArray, FloatArray]:
        """Ends of all rays: which of the rows each is of, and where it ends."""
        circle = _circle(region, self.resolution / 2)
        of = [np.arange(len(rows)).repeat(len(circle))]
        units = [np.tile(circle, (len(rows), 1))]
        for extra, directions in _corners(region, rows):
            of.append(extra)
            units.append(directions)
        row, unit = np.concatenate(of), np.concatenate(units)
        unit = unit / pnorm(unit, region.p)[:, None]
        origin, bounds = region.x[rows[row]], region.bounds
        reach = np.full(len(row), region.epsilon)
        if bounds is not None and region.constraint != "genuine-exact":
            room = np.where(unit > 0, bounds.high - origin, origin - bounds.low)
            with np.errstate(divide="ignore", invalid="ignore"):
                walls = np.where(unit == 0, np.inf, room / np.abs(unit))
            reach = np.minimum(reach, walls.min(axis=1))
        ends = origin + reach[:, None] * unit
        if bounds is not None:  # rounding may carry ends through the walls
            near = np.clip(ends, bounds.low, bounds.high)
            ends = np.where(np.abs(near - ends) <= TIE * region.epsilon, near, ends)
        if region.constraint != "genuine-exact":
            ends = region.held(rows[row], ends)
        return row, ends


def remaining(region: Region, rows: IntArray) -> Array:
    r"""Whether the ``genuine-exact`` region of these rows holds a point at all: exact.

    On the line the two points epsilon away are looked at. In the plane every neighbour z takes a
    connected arc out of the circle of radius epsilon, the points that are epsilon or less from z:
    away from the direction of z, distances from it only grow along the circle, in every norm
    (monotonicity lemma; Martini, Swanepoel & Weiss, Expo. Math. 2001, Prop. 31). In L2 it is

    .. math:: |\theta - \theta_z| \le \arccos \frac{\lVert z - x\rVert}{2\epsilon}

    and in others its ends are bisected to the last bit. So do walls of the value range. What all of
    them leave is a union of arcs, and x remains if there is one. (Single points that closed walls
    might leave between arcs are not looked for.)
    """
    _require_few_dimensions(region)
    if region.x.shape[1] == 1:
        both = [region.contains(rows, region.x[rows] + s * region.epsilon) for s in (-1, 1)]
        return np.asarray(both[0] | both[1])
    left = np.zeros(len(rows), bool)
    size = max(1, _PAIRS // len(region.x))
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        row, begin, end = _free_arcs(region, some)
        step = region.epsilon * _directions((begin + end) / 2, region.p)
        moved = region.x[some[row]] + step
        if region.bounds is not None:
            moved = np.clip(moved, region.bounds.low, region.bounds.high)
        inside = region.contains(some[row], moved)
        left[start + row[inside]] = True
    return left


def _require_few_dimensions(region: Region) -> None:
    d = region.x.shape[1]
    if d > 2:
        raise InputError(f"covers are for 1 or 2 dimensions, got {d}; use random search")
    if region.p < 1:
        raise InputError(f"covers need a norm, p of 1 or more, got {region.p!r}")


def _circle(region: Region, gap: float) -> FloatArray:
    """Unit vectors all around, corners of the ball among them, at most `gap` apart in the norm."""
    if region.x.shape[1] == 1:
        return np.array([[-1.0], [1.0]])
    angles = []
    for eighth in range(8):  # so the corners of L1 and L-inf are met
        knots = np.linspace(eighth, eighth + 1, _KNOTS + 1) * np.pi / 4
        along = np.cumsum(pnorm(np.diff(_directions(knots, region.p), axis=0), region.p))
        count = math.ceil(along[-1] * (1 + 1e-3) / gap)  # knots cut corners
        where = np.linspace(0, along[-1], count, endpoint=False)
        angles.append(np.interp(where, np.concatenate([[0], along]), knots))
    return _directions(np.concatenate(angles), region.p)


def _directions(angle: FloatArray, p: float) -> FloatArray:
    """Unit vectors of the p-norm, by their angle."""
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    unit[np.abs(unit) < 1e-15] = 0  # of the axes
    return np.asarray(unit / pnorm(unit, p)[:, None])


def _corners(region: Region, rows: IntArray) -> list[tuple[IntArray, FloatArray]]:
    """Directions in which the region may be narrow, and which of the rows they are of."""
    if region.x.shape[1] == 1:
        return []
    if region.constraint == "genuine-exact":
        row, begin, end = _free_arcs(region, rows)
        inset = np.minimum(_INSET, (end - begin) / 4)
        angles = np.concatenate([begin + inset, (begin + end) / 2, end - inset])
        return [(np.tile(row, 3), _directions(angles, region.p))]
    corners = []
    if region.bounds is not None:
        walls = np.array([region.bounds.low, region.bounds.high])
        for corner in np.stack(np.meshgrid(walls, walls), axis=-1).reshape(-1, 2):
            towards = corner - region.x[rows]
            some = np.flatnonzero(towards.any(axis=1))
            corners.append((some, towards[some]))
    if region.cells is not None and region.p == 2 and region.epsilon > 0:
        for i, row in enumerate(rows):
            vertices = _vertices(region, row)
            corners.append((np.full(len(vertices), i), vertices))
    return corners


def _vertices(region: Region, row: int) -> FloatArray:
    """Corners of a cell in L2, seen from its point, as far as neighbours within reach decide.

    Corners v solve v·a = v·b = 1 for two neighbours of the cell, a and b the duals 2z/|z|^2, or
    u/r for a wall in direction u at the distance r: they are the edges of the convex hull of all
    duals (a frame around the ball closes open cells).
    """
    from scipy.spatial import ConvexHull

    z = region.x - region.x[row]
    square = np.square(z).sum(axis=1)
    near = (square > 0) & (square <= (2 * region.epsilon) ** 2)
    frame = np.concatenate([np.eye(2), -np.eye(2)]) / (2 * region.epsilon)
    _, walls, room = _walls(region, np.array([row]))
    walls = walls / np.maximum(room, TIE * region.epsilon)[:, None]  # x itself may be on one
    duals = np.concatenate([2 * z[near] / square[near, None], walls, frame])
    scale = np.abs(duals).max()
    faces = ConvexHull(duals / scale).equations
    return np.asarray(faces[:, :2] / (-faces[:, 2:] * scale))


def _free_arcs(region: Region, rows: IntArray) -> Arcs:
    """Arcs of the circle of radius epsilon that are in the cells of these rows."""
    few = _between(_taken_arcs(region, rows, most=_FEW), len(rows))
    left = np.unique(few.of)  # near neighbours leave little that others could take
    free = _between(_taken_arcs(region, rows[left], most=len(region.x)), len(left))
    return free._replace(of=left[free.of])


def _between(taken: Arcs, n: int) -> Arcs:
    """Arcs that are left between those that are taken from n circles."""
    order = np.lexsort((taken.begin, taken.of))
    starts = np.searchsorted(taken.of[order], np.arange(n + 1))
    arcs: list[tuple[int, float, float]] = []
    for row in range(n):
        mine = order[starts[row] : starts[row + 1]]
        if not len(mine):
            arcs.append((row, 0.0, 2 * np.pi))
            continue
        begin, end = taken.begin[mine], taken.end[mine]
        past = end.max() - 2 * np.pi  # what is taken beyond a full turn
        reached = np.maximum(np.maximum.accumulate(end), past)
        following = np.append(begin[1:], begin[0] + 2 * np.pi)
        free = following > reached + 4 * TIE
        arcs += [(row, *arc) for arc in zip(reached[free], following[free], strict=True)]
    table = np.array(arcs, dtype=np.float64).reshape(-1, 3)
    return Arcs(table[:, 0].astype(np.int64), table[:, 1], table[:, 2])


def _taken_arcs(region: Region, rows: IntArray, *, most: int) -> Arcs:
    """Arcs of the circle that walls and so many of the nearest neighbours take."""
    epsilon, p = region.epsilon, region.p
    of, z = _near(region, rows, most)
    wall_of, walls, room = _walls(region, rows)
    towards = np.concatenate([z, walls])
    middle = np.arctan2(towards[:, 1], towards[:, 0])

    def taken(angle: FloatArray) -> Array:
        step = epsilon * _directions(angle, p)
        by_points = pnorm(step[: len(z)] - z, p) <= epsilon * (1 + TIE)
        by_walls = (step[len(z) :] * walls).sum(axis=1) > room + TIE * epsilon
        return np.concatenate([by_points, by_walls])

    if p == 2:
        share = np.concatenate([pnorm(z, 2) / 2, room]) / epsilon
        back = forth = np.arccos(np.minimum(share, 1))
    else:
        back, forth = (_last(taken, middle, way) for way in (-1, 1))
    begin = middle - back
    turns = np.floor(begin / (2 * np.pi)) * 2 * np.pi
    return Arcs(np.concatenate([of, wall_of]), begin - turns, middle + forth - turns)


def _last(taken: Callable[[FloatArray], Array], middle: FloatArray, way: int) -> FloatArray:
    """How far from the middle, one way around, angles are taken: at 0 they are, at pi not."""
    low, high = np.zeros(len(middle)), np.full(len(middle), np.pi)
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        inside = taken(middle + way * half)
        low, high = np.where(inside, half, low), np.where(inside, high, half)
    return high


def _near(region: Region, rows: IntArray, most: int) -> tuple[IntArray, FloatArray]:
    """Steps to the nearest points that do not coincide, within two epsilon, and their rows."""
    n = len(region.x)
    z = region.x - region.x[rows][:, None]
    distance = pnorm(z.reshape(-1, 2), region.p).reshape(len(rows), n)
    distance[(distance == 0) | (distance > 2 * region.epsilon * (1 + TIE))] = np.inf
    which = np.argpartition(distance, min(most, n - 1), axis=1)[:, :most]
    of, place = np.nonzero(np.isfinite(np.take_along_axis(distance, which, axis=1)))
    return of, z[of, which[of, place]]


def _walls(region: Region, rows: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Walls of the value range within epsilon: rows, directions, and how far off they are."""
    axes = np.concatenate([np.eye(2), -np.eye(2)])
    if region.bounds is None:
        return np.zeros(0, np.int64), axes[:0], np.zeros(0)
    x = region.x[rows]
    room = np.concatenate([region.bounds.high - x, x - region.bounds.low], axis=1)
    row, which = np.nonzero(room < region.epsilon * (1 - TIE))
    return row, axes[which], room[row, which]
