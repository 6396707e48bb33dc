r"""The probability that noise makes a model fail at one point, down to one in a billion.

Noise is a function of independent standard normal numbers u (`latent`), and the *margin* of the
model says how far it is from failing (`margin`). **Splitting** writes the probability as a product,

.. math:: P(m \leq 0) = \prod_l P(m \leq m_l \mid m \leq m_{l-1}), \qquad m_1 > m_2 > \dots > 0

whose factors are large. Particles that reach a level are copied in place of those that do not, and
the copies are moved by a Markov kernel that keeps the law of u given the level: an autoregressive
proposal (preconditioned Crank-Nicolson), accepted if the level is kept.

1. A **pilot** chooses the levels, such that 40 % of its particles reach the next one, and tunes the
   kernel of every level: in up to 16 dimensions it proposes along the principal axes of its
   particles, and everywhere in steps of which 40 % are accepted. A level that is a plateau of the
   margin, as of forests, is a level like any other.
2. **Replicas** then go through these levels, each by itself. Given the pilot they are independent
   and alike, and each product of shares is unbiased (Cérou, Del Moral, Furon & Guyader 2012), so
   that their mean is too, and their spread tells its error, however slowly the kernel mixes.
3. **Importance sampling** replaces them where it pays: u is drawn around the particles that failed,
   and weighted. In many dimensions the proposal has one axis: the direction in which margins fall,
   that to the mean of the particles, or one between them. The failed particles of all replicas,
   which found their ways independently, tell its variance beforehand, so a second region of
   failures that the proposal does not reach forbids it.

Where 5 % of the pilot's first draws fail, plain draws follow. All that is estimated is independent
of the pilot, which is not counted in.

Nothing here knows a model: an estimate is a generator that yields rows of u and gets their margins,
which are at most 0 where the model fails. So the questions of many points are asked together.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.special import logsumexp

from shaketable.core.keys import row_keys, uniforms
from shaketable.core.types import BoolArray, FloatArray, IntArray, KeyArray
from shaketable.rare.latent import draw_normals
from shaketable.statistics.rare import IMPORTANCE, PLAIN, SPLITTING, PointRisk, measure_spread

FLOOR = 1e-10
"""Probability below which levels are not followed."""

PLAIN_DRAWS = 5000
"""Plain draws at most of a point that fails often."""

UNSEEN = 1 - 0.05 ** (1 / 10)
"""Share of a region of failures that each of ten replicas sees with this chance, at least.

