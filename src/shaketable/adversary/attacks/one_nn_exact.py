"""Nearest misclassified points of a 1-nearest-neighbour classifier in L2, computed exactly.

By quadratic programs, one per row and candidate: the shortest vector in an intersection of
half-spaces. *Right* training points have the label of the row, *wrong* ones another; wrong points
are the candidates for the nearest neighbour of a misclassified point.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult, LabelQueries
from shaketable.adversary.one_nn import FAR, FittedOneNN
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.adversary.voronoi import TIE
from shaketable.core.checks import TINY
from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.models.classifier import Classifier

_MENDED = 1e-6  # squared residual of a unit normal: below, it is refined once more
_DEPENDENT = 1e-22  # the same: below, the normal depends on the active ones


class HalfSpace(NamedTuple):
    """A half-space, seen from a point."""

    excess: float
    """By how much the point lies outside."""
    normal: FloatArray
    """Unit normal, pointing out."""
    offset: float
    """Position of its edge along the normal."""


def find_least_step(
    outside: Callable[[FloatArray], HalfSpace], d: int, radius: float
) -> FloatArray | None:
    r"""Shortest vector in an intersection of half-spaces, or None if none is within the radius.

    .. math:: \min \lVert\delta\rVert \quad \text{s.t.} \quad a_i\cdot\delta \le b_i

    The dual method of Goldfarb & Idnani (1983) with the identity matrix: from 0, repeatedly add the
    half-space that is violated most, moving along the part of its normal that the active ones do
    not span; half-spaces whose multiplier falls to 0 leave. The length grows with every step, so a
    radius ends the search early. None is returned only with a proof that allows for rounding
    (`_prove_empty`); a vector that is returned may violate half-spaces that are nearly parallel, or
    exceed the radius.

    Parameters
    ----------
    outside
        Maps a vector to the half-space that it violates most.
    d
        Number of dimensions.
    radius
        Largest length of interest.
    """
    step, active, weight, offsets = np.zeros(d), np.zeros((d, 0)), np.zeros(0), np.zeros(0)
    tolerance = 0.0
    for _ in range(100 * (d + 10)):
        excess, normal, offset = outside(step)
        tolerance = max(tolerance, 1e-12 * abs(excess), 1e-12 * float(np.linalg.norm(step)))
        if excess <= tolerance:
            return step
        added = 0.0
        while excess > 0:
            share = np.linalg.lstsq(active, normal, rcond=None)[0] if active.size else weight
            ahead = normal - active @ share
            if active.size and ahead @ ahead < _MENDED:
                more = np.linalg.lstsq(active, ahead, rcond=None)[0]
                share, ahead = share + more, ahead - active @ more
            square = float(ahead @ ahead)
            falls = np.flatnonzero(share > 1e-14)
            ratio = weight[falls] / share[falls]
            limit = float(ratio.min()) if len(falls) else math.inf
            full = excess / square if square > _DEPENDENT else math.inf
            move = min(limit, full)
            if math.isinf(move):  # no vector is in all of them
                everything = np.column_stack([active, normal]), np.append(offsets, offset)
                return None if _prove_empty(*everything, np.append(-share, 1.0), radius) else step
            weight, added = weight - move * share, added + move
            if math.isfinite(full):
                step = step - move * ahead
                excess -= move * square
            if move == full:
                active = np.column_stack([active, normal])
                weight, offsets = np.append(weight, added), np.append(offsets, offset)
                break
            keep = np.arange(len(weight)) != falls[ratio.argmin()]
            active, weight, offsets = active[:, keep], weight[keep], offsets[keep]
        length = np.linalg.norm(step)
        if length > radius and _prove_empty(active, offsets, weight, radius):
            return None
        if length > 2 * radius:
            break
    return step


def _prove_empty(
    normals: FloatArray, offsets: FloatArray, weight: FloatArray, radius: float
) -> bool:
    r"""Whether weak duality proves that no vector within the radius is in all half-spaces.

    .. math:: \lVert\delta\rVert \lVert\sum_i w_i a_i\rVert \ge -\sum_i w_i a_i\cdot\delta
        \ge -\sum_i w_i b_i, \quad w_i \ge 0

    Rounding errors are bounded and subtracted.
    """
    weight = np.maximum(weight, 0.0)
    share = (sum(normals.shape) + 8) * sys.float_info.epsilon
    lost = share * (weight @ (np.abs(offsets) + radius))
    return bool(-(weight @ offsets) - lost > radius * np.linalg.norm(normals @ weight))


_SCREENED = 64  # nearest right points that the first bound of a wrong one is computed from
_BEYOND = 30  # times as far as all training points: what is farther is searched last


@dataclass(frozen=True, eq=False)
class Problems:
    """The problems of all rows, and what they have in common."""

    one_nn: FittedOneNN
    region: Region
    codes: IntArray
    """Class codes of the training points."""
    evaluated: Array
    """Whether each training point is also an evaluated point, with a Voronoi cell."""
    trained: IntArray
    """For every evaluated point the training point that it equals, or -1."""

    @classmethod
    def of(cls, one_nn: FittedOneNN, model: Classifier, region: Region) -> Problems:
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


_TRIED = 8  # candidates per row whose steps are tried until the model confirms one
_SMALLER = (0.1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0)  # smaller shares of the margin that are tried as well
_LESS = 1e-8  # share of a distance that rounding may have added
_ROUGH = 1e-4  # share of a distance that the margin may add before smaller ones are tried


@dataclass(frozen=True, eq=False)
class SmallestSteps:
    """The smallest step of every row to a misclassified point."""

    distance: FloatArray
    """Distance of a point that the model misclassifies; infinite if none is within epsilon."""
    moved: FloatArray
    """That point, (rows, d); the row's own point if there is none."""
    least: FloatArray
    """No point at a smaller distance is misclassified; infinite if none within epsilon is.

    It differs from `distance` by rounding, and where a wrong region is too thin for the model's
    own arithmetic to reach.
    """
    queries: int
    """Number of points that the model was asked about."""


