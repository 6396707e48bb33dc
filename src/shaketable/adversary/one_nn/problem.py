"""The quadratic programs behind the exact distances of 1-NN, one per row and candidate.

*Right* training points have the label of the row, *wrong* ones another; wrong points are the
candidates for the nearest neighbour of a misclassified point.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.adversary.one_nn.fitted import FAR, FittedOneNN
from shaketable.adversary.one_nn.half_spaces import HalfSpace, find_least_step
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.adversary.voronoi.cells import TIE
from shaketable.core.checks import TINY
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.models.classifier import Classifier

_SCREENED = 64  # nearest right points that the first bound of a wrong one is computed from
_BEYOND = 30  # times as far as all training points: what is farther is searched last


@dataclass(frozen=True, eq=False)
class Setting:
    """What the problems of all rows have in common."""

    one_nn: FittedOneNN
    region: Region
    codes: IntArray
    """Class codes of the training points."""
    evaluated: Array
    """Whether each training point is also an evaluated point, with a Voronoi cell."""
    trained: IntArray
    """For every evaluated point the training point that it equals, or -1."""

    @classmethod
    def of(cls, one_nn: FittedOneNN, model: Classifier, region: Region) -> Setting:
        """Match training points with evaluated ones."""
        codes = np.array([model.codes.get(label, -1) for label in one_nn.labels.tolist()])
        m, n = len(one_nn.points), len(region.x)
        evaluated, trained = np.zeros(m, bool), np.full(n, -1)
        if region.voronoi is not None:
            for same in find_equal_rows(np.concatenate([one_nn.points, region.x])):
                if same[0] < m <= same[-1]:
                    evaluated[same[same < m]] = True
                    trained[same[same >= m] - m] = same[0]
        return cls(one_nn, region, codes, evaluated, trained)

    def make_problem(self, row: int, label: int) -> Problem:
        """Set up the problem of one row.

        Points that are evaluated as well as trained on do not win in each other's cells, as far as
        the classifier keeps them apart; their half-spaces would only meet at the edge.
        """
        region, x = self.region, self.region.x[row]
        own = region.x[:0] if region.voronoi is None else region.x - x
        steps, norm = self.one_nn.points - x, float(np.linalg.norm(x))
        right = self.codes == label
        wrong = ~right
        if self.trained[row] >= 0 and right[self.trained[row]]:
            half = np.linalg.norm(steps, axis=1) / 2
            wrong &= ~(self.evaluated & self.one_nn.keeps_apart(norm, half))
        low: FloatArray | float = -math.inf
        high: FloatArray | float = math.inf
        if region.bounds is not None:
            low, high = np.stack(region.value_range(x)) - x
        return Problem(
            one_nn=self.one_nn,
            right=steps[right],
            wrong=steps[wrong],
            own=own[own.any(axis=1)],
            low=low,
            high=high,
            norm=norm,
            grain=2 * float(np.finfo(region.dtype).eps) * norm,
            radius=min(region.epsilon * (1 + 2 * TOLERANCE), FAR),
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """One evaluated point x; all other points are given as steps from it."""

    one_nn: FittedOneNN
    right: FloatArray
    """Training points with the label of x, (r, d)."""
    wrong: FloatArray
    """Training points with another label, (w, d)."""
    own: FloatArray
    """Evaluated points whose half-spaces bound the cell of x, (n, d); empty if there is no cell."""
    low: FloatArray | float
    high: FloatArray | float
    """Steps to the ends of the value range."""
    norm: float
    """Norm of x."""
    grain: float
    """By how much rounding may move a point of about the size of x."""
    radius: float

    @cached_property
    def sizes(self) -> FloatArray:
        """Lengths of the steps to wrong points."""
        return np.asarray(np.linalg.norm(self.wrong, axis=1))

    @cached_property
    def free(self) -> Array:
        """Whether each wrong point itself lies in the region, the radius disregarded."""
        if len(self.own):
            return np.zeros(len(self.wrong), bool)
        return np.asarray(((self.wrong >= self.low) & (self.wrong <= self.high)).all(axis=1))

    def find_nearest(self, tried: Collection[int] = ()) -> tuple[int, FloatArray] | None:
        """Wrong point that can become the nearest by the shortest step, and that step, or None."""
        far = _BEYOND * float(self.sizes.max(initial=0.0))
        for radius in (self.radius,) if self.radius <= far else (far, self.radius):
            nearest = self._find_nearest(tried, radius)
            if nearest is not None:
                return nearest
        return None

    def _find_nearest(self, tried: Collection[int], radius: float) -> tuple[int, FloatArray] | None:
        best = None
        lost = self._bound_rounding(radius)
        bound = self._bound_distances(lost)
        for i in np.argsort(bound):
            if bound[i] > radius:
                break
            if i not in tried:
                outside = self._make_oracle(i, (-lost[i], 0.0), (0.0, 0.0))
                step = find_least_step(outside, self.wrong.shape[1], radius)
                if step is not None:
                    best, radius = (int(i), step), min(radius, float(np.linalg.norm(step)))
        return best

    def find_steps(self, i: int, step: FloatArray, shares: Sequence[float]) -> Iterator[FloatArray]:
        """Candidate steps to places where wrong point i is the nearest training point.

        For every share, the shortest step at which it is nearer by that share of the margin that
        rounding needs. If the last share is 0, `step` and the step to the point itself follow.
        """
        reach = float(self.sizes[i] + np.linalg.norm(step))
        tie, lost = 2 * TIE * reach**2, self._bound_rounding(reach)[i]
        room = self.grain + 1e-10 * reach
        for share in shares:
            outside = self._make_oracle(i, (share * (tie + lost), share * room), (tie, room))
            found = find_least_step(outside, len(step), self.radius)
            if found is not None:
                yield found
        if shares[-1] == 0:
            yield from (step, self.wrong[i])

    def _bound_rounding(self, radius: float) -> FloatArray:
        """By how much the squared distance of each wrong point may be larger while it still wins.

        For places within the radius; within its own distance, if the wrong point is in the region.
        """
        reach = np.where(self.free, np.minimum(self.sizes, radius), radius)
        share = 2 * self.one_nn.share * (self.sizes + reach) ** 2 + sys.float_info.min
        return np.asarray(share + self.one_nn.bound_error(self.norm + reach))

    def _bound_distances(self, lost: FloatArray) -> FloatArray:
        """Lower bound of the distance at which each wrong point wins: that of a half-space."""
        if not len(self.right):
            return np.zeros(len(self.wrong))
        right, wrong = np.square(self.right).sum(axis=1), np.square(self.sizes)
        near = np.argsort(right)[:_SCREENED]
        right, more = right[near], 1 + 1e-12 + self.one_nn.share  # no size may be too short
        square = (more / 2) * (wrong[:, None] + right) - self.wrong @ self.right[near].T
        gap = ((2 - more) * wrong - lost)[:, None] - more * right
        gap /= np.sqrt(np.maximum(8 * square, TINY))
        return np.asarray(np.maximum(gap.max(axis=1), 0.0))

    def _make_oracle(
        self, i: int, ahead: tuple[float, float], inside: tuple[float, float]
    ) -> Callable[[FloatArray], HalfSpace]:
        """Function from a step to the half-space that it violates most.

        The half-spaces describe where wrong point i wins inside the cell of x. It must be closer
        than right points by `ahead`, and x closer than other evaluated points by `inside`: a
        difference of squared distances, and a distance from the edge of the half-space.
        """
        families = []
        for points, centre, (square, room) in (
            (self.right, self.wrong[i], ahead),
            (self.own, np.zeros_like(self.wrong[i]), inside),
        ):
            normal = points - centre
            size = np.linalg.norm(normal, axis=1)
            keep = size > 0
            normal, size = normal[keep] / size[keep, None], size[keep]
            gap = np.square(points[keep]).sum(axis=1) - centre @ centre
            families.append((normal, (gap - square) / (2 * size) - room))

        def find_most_violated(step: FloatArray) -> HalfSpace:
            worst = HalfSpace(-math.inf, step, 0.0)
            for normal, offset in families:
                if len(normal):
                    excess = normal @ step - offset
                    i = int(excess.argmax())
                    there = HalfSpace(float(excess[i]), normal[i], float(offset[i]))
                    worst = max(worst, there, key=_excess)
            return max(worst, *self._find_walls(step), key=_excess)

        return find_most_violated

    def _find_walls(self, step: FloatArray) -> Iterator[HalfSpace]:
        """The lower and the upper bound of the value range that a step violates most."""
        for way, wall in ((-1.0, -self.low), (1.0, self.high)):
            excess = way * step - wall
            i = int(np.argmax(excess))
            normal = np.zeros_like(step)
            normal[i] = way
            yield HalfSpace(float(excess[i]), normal, float(np.broadcast_to(wall, step.shape)[i]))


def _excess(half_space: HalfSpace) -> float:
    return half_space.excess