Larger ones are missed by all with a chance below 5 %.
"""

_PILOT = 100  # particles that choose the levels
_LIKELY = 0.05  # share of the pilot's draws that fail, from which plain draws are enough
_SHARE = 0.4  # of the pilot's particles, which reach the next level
_STEPS = 6  # moves of every copy
_ACCEPTED = 0.4  # share of proposals that should keep the level
_PATIENCE = 5  # rounds of moves on a plateau that fills the whole level
_REPLICAS = 10
_FEWEST, _MOST = 16, 250  # particles of a replica
_PRINCIPAL = 16  # dimensions up to which principal axes are estimated
_WIDER = 0.5  # by how much the variance of the proposal is above that of the particles
_SLOPES = 3  # last levels whose proposals tell the slope
_SCOUTS = 2000  # draws that improve a proposal
_ROUNDS = 3  # times it is improved at most
_SKEWED = 0.3  # skewness of a mean of weights at most
_EFFECTIVE = 50  # draws per unit of the relative variance, which importance sampling must have

T = TypeVar("T")
Asking: TypeAlias = Generator[FloatArray, FloatArray, T]
"""Yields rows of normal numbers, is sent their margins, and returns a result."""


def estimate_risk(
    key: int, dimensions: int, budget: int, precision: float | None = None
) -> Asking[PointRisk]:
    """Estimate the probability of failure at one point.

    Parameters
    ----------
    key
        All random numbers follow from it.
    dimensions
        Number of normal numbers of one draw.
    budget
        Questions to ask, about.
    precision
        Half a width of the interval, relative to the value, at which to stop before.
    """
    normals = _Normals(key, dimensions)
    plan = yield from _explore(normals, budget)
    if plan.first >= _LIKELY or not plan.levels:
        draws = min(budget, PLAIN_DRAWS) if plan.first >= _LIKELY else budget
        risk = yield from draw_plainly(normals, draws)
        return risk._replace(queries=normals.asked)
    left = budget - normals.asked
    n = min(_MOST, max(_FEWEST, int(0.3 * left / (_REPLICAS * plan.cost))))
    found = yield from _split(normals, plan, n)
    if (proposal := (yield from _aim(normals, found, budget))) is not None:
        draws = (budget - normals.asked) // 2 * 2
        if precision is not None:
            draws = min(draws, 2 * math.ceil(2 * proposal.variance / precision**2))
        if draws >= proposal.draws:
            risk = yield from _sample(normals, proposal, draws)
            if found.fits(risk.value):
                return risk._replace(queries=normals.asked)
    most = max(_REPLICAS, int((budget - normals.asked) / (n * plan.cost)) + _REPLICAS)
    while found.hits and len(found.values) + _REPLICAS <= most and not found.is_precise(precision):
        found = found + (yield from _split(normals, plan, n))
    risk, left = found.conclude(normals.asked), max(1000, (budget - normals.asked) // 1000 * 1000)
    if risk.hits or 0 < left * risk.reach < 4:
        return risk
    # where levels end early, as on a plateau, or no replica gets there, plain draws prove more
    risk = yield from draw_plainly(normals, left)
    return risk._replace(queries=normals.asked)


def draw_plainly(normals: _Normals, draws: int) -> Asking[PointRisk]:
    """Count failures of independent draws."""
    hits = 0
    for start in range(0, draws, PLAIN_DRAWS):
        margins = yield normals.draw(min(PLAIN_DRAWS, draws - start))
        hits += int((margins <= 0).sum())
    return PointRisk(PLAIN, hits / draws, 0.0, draws, hits, draws)


class _Normals:
    """Standard normal numbers, each draw by its own key, and how many were drawn."""

    def __init__(self, key: int, dimensions: int) -> None:
        self.key, self.dimensions = key, dimensions
        self.asked = 0
        self._draws = 0

    def draw(self, n: int) -> FloatArray:
        """Draw rows to ask about."""
        self.asked += n
        return self.make(n)

    def make(self, n: int) -> FloatArray:
        """Draw rows."""
        return draw_normals(self._make_keys(n), self.dimensions)

    def shuffle(self, n: int) -> IntArray:
        """Numbers from 0 to n - 1 in a random order."""
        return np.argsort(uniforms(self._make_keys(n), 1)[:, 0], kind="stable")

    def _make_keys(self, n: int) -> KeyArray:
        self._draws += 1
        keys: KeyArray = row_keys(self.key, np.array([self._draws]), np.arange(n))[0]
        return keys


@dataclass(frozen=True, eq=False)
class _Shape:
    """How far particles spread, along some axes and along all others."""

    axes: FloatArray
    """Orthonormal rows."""
    spread: FloatArray
    """Standard deviation along each of them."""
    rest: float = 1.0
    """Standard deviation along all others."""

    @classmethod
    def round(cls, d: int) -> _Shape:
        """Spread as far as the normal law in all directions."""
        return cls(np.zeros((0, d)), np.zeros(0))

    @classmethod
    def principal(cls, u: FloatArray, weights: FloatArray) -> _Shape:
        """Spread along the principal axes."""
        d = u.shape[1]
        covariance = np.cov(u.T, aweights=weights).reshape(d, d)
        values, vectors = np.linalg.eigh(covariance)
        return cls(vectors.T, np.sqrt(np.maximum(values, 1e-16)))

    def scale(self, u: FloatArray, along: FloatArray, rest: float) -> FloatArray:
        """Multiply by one factor along every axis, and by another one elsewhere."""
        return rest * u + ((u @ self.axes.T) * (along - rest)) @ self.axes


@dataclass(frozen=True, eq=False)
class _Kernel:
    """Autoregressive moves, which keep the normal law."""

    shape: _Shape
    size: float = 1.0

    def propose(self, u: FloatArray, noise: FloatArray) -> FloatArray:
        """Return a move of every row."""
        along, rest = (
            np.minimum(1.0, self.size * np.asarray(s)) for s in (self.shape.spread, self.shape.rest)
        )
        kept = self.shape.scale(u, np.sqrt(1 - along**2), math.sqrt(1 - rest**2))
        return kept + self.shape.scale(noise, along, float(rest))

    def adapt(self, accepted: float) -> _Kernel:
        """Return the kernel with larger steps if many proposals were accepted."""
        size = self.size * math.exp(accepted - _ACCEPTED)
        return replace(self, size=min(max(size, 1e-4), 10.0))


@dataclass(frozen=True, eq=False)
class _Plan:
    """Levels, each with the kernel that moves particles within it."""

    levels: tuple[float, ...]
    kernels: tuple[_Kernel, ...]
    first: float
    """Share of failures among plain draws."""
    cost: float
    """Questions per particle of a replica, about."""


def _explore(normals: _Normals, budget: int) -> Asking[_Plan]:
    """Choose levels and kernels, no more levels than the budget has replicas for."""
    u = normals.draw(_PILOT)
    margins = yield u
    first = float(np.mean(margins <= 0))
    levels: list[float] = []
    kernels: list[_Kernel] = []
    kernel = _Kernel(_Shape.round(normals.dimensions))
    reached, waited, moved = 1.0, 0, 0
    while first < _LIKELY and np.mean(margins <= 0) < _SHARE and reached > FLOOR:
        if normals.asked + _FEWEST * _REPLICAS * _count_questions(moved) > budget:
            break
        level = _choose_level(margins)
        if level is None:
            waited += 1
            if waited > _PATIENCE or not levels:
                break
            copies = np.arange(_PILOT)
        else:
            waited = 0
            alive = margins <= level
            reached *= alive.mean()
            shape = _Shape.round(normals.dimensions)
            if normals.dimensions <= _PRINCIPAL and alive.sum() > normals.dimensions + 1:
                shape = _Shape.principal(u[alive], np.ones(alive.sum()))
            kernel = replace(kernel, shape=shape)
            copies, origins = _copy(alive, normals.shuffle(_PILOT))
            u, margins = u.copy(), margins.copy()
            u[copies], margins[copies] = u[origins], margins[origins]
            levels.append(level)
            kernels.append(kernel)
            moved += len(copies)
        for _ in range(_STEPS):
            moves = yield from _move(normals, kernel, u, margins, copies, level=levels[-1])
            kernel = kernel.adapt(moves.accepted)
        kernels[-1] = kernel
    return _Plan(tuple(levels), tuple(kernels), first, _count_questions(moved))


def _count_questions(moved: int) -> float:
    """Return questions per particle of a replica, of levels at which the pilot moved so many."""
    return 1 + _STEPS * moved / _PILOT


def _choose_level(margins: FloatArray) -> float | None:
    """Return the margin that the wanted share is at or below; None if all are alike.

    At least one is above it.
    """
    ordered = np.sort(margins)
    below = ordered[ordered < ordered[-1]]
    if not len(below):
        return None
    return float(min(ordered[math.ceil(_SHARE * len(margins)) - 1], below[-1]))


def _copy(alive: BoolArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return the particles that died, and one that lives for each of them.

    All that live are copied equally often, but for one copy, in a random order.
    """
    dead, living = np.flatnonzero(~alive), order[alive[order]]
    return dead, living[np.arange(len(dead)) % len(living)]


