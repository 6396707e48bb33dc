"""Nearest wrong labels of a 1-nearest-neighbour classifier in L2: computed, not searched for."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.adversary.attacks.attack import Found
from shaketable.adversary.attacks.searches import Questions
from shaketable.adversary.cells.cells import TIE
from shaketable.adversary.one_nn.fitted import FAR, FittedOneNN
from shaketable.adversary.one_nn.half_spaces import HalfSpace, least_step
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.core.checks import TINY
from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.models.classifier import Classifier

_SCREENED = 64  # nearest right points that the first bound of a wrong one is taken from
_TRIED = 8  # wrong points of a row that places are tried of, until the model confirms one
_SMALLER = (0.1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0)  # shares of the margin that are tried as well
_ROUGH = 1e-4  # share of a distance that the margin may add, before smaller ones are tried
_BEYOND = 30  # times as far as all training points: what is farther is looked at last


@dataclass(frozen=True, eq=False)
class Smallest:
    """Of every row the smallest step to a wrong label."""

    distance: FloatArray
    """Of a wrong label that the model confirms; infinite where there is none within epsilon."""
    moved: FloatArray
    """The wrong label's place, (rows, d); the point itself where there is none."""
    least: FloatArray
    """Nothing nearer than that is labelled wrongly; infinite where nothing within epsilon is.

    It differs from the distance by rounding, and where wrong labels are too near to right ones for
    the model to tell them apart.
    """
    queries: int
    """Points that the model was asked about."""


@dataclass(frozen=True, eq=False)
class OneNNExact:
    r"""Nearest wrong labels of a 1-NN classifier in L2, by a quadratic program a candidate.

    Training point z, labelled wrongly for x, wins where it is nearer than all points t that are
    labelled rightly, and that is convex:

    .. math:: \min \lVert\delta\rVert^2 \quad \text{s.t.} \quad
        2\delta\cdot(t - z) \le \lVert t - x\rVert^2 - \lVert z - x\rVert^2 \;\; \forall t

    (Wang et al. 2019, "Evaluating the robustness of nearest neighbor classifiers: a primal-dual
    perspective", Eq. 6, without the points labelled as z, which only split what is wrong.) With
    ``genuine-max`` the half-spaces of x's own cell come on top, with bounds those of the value
    range. The distance is the least over all z: they come in the order of a lower bound, the
    distance to the farthest of the half-spaces, and end when it exceeds what was found.

    First half-spaces are pushed out by what rounding may do, in the model or here: if nothing is
    within epsilon even so, no wrong label is. Else they are drawn in, so that the model should
    label the place wrongly, by less where it does not; and what it does not confirm is not decided.

    >>> from shaketable.models.classifier import Classifier
    >>> z = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    >>> nearest = lambda x: np.square(x[:, None] - z).sum(axis=2).argmin(axis=1)
    >>> model = Classifier("1nn", nearest, {0: 0, 1: 1, 2: 2}, None)
    >>> region = Region(np.array([[1.0, 1.0]]), (2,), np.dtype(float), 2, 5.0)
    >>> exact = OneNNExact(FittedOneNN(z, np.arange(3), 2))
    >>> exact.smallest(model, region, np.array([0]), np.array([0])).distance.round(8)
    array([1.])
    """

    one_nn: FittedOneNN
    """What the model is made of, in the units of the region."""

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
    ) -> Found:
        """Find wrong labels in the region of these rows, and tell where there is none."""
        found = self.smallest(model, region, rows, y)
        hit = np.isfinite(found.distance)
        return Found(found.moved, hit, found.queries, hit | np.isinf(found.least))

    def smallest(self, model: Classifier, region: Region, rows: IntArray, y: IntArray) -> Smallest:
        """Nearest wrong labels of these rows within epsilon."""
        if region.p != 2 or region.constraint == "genuine-exact":
            raise InputError(
                "exact distances of 1-NN need norm 2 and the constraint none or genuine-max, got "
                f"norm {region.p:g} and {region.constraint}; use a search"
            )
        questions = Questions(model, region)
        moved, least = region.x[rows], np.zeros(len(rows))
        distance = np.where(questions.wrong(rows, y, moved), 0.0, math.inf)

        def ask(places: list[tuple[int, FloatArray]]) -> None:
            """Keep of these steps, each with its row, the shortest that the model confirms."""
            if not places:
                return
            i = np.array([i for i, _ in places])
            x = region.x[rows[i]]
            at = x + np.array([step for _, step in places])
            if region.bounds is not None:  # rounding may carry points through the walls
                at = np.clip(at, *region.ends(x))
            away = np.linalg.norm(at - x, axis=1)
            for k in np.flatnonzero(questions.wrong(rows[i], y[i], at)):
                if away[k] < distance[i[k]]:
                    distance[i[k]], moved[i[k]] = away[k], at[k]

        setting = _Setting.of(self.one_nn, model, region)
        left: dict[int, tuple[int, ...]] = {int(i): () for i in np.flatnonzero(distance)}
        while left:  # rows, and which of their wrong points have been tried
            near, places = {}, []
            for i, tried in left.items():
                problem = setting.problem(rows[i], y[i])
                found = problem.nearest(tried)
                if not tried:
                    least[i] = math.inf if found is None else np.linalg.norm(found[1])
                if found is not None:
                    near[i] = found
                    places += [(i, step) for step in problem.places(*found, [1.0])]
            ask(places)
            rough = [i for i in near if distance[i] > (1 + _ROUGH) * np.linalg.norm(near[i][1])]
            places = []
            for i in rough:
                problem = setting.problem(rows[i], y[i])
                places += [(i, step) for step in problem.places(*near[i], _SMALLER)]
            ask(places)
            left = {
                i: (*left[i], found[0])
                for i, found in near.items()
                if math.isinf(distance[i]) and len(left[i]) + 1 < _TRIED
            }
        return Smallest(distance, moved, least, questions.asked)


