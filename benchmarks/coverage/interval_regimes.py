"""What models do in the simulations of interval_coverage.py.

Two kinds of study are simulated. *Fixed model*: n independent points. *Mean over splits*: a fixed
data set of n points and runs that are each tested on a random fifth of it. Every point has a type:
always right, always wrong, boundary (a probability q of being right under noise, and right without
noise with probability 0.6 + 0.4 q), or fragile (right without noise, mostly wrong with it). Two
models are evaluated on the same points under the same noise: half of all draws affect both alike,
the others independently. With a run shift, a random share of a run's points gets worse, more in
some runs than in others: for both models, or for one of the two, which spreads their difference.
One way: the answers of two models are nested, so that in every run all points at which they differ
differ the same way, in some runs more than in others, in some the other way.

At the edge of what a fixed model may do: few points, 30 draws, an accuracy near 0, a few points
that change completely, one way or both, among points that do not change or among many that change
a little, many points that change completely, points that are all alike, also with few clean errors,
and groups of 20 to 40 points of which a tenth is hard.

A fixed model's truth is computed from the probabilities. For splits, a population of runs is
drawn once and studies are drawn from it with replacement, so the truth is the population's mean.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shaketable.core.types import FloatArray

BoolArray: TypeAlias = NDArray[np.bool_]

ACCURACIES = (0.5, 0.9, 0.99, 0.998)
SIZES = (100, 1000, 10_000)
SPLITS = ((100, 20), (1000, 200), (10_000, 2000), (1000, 1000))
"""Points of the data set and of each run's test part; the last one has a fixed test part."""
DRAWS = (1, 10)
KINDS = ("hardly any loss", "some loss", "large loss")
POPULATION = 4000
STEADY = np.zeros(1)
SHIFTING = special.gammaincinv(4, (np.arange(9) + 0.5) / 9) / 8
"""Levels of the run shift, in units of the error: mean 0.5, skewed, standard deviation 0.25."""
LEVELS = 99
"""Number of levels of a run effect that is normal."""

NESTED = "nested answers"
RUN_EFFECTS = ((0.0, 0.005), (0.0, 0.02), (0.0, 0.05), (0.02, 0.02), (0.03, 0.01))
"""Mean and standard deviation of the share of points in which one model of two is worse."""

Component: TypeAlias = tuple[float, int, float, int, float]
"""Probability, first model's clean answer and q, second model's clean answer and q."""
Types: TypeAlias = list[tuple[float, list[Component]]]
"""Share and components of every type of point."""
RIGHT: list[Component] = [(1.0, 1, 1.0, 1, 1.0)]
WRONG: list[Component] = [(1.0, 0, 0.0, 0, 0.0)]


def boundary(q: float) -> list[Component]:
    """Outcomes of a boundary point; the second model is less often right under noise."""
    right = 0.6 + 0.4 * q
    chance = {1: right, 0: 1 - right}
    return [(chance[a] * chance[b], a, q, b, q**2) for a in (0, 1) for b in (0, 1)]


def point_types(kind: str, accuracy: float) -> Types:
    """Shares of the point types that give the first model this clean accuracy."""
    error = 1 - accuracy
    if kind == NESTED:
        return [(accuracy, RIGHT), (error, WRONG)]
    hesitant = {
        "hardly any loss": 0.2 * error,
        "some loss": min(2 * error, 0.3),
        "large loss": min(2 * error, 0.1),
    }[kind]
    fragile = 0.4 * accuracy if kind == "large loss" else 0.0
    wrong = error - 0.2 * hesitant
    types: Types = [(wrong, WRONG)]
    types += [(hesitant / 3, boundary(q)) for q in (1 / 6, 1 / 2, 5 / 6)]
    types += [(fragile / 2, [(1.0, 1, q, 1, 0.4 + q / 2)]) for q in (0.1, 0.4)]
    types += [(1 - wrong - hesitant - fragile, RIGHT)]
    return [(share, components) for share, components in types if share > 0]


def lost_types(losses: float, gains: float, accuracy: float) -> Types:
    """The first model loses and gains such shares of the points completely; the rest is still."""
    changed = [(losses, [(1.0, 1, 0.0, 1, 1.0)]), (gains, [(1.0, 0, 1.0, 0, 0.0)])]
    rest = [(accuracy - losses, RIGHT), (1 - accuracy - gains, WRONG)]
    return [(share, list(components)) for share, components in changed + rest if share > 0]


def complete_types(accuracy: float) -> Types:
    """Points change completely: many lost by one model or both, some gained by both."""
    flips: list[tuple[float, Component]] = [
        (0.1 * accuracy, (1.0, 1, 0.0, 1, 1.0)),
        (0.05 * accuracy, (1.0, 1, 0.0, 1, 0.0)),
        (0.05 * accuracy, (1.0, 1, 1.0, 1, 0.0)),
        (0.2 * (1 - accuracy), (1.0, 0, 1.0, 0, 1.0)),
    ]
    types: Types = [(share, [component]) for share, component in flips]
    return [*types, (0.8 * accuracy, RIGHT), (0.8 * (1 - accuracy), WRONG)]