class _Moves(NamedTuple):
    """Proposals, their margins, and the share that was accepted."""

    proposed: FloatArray
    answers: FloatArray
    accepted: float


def _move(
    normals: _Normals,
    kernel: _Kernel,
    u: FloatArray,
    margins: FloatArray,
    rows: IntArray,
    *,
    level: float,
) -> Asking[_Moves]:
    """Move some particles once, in place."""
    proposed = kernel.propose(u[rows], normals.draw(len(rows)))
    answers = (yield proposed) if len(rows) else np.zeros(0)
    kept = answers <= level
    u[rows[kept]], margins[rows[kept]] = proposed[kept], answers[kept]
    return _Moves(proposed, answers, float(kept.mean()) if len(rows) else 1.0)


@dataclass(frozen=True, eq=False)
class _Found:
    """What replicas found."""

    values: FloatArray
    """Estimates of all replicas."""
    reached: FloatArray
    """Probability that each of them gives the last level before failure."""
    failed: FloatArray
    """Particles that failed."""
    weights: FloatArray
    """Their weights, of which the sum over a replica is its estimate."""
    replica: IntArray
    """Numbers of their replicas."""
    slope: FloatArray
    """Direction in which margins fall near failure; 0 if it is not known."""

    def __add__(self, other: _Found) -> _Found:
        joined = {
            name: np.concatenate([values, vars(other)[name]])
            for name, values in vars(self).items()
            if name != "slope"
        }
        return _Found(**joined, slope=self.slope)

    @property
    def hits(self) -> int:
        """Number of particles that failed."""
        return len(self.failed)

    def is_precise(self, precision: float | None) -> bool:
        """Whether half the width of the interval is so small, relative to the value."""
        return precision is not None and 2 * measure_spread(self.values) <= precision

    def fits(self, value: float) -> bool:
        """Whether a value is not far from the mean of the replicas, beside their spread."""
        spread = 5 * measure_spread(self.values)
        return value > 0 and abs(math.log(value / self.values.mean())) <= spread

    def conclude(self, queries: int) -> PointRisk:
        """Return the mean of the replicas; without a failure, the level that was reached."""
        hits, n = self.hits, len(self.values)
        if not hits:
            reach = float(self.reached.mean())
            return PointRisk(SPLITTING, 0.0, measure_spread(self.reached), n, 0, queries, reach)
        value = float(self.values.mean())
        return PointRisk(SPLITTING, value, measure_spread(self.values), n, hits, queries, value)