@dataclass(frozen=True, eq=False)
class _Setting:
    """What the problems of all rows have in common."""

    one_nn: FittedOneNN
    region: Region
    codes: IntArray
    """Class codes of the training points."""
    evaluated: Array
    """Whether each training point is one of the evaluated ones, whose cells are looked at."""
    trained: IntArray
    """Of every evaluated point the training point that it is, or -1."""

    @classmethod
    def of(cls, one_nn: FittedOneNN, model: Classifier, region: Region) -> _Setting:
        codes = np.array([model.codes.get(label, -1) for label in one_nn.labels.tolist()])
        m, n = len(one_nn.points), len(region.x)
        evaluated, trained = np.zeros(m, bool), np.full(n, -1)
        if region.cells is not None:
            for same in find_equal_rows(np.concatenate([one_nn.points, region.x])):
                if same[0] < m <= same[-1]:
                    evaluated[same[same < m]] = True
                    trained[same[same >= m] - m] = same[0]
        return cls(one_nn, region, codes, evaluated, trained)

    def problem(self, row: int, label: int) -> _Problem:
        """Set up the problem of one row.

        Points that are evaluated as well as trained on do not win in each other's cells, as far as
        the classifier keeps them apart; half-spaces would only meet at the edge.
        """
        region, x = self.region, self.region.x[row]
        own = region.x[:0] if region.cells is None else region.x - x
        steps, norm = self.one_nn.points - x, float(np.linalg.norm(x))
        right = self.codes == label
        wrong = ~right
        if self.trained[row] >= 0 and right[self.trained[row]]:
            half = np.linalg.norm(steps, axis=1) / 2
            wrong &= ~(self.evaluated & self.one_nn.keeps_apart(norm, half))
        low, high = (-math.inf, math.inf) if region.bounds is None else np.stack(region.ends(x)) - x
        grain = 2 * float(np.finfo(region.dtype).eps) * norm
        radius = min(region.epsilon * (1 + 2 * TOLERANCE), FAR)
        return _Problem(
            self.one_nn, steps[right], steps[wrong], own[own.any(axis=1)], low, high, norm, grain,
            radius,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Problem:
    """One evaluated point: all others as steps from it."""

    one_nn: FittedOneNN
    right: FloatArray
    """Training points that are labelled rightly, (r, d)."""
    wrong: FloatArray
    own: FloatArray
    """Evaluated points whose half-spaces bound the cell, (n, d); none without a cell."""
    low: FloatArray | float
    high: FloatArray | float
    """Steps to the ends of the value range."""
    norm: float
    """Of the evaluated point."""
    grain: float
    """By how much rounding may move a point, of about its own size."""
    radius: float

    @cached_property
    def sizes(self) -> FloatArray:
        """Lengths of the steps to wrong points."""
        return np.asarray(np.linalg.norm(self.wrong, axis=1))

    @cached_property
    def free(self) -> Array:
        """Whether each wrong point is itself in the region, but for the radius."""
        if len(self.own):
            return np.zeros(len(self.wrong), bool)
        return np.asarray(((self.wrong >= self.low) & (self.wrong <= self.high)).all(axis=1))

    def nearest(self, tried: Collection[int] = ()) -> tuple[int, FloatArray] | None:
        """Wrong point that may win nearest to x, and the step there; None where none can."""
        far = _BEYOND * float(self.sizes.max(initial=0.0))
        for radius in (self.radius,) if self.radius <= far else (far, self.radius):
            found = self._nearest(tried, radius)
            if found is not None:
                return found
        return None

    def _nearest(self, tried: Collection[int], radius: float) -> tuple[int, FloatArray] | None:
        best = None
        lost = self._lost(radius)
        bound = self._bounds(lost)
        for i in np.argsort(bound):
            if bound[i] > radius:
                break
            if i not in tried:
                outside = self._outside(i, (-lost[i], 0.0), (0.0, 0.0))
                step = least_step(outside, self.wrong.shape[1], radius)
                if step is not None:
                    best, radius = (int(i), step), min(radius, float(np.linalg.norm(step)))
        return best

    def places(self, i: int, step: FloatArray, shares: Sequence[float]) -> Iterator[FloatArray]:
        """Steps to where a wrong point wins by more than rounding, or by a share of that.

        After none of it, `step` itself comes, which goes to where it may win, and the point.
        """
        reach = float(self.sizes[i] + np.linalg.norm(step))
        tie, lost = 2 * TIE * reach**2, self._lost(reach)[i]
        room = self.grain + 1e-10 * reach
        for share in shares:
            outside = self._outside(i, (share * (tie + lost), share * room), (tie, room))
            found = least_step(outside, len(step), self.radius)
            if found is not None:
                yield found
        if shares[-1] == 0:
            yield from (step, self.wrong[i])

    def _lost(self, radius: float) -> FloatArray:
        """By how much more the square of each wrong point's distance may be, and it yet wins.

        Within the radius; within its own distance, where it is itself a place to go to.
        """
        reach = np.where(self.free, np.minimum(self.sizes, radius), radius)
        share = 2 * self.one_nn.share * (self.sizes + reach) ** 2 + sys.float_info.min
        return np.asarray(share + self.one_nn.error(self.norm + reach))

    def _bounds(self, lost: FloatArray) -> FloatArray:
        """Distance to a half-space of every wrong point: it is no nearer than that."""
        if not len(self.right):
            return np.zeros(len(self.wrong))
        right, wrong = np.square(self.right).sum(axis=1), np.square(self.sizes)
        near = np.argsort(right)[:_SCREENED]
        right, more = right[near], 1 + 1e-12 + self.one_nn.share  # no size may be too short
        square = (more / 2) * (wrong[:, None] + right) - self.wrong @ self.right[near].T
        gap = ((2 - more) * wrong - lost)[:, None] - more * right
        gap /= np.sqrt(np.maximum(8 * square, TINY))
        return np.asarray(np.maximum(gap.max(axis=1), 0.0))

    def _outside(
        self, i: int, ahead: tuple[float, float], inside: tuple[float, float]
    ) -> Callable[[FloatArray], HalfSpace]:
        """Half-space that a step lies outside of most, where a wrong point wins in x's own cell.

        It is `ahead` of right ones, and x of others, by so much in squared distance, and by a
        distance from where that holds.
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

        def outside(step: FloatArray) -> HalfSpace:
            worst = HalfSpace(-math.inf, step, 0.0)
            for normal, offset in families:
                if len(normal):
                    excess = normal @ step - offset
                    i = int(excess.argmax())
                    there = HalfSpace(float(excess[i]), normal[i], float(offset[i]))
                    worst = max(worst, there, key=_excess)
            return max(worst, *self._walls(step), key=_excess)

        return outside

    def _walls(self, step: FloatArray) -> Iterator[HalfSpace]:
        """Walls of the value range that a step lies outside of most, a lower and an upper one."""
        for way, wall in ((-1.0, -self.low), (1.0, self.high)):
            excess = way * step - wall
            i = int(np.argmax(excess))
            normal = np.zeros_like(step)
            normal[i] = way
            yield HalfSpace(float(excess[i]), normal, float(np.broadcast_to(wall, step.shape)[i]))


def _excess(half_space: HalfSpace) -> float:
    return half_space.excess