def alike_types(accuracy: float, noisy: float, worse: float) -> Types:
    """Every point is right with the same probability, and less often under noise."""
    clean = {1: accuracy, 0: 1 - accuracy}
    both = itertools.product((0, 1), (0, 1))
    return [(1.0, [(clean[a] * clean[b], a, noisy, b, worse) for a, b in both])]


def hard_types(hard: float, accuracy: float) -> Types:
    """A share of the points is always wrong, the others are alike."""
    rest = alike_types(accuracy, accuracy, accuracy**2)
    return [(hard, WRONG), *((share * (1 - hard), components) for share, components in rest)]


@dataclass(frozen=True)
class Regime:
    """What a fixed model does, on how many points, in how many draws."""

    kind: str
    accuracy: float
    n: int
    k: int
    types: Types

    @property
    def labels(self) -> list[str]:
        """Cells that name it."""
        return [self.kind, f"{100 * self.accuracy:g}", str(self.n), str(self.k)]


def fixed_model_regimes() -> Iterator[Regime]:
    """All regimes of a fixed model, those at the edge last."""

    def usual(kind: str, accuracy: float, n: int, k: int) -> Regime:
        return Regime(kind, accuracy, n, k, point_types(kind, accuracy))

    for regime in itertools.product(KINDS, ACCURACIES, SIZES, DRAWS):
        yield usual(*regime)
    for regime in itertools.product(KINDS, (0.5, 0.9), (20,), DRAWS):
        yield usual(*regime)
    for regime in itertools.product(KINDS, (0.9,), (10,), DRAWS):
        yield usual(*regime)
    for kind, (accuracy, n), k in itertools.product(KINDS, ((0.1, 100), (0.02, 1000)), DRAWS):
        yield usual(kind, accuracy, n, k)
    for regime in itertools.product(KINDS, (0.5, 0.9), (100, 1000), (30,)):
        yield usual(*regime)
    for n, losses in itertools.product((20, 100, 1000), (0.3, 1, 3, 9)):
        if losses < n / 5:
            kind = f"{losses:g} lost, rest still"
            yield Regime(kind, 0.9, n, 1, lost_types(losses / n, 0.0, 0.9))
    for n, (losses, gains) in itertools.product((100, 1000), ((3, 1), (9, 3))):
        kind = f"{losses} lost, {gains} gained, rest still"
        yield Regime(kind, 0.9, n, 1, lost_types(losses / n, gains / n, 0.9))
    for accuracy, n, k in itertools.product((0.5, 0.9, 0.99), (100, 1000), DRAWS):
        kind = "many change completely"
        yield Regime(kind, accuracy, n, k, complete_types(accuracy))
    for n, k in itertools.product((20, 100, 1000), (1, 10, 30)):
        yield Regime("all points alike", 0.7, n, k, alike_types(0.7, 0.63, 0.56))
    for lost, n in itertools.product((1, 3), (100, 1000)):
        few: Types = [(lost / n, [(1.0, 1, 0.0, 1, 1.0)])]
        many = [(share * (1 - lost / n), c) for share, c in point_types("some loss", 0.9)]
        yield Regime(f"some loss, and {lost} lost", 0.9, n, 10, few + many)
    yield from small_regimes()


def small_regimes() -> Iterator[Regime]:
    """Regimes of few points, or few clean errors."""
    for n, k in itertools.product((20, 30, 50, 100), (1, 10, 30)):
        yield Regime("all alike, 90 % noisy", 0.95, n, k, alike_types(0.95, 0.9, 0.85))
    for error, n in itertools.product((0.03, 0.04, 0.05), (50, 100)):
        types = alike_types(1 - error, 1 - 2 * error, 1 - 3 * error)
        yield Regime("all alike, errors double", 1 - error, n, 6, types)
    for n, rest in itertools.product((20, 30, 40, 100), (0.9, 0.95, 0.99)):
        kind = f"10 % hard, rest {100 * rest:g} %"
        yield Regime(kind, round(0.9 * rest, 3), n, 10, hard_types(0.1, rest))


def outcome_probabilities(components: list[Component], k: int) -> FloatArray:
    """Probability of every outcome (clean, hits, clean, hits) of the two models, flattened."""
    table = np.zeros((2, k + 1, 2, k + 1))
    for probability, clean_a, q_a, clean_b, q_b in components:
        both = 0.5 * min(q_a, q_b) + 0.5 * q_a * q_b
        one = np.array([[1 - q_a - q_b + both, q_b - both], [q_a - both, both]])
        hits = np.ones((1, 1))
        for _ in range(k):
            grown = np.zeros((hits.shape[0] + 1, hits.shape[1] + 1))
            for a, b in itertools.product((0, 1), (0, 1)):
                grown[a : a + hits.shape[0], b : b + hits.shape[1]] += one[a, b] * hits
            hits = grown
        table[clean_a, :, clean_b, :] += probability * hits
    return np.maximum(table.ravel(), 0)


