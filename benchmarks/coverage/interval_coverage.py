"""Simulate coverage and width of the 95 % intervals of shaketable.statistics, and of others.

Result: for a fixed model, coverage of at least 94.5 % of every interval in all 184 regimes, before
down to 84 % with 20 to 100 points (results/coverage.md). In the median at most 1.3 times as wide as
the narrowest method that covers at n = 100, but for 4 of 124 cases of differences (up to 1.38) and
for iCE with one clean error (up to 5.4, where Bonett–Price's covers, which elsewhere does not).
Error bounds: 1.05 times.
The standard intervals (Clopper–Pearson, Wilson, Tango, BCa bootstrap) cover about as ours do for
shares and for differences with one answer per point, but MSCR and its relatives in as few as 1 % of
all studies where hardly any point changes (results/coverage_standard.md).
For the mean over splits, never narrower than Student's t on either side. If all changes of a run go
one way, formerly 77 to 90 % with three to five runs, now as t, and at most 1.3 times as wide
(results/coverage_runs.md). The other regimes of results/coverage_splits.md are those of the method
before.
Trials: 400 simulated studies per regime, seed 0; ten times as many where fewer than 94.5 % were
covered; fewer of methods that take long.
Hardware: one core of an AMD EPYC, minutes.

Of the methods in interval_methods.py, those that cover at least 94 % in a regime compete there. The
narrowest of them is what shaketable's width is compared with.
The regimes are explained in interval_regimes.py.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from scipy import special

from interval_methods import FOR_RATIOS, METHODS, TAIL, Studies, bootstraps, choose
from interval_regimes import (
    DRAWS,
    KINDS,
    NESTED,
    BoolArray,
    Regime,
    SplitRegime,
    draw_studies,
    fixed_model_regimes,
    population_of_runs,
    split_regimes,
)
from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics import own_intervals, standard_intervals

RUNS = (2, 3, 5, 20, 60)
ENOUGH = 0.94
"""Coverage from which a method competes."""
STUDIES = {"likelihood": 200, "betting": 100, "bootstrap t": 150, "BCa": 150}
"""Methods that take long see the first studies only, and at most 1000 points."""
ALL_METHODS = (*METHODS, "bootstrap t", "BCa", "standard")
STANDARD: dict[str, standard_intervals.Quantity] = {
    "accuracy": "share",
    "robust accuracy": "share",
    "MSCR": "other",
    "difference of MSCR": "other",
    "difference of accuracy": "difference",
    "loss": "difference",
    "iCE": "other",
}
"""Estimators, as `shaketable.statistics.standard_intervals` sorts them."""
RESAMPLES = 1999
"""Resamples of the bootstrap here, a fifth of the usual number: it takes most of the time."""
RUN_METHODS = ("shaketable", "before", "Gaffke", "t")
BOUNDS: dict[str, own_intervals.Imagine] = {
    "shaketable": own_intervals.imagine_point,
    "before": partial(own_intervals.imagine_point, common=1.0),
    "Gaffke": own_intervals.imagine_worst,
}
AGAIN = 10
"""Where our coverage is in doubt, it is simulated again, with so many times the studies."""
BARS = {100: 1.3, 1000: 1.1}
"""Number of points, and what our width over that of the narrowest method should not exceed."""
TITLES = {
    "fixed": "fixed model",
    "splits": "mean over splits",
    "standard": "ours and the standard ones, fixed model",
}
STANDARD_EXPLANATION = (
    "Cells read: coverage in % / median width in percentage points; bold: below 94 %. *standard* "
    'is what `use_intervals("standard")` computes: Clopper–Pearson for the accuracy, Wilson with '
    "the effective number of draws for the robust accuracy with k = 10, Tango's interval for "
    "differences with k = 1, and else the BCa bootstrap of points, here with 1999 resamples. The "
    "last columns name the narrower one of those that cover at least 94 %, and give our median "
    "width over its width. "
    "The first table gives, of each family, the lowest coverage and the number of regimes below "
    "94 %, and the smallest, median and largest of our widths over those of the standard one."
)
EXPLANATION = (
    "Cells read: coverage in % / median width in percentage points; bold: below 94 %. "
    "*shaketable* is our method, *before* that until 2026-11-17; `interval_methods.py` explains "
    "the others. All "
    "that cover at least 94 % in a regime compete there, ours among them. The last columns name "
    "the narrowest one, and give our median width over its width in the same studies. The first "
    "table gives, for n = 100 and n = 1000, the largest of these ratios, the same for Gaffke's "
    "method, and in how many regimes ours is above the bar."
)
RELIABLE = (
    "In a regime, the narrowest method that covers is chosen with the truth in view: most of them "
    "cover far less elsewhere. The next table has our width over that of the narrowest method "
    "that covers at least 94 % in every regime, which is one that a user could choose; its "
    "largest values."
)
OUT_OF_REACH = (
    "What a few runs do not show, no interval made from them can cover: two runs of two kinds are "
    "alike in every second study, and a rare bad run is mostly not among the few. Accuracy 90 %, "
    "some loss, n = 10000, 2000 tested, k = 10."
)


@dataclass(frozen=True)
class Measure:
    """One estimator, and the part of the table of joint outcomes that it looks at."""

    name: str
    keep: tuple[int, ...]
    """Axes of the table (clean, hits, clean, hits) of two models."""
    estimate: own_intervals.Estimator
    imagined: int = 1
    """Number of points that Gaffke's limits imagine."""
    needed: FloatArray | None = None
    """Outcomes of which one must occur, or else it is undefined."""

    def keep_defined(self, counts: FloatArray) -> FloatArray:
        """Leave out the studies in which it is undefined."""
        return counts if self.needed is None else counts[counts @ self.needed > 0]

    def reduce(self, tables: FloatArray, k: int) -> FloatArray:
        """Sum the tables over the other axes."""
        others = tuple(axis - 4 for axis in range(4) if axis not in self.keep)
        full = tables.reshape(*tables.shape[:-1], 2, k + 1, 2, k + 1)
        return np.asarray(full.sum(axis=others)).reshape(*tables.shape[:-1], -1)


