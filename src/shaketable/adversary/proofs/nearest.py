"""The provers of 1-nearest-neighbour classifiers: exact in L2, brackets in other norms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shaketable.adversary.attacks.one_nn_exact import OneNNExact
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries
from shaketable.adversary.one_nn import FittedOneNN, extract_one_nn
from shaketable.adversary.proofs.half_spaces import find_least_steps
from shaketable.adversary.proofs.registry import PROVERS, Prover, confirm_nearest
from shaketable.adversary.proofs.unfolding import unfold
from shaketable.adversary.region import Region
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.dataset import Dataset
from shaketable.models.classifier import Classifier

_LINES = 8  # nearest wrong points to which each row is moved
_HALVINGS = 40
_FIRST, _SCREENED = 2, 64  # nearest right points that lower bounds are computed from
_SHARPENED = 300  # wrong points that get a bound by all right points
_PROGRAMS, _WIDE, _FEW = 12, 100, 2  # linear programs per row, and in more dimensions than that
_ROUNDS, _ADDED = 6, 32  # of a program: how often right points are added, and how many
_INSIDE = 1e-8  # by how much places lie in cells, as a share of the distance to the wrong point
_LESS = 1e-9  # share of a bound that its own rounding may have added


@dataclass(frozen=True, eq=False)
class NearestBrackets:
    r"""Distances of a 1-NN classifier to its nearest failures, from both sides, in any norm.

    A place at distance r of x, nearer to a training point w with a wrong label than to any point t
    with the right one, has by the triangle inequality :math:`2 r \ge \lVert x-w \rVert - \lVert x-t
    \rVert` in the classifier's own norm. For Euclidean classifiers it lies in a half-space for
    every t, at the distance

    .. math:: \frac{\lVert x-w \rVert_2^2 - \lVert x-t \rVert_2^2}{2 \lVert w-t \rVert_q}, \quad
        \frac{1}{p} + \frac{1}{q} = 1

    The largest over t bounds the distance to w's cell, and the smallest over w that of the nearest
    failure. For p = 1 and in the maximum norm, linear programs over several t sharpen the smallest
    bounds; by weak duality their multipliers join half-spaces to one, so that rounding in the
    solver proves nothing. What is found lies where a program ends, or on a line to a wrong point.
    """

    one_nn: FittedOneNN

    @property
    def spec(self) -> str:
        """Its name."""
        return "1nn-brackets"

    @property
    def why(self) -> str:
        """How it proves distances."""
        return "half-spaces between the training points of 1-NN"

    def suits(self, region: Region) -> bool:
        """Whether it can say anything about regions of this norm and constraint."""
        exact = region.p == 2 and self.one_nn.p == 2
        return region.p >= 1 and region.constraint != "genuine-exact" and not exact

    def __call__(
        self,
        model: Classifier,
        region: Region,
        rows: IntArray,
        y: IntArray,
        keys: KeyArray,  # noqa: ARG002  (nothing is random here)
    ) -> AttackResult:
        """Bound the distances of rows from both sides."""
        queries = LabelQueries(model, region)
        codes = np.array([model.codes.get(label, -1) for label in self.one_nn.labels.tolist()])
        low = np.zeros(len(rows))
        high = np.where(queries.are_hits(rows, y, region.x[rows]), 0.0, math.inf)
        moved = self._search_lines(queries, rows, y, codes, high)
        asked, bounds = 0, dict[int, FloatArray]()
        solved: dict[int, list[int]] = {int(i): [] for i in np.flatnonzero(high > 0)}
        while solved:  # once per program; all that was found is confirmed at once
            steps: dict[int, FloatArray] = {}
            for i, tried in list(solved.items()):
                search = _Search(self.one_nn, region, rows[i], codes != y[i])
                if i not in bounds:
                    bounds[i] = search.bound_all(high[i])
                    low[i] = search.bound_by_triangle()
                k = search.sharpen(bounds[i])
                known = k < 0 or bounds[i][k] >= min(high[i] * (1 - _LESS), region.epsilon)
                if known or k in tried or not search.solves or len(tried) >= search.programs:
                    low[i] = max(low[i], float(bounds.pop(i).min(initial=math.inf)))
                    del solved[i]
                    continue
                tried.append(k)
                solution = search.solve(k)
                bounds[i][k] = max(bounds[i][k], solution.least)
                if solution.step is not None and solution.least <= region.epsilon:
                    steps[i] = solution.step
            if steps:
                where = np.array([*steps])
                tried_at = region.x[rows[where]] + np.array([*steps.values()])
                at, hit, count = confirm_nearest(model, region, rows[where], y[where], tried_at)
                asked += count
                away = pnorm(at - region.x[rows[where]], region.p)
                for j in np.flatnonzero(hit & (away < high[where])):
                    high[where[j]], moved[where[j]] = away[j], at[j]
        found = np.isfinite(high)
        return AttackResult(moved, found, queries.count + asked, np.minimum(low, region.epsilon))

    def _search_lines(
        self, queries: LabelQueries, rows: IntArray, y: IntArray, codes: IntArray, high: FloatArray
    ) -> FloatArray:
        """Search the lines to the nearest wrong points by bisection; `high` changes.

        Returns what was found; the row's own point where nothing was.
        """
        region, near = queries.region, []
        moved = region.x[rows]
        for i in np.flatnonzero(np.isinf(high)):
            wrong = self.one_nn.points[codes != y[i]]
            away = pnorm(wrong - region.x[rows[i]], region.p)
            near += [(i, wrong[k], away[k]) for k in np.argsort(away)[:_LINES]]
        if not near:
            return moved
        owner = np.array([i for i, _, _ in near])
        x, size = region.x[rows[owner]], np.array([away for _, _, away in near])
        step = np.array([point for _, point, _ in near]) - x
        start, end = np.zeros(len(near)), np.minimum(1.0, region.epsilon / size)
        there = queries.are_hits(rows[owner], y[owner], x + end[:, None] * step)
        owner, x, size, step = owner[there], x[there], size[there], step[there]
        start, end = start[there], end[there]
        for _ in range(_HALVINGS if there.any() else 0):
            middle = (start + end) / 2
            hit = queries.are_hits(rows[owner], y[owner], x + middle[:, None] * step)
            start, end = np.where(hit, start, middle), np.where(hit, middle, end)
        for k, i in enumerate(owner):
            if end[k] * size[k] < high[i]:
                high[i], moved[i] = end[k] * size[k], x[k] + end[k] * step[k]
        return moved


_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class _Solution(NamedTuple):
    """What a linear program says about the cell of a wrong point."""

    least: float
    """No place of the cell is nearer."""
    step: FloatArray | None
    """To its nearest place; None if none was found."""


class _Search:
    """Right and wrong training points, seen from one evaluated point."""

    def __init__(self, one_nn: FittedOneNN, region: Region, row: int, wrong: Array) -> None:
        self.one_nn, self.region, self.x = one_nn, region, region.x[row]
        self.d = len(self.x)
        self.wrong = one_nn.points[wrong] - self.x
        right = one_nn.points[~wrong] - self.x
        self.right = right[np.argsort(np.square(right).sum(axis=1))]
        ends = region.find_ends(np.array([row]))
        self.low, self.high = ends[0][0] - self.x, ends[1][0] - self.x
        p = region.p
        self.q = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)

    @property
    def solves(self) -> bool:
        """Whether there are linear programs."""
        linear = self.region.p in (1, math.inf)
        return self.one_nn.p == 2 and linear and len(self.right) > 0

    @property
    def _box(self) -> list[tuple[float, float]]:
        """Range of each step, and of one more value that is not negative."""
        return [*zip(self.low.tolist(), self.high.tolist(), strict=True), (0.0, math.inf)]

    @property
    def programs(self) -> int:
        """How many of them may be solved."""
        return _PROGRAMS if self.d <= _WIDE else _FEW

    def bound_by_triangle(self) -> float:
        """Lower bound by the triangle inequality in the classifier's norm."""
        if not len(self.right) or not len(self.wrong):
            return 0.0 if len(self.wrong) else math.inf
        p, own = self.region.p, self.one_nn.p
        near, far = (pnorm(steps, own).min() for steps in (self.right, self.wrong))
        size = float(np.linalg.norm(self.x)) + self.one_nn.largest
        lost = 4 * self.one_nn.share * (near + far)
        if self.one_nn.expanded:  # errors of squares of the sizes of points
            lost += 2 * math.sqrt(self.one_nn.bound_error(size + near + far))
        inverse = 0.0 if math.isinf(p) else 1 / p
        own_inverse = 0.0 if math.isinf(own) else 1 / own
        ratio = self.d ** max(0.0, own_inverse - inverse)
        return max(0.0, float(far - near - lost) / (2 * float(ratio)) * (1 - _LESS))

    def bound_all(self, high: float) -> FloatArray:
        """Lower bound of the distance at which each wrong point wins; rough beyond `high`."""
        if self.one_nn.p != 2 or not len(self.right):
            return np.zeros(len(self.wrong))
        bounds = self._bound(np.arange(len(self.wrong)), _FIRST)
        near = np.flatnonzero(bounds <= high)
        bounds[near] = np.maximum(bounds[near], self._bound(near, _SCREENED))
        return bounds

    def sharpen(self, bounds: FloatArray) -> int:
        """Bound the smallest ones by all right points; return the smallest then, -1 if none is."""
        if not len(bounds):
            return -1
        done: set[int] = set()
        while (k := int(bounds.argmin())) not in done and len(done) < _SHARPENED:
            done.add(k)
            if self.one_nn.p == 2 and len(self.right):
                bounds[k] = max(bounds[k], self._bound(np.array([k]), len(self.right))[0])
        return k

    def _bound(self, which: IntArray, count: int) -> FloatArray:
        """Distance to the farthest of the half-spaces of some right points, by wrong point."""
        from scipy.spatial import distance  # slow to import

        wrong, right = self.wrong[which], self.right[:count]
        (cdist,) = _untyped(distance, "cdist")
        order = {"p": self.q} if 1 < self.q < math.inf else {}
        name = "minkowski" if order else "cityblock" if self.q == 1 else "chebyshev"
        apart = cdist(wrong, right, name, **order)
        gap = np.square(wrong).sum(axis=1)[:, None] - np.square(right).sum(axis=1)
        gap -= self._bound_rounding(wrong)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(apart > 0, gap / (2 * apart), 0.0)
        return np.asarray(np.maximum(bound.max(axis=1), 0.0)) * (1 - _LESS)

    def _bound_rounding(self, wrong: FloatArray) -> FloatArray:
        """By how much a squared distance to wrong points may be larger while they still win."""
        p, sizes = self.region.p, np.linalg.norm(wrong, axis=1)
        longer = self.d ** max(0.0, 0.5 - (0.0 if math.isinf(p) else 1 / p))
        free = ((wrong >= self.low) & (wrong <= self.high)).all(axis=1)
        ends = np.where(free, pnorm(wrong, p), math.inf)  # the nearest place is no farther
        reach = np.minimum(ends, self.region.epsilon) * longer
        share = (2 * self.one_nn.share + 1e-14) * (sizes + reach) ** 2
        return np.asarray(share + self.one_nn.bound_error(np.linalg.norm(self.x) + reach))

    def solve(self, k: int) -> _Solution:
        """Find the nearest place where wrong point k is nearer than all right points."""
        wrong = self.wrong[k]
        lost = float(self._bound_rounding(wrong[None])[0])
        square = np.square(self.right).sum(axis=1)
        chosen = np.arange(min(_SCREENED, len(self.right)))
        least, step = 0.0, None
        for _ in range(_ROUNDS):
            normals = 2 * (wrong - self.right[chosen])
            gaps = wrong @ wrong - square[chosen]
            sizes = np.linalg.norm(normals, axis=1)
            kept = sizes > 0
            normals, gaps = normals[kept] / sizes[kept, None], gaps[kept] / sizes[kept]
            found, weights = self._solve_program(normals, gaps + _INSIDE * np.linalg.norm(wrong))
            if weights is not None:
                least = max(least, self._join(normals, gaps - lost / sizes[kept], weights))
            if found is None:
                weights = self._weigh_empty(normals, gaps)
                never = self._join(normals, gaps - lost / sizes[kept], weights)
                return _Solution(max(least, never), None)
            away = np.square(found - self.right).sum(axis=1) - np.square(found - wrong).sum()
            worst = np.argsort(away)[:_ADDED]
            worst = worst[away[worst] < -1e-9 * (square[worst] + wrong @ wrong)]
            if not len(worst):
                step = found
                break
            chosen = np.union1d(chosen, worst)
        return _Solution(least, step)

    def _join(self, normals: FloatArray, gaps: FloatArray, weights: FloatArray) -> float:
        """Distance of the half-space that half-spaces imply together, within the value range."""
        normal, gap = weights @ normals, float(weights @ gaps)
        slack = 1e-13 * (weights @ np.abs(normals))
        room = np.where(normal > 0, self.high, -self.low)
        room = np.where(np.abs(normal) > slack, room, np.maximum(self.high, -self.low))
        need = np.array([max(0.0, gap - 1e-13 * float(weights @ np.abs(gaps)))])
        gain = (np.abs(normal) + slack)[None]
        return float(find_least_steps(gain, room[None], need, self.region.p)[1][0]) * (1 - _LESS)

    def _solve_program(
        self, normals: FloatArray, gaps: FloatArray
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """Shortest step with ``normals @ step >= gaps`` within the value range, and multipliers."""
        from scipy import sparse

        # its types do not say that parts of several kinds may be joined
        hstack, vstack, eye_array = _untyped(sparse, "hstack", "vstack", "eye_array")
        d, dense = self.d, sparse.csr_array(normals)
        if self.region.p == 1:  # steps up and down
            cost, rows, sides = np.ones(2 * d), hstack([-dense, dense]), -gaps
            box = [(0.0, end) for end in (*self.high.tolist(), *(-self.low).tolist())]
        else:  # the largest of them comes last
            cost, one = np.append(np.zeros(d), 1.0), np.full((d, 1), -1.0)
            none = np.zeros((len(gaps), 1))
            rows = vstack(
                [hstack([-dense, none]), hstack([eye_array(d), one]), hstack([-eye_array(d), one])]
            )
            sides = np.append(-gaps, np.zeros(2 * d))
            box = self._box
        result = _solve(cost, rows.tocsr(), sides, box)
        if result.status != 0:
            return None, None
        step = result.x[:d] - result.x[d:] if self.region.p == 1 else result.x[:d]
        weights = np.maximum(-result.ineqlin.marginals[: len(gaps)], 0.0)
        return step, weights if weights.any() else None

    def _weigh_empty(self, normals: FloatArray, gaps: FloatArray) -> FloatArray:
        """Multipliers with which half-spaces imply that no place is in all of them."""
        rows = -np.hstack([normals, np.ones((len(gaps), 1))])  # the last value is what is lacking
        result = _solve(np.append(np.zeros(self.d), 1.0), rows, -gaps, self._box)
        if result.status != 0:
            return np.zeros(len(gaps))
        return np.asarray(np.maximum(-result.ineqlin.marginals, 0.0))


def _solve(cost: FloatArray, rows: Any, sides: FloatArray, box: list[Any]) -> Any:
    """Minimise ``cost @ z`` with ``rows @ z <= sides``."""
    from scipy import optimize  # slow to import

    (linprog,) = _untyped(optimize, "linprog")
    return linprog(cost, rows, sides, bounds=box, method="highs", options=_EXACT)


def _untyped(module: Any, *names: str) -> list[Any]:
    return [getattr(module, name) for name in names]


def _recognise_exact(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    one_nn = _extract(model, data, unscale)
    return None if one_nn is None or one_nn.p != 2 else OneNNExact(one_nn)


def _recognise(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    one_nn = _extract(model, data, unscale)
    return None if one_nn is None else NearestBrackets(one_nn)


def _extract(model: Any, data: Dataset, unscale: bool) -> FittedOneNN | None:
    if data.table is not None or (unscale and data.scaling is not None):
        return None
    if data.schema is not None and data.schema.is_frame:
        known, grain = unfold(model, data, unscale), float(np.finfo(data.x.dtype).eps)
        if known is None or known.grain > max(grain, _COARSE):
            return None  # columns in coarser numbers round places to the other side
    return extract_one_nn(model, features=data.features)


_COARSE = 1e-9  # between whole numbers, which are no coarser than that, and float32


PROVERS.add("1nn", _recognise_exact)
PROVERS.add("1nn-brackets", _recognise)
