"""Where an adversary may go from every point: a ball, the value range, and maybe a Voronoi cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shaketable.adversary.cells.cells import Cells
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.bounds import Bounds

Constraint: TypeAlias = Literal["none", "genuine-max", "genuine-exact"]

TOLERANCE = 1e-6
"""Share of epsilon by which a point may be out of its ball, or off its surface.

Off the surface, what rounding to the model's type does comes on top.
"""

_HALVINGS = 36  # of the range of factors


@dataclass(frozen=True, eq=False)
class Region:
    """Points that count as adversarial for every evaluated point, if they are labelled wrongly.

    ``none``: the ball of radius epsilon. ``genuine-max``: the part of it that is nearer to the
    point than to any other evaluated point. ``genuine-exact``: of that, only what is epsilon away.
    All within the value range, where one is declared.
    """

    x: FloatArray
    """Evaluated points, (n, d), flattened, in their own units."""
    shape: tuple[int, ...]
    """Of a point, as models take it."""
    dtype: np.dtype[Any]
    """Of the numbers that models take: what counts are points that it can hold."""
    p: float
    epsilon: float
    constraint: Constraint = "none"
    cells: Cells | None = None
    """Of the same points, for the genuine constraints."""
    bounds: Bounds | None = None

    def contains(self, rows: IntArray, moved: Array) -> Array:
        """Whether points, one for each of these rows, lie in the row's region: in float64."""
        exact, origin = moved.astype(np.float64), self.x[rows]
        away = pnorm(exact - origin, self.p)
        inside = away <= self.epsilon * (1 + TOLERANCE)
        if self.constraint == "genuine-exact":
            slack = TOLERANCE * self.epsilon + self._grain * pnorm(exact, self.p)
            inside = np.abs(away - self.epsilon) <= slack
        if self.bounds is not None:
            low, high = self.ends(origin)
            inside &= ((exact >= low) & (exact <= high)).all(axis=1)
        if self.cells is not None and inside.any():
            inside[inside] = self.cells.inside(rows[inside], exact[inside])
        return np.asarray(inside)

    def held(self, rows: IntArray, moved: FloatArray) -> FloatArray:
        """Points brought back: to the ball, the range, and along the ray into the cell.

        With ``genuine-exact`` to the surface of the ball, within the range: what then lies outside
        of the cell, or has no room for a step of that length, is no point of the region.
        """
        origin = self.x[rows]
        step = moved - origin
        if self.constraint == "genuine-exact":
            return self._on_surface(origin, step)
        if math.isinf(self.p):
            step = np.clip(step, -self.epsilon, self.epsilon)
        else:
            away = pnorm(step, self.p)
            step *= np.minimum(1, self.epsilon / np.where(away > 0, away, 1))[:, None]
        held = origin + step
        if self.bounds is not None:
            held = np.clip(held, self.bounds.low, self.bounds.high)
        return held if self.cells is None else self.cells.pulled(rows, held)

    def _on_surface(self, origin: FloatArray, step: FloatArray) -> FloatArray:
        """Ends of steps that are epsilon long once clipped to the range.

        The factor before clipping is sought, up to 2^10.
        """
        away = pnorm(step, self.p)
        step *= (self.epsilon / np.where(away > 0, away, 1))[:, None]
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

    def given(self, rows: IntArray, moved: Array) -> Array:
        """Points, one for each of these rows, in numbers that the model takes, and in its shape.

        Rounded towards the row's point, so that none leaves the ball or the range by that; with
        ``genuine-exact`` to the nearest number within the range.
        """
        cast: Array = moved.astype(self.dtype)
        if moved.dtype != self.dtype:
            origin, exact = self.x[rows], cast.astype(np.float64)
            if self.constraint != "genuine-exact":
                beyond = np.abs(exact - origin) > np.abs(moved - origin)
            elif self.bounds is not None:
                low, high = self.ends(origin)
                beyond = (exact < low) | (exact > high)
            else:
                beyond = np.zeros(1, bool)
            cast = np.where(beyond, np.nextafter(cast, origin.astype(self.dtype)), cast)
        return self.as_given(cast)

    def as_given(self, points: Array) -> Array:
        """Points as a model takes them, rounded to the nearest numbers."""
        return points.astype(self.dtype, copy=False).reshape(len(points), *self.shape)

    @property
    def _grain(self) -> float:
        return float(np.finfo(self.dtype).eps)

    def ends(self, origin: FloatArray) -> tuple[Array, Array]:
        """Ends of the range, which rows' own numbers may be beyond by their rounding."""
        assert self.bounds is not None, "callers look"
        return np.minimum(self.bounds.low, origin), np.maximum(self.bounds.high, origin)
