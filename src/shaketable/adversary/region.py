"""Where an adversary may move a point: a ball, the value range, and maybe a Voronoi cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.bounds import Bounds
from shaketable.data.frames.schema import TableSchema

Constraint: TypeAlias = Literal["none", "genuine-max", "genuine-exact"]

TOLERANCE = 1e-6
"""Share of epsilon by which a point may lie outside its ball, or off its surface.

Off the surface, the rounding to the model's number type comes on top.
"""

_HALVINGS = 36  # bisection steps for the length of a clipped step


@dataclass(frozen=True, eq=False)
class Held:
    """Rows of a table of which only some columns move; all others are held as they are."""

    rows: Array
    """The evaluated rows with all their columns, (n, columns)."""
    table: TableSchema

    @property
    def moving(self) -> FloatArray:
        """Values of the columns that move, (n, d); 0 where they are missing."""
        return np.nan_to_num(self.rows[:, self.table.moved].astype(np.float64))

    @property
    def schema(self) -> TableSchema:
        """What is known of the columns that move."""
        return self.table.take(np.flatnonzero(self.table.moved).tolist())

    def find_gaps(self, rows: IntArray) -> Array:
        """Which values of the columns that move are missing, (rows, d)."""
        return np.isnan(self.rows[np.ix_(rows, self.table.moved)])

    def complete(self, rows: IntArray, moved: Array) -> Array:
        """Rows with all their columns; values that are missing stay so."""
        whole, gaps = self.rows[rows], self.find_gaps(rows)
        whole[:, self.table.moved] = np.where(gaps, np.nan, self.schema.enforce(moved))
        return whole

    def extract(self, points: Array) -> Array:
        """Values of the columns that move; 0 where they are missing."""
        return np.nan_to_num(points[:, self.table.moved])


@dataclass(frozen=True, eq=False)
class Region:
    """For every evaluated point the set of points that are adversarial if they are misclassified.

    ``none``: the ball of radius epsilon. ``genuine-max``: the part of the ball that is closer to
    the point than to any other evaluated point. ``genuine-exact``: of that part, only points at
    distance epsilon. All within the value range, where one is declared.
    """

    x: FloatArray
    """Evaluated points, (n, d), flattened, in their own units; of a table what moves."""
    shape: tuple[int, ...]
    """Shape of a point, as models take it."""
    dtype: np.dtype[Any]
    """Number type that models take; only points that it can represent count."""
    p: float
    epsilon: float
    constraint: Constraint = "none"
    voronoi: VoronoiCells | None = None
    """Voronoi cells of the same points, for the genuine constraints."""
    bounds: Bounds | None = None
    held: Held | None = None
    """All columns of the points, if only some of them move; `x` has those that move."""
    beside: FloatArray | None = None
    """More coordinates of the points, in which they do not move, but cells are apart, (n, m)."""
    labels: IntArray | None = None
    """Class codes that the model gives all points; None if attacks have to ask for them."""

    def contains(self, rows: IntArray, moved: Array) -> Array:
        """Whether points, one per row, lie in the region of their row; computed in float64."""
        exact, origin = moved.astype(np.float64), self.x[rows]
        distance = pnorm(exact - origin, self.p)
        inside = distance <= self.epsilon * (1 + TOLERANCE)
        if self.constraint == "genuine-exact":
            grain = float(np.finfo(self.dtype).eps)
            slack = TOLERANCE * self.epsilon + grain * pnorm(exact, self.p)
            inside = np.abs(distance - self.epsilon) <= slack
        if self.bounds is not None:
            low, high = self.value_range(origin)
            inside &= ((exact >= low) & (exact <= high)).all(axis=1)
        if self.voronoi is not None and inside.any():
            place = self._put_beside(rows[inside], exact[inside])
            inside[inside] = self.voronoi.contains(rows[inside], place)
        return np.asarray(inside)

    def project(self, rows: IntArray, moved: FloatArray) -> FloatArray:
        """Bring points back: to the ball, the value range, and along the ray into the cell.

        With ``genuine-exact`` to the surface of the ball, within the range: a result that lies
        outside the cell, or has no room for a step of that length, is not in the region.
        """
        origin = self.x[rows]
        step = moved - origin
        if self.constraint == "genuine-exact":
            return self._project_to_surface(origin, step)
        if math.isinf(self.p):
            step = np.clip(step, -self.epsilon, self.epsilon)
        else:
            length = pnorm(step, self.p)
            step *= np.minimum(1, self.epsilon / np.where(length > 0, length, 1))[:, None]
        projected = origin + step
        if self.bounds is not None:
            projected = np.clip(projected, self.bounds.low, self.bounds.high)
        if self.voronoi is None:
            return projected
        pulled = self.voronoi.pull_inside(rows, self._put_beside(rows, projected))
        return pulled[:, : projected.shape[1]]

    def _put_beside(self, rows: IntArray, moved: Array) -> Array:
        return moved if self.beside is None else np.hstack([moved, self.beside[rows]])

    def _project_to_surface(self, origin: FloatArray, step: FloatArray) -> FloatArray:
        """Ends of steps that are epsilon long after clipping to the value range.

        The factor before clipping is found by bisection, up to 2^10.
        """
        length = pnorm(step, self.p)
        step *= (self.epsilon / np.where(length > 0, length, 1))[:, None]
        moved = origin + step
        if self.bounds is None:
            return moved
        out = ((moved < self.bounds.low) | (moved > self.bounds.high)).any(axis=1)
        origin, step = origin[out], step[out]
        low, high = np.zeros(len(step)), np.full(len(step), 10.0)  # powers of two
        for _ in range(_HALVINGS if len(step) else 0):
            power = (low + high) / 2
            tried = origin + np.exp2(power)[:, None] * step
            moved[out] = np.clip(tried, self.bounds.low, self.bounds.high)
            short = pnorm(moved[out] - origin, self.p) < self.epsilon
            low, high = np.where(short, power, low), np.where(short, high, power)
        return moved

    def round_for_model(self, rows: IntArray, moved: Array) -> Array:
        """Round points, one per row, to the model's number type, and reshape them for the model.

        Numbers are rounded towards the row's point, so that rounding carries no point out of the
        ball or the value range; with ``genuine-exact`` to the nearest number within the range.
        """
        cast: Array = moved.astype(self.dtype)
        if moved.dtype != self.dtype:
            origin, exact = self.x[rows], cast.astype(np.float64)
            if self.constraint != "genuine-exact":
                beyond = np.abs(exact - origin) > np.abs(moved - origin)
            elif self.bounds is not None:
                low, high = self.value_range(origin)
                beyond = (exact < low) | (exact > high)
            else:
                beyond = np.zeros(1, bool)
            cast = np.where(beyond, np.nextafter(cast, origin.astype(self.dtype)), cast)
        return self.cast_for_model(rows, cast)

    def cast_for_model(self, rows: IntArray, points: Array) -> Array:
        """Points, one per row, in the model's number type, rounded to nearest, and in its shape."""
        cast = points.astype(self.dtype, copy=False)
        if self.held is not None:
            return self.held.complete(rows, cast)
        return cast.reshape(len(points), *self.shape)

    def extract(self, points: Array) -> Array:
        """Return the values that move, (points, d), of points as models take them."""
        if self.held is not None:
            return self.held.extract(points)
        return points.reshape(len(points), self.x.shape[1])

    def value_range(self, origin: FloatArray) -> tuple[Array, Array]:
        """Lower and upper bounds of values; a point's own values may exceed them by rounding."""
        assert self.bounds is not None, "callers check"
        return np.minimum(self.bounds.low, origin), np.maximum(self.bounds.high, origin)

    def find_ends(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of every column of rows, (rows, d), however large the ball is.

        Missing values stay so: both are the value that stands for them.
        """
        origin = self.x[rows]
        low, high = np.full(origin.shape, -math.inf), np.full(origin.shape, math.inf)
        if self.bounds is not None:
            low, high = (np.broadcast_to(end, origin.shape) for end in self.value_range(origin))
        if self.held is not None:
            ends, gaps = self.held.schema.ends, self.held.find_gaps(rows)
            low = np.where(gaps, origin, np.maximum(low, np.minimum(ends[0], origin)))
            high = np.where(gaps, origin, np.minimum(high, np.maximum(ends[1], origin)))
        return low, high
