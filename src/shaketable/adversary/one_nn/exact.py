"""Nearest misclassified points of a 1-nearest-neighbour classifier in L2, computed exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shaketable.adversary.attacks.attack import AttackResult
from shaketable.adversary.attacks.queries import LabelQueries
from shaketable.adversary.one_nn.fitted import FittedOneNN
from shaketable.adversary.one_nn.problem import Setting
from shaketable.adversary.region import Region
from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray, IntArray, KeyArray
from shaketable.models.classifier import Classifier

_TRIED = 8  # candidates per row whose steps are tried until the model confirms one
_SMALLER = (0.1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0)  # smaller shares of the margin that are tried as well
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
        """Find misclassified points around these rows, and mark rows that have none as proven."""
        steps = self.find_smallest(model, region, rows, y)
        hit = np.isfinite(steps.distance)
        return AttackResult(steps.moved, hit, steps.queries, hit | np.isinf(steps.least))

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

        setting = Setting.of(self.one_nn, model, region)
        left: dict[int, tuple[int, ...]] = {int(i): () for i in np.flatnonzero(distance)}
        while left:  # rows, and which of their candidates have been tried
            near, steps = {}, []
            for i, tried in left.items():
                problem = setting.make_problem(rows[i], y[i])
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
                problem = setting.make_problem(rows[i], y[i])
                steps += [(i, step) for step in problem.find_steps(*near[i], _SMALLER)]
            try_steps(steps)
            left = {
                i: (*left[i], found[0])
                for i, found in near.items()
                if math.isinf(distance[i]) and len(left[i]) + 1 < _TRIED
            }
        return SmallestSteps(distance, moved, least, queries.count)