def _split(normals: _Normals, plan: _Plan, n: int) -> Asking[_Found]:
    """Send replicas of n particles through all levels."""
    u = normals.draw(n * _REPLICAS)
    margins = (yield u).copy()
    reached = np.ones(_REPLICAS)
    asked: list[tuple[FloatArray, FloatArray]] = []
    for level, kernel in zip(plan.levels, plan.kernels, strict=True):
        alive = (margins <= level).reshape(_REPLICAS, n)
        reached *= alive.mean(axis=1)
        pairs = [
            [n * r + places for places in _copy(alive[r], normals.shuffle(n))]
            for r in range(_REPLICAS)
            if reached[r]
        ]
        margins[np.repeat(reached == 0, n)] = math.inf  # none is left
        if not pairs:
            break
        copies, origins = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
        u[copies], margins[copies] = u[origins], margins[origins]
        asked = asked[-(_SLOPES - 1) * _STEPS :]
        for _ in range(_STEPS):
            moves = yield from _move(normals, kernel, u, margins, copies, level=level)
            asked.append((moves.proposed, moves.answers))
    failed = margins <= 0
    values = reached * failed.reshape(_REPLICAS, n).mean(axis=1)
    return _Found(
        values,
        reached,
        u[failed],
        np.repeat(reached / n, n)[failed],
        np.repeat(np.arange(_REPLICAS), n)[failed],
        _find_slope(asked, normals.dimensions),
    )


@dataclass(frozen=True, eq=False)
class _Proposal:
    """Where importance sampling draws: around a centre, half of it with the shape of failures."""

    centre: FloatArray
    shape: _Shape
    variance: float = math.inf
    """Expected square of a weight, relative to that of the probability."""
    skewness: float = math.inf
    """Expected third power of a weight, relative to that of the root of the expected square."""

    @classmethod
    def fit(cls, u: FloatArray, weights: FloatArray) -> _Proposal:
        """Return the proposal around failures, with their principal axes."""
        shape = _Shape.principal(u, weights)
        wider = 1 + _WIDER * min(1.0, 6 / u.shape[1])  # in many dimensions little is much
        centre = np.average(u, axis=0, weights=weights)
        return cls(centre, replace(shape, spread=math.sqrt(wider) * shape.spread))

    @classmethod
    def fit_along(cls, axis: FloatArray, u: FloatArray, weights: FloatArray) -> _Proposal:
        """Return the proposal around failures, with one axis through 0."""
        d, axis = len(axis), axis / np.linalg.norm(axis)
        # elsewhere the mean of few particles is mostly chance
        centre = np.average(u @ axis, weights=weights) * axis
        of_axis = np.average(((u - centre) @ axis) ** 2, weights=weights)
        total = np.average(((u - centre) ** 2).sum(axis=1), weights=weights)
        rest = min(1.0, math.sqrt(max(total - of_axis, 1e-16) / (d - 1))) if d > 1 else 1.0
        spread = math.sqrt((1 + _WIDER) * max(of_axis, 1e-16))
        return cls(centre, _Shape(axis[None], np.array([spread]), rest))

    def judge(self, found: _Found, chosen: BoolArray) -> _Proposal:
        """Return the proposal with the moments of its weights, as failed particles tell them."""
        with np.errstate(over="ignore"):
            ratios = np.exp(self.weigh(found.failed[chosen])) / found.values.mean()
            second, third = (
                float(np.average(ratios**power, weights=found.weights[chosen])) for power in (1, 2)
            )
        if not math.isfinite(third):
            return self
        return replace(self, variance=second, skewness=third / second**1.5)

    @property
    def draws(self) -> float:
        """Draws with which the mean of weights is close to normal."""
        return max(_EFFECTIVE * self.variance, (self.skewness / _SKEWED) ** 2)

    def move(self, noise: FloatArray) -> FloatArray:
        """Turn normal numbers into draws: every second one has the shape, the others are round."""
        u = noise.copy()
        u[::2] = self.shape.scale(noise[::2], self.shape.spread, self.shape.rest)
        return u + self.centre

    def weigh(self, u: FloatArray) -> FloatArray:
        """Logarithm of the normal density over that of the proposal."""
        away, shape = u - self.centre, self.shape
        d, k = u.shape[1], len(shape.axes)
        inverse = shape.scale(away, 1 / shape.spread, 1 / shape.rest)
        volume = np.log(shape.spread).sum() + (d - k) * math.log(shape.rest)
        densities = [-0.5 * (inverse**2).sum(axis=1) - volume, -0.5 * (away**2).sum(axis=1)]
        mixed = logsumexp(densities, axis=0) - math.log(2)
        return np.asarray(-0.5 * (u**2).sum(axis=1) - mixed)