def measures(k: int) -> list[Measure]:
    """All estimators."""

    def outcomes(*keep: int) -> FloatArray:
        sizes = [(2, k + 1, 2, k + 1)[axis] for axis in keep]
        return np.indices(sizes).reshape(len(keep), -1).astype(np.float64)

    (clean,), (hits,) = outcomes(0), outcomes(1)
    first, second = outcomes(1, 3)
    single, joint = outcomes(0, 1), outcomes(0, 1, 2, 3)
    of_first = own_intervals.change_estimator(joint[0], joint[1] / k)
    of_second = own_intervals.change_estimator(joint[2], joint[3] / k)
    gap = own_intervals.difference_estimator(first / k, second / k)
    wrong = 1 - single[0]
    return [
        Measure("accuracy", (0,), own_intervals.mean_estimator(clean)),
        Measure("robust accuracy", (1,), own_intervals.mean_estimator(hits / k)),
        Measure("MSCR", (0, 1), own_intervals.change_estimator(single[0], single[1] / k)),
        Measure("difference of MSCR", (0, 1, 2, 3), lambda n: of_first(n) - of_second(n), 2),
        Measure("difference of accuracy", (1, 3), gap),
        Measure("loss", (0, 1), own_intervals.difference_estimator(single[0], single[1] / k)),
        Measure(
            "iCE", (0, 1), own_intervals.change_estimator(wrong, 1 - single[1] / k), needed=wrong
        ),
    ]


@dataclass(frozen=True)
class Outcome:
    """Coverage and median width of one method, and ours, in the same studies, over its own."""

    coverage: float
    width: float
    ratio: float = 1.0

    def __str__(self) -> str:
        mark = "**" if self.coverage < ENOUGH else ""
        return f"{mark}{100 * self.coverage:.1f}{mark} / {100 * self.width:.3g}"


def measure_outcome(low: FloatArray, high: FloatArray, truth: float) -> Outcome:
    """Coverage and median width of these intervals."""
    # a truth at the very end of the range may differ from the limit in the last bit
    covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return Outcome(float(covered.mean()), float(np.median(high - low)))


Row: TypeAlias = tuple[list[str], dict[str, Outcome]]
"""Labels of a regime, and the outcome of every method."""


AnyRegime = TypeVar("AnyRegime", Regime, SplitRegime)

