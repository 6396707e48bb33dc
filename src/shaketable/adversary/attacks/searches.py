"""Black-box searches: any classifier, asked about so many points and no more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.adversary.attacks.attack import Found, confirmed
from shaketable.adversary.region import Region
from shaketable.core.checks import TINY, check_whole, unknown_name
from shaketable.core.keys import fold, uniforms
from shaketable.core.norms import pnorm
from shaketable.core.spec import Call, Value
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.pnorm import unit_ball
from shaketable.evaluation.cells import BATCH_ROWS, BATCH_VALUES
from shaketable.models.classifier import Classifier

Aim: TypeAlias = Literal["closest", "first"]

_OPPONENTS = 8  # points that the model labels otherwise, whose directions are tried
_ROUND = 32  # points of a row that are asked about at a time
_HALVINGS, _PROBES, _TURNS = 8, 24, range(-3, 2)  # of a ray; around a boundary; powers of two
_SHOT = _ROUND + _HALVINGS  # points that a round takes
_WALK = _PROBES + len(_TURNS) + 1 + _HALVINGS
_MEMORY = 0.9  # of where the boundary faces, from one round to the next
_CLOSER = 1 - 1e-3  # share of the best distance at which a better direction is asked for


@dataclass(frozen=True)
class RandomSearch:
    """Random points of the region, half of them towards points that the model labels otherwise.

    Those that are labelled otherwise lie beyond a boundary: the nearest of them, in L2, tell where
    it may be near. The other half is noise uniform in the ball, on its surface, at its corners for
    L-inf, of Gaussian directions and along single coordinates. All are held in the region; with
    ``genuine-exact`` all are epsilon away, and those outside the cell are not asked about. A row
    ends with its first hit.

    >>> RandomSearch(500).spec
    'random(queries=500)'
    """

    queries: int = 1000
    """Points of a row that the model is asked about, at most; and once about all evaluated ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=1))

    @property
    def spec(self) -> str:
        """Name and budget."""
        return str(Call("random", (), {"queries": self.queries}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> Found:
        """Search for wrong labels around these rows of the region's points."""
        questions = Questions(model, region)
        best = region.x[rows]
        hit = questions.wrong(rows, y, best)
        steps = Steps.of(questions, rows, y, keys)
        steps = replace(steps, reach=np.full(len(rows), region.epsilon))
        for start in range(0, self.queries - 1, _ROUND):
            draws = range(start, min(start + _ROUND, self.queries - 1))
            for some in _parts(np.flatnonzero(~hit), len(draws) * region.x.shape[1]):
                moved = steps.of_rows(some).points(draws)
                wrong = questions.wrong_of_many(rows[some], y[some], moved)
                hit[some] = wrong.any(axis=1)
                best[some] = moved[np.arange(len(some)), wrong.argmax(axis=1)]
        return Found(best, hit, questions.asked)


@dataclass(frozen=True)
class RayBisection:
    """Rays from a point to a wrong label, halved to where it begins; then along the boundary.

    A part of the budget goes to rays, first to points that the model labels otherwise, then at
    random (`RandomSearch` has their laws); the rest to directions about the best one: where the
    boundary faces is estimated from the labels around it (Chen, Jordan & Wainwright, HopSkipJump,
    S&P 2020). Wrong labels farther away than epsilon lead to nearer ones just the same; what counts
    in the end are points of the region.

    The distance of what is found is an upper bound of that of the nearest wrong label: at every
    epsilon above it the point is lost. In many dimensions it is a weak one: of a linear model a
    thousand queries miss one wrong label in fifteen in 30 dimensions, one in three in 400.
    With ``genuine-exact`` there is no nearer and farther, and this is `RandomSearch`.

    >>> RayBisection(500).spec
    'rays(queries=500)'
    """

    queries: int = 1000
    """Points of a row that the model is asked about, at most; and once about all evaluated ones."""
    aim: Aim = "closest"
    """Whether the nearest wrong label is wanted, or the ``first``: a row then ends with a hit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=2 + _SHOT))
        if self.aim not in get_args(Aim):
            raise unknown_name("aim", str(self.aim), get_args(Aim))

    @property
    def spec(self) -> str:
        """Name and budget."""
        aim: dict[str, Value] = {} if self.aim == "closest" else {"aim": self.aim}
        return str(Call("rays", (), {"queries": self.queries, **aim}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> Found:
        """Search for wrong labels around these rows of the region's points."""
        if region.constraint == "genuine-exact":
            return RandomSearch(self.queries)(model, region, rows, y, keys)
        questions = Questions(model, _wide(region))
        best = region.x[rows]
        away = np.where(questions.wrong(rows, y, best), 0.0, np.inf)
        steps = Steps.of(questions, rows, y, keys)
        steps = replace(steps, reach=np.maximum(region.epsilon, steps.reach))
        for some in _parts(np.arange(len(rows)), _PROBES * region.x.shape[1]):
            rays = _Rays(steps.of_rows(some), questions, y[some], best[some], away[some])
            rays.spend(self.queries - 2, enough=0 if self.aim == "closest" else region.epsilon)
            best[some], away[some] = rays.best, rays.away
        hit = np.isfinite(away)
        questions.region = region
        hit[hit] = questions.wrong(rows[hit], y[hit], best[hit])
        return Found(best, hit, questions.asked)


@dataclass(eq=False)
class Questions:
    """A model that is asked about points, in batches, and how many they were so far."""

    model: Classifier
    region: Region
    asked: int = 0

    def wrong(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Whether points, one a row, lie in the region and are labelled wrongly (`confirmed`)."""
        model = replace(self.model, answer=self._counted)
        hit = np.zeros(len(rows), bool)
        for some in _parts(np.arange(len(rows)), moved.shape[1]):
            hit[some] = confirmed(model, self.region, rows[some], y[some], moved[some])
        return hit

    def wrong_of_many(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Whether points of the shape (rows, k, d) are, (rows, k)."""
        n, k, d = moved.shape
        flat = self.wrong(rows.repeat(k), y.repeat(k), moved.reshape(n * k, d))
        return flat.reshape(n, k)

    def codes(self) -> IntArray:
        """Class codes of all evaluated points."""
        x = self.region.x
        model = replace(self.model, answer=self._counted)
        parts = _parts(np.arange(len(x)), x.shape[1])
        return np.concatenate([model(self.region.as_given(x[some])) for some in parts])

    def _counted(self, x: Array) -> Any:
        self.asked += len(x)
        return self.model.answer(x)


@dataclass(frozen=True, eq=False)
class Steps:
    """Where rows go, draw by draw: a function of their keys, and of where labels differ."""

    region: Region
    rows: IntArray
    keys: KeyArray
    opponents: IntArray
    """Rows of points that the model labels otherwise, (rows, k); the row itself where none is."""
    reach: FloatArray
    """Length of a step, for every row: at first the distance to its nearest opponent."""

    @classmethod
    def of(cls, questions: Questions, rows: IntArray, y: IntArray, keys: KeyArray) -> Steps:
        """Find the nearest points, in L2, that the model labels otherwise than these rows."""
        region, codes = questions.region, questions.codes()
        x, k = region.x, min(_OPPONENTS, len(region.x))
        nearest = np.empty((len(rows), k), np.int64)
        squares = np.square(x).sum(axis=1)
        for some in _parts(np.arange(len(rows)), len(x)):
            far = squares - 2 * x[rows[some]] @ x.T
            far[codes == y[some, None]] = np.inf
            order = np.argpartition(far, k - 1, axis=1)[:, :k]
            far = np.take_along_axis(far, order, axis=1)
            order = np.where(np.isfinite(far), order, rows[some, None])
            nearest[some] = np.take_along_axis(order, np.argsort(far, axis=1), axis=1)
        reach = pnorm(x[nearest[:, 0]] - x[rows], region.p)
        return cls(region, rows, keys, nearest, reach)

    def of_rows(self, some: IntArray) -> Steps:
        """Return the same for some of the rows."""
        parts = {n: getattr(self, n)[some] for n in ("rows", "keys", "opponents", "reach")}
        return replace(self, **parts)

    def points(self, draws: range) -> FloatArray:
        """Points of the region, (rows, draws, d)."""
        steps = [self.reach[:, None] * self.step(j) for j in draws]
        return self.ends(steps)

    def ends(self, steps: list[FloatArray]) -> FloatArray:
        """Points that steps lead to, held in the region, (rows, steps, d)."""
        origin = self.region.x[self.rows]
        return np.stack([self.region.held(self.rows, origin + step) for step in steps], axis=1)

    def step(self, j: int) -> FloatArray:
        """Step number j of every row, of length 1 or less: odd ones are noise, even ones aim."""
        keys, turn = fold(self.keys, j), j // 2
        noise = self.noise(keys, turn)
        if j % 2:
            return noise
        x, p, k = self.region.x, self.region.p, self.opponents.shape[1]
        towards = x[self.opponents[:, turn % k]] - x[self.rows]
        if turn < k:  # up to the opponent itself
            towards = towards / np.maximum(pnorm(towards, p), np.maximum(self.reach, TINY))[:, None]
        elif turn // k % 2:
            towards = _unit(steepest(towards, p), p)
        else:
            towards = _unit(towards, p)
        if turn >= 2 * k:  # then less straight ones
            ahead, aside = uniforms(fold(keys, 1), 2).T
            towards = ahead[:, None] * towards + aside[:, None] * noise
        return np.where(towards.any(axis=1, keepdims=True), towards, noise)

    def noise(self, keys: KeyArray, turn: int) -> FloatArray:
        """Noise of p-norm 1 or less, of one kind after the other."""
        p, d = self.region.p, self.region.x.shape[1]
        kind = turn % (5 if math.isinf(p) else 4)
        if kind == 0:
            return np.asarray(unit_ball(keys, d, p))
        if kind == 1:
            return np.asarray(unit_ball(keys, d, p, kind="surface"))
        if kind == 2:
            return _unit(np.asarray(unit_ball(keys, d, 2, kind="surface")), p)
        if kind == 3:  # one coordinate, either way
            which = np.floor(uniforms(keys, 1)[:, 0] * 2 * d).astype(np.int64)
            return np.asarray(np.concatenate([np.eye(d), -np.eye(d)])[which])
        return np.asarray(unit_ball(keys, d, p, kind="vertices"))


def steepest(slope: FloatArray, p: float) -> FloatArray:
    r"""Steps of a given p-norm that go farthest along a slope g, up to their length.

    .. math:: \arg\max_{\lVert s\rVert_p \le 1} g \cdot s \propto
        \operatorname{sign}(g)\,|g|^{1/(p-1)}

    The signs for L-inf, the slope itself for L2, its largest component alone for p = 1 and below.

    >>> slope = np.array([[3.0, -1.0]])
    >>> steepest(slope, 1), steepest(slope, 2), steepest(slope, math.inf)
    (array([[1., 0.]]), array([[ 1. , -0.33333333]]), array([[ 1., -1.]]))
    """
    size = np.abs(slope)
    largest = size.max(axis=1, keepdims=True)
    size = size / np.where(largest > 0, largest, 1)
    if p <= 1:
        first = np.arange(size.shape[1]) == size.argmax(axis=1)[:, None]
        return np.where(first, np.sign(slope), 0.0)
    return np.asarray(np.sign(slope) * size ** (1 / (p - 1)))


@dataclass(eq=False)
class _Rays:
    """Rows that are bisected together, and the nearest wrong label of each so far."""

    steps: Steps
    questions: Questions
    y: IntArray
    best: FloatArray
    away: FloatArray
    """Distance of the best; infinite where nothing was found."""

    def __post_init__(self) -> None:
        self.p, self.rows = self.steps.region.p, self.steps.rows
        self.origin = self.steps.region.x[self.rows]
        self.slope = np.zeros_like(self.origin)  # where the boundary faces, as far as is known
        self.spread = np.full(len(self.rows), 0.25)  # of probes, as a share of the distance

    def spend(self, queries: int, *, enough: float) -> None:
        """Ask about so many points of every row, until its best is as near as is enough."""
        shots = max(1, queries // 4 // _SHOT)
        for turn in range(shots + (queries - shots * _SHOT) // _WALK):
            self._advance(turn, turn >= shots, enough)

    def _advance(self, turn: int, walk: bool, enough: float) -> None:
        todo = self.away > enough
        walking = todo & np.isfinite(self.away) & walk
        if walking.any():
            some = np.flatnonzero(walking)
            better = self._shoot(some, self._around(some, turn))
            self.spread[some] *= np.where(better, 1.2, 0.8)
        if (todo & ~walking).any():
            some = np.flatnonzero(todo & ~walking)
            draws = range(turn * _ROUND // 2, (turn + 1) * _ROUND // 2)
            ends, origin = self.steps.of_rows(some).points(draws), self.origin[some, None]
            share = uniforms(fold(self.steps.keys[some], -1 - turn), len(draws))
            before = origin + share[:, :, None] * (ends - origin)
            self._shoot(some, np.concatenate([ends, before], axis=1))

    def _around(self, some: IntArray, turn: int) -> FloatArray:
        """Ends of rays about the best direction, turned towards where the boundary faces."""
        best, rows, d = self.best[some], self.rows[some], self.origin.shape[1]
        steps, keys = self.steps.of_rows(some), fold(self.steps.keys[some], -1 - turn)
        noise = [np.asarray(unit_ball(fold(keys, i), d, 2, kind="surface")) for i in range(_PROBES)]
        probed = (self.spread * self.away)[some, None]
        probes = np.stack([steps.region.held(rows, best + probed * n) for n in noise], axis=1)
        wrong = self.questions.wrong_of_many(rows, self.y[some], probes)
        signs = wrong - wrong.mean(axis=1, keepdims=True)
        slope = np.einsum("nk,nkd->nd", signs, probes - best[:, None])
        self.slope[some] = _MEMORY * self.slope[some] + _unit(slope, 2)
        ahead = _unit(best - self.origin[some], self.p)
        facing = _unit(steepest(self.slope[some], self.p), self.p)
        turned = [ahead + 2.0**power * facing for power in _TURNS]
        turned.append(ahead + self.spread[some, None] * noise[0])
        return steps.ends([self.away[some, None] * _unit(t, self.p) for t in turned])

    def _shoot(self, some: IntArray, ends: FloatArray) -> Array:
        """Ask at the ends of rays, nearer than the best, and bisect the nearest that is wrong."""
        n, k, d = ends.shape
        origin, rows, y = self.origin[some], self.rows[some], self.y[some]
        steps = ends - origin[:, None]
        length = pnorm(steps.reshape(n * k, d), self.p).reshape(n, k)
        share = np.minimum(1, _CLOSER * self.away[some, None] / np.where(length > 0, length, 1))
        tried = origin[:, None] + share[:, :, None] * steps
        wrong = self.questions.wrong_of_many(rows, y, tried)
        better = wrong.any(axis=1)
        if better.any():
            nearest = np.where(wrong, share * length, np.inf).argmin(axis=1)
            self._bisect(some[better], tried[better, nearest[better]])
        return np.asarray(better)

    def _bisect(self, some: IntArray, moved: FloatArray) -> None:
        """Keep the nearest point that is found wrong between x and wrong ones."""
        origin, rows, y = self.origin[some], self.rows[some], self.y[some]
        step = moved - origin
        low, high = np.zeros(len(some)), np.ones(len(some))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tried = origin + middle[:, None] * step
            wrong = self.questions.wrong(rows, y, tried)
            moved[wrong] = tried[wrong]
            low, high = np.where(wrong, low, middle), np.where(wrong, middle, high)
        self.best[some], self.away[some] = moved, pnorm(moved - origin, self.p)


def _wide(region: Region) -> Region:
    """Return the same region with an epsilon that all evaluated points are within."""
    span = float(pnorm(np.ptp(region.x, axis=0)[None], region.p)[0])
    return replace(region, epsilon=max(region.epsilon, span))


def _unit(step: FloatArray, p: float) -> FloatArray:
    """Steps of p-norm 1; those of 0 stay."""
    away = pnorm(step, p)
    return np.asarray(step / np.where(away > 0, away, 1)[:, None])


def _parts(some: IntArray, values: int) -> Iterator[IntArray]:
    """Rows of so many values each, in parts that a model takes at a time."""
    size = max(1, min(BATCH_VALUES // max(1, values), BATCH_ROWS))
    for start in range(0, len(some), size):
        yield some[start : start + size]