def draw_studies(
    regime: Regime, trials: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of all joint outcomes, and how often they occur in every study."""
    parts = [share * outcome_probabilities(c, regime.k) for share, c in regime.types]
    probabilities = np.sum(parts, axis=0)
    probabilities /= probabilities.sum()
    counts = rng.multinomial(regime.n, probabilities, size=trials).astype(np.float64)
    return probabilities, keep_defined(counts, regime.k)


def keep_defined(counts: FloatArray, k: int) -> FloatArray:
    """Leave out tables in which a model is never right without noise: MSCR is undefined."""
    right = counts.reshape(-1, 2, k + 1, 2, k + 1).sum(axis=(2, 4))
    return np.asarray(counts[(right[:, 1].sum(axis=-1) > 0) & (right[:, :, 1].sum(axis=-1) > 0)])


@dataclass(frozen=True, eq=False)
class SplitRegime:
    """What models do in many runs, each tested on a random part of one data set."""

    kind: str
    accuracy: float
    split: tuple[int, int]
    k: int
    shift: Literal["no", "both models", "one model", "one way"]
    """Which models have more wrong answers in some runs than in others."""
    mean: float = 0.0
    """One way: mean share of the points that the second model loses, and its spread."""
    spread: float = 0.0

    @property
    def labels(self) -> list[str]:
        """Cells that name it."""
        sizes = map(str, (*self.split, self.k))
        shift: str = self.shift
        if shift == "one way":
            shift += f", {100 * self.mean:g} ± {100 * self.spread:g} %"
        return [self.kind, f"{100 * self.accuracy:g}", *sizes, shift]


def split_regimes() -> Iterator[SplitRegime]:
    """All regimes of the mean over splits."""
    for kind, accuracy, split, k in itertools.product(KINDS, ACCURACIES, SPLITS, DRAWS):
        yield SplitRegime(kind, accuracy, split, k, "no")
        yield SplitRegime(kind, accuracy, split, k, "both models")
        yield SplitRegime(kind, accuracy, split, k, "one model")
    for n, (mean, spread) in itertools.product((100, 1000), RUN_EFFECTS):
        yield SplitRegime(NESTED, 0.9, (n, n), 1, "one way", mean, spread)


def population_of_runs(
    regime: SplitRegime, rng: np.random.Generator, levels: FloatArray = SHIFTING
) -> FloatArray:
    """Outcome tables of many runs.

    `levels` are how many times the share of wrong answers runs have besides, all equally often.
    """
    kind, accuracy, k, (n, part) = regime.kind, regime.accuracy, regime.k, regime.split
    shift = STEADY if regime.shift == "no" else levels * (1 - accuracy)
    if regime.shift == "one way":
        quantiles = special.ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
        shift = regime.mean + regime.spread * quantiles / quantiles.std()
    parts = point_types(kind, accuracy)
    exact = n * np.array([share for share, _ in parts])
    sizes = np.floor(exact + 1e-9).astype(np.int64)
    tables = np.array([outcome_probabilities(components, k) for _, components in parts])
    # points that do not fill a whole type are a mixture of what is left of all types
    rest = np.maximum(exact - sizes, 0)
    if rest.sum() > 1e-6:
        sizes = np.append(sizes, n - sizes.sum())
        tables = np.vstack([tables, rest @ tables / rest.sum()])
    if regime.shift == "one model":
        guesses: list[Component] = [(0.5, 1, 1.0, b, 0.5) for b in (0, 1)]
    else:
        guesses = [(0.25, a, 0.5, b, 0.5) for a in (0, 1) for b in (0, 1)]
    worse = better = outcome_probabilities(guesses, k)
    if regime.shift == "one way":
        worse = outcome_probabilities([(1.0, 1, 1.0, 1, 0.0)], k)
        better = outcome_probabilities([(1.0, 1, 0.0, 1, 1.0)], k)
    tested = rng.multivariate_hypergeometric(sizes, part, size=POPULATION, method="marginals")
    level = rng.integers(len(shift), size=POPULATION)
    counts = np.zeros((POPULATION, tables.shape[1]))
    for i, share in enumerate(shift):
        runs = level == i
        mixed = (1 - abs(share)) * tables + abs(share) * (worse if share > 0 else better)
        for j, probabilities in enumerate(mixed):
            counts[runs] += rng.multinomial(tested[runs, j], probabilities / probabilities.sum())
    return keep_defined(counts, k)