def _aim(normals: _Normals, found: _Found, budget: int) -> Asking[_Proposal | None]:
    """Return where to draw, fitted to the failures of every second replica; None if these are few.

    As long as that leaves too much variance, failures among some first draws, which are no part of
    the estimate, give a better place. The failures of the other replicas judge it.
    """
    half = found.replica % 2 == 0
    if min(half.sum(), (~half).sum()) < _FEWEST:
        return None
    u, weights = found.failed[half], found.weights[half]
    known = normals.dimensions <= _PRINCIPAL and len(u) > 2 * normals.dimensions

    def fit() -> _Proposal:
        if known:
            return _Proposal.fit(u, weights).judge(found, ~half)
        mean = np.average(u, axis=0, weights=weights)
        mean /= np.linalg.norm(mean)
        # a slope is wrong where margins are curved, a mean where particles are few
        axes = [mean, found.slope, mean + found.slope] if found.slope.any() else [mean]
        fitted = [_Proposal.fit_along(a, u, weights).judge(found, ~half) for a in axes]
        return min(fitted, key=lambda proposal: proposal.draws)

    best = latest = fit()
    for _ in range(_ROUNDS):
        left = budget - normals.asked - _SCOUTS
        if best.draws <= left or left < 2 * _SCOUTS or latest.variance > _SCOUTS:
            break
        u, weights = yield from _weigh_draws(normals, latest, _SCOUTS)
        failed = weights > 0
        u, weights = u[failed], weights[failed]
        effective = weights.sum() ** 2 / max((weights**2).sum(), 1e-300)
        if effective < _FEWEST:
            break
        known = effective > 4 * normals.dimensions
        latest = fit()
        best = min(best, latest, key=lambda proposal: proposal.draws)
    return best


def _find_slope(asked: list[tuple[FloatArray, FloatArray]], d: int) -> FloatArray:
    """Return the direction in which margins fall, by least squares; 0 if that is not known."""
    if d <= _PRINCIPAL or not asked:
        return np.zeros(d)
    u, margins = (np.concatenate(parts) for parts in zip(*asked, strict=True))
    if len(u) < 2 * d or not np.isfinite(margins).all():
        return np.zeros(d)
    away = u - u.mean(axis=0)
    # a little of the trace keeps directions that hardly vary from deciding
    square = away.T @ away
    square[np.diag_indices(d)] += 1e-6 * np.trace(square) / d
    slope = -np.linalg.solve(square, away.T @ (margins - margins.mean()))
    length = np.linalg.norm(slope)
    return slope / length if length > 0 else np.zeros(d)


def _sample(normals: _Normals, proposal: _Proposal, draws: int) -> Asking[PointRisk]:
    """Estimate by importance sampling."""
    parts = []
    for start in range(0, draws, PLAIN_DRAWS):
        _, some = yield from _weigh_draws(normals, proposal, min(PLAIN_DRAWS, draws - start))
        parts.append(some)
    weights = np.concatenate(parts)
    value, hits = float(weights.mean()), int(np.count_nonzero(weights))
    error = float(weights.std(ddof=1) / math.sqrt(draws) / value) if value else math.inf
    return PointRisk(IMPORTANCE, value, error, draws, hits, draws, value / (1 - UNSEEN))


def _weigh_draws(
    normals: _Normals, proposal: _Proposal, n: int
) -> Asking[tuple[FloatArray, FloatArray]]:
    """Draw from a proposal, and return the draws with their weights, 0 where nothing failed."""
    u = proposal.move(normals.draw(n))
    margins = yield u
    return u, np.where(margins <= 0, np.exp(proposal.weigh(u)), 0.0)