@dataclass(frozen=True, eq=False)
class OneNNExact:
    r"""Nearest misclassified points of a 1-NN classifier in L2, by one quadratic program per z.

    A training point z with another label than x wins where it is closer than all points t with the
    label of x, and that set is convex:

    .. math:: \min \lVert\delta\rVert^2 \quad \text{s.t.} \quad
        2\delta\cdot(t - z) \le \lVert t - x\rVert^2 - \lVert z - x\rVert^2 \;\; \forall t

    (Wang et al. 2019, "Evaluating the robustness of nearest neighbor classifiers: a primal-dual
    perspective", Eq. 6, without the points labelled as z, which only divide the wrong region.) With
    ``genuine-max`` the half-spaces of x's own cell are added, with bounds those of the value range.
    The distance is the least over all z. They are processed in the order of a lower bound, the
    distance to the farthest half-space, until it exceeds the least distance so far.

    Half-spaces are first widened by what rounding may do, in the model or here: if no point within
    epsilon satisfies them even so, none is misclassified. Otherwise they are narrowed, so that the
    model should misclassify the point, and by less where it does not; what the model does not
    confirm stays undecided.

    >>> from shaketable.models.classifier import Classifier
    >>> z = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    >>> nearest = lambda x: np.square(x[:, None] - z).sum(axis=2).argmin(axis=1)
    >>> model = Classifier("1nn", nearest, {0: 0, 1: 1, 2: 2}, None)
    >>> region = Region(np.array([[1.0, 1.0]]), (2,), np.dtype(float), 2, 5.0)
    >>> exact = OneNNExact(FittedOneNN(z, np.arange(3), 2))
    >>> exact.find_smallest(model, region, np.array([0]), np.array([0])).distance.round(8)
    array([1.])
    """

    one_nn: FittedOneNN
    """The classifier's training points and labels, in the units of the region."""

    @property
    def spec(self) -> str:
        """Its name."""
        return "1nn-exact"

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> AttackResult:
        """Find the nearest misclassified points around rows, and prove that none is nearer."""
        steps = self.find_smallest(model, region, rows, y)
        low = np.where(np.isinf(steps.least), region.epsilon, (1 - _LESS) * steps.least)
        return AttackResult(steps.moved, np.isfinite(steps.distance), steps.queries, low)

    @property
    def why(self) -> str:
        """How it proves distances."""
        return "nearest wrong labels are computed, not searched for"

    def suits(self, region: Region) -> bool:
        """Whether it solves regions of this norm and constraint."""
        return region.p == 2 and region.constraint != "genuine-exact"

    def find_smallest(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray
    ) -> SmallestSteps:
        """Nearest misclassified points of these rows within epsilon."""
        if region.p != 2 or region.constraint == "genuine-exact":
            raise InputError(
                "exact distances of 1-NN need norm 2 and the constraint none or genuine-max, got "
                f"norm {region.p:g} and {region.constraint}; use a search"
            )
        queries = LabelQueries(model, region)
        moved, least = region.x[rows], np.zeros(len(rows))
        distance = np.where(queries.are_hits(rows, y, moved), 0.0, math.inf)

        def try_steps(steps: list[tuple[int, FloatArray]]) -> None:
            """Keep for every row the shortest of its steps that the model confirms."""
            if not steps:
                return
            i = np.array([i for i, _ in steps])
            x = region.x[rows[i]]
            at = x + np.array([step for _, step in steps])
            if region.bounds is not None:  # rounding may carry points out of the value range
                at = np.clip(at, *region.value_range(x))
            length = np.linalg.norm(at - x, axis=1)
            for k in np.flatnonzero(queries.are_hits(rows[i], y[i], at)):
                if length[k] < distance[i[k]]:
                    distance[i[k]], moved[i[k]] = length[k], at[k]

        problems = Problems.of(self.one_nn, model, region)
        left: dict[int, tuple[int, ...]] = {int(i): () for i in np.flatnonzero(distance)}
        while left:  # rows, and which of their candidates have been tried
            near, steps = {}, []
            for i, tried in left.items():
                problem = problems.make_problem(rows[i], y[i])
                found = problem.find_nearest(tried)
                if not tried:
                    least[i] = math.inf if found is None else np.linalg.norm(found[1])
                if found is not None:
                    near[i] = found
                    steps += [(i, step) for step in problem.find_steps(*found, [1.0])]
            try_steps(steps)
            rough = [i for i in near if distance[i] > (1 + _ROUGH) * np.linalg.norm(near[i][1])]
            steps = []
            for i in rough:
                problem = problems.make_problem(rows[i], y[i])
                steps += [(i, step) for step in problem.find_steps(*near[i], _SMALLER)]
            try_steps(steps)
            left = {
                i: (*left[i], found[0])
                for i, found in near.items()
                if math.isinf(distance[i]) and len(left[i]) + 1 < _TRIED
            }
        return SmallestSteps(distance, moved, least, queries.count)
