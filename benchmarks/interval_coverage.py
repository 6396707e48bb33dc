"""Simulate the coverage of the 95 % intervals of shaketable.statistics.intervals.

Result: at least 93.5 % in all 840 regimes (results/coverage.md); textbook intervals fall to 1 %.
Trials: 2,000 simulated studies per regime, seed 0.
Hardware: one core of an AMD EPYC, 10 minutes.

Two kinds of study are simulated. *Fixed model*: n independent points. *Mean over splits*: a fixed
data set of n points and runs that are each tested on a random fifth of it. Every point has a type:
always right, always wrong, boundary (a probability q of being right under noise, and right without
noise with probability 0.6 + 0.4 q), or fragile (right without noise, mostly wrong with it). Two
models are evaluated on the same points under the same noise: half of all draws affect both alike,
the others independently. With a run shift, a random share of a run's points gets worse, more in
some runs than in others.

A fixed model's truth is computed from the probabilities. For splits, a population of runs is
drawn once and studies are drawn from it with replacement, so the truth is the population's mean.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shaketable.core.types import FloatArray
from shaketable.statistics import limits

BoolArray: TypeAlias = NDArray[np.bool_]

ACCURACIES = (0.5, 0.9, 0.99, 0.998)
SIZES = (100, 1000, 10_000)
SPLITS = ((100, 20), (1000, 200), (10_000, 2000), (1000, 1000))
"""Points of the data set and of each run's test part; the last one has a fixed test part."""
DRAWS = (1, 10)
RUNS = (2, 5, 20, 60)
KINDS = ("hardly any loss", "some loss", "large loss")
POPULATION = 10_000
Z = float(special.ndtri(0.975))
STEADY = np.zeros(1)
SHIFTING = special.gammaincinv(4, (np.arange(9) + 0.5) / 9) / 8
"""Levels of the run shift, in units of the error: mean 0.5, skewed, standard deviation 0.25."""

Component: TypeAlias = tuple[float, int, float, int, float]
"""Probability, first model's clean answer and q, second model's clean answer and q."""


def boundary(q: float) -> list[Component]:
    """Outcomes of a boundary point; the second model is less often right under noise."""
    right = 0.6 + 0.4 * q
    chance = {1: right, 0: 1 - right}
    return [(chance[a] * chance[b], a, q, b, q**2) for a in (0, 1) for b in (0, 1)]


def point_types(kind: str, accuracy: float) -> list[tuple[float, list[Component]]]:
    """Shares of the point types that give the first model this clean accuracy."""
    error = 1 - accuracy
    hesitant = {
        "hardly any loss": 0.2 * error,
        "some loss": min(2 * error, 0.3),
        "large loss": min(2 * error, 0.1),
    }[kind]
    fragile = 0.4 * accuracy if kind == "large loss" else 0.0
    wrong = error - 0.2 * hesitant
    types: list[tuple[float, list[Component]]] = [(wrong, [(1.0, 0, 0.0, 0, 0.0)])]
    types += [(hesitant / 3, boundary(q)) for q in (1 / 6, 1 / 2, 5 / 6)]
    types += [(fragile / 2, [(1.0, 1, q, 1, 0.4 + q / 2)]) for q in (0.1, 0.4)]
    types += [(1 - wrong - hesitant - fragile, [(1.0, 1, 1.0, 1, 1.0)])]
    return [(share, components) for share, components in types if share > 0]


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
    return table.ravel()


@dataclass(frozen=True)
class Estimator:
    """One estimator: its measure on a table of joint outcomes, and whether it is one-sided."""

    name: str
    measure: Callable[[FloatArray], limits.LinearEstimate]
    columns: Callable[[FloatArray], FloatArray]
    one_sided: bool = False