Rows: TypeAlias = dict[str, list[Row]]
"""Rows of every estimator."""


def find_best(row: Row) -> tuple[str, float]:
    """The narrowest method that covers, and our width over its width."""
    covering = [(o.ratio, name) for name, o in row[1].items() if o.coverage >= ENOUGH]
    ratio, name = max(covering, default=(np.nan, "none covers"))
    return name, ratio


def split_studies(measure: Measure, counts: FloatArray) -> Iterator[Studies]:
    """Studies in parts that fit a processor's cache, without the outcomes that did not occur."""
    for part in np.array_split(counts, 1 + counts.size // 50_000):
        order = np.argsort(-part, axis=1, kind="stable")[:, : int((part > 0).sum(axis=1).max())]

        def sort(outcomes: FloatArray, order: IntArray = order) -> FloatArray:
            return np.take_along_axis(np.ascontiguousarray(outcomes), order, axis=1)

        linear = choose(measure.estimate(part), lambda each: each, sort)
        yield Studies(linear, sort(part), int(part[0].sum()), measure.imagined)


def compare(
    measure: Measure,
    truth: float,
    counts: FloatArray,
    names: Iterable[str],
    rng: np.random.Generator,
) -> dict[str, Outcome]:
    """Coverage and width of these methods in these studies."""
    found: dict[str, list[FloatArray]] = {name: [] for name in names}
    done = 0
    for studies in split_studies(measure, counts):
        for name, parts in found.items():
            left = STUDIES.get(name, len(counts)) - done
            if left > 0 and name == "bootstrap t":
                for which, pair in zip(
                    (name, "BCa"), bootstraps(studies.first(left), rng), strict=True
                ):
                    found[which].append(np.stack(pair))
            elif left > 0 and name != "BCa":
                parts.append(np.stack(METHODS[name](studies.first(left), rng)))
        done += len(studies.counts)
    pairs = {name: np.concatenate(parts, axis=1) for name, parts in found.items()}
    our_low, our_high = pairs["shaketable"]
    outcomes = {}
    for name, (low, high) in pairs.items():
        o = measure_outcome(low, high, truth)
        ours = float(np.median((our_high - our_low)[: len(low)]))
        outcomes[name] = replace(o, ratio=ours / max(o.width, 1e-12))
    return outcomes


@dataclass(frozen=True)
class Settings:
    """How many studies are simulated."""

    trials: int
    doubt: float
    """Coverage below which ours is simulated again, with more studies."""
    seed: int
    kind: str = ""
    """What the kind of the regimes begins with."""

    def choose(self, regimes: Iterator[AnyRegime]) -> list[AnyRegime]:
        """Return the regimes of this kind."""
        return [regime for regime in regimes if regime.kind.startswith(self.kind)]


def fixed_model(regime: Regime, settings: Settings, rng: np.random.Generator) -> dict[str, Row]:
    """Outcomes of every method for one fixed model, by estimator."""
    trials = settings.trials
    probabilities, counts = draw_studies(regime, trials, rng)
    rows = {}
    for measure in measures(regime.k):
        linear = measure.estimate(measure.reduce(probabilities, regime.k))
        truth = float(linear.estimate)
        names = [name for name in ALL_METHODS[:-1] if regime.n <= 1000 or name not in STUDIES]
        if linear.bases is None:
            names = [name for name in names if name not in FOR_RATIOS]
        studies = measure.keep_defined(measure.reduce(counts, regime.k))
        if len(studies) < trials / 2:
            continue
        outcomes = compare(measure, truth, studies, names, rng)
        if outcomes["shaketable"].coverage < settings.doubt:
            more = measure.reduce(draw_studies(regime, AGAIN * trials, rng)[1], regime.k)
            outcomes |= compare(measure, truth, measure.keep_defined(more), ["shaketable"], rng)
        rows[measure.name] = regime.labels, outcomes
    bounds = bound_errors(regime, (probabilities, counts), settings, rng)
    rows["error bound"] = regime.labels, bounds
    return rows


def bound_errors(
    regime: Regime,
    studies: tuple[FloatArray, FloatArray],
    settings: Settings,
    rng: np.random.Generator,
) -> dict[str, Outcome]:
    """Coverage and median of upper bounds of the error: ours, the former, Gaffke's and t."""
    hits, (probabilities, counts) = measures(regime.k)[1], studies
    truth = 1 - float(hits.estimate(hits.reduce(probabilities, regime.k)).estimate)

    def find(counts: FloatArray, name: str) -> Outcome:
        table = hits.reduce(counts, regime.k)
        errors = own_intervals.mean_estimator(1 - np.arange(regime.k + 1) / regime.k)(table)
        if name == "t":
            squares = (table * (errors.values - errors.estimate[:, None]) ** 2).sum(axis=1)
            error = np.sqrt(squares / regime.n / (regime.n - 1))
            bounds = errors.estimate + special.stdtrit(regime.n - 1, 1 - 2 * TAIL) * error
        else:
            bounds = own_intervals.find_upper_limit(errors, table, 2 * TAIL, BOUNDS[name])
        return measure_outcome(np.zeros_like(bounds), bounds, truth)

    found = {name: find(counts, name) for name in (*BOUNDS, "t")}
    if found["shaketable"].coverage < settings.doubt:
        more = draw_studies(regime, AGAIN * settings.trials, rng)[1]
        found["shaketable"] = find(more, "shaketable")
    ours = found["shaketable"].width
    return {name: replace(o, ratio=ours / max(o.width, 1e-12)) for name, o in found.items()}


@dataclass(frozen=True)
class RunTables:
    """Tables of many runs, from which studies of several runs are drawn."""

    measure: Measure
    tables: FloatArray
    each: FloatArray
    """Estimate of every run; the truth is their mean."""

    def compare(
        self, runs: int, trials: int, names: Iterable[str], rng: np.random.Generator
    ) -> dict[str, Outcome]:
        """Coverage and width of these methods: shaketable, before, Gaffke and t."""
        chosen = rng.integers(len(self.tables), size=(trials, runs))
        found: dict[str, list[FloatArray]] = {name: [] for name in names}
        # in parts that fit a processor's cache
        for part in np.array_split(chosen, 1 + chosen.size * self.tables.shape[1] // 500_000):
            for name in names:
                found[name].append(np.stack(self.find_limits(name, part)))
        outcomes = {}
        for name, parts in found.items():
            low, high = np.concatenate(parts, axis=1)
            outcomes[name] = measure_outcome(low, high, float(self.each.mean()))
        ours = outcomes["shaketable"].width
        return {name: replace(o, ratio=ours / max(o.width, 1e-12)) for name, o in outcomes.items()}

    def find_limits(self, name: str, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
        """Limits of studies of the chosen runs."""
        if name == "t":
            each, runs = self.each[chosen], chosen.shape[1]
            half = special.stdtrit(runs - 1, 1 - TAIL) * each.std(axis=-1, ddof=1) / np.sqrt(runs)
            return each.mean(axis=-1) - half, each.mean(axis=-1) + half
        worst = partial(own_intervals.imagine_worst, points=self.measure.imagined)
        imagine = worst if name == "Gaffke" else own_intervals.imagine_point
        below, above = own_intervals.make_limits_over_runs(
            self.measure.estimate, self.tables[chosen], TAIL, imagine
        )
        if name != "shaketable":
            below, above = map(narrow_as_before, (below, above))
        return -below.find(), above.find()


def narrow_as_before(limit: own_intervals.UpperLimit) -> own_intervals.UpperLimit:
    """Return the limit of 2026-11-17 and before: with t as the tail, and less than t's own."""
    tail = np.asarray(special.ndtr(special.ndtri(limit.tail) * limit.stretch))
    linear = replace(limit.linear, parts=(), bases=None)
    return replace(limit, linear=linear, tail=tail, stretch=1.0, least=-np.inf)


def over_splits(
    population: FloatArray,
    k: int,
    labels: list[str],
    settings: Settings,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Row]]:
    """Outcomes for the mean over splits, by estimator and number of runs."""
    for measure in measures(k):
        tables = measure.reduce(population, k)
        # what one model of a nested pair does in a few runs is out of reach, as below
        only_differences = labels[0] == NESTED and not measure.name.startswith("difference")
        if only_differences or len(measure.keep_defined(tables)) < len(tables):
            continue
        study = RunTables(measure, tables, measure.estimate(tables).estimate)
        for runs in RUNS:
            outcomes = study.compare(runs, settings.trials, RUN_METHODS, rng)
            if outcomes["shaketable"].coverage < settings.doubt:
                outcomes |= study.compare(runs, AGAIN * settings.trials, ["shaketable"], rng)
            yield measure.name, ([*labels, str(runs)], outcomes)


def fixed_model_rows(number: int, settings: Settings) -> list[tuple[str, Row]]:
    """Rows of one regime of a fixed model."""
    regime = settings.choose(fixed_model_regimes())[number]
    rng = np.random.default_rng([settings.seed, number])
    return list(fixed_model(regime, settings, rng).items())


def over_splits_rows(number: int, settings: Settings) -> list[tuple[str, Row]]:
    """Rows of one regime of the mean over splits."""
    regime = settings.choose(split_regimes())[number]
    rng = np.random.default_rng([settings.seed, number])
    population = population_of_runs(regime, rng)
    return list(over_splits(population, regime.k, regime.labels, settings, rng))


def standard_rows(number: int, settings: Settings) -> list[tuple[str, Row]]:
    """Rows of one regime of a fixed model: ours and the standard intervals in the same studies."""
    regime = list_standard_regimes(settings)[number]
    rng = np.random.default_rng([settings.seed, number])
    probabilities, counts = draw_studies(regime, settings.trials, rng)
    rows = []
    for measure in measures(regime.k):
        truth = float(measure.estimate(measure.reduce(probabilities, regime.k)).estimate)
        studies = measure.keep_defined(measure.reduce(counts, regime.k))
        if len(studies) < settings.trials / 2:
            continue
        k = 1 if measure.name == "accuracy" else regime.k
        found = {
            "shaketable": own_intervals.compute_limits(measure.estimate, studies, TAIL)[1:],
            "standard": find_standard_limits(measure, studies, k),
        }
        outcomes = {name: measure_outcome(*ends, truth) for name, ends in found.items()}
        ours = outcomes["shaketable"].width
        rows.append(
            (
                measure.name,
                (
                    regime.labels,
                    {n: replace(o, ratio=ours / max(o.width, 1e-12)) for n, o in outcomes.items()},
                ),
            )
        )
    return rows


def list_standard_regimes(settings: Settings) -> list[Regime]:
    """Regimes in which the standard intervals are simulated; the bootstrap takes long."""
    regimes = settings.choose(fixed_model_regimes())
    return [
        r
        for r in regimes
        if r.kind in KINDS and 20 <= r.n <= 1000 and r.accuracy >= 0.9 and r.k in DRAWS
    ]


def find_standard_limits(
    measure: Measure, studies: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Limits of every study by the method that ``use_intervals("standard")`` takes."""
    quantity = STANDARD[measure.name]
    standard_intervals.RESAMPLES = RESAMPLES
    if quantity == "share":
        low, high = standard_intervals.compute_share_limits(
            measure.estimate(studies), studies, k, TAIL
        )
        return low, high
    found = []
    for table in studies:
        seen = table > 0  # of the others no resample has any

        def estimate(counts: FloatArray, seen: BoolArray = seen) -> own_intervals.LinearEstimate:
            whole = np.zeros((*counts.shape[:-1], len(seen)))
            whole[..., seen] = counts
            linear = measure.estimate(whole)
            bases = None if linear.bases is None else linear.bases[..., seen]
            return replace(linear, values=linear.values[..., seen], parts=(), bases=bases)

        method = standard_intervals.choose_method(estimate, table[seen], k, quantity)
        found.append(method.compute(TAIL, 1.0, False)[1:])
    low, high = np.array(found).T
    return low, high


UNSEEN_SPREADS = {
    "one run in two has 30 % of its points worse": np.array([0, 0.3]),
    "one run in twenty has 30 % of its points worse": np.array([0] * 19 + [0.3]),
}


def out_of_reach_rows(number: int, settings: Settings) -> list[tuple[str, Row]]:
    """Rows for one spread between runs that a few runs cannot show."""
    name, shift = list(UNSEEN_SPREADS.items())[number]
    rng = np.random.default_rng([settings.seed, number])
    regime = SplitRegime("some loss", 0.9, (10_000, 2000), 10, "both models")
    population = population_of_runs(regime, rng, levels=shift / 0.1)  # of 10 % wrong answers
    return list(over_splits(population, 10, [name], settings, rng))


def collect(
    simulate: Callable[[int, Settings], list[tuple[str, Row]]],
    regimes: int,
    settings: Settings,
    workers: int,
) -> Rows:
    """Simulate all regimes; the result does not depend on the number of workers."""
    collected: Rows = {}
    with ProcessPoolExecutor(workers) as pool:
        results = pool.map(simulate, range(regimes), [settings] * regimes)
        for number, rows in enumerate(results, 1):
            for name, row in rows:
                collected.setdefault(name, []).append(row)
            print(f"\r{number} of {regimes} regimes", end="", file=sys.stderr)
    print(file=sys.stderr)
    return collected


def markdown(labels: list[str], rows: list[Row]) -> list[str]:
    """Render rows as a table; the last columns say how our width compares."""
    names = [name for name in ALL_METHODS if any(name in outcomes for _, outcomes in rows)]
    compared = ["narrowest that covers", "ours / its width"] if len(names) > 1 else []
    lines = [f"| {' | '.join(labels + names + compared)} |"]
    lines.append("|---" * len(labels + names + compared) + "|")
    for row in rows:
        cells = row[0] + [str(row[1].get(name, "–")) for name in names]
        if compared:
            best, ratio = find_best(row)
            cells += [best, f"{ratio:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def summary(rows: Rows, size: int) -> list[str]:
    """Table of coverage and compared widths of every estimator; n is the label `size`."""
    bars = [f"n = {n}: widest, of Gaffke's method, above {bar:g}" for n, bar in BARS.items()]
    columns = ["estimator", "regimes", "lowest coverage %", "below 94 %", "Gaffke's lowest", *bars]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, some in rows.items():
        ours = [outcomes["shaketable"].coverage for _, outcomes in some]
        cells = [name, str(len(some)), f"{100 * min(ours):.1f}", str(sum(c < ENOUGH for c in ours))]
        if "Gaffke" in some[0][1]:
            cells.append(f"{100 * min(outcomes['Gaffke'].coverage for _, outcomes in some):.1f}")
            for n, bar in BARS.items():
                chosen = [row for row in some if row[0][size] == str(n)]
                ratios = [find_best(row)[1] for row in chosen]
                earlier = [
                    ratio * outcomes["Gaffke"].width / outcomes["shaketable"].width
                    for (_, outcomes), ratio in zip(chosen, ratios, strict=True)
                ]
                above = sum(ratio > bar + 0.005 for ratio in ratios)
                cells.append(f"{max(ratios):.2f}, {max(earlier):.2f}, {above} of {len(ratios)}")
        lines.append(f"| {' | '.join(cells + ['–'] * (len(columns) - len(cells)))} |")
    return [*lines, ""]


def compare_with_reliable(rows: Rows, size: int) -> list[str]:
    """Table of our width against the methods that cover in every regime of an estimator."""
    columns = ["estimator", "methods that cover in every regime", *(f"n = {n}" for n in BARS)]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, some in rows.items():
        others = [m for m in ALL_METHODS if m != "shaketable" and any(m in o for _, o in some)]
        reliable = [m for m in others if all(o[m].coverage >= ENOUGH for _, o in some if m in o)]
        cells = [name, ", ".join(reliable) or "none"]
        for n in BARS:
            chosen = [outcomes for labels, outcomes in some if labels[size] == str(n)]
            ratios = [o[m].ratio for o in chosen for m in reliable if m in o]
            cells.append(f"{max(ratios):.2f}" if ratios else "–")
        lines.append(f"| {' | '.join(cells)} |")
    return [RELIABLE, "", *lines, ""]


def compare_with_standard(rows: Rows) -> list[str]:
    """Table of the coverage of both families, and of our width over that of the standard one."""
    columns = ["estimator", "k", "regimes", "ours: lowest, below 94 %"]
    columns += ["standard: lowest, below 94 %", "ours / standard width: least, median, most"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, some in rows.items():
        for k in sorted({labels[-1] for labels, _ in some}, key=int):
            chosen = [outcomes for labels, outcomes in some if labels[-1] == k]
            cells = [name, k, str(len(chosen))]
            for family in ("shaketable", "standard"):
                found = [outcomes[family].coverage for outcomes in chosen]
                cells.append(f"{100 * min(found):.1f}, {sum(c < ENOUGH for c in found)}")
            ratios = [o["standard"].ratio for o in chosen if o["standard"].width > 0]
            cells.append(", ".join(f"{np.quantile(ratios, q):.2f}" for q in (0, 0.5, 1)))
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def is_notable(row: Row, size: int) -> bool:
    """Whether our interval covers too rarely, or is wider than the bar; n is the label `size`."""
    wide = find_best(row)[1] > BARS.get(int(row[0][size]), np.inf) + 0.005
    return wide or row[1]["shaketable"].coverage < ENOUGH


def main() -> None:
    """Simulate all regimes and write the tables."""
    parser = argparse.ArgumentParser(description="coverage and width of 95 % intervals")
    parser.add_argument(
        "truth",
        choices=list(TITLES),
        help="fixed model, mean over splits, or a fixed model with the standard intervals beside",
    )
    parser.add_argument("--trials", type=int, default=2000, help="studies per regime")
    parser.add_argument(
        "--doubt", type=float, default=0.945, help="repeat with more studies below this coverage"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only regimes whose kind begins so")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="Markdown file; standard output if not given")
    options = parser.parse_args()
    start = time.perf_counter()
    settings = Settings(options.trials, options.doubt, options.seed, options.kind)
    if options.truth == "fixed":
        labels = ["points", "accuracy %", "n", "k"]
        regimes = len(settings.choose(fixed_model_regimes()))
        rows = collect(fixed_model_rows, regimes, settings, options.workers)
    elif options.truth == "standard":
        labels = ["points", "accuracy %", "n", "k"]
        regimes = len(list_standard_regimes(settings))
        rows = collect(standard_rows, regimes, settings, options.workers)
    else:
        labels = ["points", "accuracy %", "n", "tested", "k", "run shift", "runs"]
        regimes = len(settings.choose(split_regimes()))
        rows = collect(over_splits_rows, regimes, settings, options.workers)
    if options.truth == "standard":
        text = compare_with_standard(rows)
    else:
        text = summary(rows, labels.index("n"))
    if options.truth == "fixed":
        text += compare_with_reliable(rows, labels.index("n"))
    for name, some in rows.items():
        everything = options.truth != "splits" or options.kind
        shown = [r for r in some if everything or is_notable(r, labels.index("n"))]
        text += [f"## {name[0].upper()}{name[1:]}", "", *markdown(labels, shown)]
    if options.truth == "splits" and not options.kind:
        text += ["## Out of reach", "", OUT_OF_REACH, ""]
        for name, some in collect(
            out_of_reach_rows, len(UNSEEN_SPREADS), settings, options.workers
        ).items():
            text += [f"### {name[0].upper()}{name[1:]}", ""]
            text += markdown(["spread between runs", "runs"], some)
    today = time.strftime("%Y-%m-%d")
    minutes = (time.perf_counter() - start) / 60
    error = 100 * (0.95 * 0.05 / options.trials) ** 0.5
    rest = "" if everything else " Only regimes where ours covers less or is wider."
    head = [
        f"# Coverage and width of the 95 % intervals: {TITLES[options.truth]}",
        "",
        f"Written by `benchmarks/coverage/interval_coverage.py {' '.join(sys.argv[1:])}` on "
        f"{today}: {options.trials} studies per regime, seed {options.seed}, {minutes:.0f} minutes "
        f"with {options.workers} workers. The Monte-Carlo error of a "
        f"coverage of 95 % is {error:.1f} points"
        + (
            "."
            if options.truth == "standard"
            else f"; where ours was below {100 * options.doubt:g} %, it is from {AGAIN} times as "
            "many studies."
        ),
        "",
        STANDARD_EXPLANATION if options.truth == "standard" else EXPLANATION + rest,
        "",
    ]
    lines = "\n".join(head + text).rstrip() + "\n"
    if options.out:
        options.out.write_text(lines, encoding="utf-8")
    else:
        print(lines)


if __name__ == "__main__":
    main()
