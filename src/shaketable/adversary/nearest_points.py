"""The 1-nearest-neighbour classifier: its nearest wrong labels exactly, in L2, and Theorem 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shaketable.adversary.attack import Found
from shaketable.adversary.cells import TIE
from shaketable.adversary.region import Region
from shaketable.adversary.searches import Questions
from shaketable.errors import TINY, InputError, ShaketableError
from shaketable.models import Classifier
from shaketable.types import Array, FloatArray, IntArray, KeyArray

_METRICS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "sqeuclidean": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": math.inf,
    "infinity": math.inf,
}
_SCREENED = 64  # nearest right points that the first bound of a wrong one is taken from
_DEPENDENT = 1e-12  # square of what is left of a unit normal that others span

THEOREM_2 = "1-NN on its own points, in the norm of its cells (Theorem 2)"

HalfSpace: TypeAlias = "tuple[float, FloatArray]"
"""By how much a point lies outside, and the unit normal that points out."""


@dataclass(frozen=True)
class FittedOneNN:
    """What a fitted 1-nearest-neighbour classifier is made of."""

    points: FloatArray
    """Training points, (m, d)."""
    p: float


def as_one_nn(model: Any, *, features: Sequence[str] | None = None) -> FittedOneNN | None:
    """Training points and norm of a fitted scikit-learn classifier, if it is a 1-NN; else None.

    A `KNeighborsClassifier` with one neighbour, any p-norm without weights of features, fitted on
    an array or a frame; `features` are the columns of the points it will be asked about, where they
    may be in another order.
    """
    from sklearn.neighbors import KNeighborsClassifier  # heavy

    if type(model) is not KNeighborsClassifier or model.n_neighbors != 1:
        return None
    metric, options = getattr(model, "effective_metric_", ""), model.effective_metric_params_
    p = options.get("p", 2.0) if metric in ("minkowski", "p") else _METRICS.get(metric)
    points = model._fit_X
    plain = options.get("w") is None and model.weights in ("uniform", "distance")
    if p is None or not plain or not isinstance(points, np.ndarray):
        return None
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if names and features is not None:
        points = points[:, [names.index(name) for name in features]]
    return FittedOneNN(np.asarray(points, np.float64), float(p))


def proven_robust(one_nn: FittedOneNN | None, region: Region) -> str:
    """Why nothing is left to search for: Theorem 2, if it applies; else nothing.

    A 1-NN classifier that was fitted on exactly the evaluated points, in the norm of their cells,
    gives every point of a cell the label of its own point. So genuine accuracy is clean accuracy at
    every epsilon, of both kinds, and 1 where classes are exclusive. More or fewer training points,
    or another norm, and it does not hold.

    >>> region = Region(np.eye(2), (2,), np.dtype(float), 2, 0.1, "genuine-max")
    >>> proven_robust(FittedOneNN(np.eye(2)[::-1], 2), region)
    '1-NN on its own points, in the norm of its cells (Theorem 2)'
    >>> proven_robust(FittedOneNN(np.eye(2), 1), region)
    ''
    """
    if one_nn is None or one_nn.p != region.p or region.constraint == "none":
        return ""
    mine, theirs = (np.unique(x + 0.0, axis=0) for x in (one_nn.points, region.x))
    return THEOREM_2 if np.array_equal(mine, theirs) else ""


@dataclass(frozen=True, eq=False)
class Smallest:
    """Of every row the smallest step to a wrong label: at every epsilon below it none exists."""

    distance: FloatArray
    """Infinite where there is no wrong label within the radius."""
    moved: FloatArray
    """The wrong label's place, (rows, d); the point itself where there is none."""


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
    distance to the farthest of the half-spaces, and end when it exceeds what was found. The program
    is solved by the dual method (Goldfarb & Idnani 1983), whose steps are lower bounds too.

    Half-spaces of points are drawn in by what rounding may do (`_margin`), so that the model itself
    labels the place wrongly: all is proven up to that margin, of about 1e-10 in float64.

    >>> from shaketable.models import Classifier
    >>> z = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    >>> nearest = lambda x: np.square(x[:, None] - z).sum(axis=2).argmin(axis=1)
    >>> exact = OneNNExact(Classifier("1nn", nearest, {0: 0, 1: 1, 2: 2}, None), z)
    >>> region = Region(np.array([[1.0, 1.0]]), (2,), np.dtype(float), 2, 5.0)
    >>> exact.smallest(region, np.array([0]), np.array([0])).distance.round(8)
    array([1.])
    """

    model: Classifier
    """The classifier itself: what it answers at its training points are their labels."""
    points: FloatArray
    """Its training points, (m, d), in the units of the region."""

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
        """Find wrong labels in the region of these rows; what is not found does not exist."""
        found = self.smallest(region, rows, y, radius=region.epsilon)
        hit = np.isfinite(found.distance)
        last = Questions(model, region, asked=len(self.points) + len(rows))
        hit[hit] = last.wrong(rows[hit], y[hit], found.moved[hit])
        return Found(found.moved, hit, last.asked)

    def smallest(
        self, region: Region, rows: IntArray, y: IntArray, *, radius: float = math.inf
    ) -> Smallest:
        """Nearest wrong labels of these rows, whatever the region's epsilon, up to a radius."""
        if region.p != 2 or region.constraint == "genuine-exact":
            raise InputError(
                "exact distances of 1-NN need norm 2 and the constraint none or genuine-max, got "
                f"norm {region.p:g} and {region.constraint}; use a search"
            )
        labels = self.model(region.as_given(self.points))
        at_once = self.model(region.as_given(region.x[rows])) != y
        distance, moved = np.where(at_once, 0.0, math.inf), region.x[rows]
        for i in np.flatnonzero(~at_once):
            problem = _Problem.of(region, rows[i], self.points, labels == y[i])
            step = problem.solved(radius)
            if step is not None:
                distance[i] = np.linalg.norm(step)
                moved[i] += step
        if region.bounds is not None:  # rounding may carry points through the walls
            moved = np.clip(moved, region.bounds.low, region.bounds.high)
        return Smallest(distance, moved)