def estimators(k: int, possible: BoolArray) -> list[Estimator]:
    """All estimators, each with the part of the table of possible joint outcomes it looks at."""
    shape = (2, k + 1, 2, k + 1)
    joint = np.indices(shape).reshape(4, -1)[:, possible].astype(np.float64)
    single = np.indices((2, k + 1)).reshape(2, -1).astype(np.float64)
    first = limits.change_estimator(joint[0], joint[1] / k)
    second = limits.change_estimator(joint[2], joint[3] / k)

    def marginal(axes: tuple[int, ...]) -> Callable[[FloatArray], FloatArray]:
        def columns(counts: FloatArray) -> FloatArray:
            table = counts.reshape(*counts.shape[:-1], *shape)
            return np.asarray(table.sum(axis=axes)).reshape(*counts.shape[:-1], -1)

        return columns

    hits = np.arange(k + 1) / k
    return [
        Estimator("accuracy", limits.mean_estimator(np.array([0.0, 1.0])), marginal((-3, -2, -1))),
        Estimator("robust accuracy", limits.mean_estimator(hits), marginal((-4, -2, -1))),
        Estimator("MSCR", limits.change_estimator(single[0], single[1] / k), marginal((-2, -1))),
        Estimator("difference", lambda n: first(n) - second(n), lambda n: n[..., possible]),
        Estimator("error bound", limits.mean_estimator(1 - hits), marginal((-4, -2, -1)), True),
    ]


@dataclass(frozen=True)
class Outcome:
    """Coverage of our interval and of the plain one, and the ratio of their mean widths."""

    coverage: float
    plain: float
    ratio: float

    def __str__(self) -> str:
        ratio = "–" if not np.isfinite(self.ratio) else f"{self.ratio:.2f}"
        mark = "**" if self.coverage < 0.93 else ""
        return f"{mark}{100 * self.coverage:.1f}{mark} / {100 * self.plain:.1f} / {ratio}"


def outcome(
    truth: float, estimate: FloatArray, low: FloatArray, high: FloatArray, plain: FloatArray
) -> Outcome:
    """Compare the interval [low, high] and estimate +- plain with the truth."""
    # a truth at the very end of the range may differ from the limit in the last bit
    covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
    plainly = np.abs(estimate - truth) <= plain + 1e-12
    width = 2 * plain.mean()
    ratio = float((high - low).mean() / width) if width > 1e-12 else np.inf
    return Outcome(float(covered.mean()), float(plainly.mean()), ratio)


def fixed_model(
    kind: str, accuracy: float, n: int, k: int, *, trials: int, rng: np.random.Generator
) -> list[Outcome]:
    """Coverage of every estimator for one fixed model."""
    parts = point_types(kind, accuracy)
    probabilities = sum(share * outcome_probabilities(c, k) for share, c in parts)
    probabilities = np.asarray(probabilities) / np.sum(probabilities)
    counts = rng.multinomial(n, probabilities, size=trials).astype(np.float64)
    results = []
    for estimator in estimators(k, probabilities > 0):
        table = estimator.columns(counts)
        truth = float(estimator.measure(estimator.columns(probabilities)).estimate)
        linear = estimator.measure(table)
        deviations = linear.values - linear.estimate[:, None]
        error = np.sqrt((table * deviations**2).sum(axis=-1) / n / (n - 1))
        if estimator.one_sided:
            high = limits.find_upper_limit(linear, table, 0.05)
            plain = linear.estimate + special.ndtri(0.95) * error
            covered = float((truth <= high).mean())
            ratio = float(high.mean() / plain.mean()) if plain.mean() > 0 else np.inf
            results.append(Outcome(covered, float((truth <= plain).mean()), ratio))
        else:
            estimate, low, high = limits.compute_limits(estimator.measure, table, 0.025)
            results.append(outcome(truth, estimate, low, high, Z * error))
    return results


