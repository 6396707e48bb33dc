"""Directions that black-box searches try: towards points of other labels, and at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.attacks.registry import LabelQueries, split_rows
from shaketable.adversary.region import Region
from shaketable.core.checks import TINY
from shaketable.core.keys import fold, uniforms
from shaketable.core.norms import pnorm
from shaketable.core.types import FloatArray, IntArray, KeyArray
from shaketable.corruptions.pnorm import unit_ball

_OPPONENTS = 8  # differently labelled points per row, whose directions are tried


@dataclass(frozen=True, eq=False)
class Directions:
    """Candidate steps of rows, numbered; they depend on the rows' keys and on their opponents."""

    region: Region
    rows: IntArray
    keys: KeyArray
    opponents: IntArray
    """Rows of points with another predicted label, (rows, k); the row itself where none exists."""
    reach: FloatArray
    """Length of a step, one per row: initially the distance to its nearest opponent."""

    @classmethod
    def of(cls, queries: LabelQueries, rows: IntArray, y: IntArray, keys: KeyArray) -> Directions:
        """Find the nearest points, in L2, whose predicted label differs from the rows' own."""
        region, codes = queries.region, queries.label_all()
        x, k = region.x, min(_OPPONENTS, len(region.x))
        nearest = np.empty((len(rows), k), np.int64)
        squares = np.square(x).sum(axis=1)
        for part in split_rows(np.arange(len(rows)), len(x)):
            far = squares - 2 * x[rows[part]] @ x.T
            far[codes == y[part, None]] = np.inf
            order = np.argpartition(far, k - 1, axis=1)[:, :k]
            far = np.take_along_axis(far, order, axis=1)
            order = np.where(np.isfinite(far), order, rows[part, None])
            nearest[part] = np.take_along_axis(order, np.argsort(far, axis=1), axis=1)
        reach = pnorm(x[nearest[:, 0]] - x[rows], region.p)
        return cls(region, rows, keys, nearest, reach)

    def select(self, places: IntArray) -> Directions:
        """Directions of the rows at these places."""
        parts = {n: getattr(self, n)[places] for n in ("rows", "keys", "opponents", "reach")}
        return replace(self, **parts)

    def draw_points(self, draws: range) -> FloatArray:
        """Points of the region, (rows, draws, d)."""
        return self.follow([self.reach[:, None] * self.draw_step(j) for j in draws])

    def follow(self, steps: list[FloatArray]) -> FloatArray:
        """Points at the ends of steps, projected to the region, (rows, steps, d)."""
        origin = self.region.x[self.rows]
        return np.stack([self.region.project(self.rows, origin + step) for step in steps], axis=1)

    def draw_step(self, j: int) -> FloatArray:
        """Step number j of every row, of p-norm 1 or less.

        Odd ones are noise, even ones lead to opponents.
        """
        keys, turn = fold(self.keys, j), j // 2
        noise = self._draw_noise(keys, turn)
        if j % 2:
            return noise
        x, p, k = self.region.x, self.region.p, self.opponents.shape[1]
        towards = x[self.opponents[:, turn % k]] - x[self.rows]
        if turn < k:  # up to the opponent itself
            towards = towards / np.maximum(pnorm(towards, p), np.maximum(self.reach, TINY))[:, None]
        elif turn // k % 2:
            towards = scale_to_unit(find_steepest_steps(towards, p), p)
        else:
            towards = scale_to_unit(towards, p)
        if turn >= 2 * k:  # then mixed with noise
            ahead, aside = uniforms(fold(keys, 1), 2).T
            towards = ahead[:, None] * towards + aside[:, None] * noise
        return np.where(towards.any(axis=1, keepdims=True), towards, noise)

    def _draw_noise(self, keys: KeyArray, turn: int) -> FloatArray:
        """Noise of p-norm 1 or less; successive turns take different kinds of noise."""
        p, d = self.region.p, self.region.x.shape[1]
        kind = turn % (5 if math.isinf(p) else 4)
        if kind == 0:
            return np.asarray(unit_ball(keys, d, p))
        if kind == 1:
            return np.asarray(unit_ball(keys, d, p, kind="surface"))
        if kind == 2:
            return scale_to_unit(np.asarray(unit_ball(keys, d, 2, kind="surface")), p)
        if kind == 3:  # one coordinate, up or down
            which = np.floor(uniforms(keys, 1)[:, 0] * 2 * d).astype(np.int64)
            return np.asarray(np.concatenate([np.eye(d), -np.eye(d)])[which])
        return np.asarray(unit_ball(keys, d, p, kind="vertices"))


def find_steepest_steps(slope: FloatArray, p: float) -> FloatArray:
    r"""Directions of steepest ascent in the p-norm for a slope g; their lengths are arbitrary.

    .. math:: \arg\max_{\lVert s\rVert_p \le 1} g \cdot s \propto
        \operatorname{sign}(g)\,|g|^{1/(p-1)}

    The signs for L-inf, the slope itself for L2, its largest component alone for p = 1 and below.

    >>> slope = np.array([[3.0, -1.0]])
    >>> [find_steepest_steps(slope, p).round(2).tolist() for p in (1, 2, math.inf)]
    [[[1.0, 0.0]], [[1.0, -0.33]], [[1.0, -1.0]]]
    """
    size = np.abs(slope)
    largest = size.max(axis=1, keepdims=True)
    size = size / np.where(largest > 0, largest, 1)
    if p <= 1:
        first = np.arange(size.shape[1]) == size.argmax(axis=1)[:, None]
        return np.where(first, np.sign(slope), 0.0)
    return np.asarray(np.sign(slope) * size ** (1 / (p - 1)))


def scale_to_unit(step: FloatArray, p: float) -> FloatArray:
    """Scale steps to p-norm 1; zero steps stay zero."""
    length = pnorm(step, p)
    return np.asarray(step / np.where(length > 0, length, 1)[:, None])