@dataclass(frozen=True, eq=False)
class _Problem:
    """One evaluated point: all others as steps from it."""

    right: FloatArray
    """Training points that are labelled rightly, (r, d)."""
    wrong: FloatArray
    own: FloatArray
    """Evaluated points whose half-spaces bound the cell, (n, d); none without a cell."""
    low: FloatArray | float
    high: FloatArray | float
    """Steps to the ends of the value range."""
    grain: float
    """By how much rounding may move a point, of about its own size."""

    @classmethod
    def of(cls, region: Region, row: int, points: FloatArray, right: Array) -> _Problem:
        """Set up the problem of one row."""
        x = region.x[row]
        own = region.x[:0] if region.cells is None else region.x - x
        bounds = region.bounds
        low, high = (-math.inf, math.inf) if bounds is None else (bounds.low - x, bounds.high - x)
        grain = 2 * float(np.finfo(region.dtype).eps) * float(np.linalg.norm(x))
        steps = points - x
        return cls(steps[right], steps[~right], own[own.any(axis=1)], low, high, grain)

    def solved(self, radius: float) -> FloatArray | None:
        """Smallest step to a wrong label, if there is one within the radius."""
        best = None
        bound = self._bounds()
        for i in np.argsort(bound):
            if bound[i] > radius:
                break
            step = least_step(self._outside(self.wrong[i]), self.wrong.shape[1], radius)
            if step is not None:
                best, radius = step, float(np.linalg.norm(step))
        return best

    def _bounds(self) -> FloatArray:
        """Distance to a half-space of every wrong point: it is no nearer than that."""
        if not len(self.right):
            return np.zeros(len(self.wrong))
        square, wrong_square = np.square(self.right).sum(axis=1), np.square(self.wrong).sum(axis=1)
        near = np.argsort(square)[:_SCREENED]
        right, square = self.right[near], square[near]
        square = wrong_square[:, None] + square
        apart = np.maximum(square - 2 * self.wrong @ right.T, 0) + 1e-12 * square  # not too short
        gap = 2 * wrong_square[:, None] - square
        ratio = gap / (2 * np.sqrt(np.maximum(apart, TINY)))
        return np.asarray(np.maximum(ratio.max(axis=1), 0.0))

    def _outside(self, z: FloatArray) -> Callable[[FloatArray], HalfSpace]:
        """Half-space that a step lies outside of most, where z wins and x's own cell is."""
        square = float(z @ z)
        families = []
        for points, centre in ((self.right, z), (self.own, np.zeros_like(z))):
            normal = points - centre
            size = np.linalg.norm(normal, axis=1)
            keep = size > 0
            normal, size = normal[keep] / size[keep, None], size[keep]
            offset = (np.square(points[keep]).sum(axis=1) - centre @ centre) / (2 * size)
            families.append((normal, offset - self._margin(size, square)))

        def outside(step: FloatArray) -> HalfSpace:
            worst: HalfSpace = (-math.inf, step)
            for normal, offset in families:
                if len(normal):
                    excess = normal @ step - offset
                    i = int(excess.argmax())
                    worst = max(worst, (float(excess[i]), normal[i]), key=_excess)
            return max(worst, *self._walls(step), key=_excess)

        return outside

    def _margin(self, size: FloatArray, square: float) -> FloatArray:
        """How far half-spaces are drawn in: distances then differ by more than a tie.

        Points at distances a and b from a place are told apart if a and b differ by a share `TIE`;
        the place is a^2 - b^2 over twice their distance `size` from the half-space's edge.
        """
        return np.asarray(4 * TIE * square / size + self.grain + 1e-10 * math.sqrt(square))

    def _walls(self, step: FloatArray) -> Iterator[HalfSpace]:
        """Walls of the value range that a step lies outside of most, a lower and an upper one."""
        for way, excess in ((-1.0, self.low - step), (1.0, step - self.high)):
            i = int(np.argmax(excess))
            normal = np.zeros_like(step)
            normal[i] = way
            yield float(excess[i]), normal