def population_of_runs(
    kind: str,
    accuracy: float,
    split: tuple[int, int],
    k: int,
    *,
    shift: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Outcome tables of many runs, each tested on a random part of one data set."""
    n, part = split
    parts = point_types(kind, accuracy)
    exact = n * np.array([share for share, _ in parts])
    sizes = np.floor(exact + 1e-9).astype(np.int64)
    tables = np.array([outcome_probabilities(components, k) for _, components in parts])
    # points that do not fill a whole type are a mixture of what is left of all types
    rest = np.maximum(exact - sizes, 0)
    if rest.sum() > 1e-6:
        sizes = np.append(sizes, n - sizes.sum())
        tables = np.vstack([tables, rest @ tables / rest.sum()])
    worse = outcome_probabilities([(0.25, a, 0.5, b, 0.5) for a in (0, 1) for b in (0, 1)], k)
    tested = rng.multivariate_hypergeometric(sizes, part, size=POPULATION, method="marginals")
    level = rng.integers(len(shift), size=POPULATION)
    counts = np.zeros((POPULATION, tables.shape[1]))
    for i, share in enumerate(shift):
        runs = level == i
        mixed = (1 - share) * tables + share * worse
        for j, probabilities in enumerate(mixed):
            counts[runs] += rng.multinomial(tested[runs, j], probabilities / probabilities.sum())
    # a clean accuracy of 0 leaves MSCR undefined; it does not happen with more than 20 points
    right = counts.reshape(-1, 2, k + 1, 2, k + 1).sum(axis=(2, 4))
    return np.asarray(counts[(right[:, 1].sum(axis=-1) > 0) & (right[:, :, 1].sum(axis=-1) > 0)])


def over_splits(
    population: FloatArray, k: int, trials: int, rng: np.random.Generator
) -> list[tuple[int, list[Outcome]]]:
    """Coverage of every two-sided estimator for the mean over splits, by number of runs."""
    chosen = {runs: rng.integers(len(population), size=(trials, runs)) for runs in RUNS}
    results: dict[int, list[Outcome]] = {runs: [] for runs in RUNS}
    for estimator in estimators(k, np.asarray(population.any(axis=0)))[:4]:
        table = estimator.columns(population)
        each = estimator.measure(table).estimate
        truth = float(each.mean())
        for runs, study in chosen.items():
            parts = [
                limits.compute_limits_over_runs(estimator.measure, table[part], 0.025)
                for part in np.array_split(study, 1 + study.size * table.shape[1] // 1_000_000)
            ]
            estimate, low, high = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            spread = each[study].std(axis=-1, ddof=1) / np.sqrt(runs)
            plain = special.stdtrit(runs - 1, 0.975) * spread
            results[runs].append(outcome(truth, estimate, low, high, plain))
    return list(results.items())


Row: TypeAlias = tuple[list[str], list[Outcome]]


def fixed_model_rows(trials: int, rng: np.random.Generator) -> Iterator[Row]:
    """One row for every regime of a fixed model."""
    for kind, accuracy, n, k in itertools.product(KINDS, ACCURACIES, SIZES, DRAWS):
        labels = [kind, f"{100 * accuracy:g}", str(n), str(k)]
        yield labels, fixed_model(kind, accuracy, n, k, trials=trials, rng=rng)


def over_splits_rows(trials: int, rng: np.random.Generator) -> Iterator[Row]:
    """One row for every regime of the mean over splits."""
    worlds = itertools.product(KINDS, ACCURACIES, SPLITS, DRAWS, (STEADY, SHIFTING))
    for kind, accuracy, split, k, shift in worlds:
        levels = shift * (1 - accuracy)
        population = population_of_runs(kind, accuracy, split, k, shift=levels, rng=rng)
        labels = [kind, f"{100 * accuracy:g}", *map(str, split), str(k)]
        labels.append("yes" if shift.any() else "no")
        for runs, outcomes in over_splits(population, k, trials, rng):
            yield [*labels, str(runs)], outcomes


def out_of_reach_rows(trials: int, rng: np.random.Generator) -> Iterator[Row]:
    """Rows for spreads between runs that a few runs cannot show."""
    for name, shift in (
        ("one run in two has 30 % of its points worse", np.array([0, 0.3])),
        ("one run in twenty has 30 % of its points worse", np.array([0] * 19 + [0.3])),
    ):
        population = population_of_runs("some loss", 0.9, SPLITS[2], 10, shift=shift, rng=rng)
        for runs, outcomes in over_splits(population, 10, trials, rng):
            yield [name, str(runs)], outcomes


def markdown(labels: list[str], names: list[str], rows: list[Row]) -> str:
    """Render rows as a table."""
    lines = [f"| {' | '.join(labels + names)} |", "|---" * len(labels + names) + "|"]
    lines += [f"| {' | '.join(cells + [str(o) for o in outcomes])} |" for cells, outcomes in rows]
    return "\n".join(lines)


def summary(truth: str, names: list[str], rows: list[Row]) -> list[str]:
    """Lowest coverage of every estimator, as rows of a table."""
    lines = []
    for i, name in enumerate(names):
        lowest = min((outcomes[i] for _, outcomes in rows), key=lambda o: o.coverage)
        plain = min(outcomes[i].plain for _, outcomes in rows)
        below = sum(outcomes[i].coverage < 0.93 for _, outcomes in rows)
        cells = [truth, name, len(rows), f"{100 * lowest.coverage:.1f}", below]
        lines.append("| " + " | ".join(map(str, [*cells, f"{100 * plain:.1f}"])) + " |")
    return lines


def main() -> None:
    """Simulate all regimes and write the tables."""
    parser = argparse.ArgumentParser(description="coverage of shaketable's 95 % intervals")
    parser.add_argument("--trials", type=int, default=2000, help="studies per regime")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="Markdown file; standard output if not given")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    start = time.process_time()

    def collect(title: str, rows: Iterator[Row]) -> list[Row]:
        collected: list[Row] = []
        for row in rows:
            collected.append(row)
            seconds = time.process_time() - start
            print(f"\r{title}: {len(collected)} regimes, {seconds:.0f} s", end="", file=sys.stderr)
        print(file=sys.stderr)
        return collected

    fixed = collect("fixed model", fixed_model_rows(options.trials, rng))
    splits = collect("mean over splits", over_splits_rows(options.trials, rng))
    beyond = collect("out of reach", out_of_reach_rows(options.trials, rng))
    names = ["accuracy", "robust accuracy", "MSCR", "difference", "error bound"]
    text = "\n".join(
        [
            "# Coverage of the 95 % intervals",
            "",
            f"Written by `benchmarks/interval_coverage.py`: {options.trials} studies per regime, "
            f"seed {options.seed}, {time.process_time() - start:.0f} CPU seconds on one core. The "
            "Monte-Carlo error of a coverage of 95 % is "
            f"{100 * (0.95 * 0.05 / options.trials) ** 0.5:.1f} points.",
            "",
            "| truth | estimator | regimes | lowest coverage % | regimes below 93 % | "
            "lowest coverage % of the plain interval |",
            "|---|---|---|---|---|---|",
            *summary("fixed model", names, fixed),
            *summary("mean over splits", names[:4], splits),
            "",
            "Cells below read: coverage in % / coverage in % of the plain interval / mean width "
            "over the plain one's. Plain is 1.96 standard errors clustered by point for a fixed "
            "model and Student's t over runs; – where its width is 0. The error bound is "
            "one-sided, its width counts from 0. Bold: below 93 %.",
            "",
            "## Fixed model",
            "",
            markdown(["loss", "accuracy %", "n", "k"], names, fixed),
            "",
            "## Mean over splits",
            "",
            "Where the tested points are all n, the test part is fixed and only training and noise "
            "vary.",
            "",
            markdown(
                ["loss", "accuracy %", "n", "tested", "k", "run shift", "runs"], names[:4], splits
            ),
            "",
            "## Out of reach",
            "",
            "What a few runs do not show, no interval made from them can cover: two runs of two "
            "kinds are alike in every second study, and a rare bad run is mostly not among the "
            "few. Accuracy 90 %, some loss, n = 10000, 2000 tested, k = 10.",
            "",
            markdown(["spread between runs", "runs"], names[:4], beyond),
            "",
        ]
    )
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