def least_step(
    outside: Callable[[FloatArray], HalfSpace], d: int, radius: float
) -> FloatArray | None:
    r"""Shortest vector in an intersection of half-spaces, or None if none is within the radius.

    .. math:: \min \lVert\delta\rVert \quad \text{s.t.} \quad a_i\cdot\delta \le b_i

    The dual method of Goldfarb & Idnani (1983) for the identity: from 0, take in the half-space
    that is violated most, along what its normal adds to the active ones; those whose multiplier
    falls to 0 leave. The length grows with every step, so a radius ends it early.

    Parameters
    ----------
    outside
        Of a vector, the half-space that it violates most: by how much, and its unit normal.
    """
    step, active, weight = np.zeros(d), np.zeros((d, 0)), np.zeros(0)
    tolerance = 0.0
    for _ in range(100 * (d + 10)):
        excess, normal = outside(step)
        tolerance = max(tolerance, 1e-12 * abs(excess), 1e-12 * float(np.linalg.norm(step)))
        if excess <= tolerance:
            return step
        added = 0.0
        while excess > 0:
            share = np.linalg.lstsq(active, normal)[0] if active.size else weight
            ahead = normal - active @ share
            square = float(ahead @ ahead)
            falls = np.flatnonzero(share > 1e-14)
            ratio = weight[falls] / share[falls]
            limit = float(ratio.min()) if len(falls) else math.inf
            full = excess / square if square > _DEPENDENT else math.inf
            move = min(limit, full)
            if math.isinf(move):
                return None  # no vector is in all of them
            weight, added = weight - move * share, added + move
            if math.isfinite(full):
                step = step - move * ahead
                excess -= move * square
            if move == full:
                active = np.column_stack([active, normal])
                weight = np.append(weight, added)
                break
            keep = np.arange(len(weight)) != falls[ratio.argmin()]
            active, weight = active[:, keep], weight[keep]
        if np.linalg.norm(step) > radius:
            return None
    raise ShaketableError("the exact search for 1-NN did not converge; use a search instead")


def _excess(half_space: HalfSpace) -> float:
    return half_space[0]
