"""Simulate looking after every point and after every run: coverage and cost of stopping rules.

Result: in all 334 regimes at least 95.0 % of the evaluations are covered at all looks at once; the
half-width asked for takes 2.5 to 2.9 times the points of a fixed number, and 2.8 to 3.3 times the
runs (results/stopping.md).

**Coverage.** A confidence sequence must hold at all sizes at once. So a simulated evaluation counts
as covered only if the truth is in every one of its intervals: those after each of the first 100
points, from the tenth on, then whenever the number of points has grown by 2 %, up to 5,000; of
studies, those after every run from the third to the sixtieth. No stopping rule that looks then can
do worse. MSCR is looked at from ten right clean answers on, as the stopping rules do.

**Cost.** The loop of `evaluate(…, until=Precision(…))` is simulated with the library's own
functions, and its mean number of points, or of runs, divided by that of the smallest fixed size
whose intervals have the same mean half-width.

The regimes are explained in interval_regimes.py. Other sequences that compete:

- ``naive``: the interval of a fixed size, looked at again and again.
- ``normal``: normal mixture with the standard deviation as measured (Waudby-Smith et al. 2024,
  asymptotic confidence sequence); ours without its tails.
- ``Bernstein`` and ``betting``: predictable plug-in empirical Bernstein, and hedged capital
  (Waudby-Smith & Ramdas 2024, JRSS B); they hold for any bounded values.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interval_coverage import measures
from interval_regimes import (
    Regime,
    SplitRegime,
    fixed_model_regimes,
    outcome_probabilities,
    point_types,
    population_of_runs,
    split_regimes,
)
from shaketable.core.types import FloatArray
from shaketable.evaluation.sequential import FIRST_LOOK, choose_look, list_looks
from shaketable.statistics import intervals, own_intervals
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import (
    MIXTURE,
    find_fixed_confidence,
    forecast_width,
    hold_at_any_size,
)

ALPHA = 0.05
MOST_RUNS = 60
LOOKS = sorted({*range(10, 100), *(round(100 * 1.02**i) for i in range(198))})
NAIVE = 200
"""Evaluations in which intervals of a fixed size are looked at."""
COSTS = 60
"""Evaluations until the half-width is reached."""
AGAIN = 10
"""Where coverage is in doubt, it is simulated again, with so many times the evaluations."""
DOUBT = 0.95


@dataclass(frozen=True)
class Coverage:
    """Share of simulated evaluations that are covered at all looks."""

    labels: tuple[str, ...]
    sequence: float
    naive: float


def make_coverage(labels: tuple[str, ...], missed: dict[str, NDArray[np.bool_]]) -> Coverage:
    """Coverage from what was missed at any look."""
    naive = missed["naive"][:NAIVE]
    return Coverage(labels, 1 - float(missed["sequence"].mean()), 1 - float(naive.mean()))


def find_tail(size: int, unit: str) -> float:
    """Return the tail of the confidence sequence."""
    return (1 - find_fixed_confidence(1 - ALPHA, size, unit)) / 2  # type: ignore[arg-type]


def list_point_regimes() -> list[tuple[Regime, str]]:
    """Regimes of fixed models that differ in more than n, and the estimators that are looked at."""
    wanted = (r for r in fixed_model_regimes() if r.n in (100, 1000) and r.k < 30)
    regimes = {(str(r.types), r.k): r for r in wanted}
    cases = []
    for regime in regimes.values():
        names = ["robust accuracy", "MSCR"]
        if regime.k == 1:  # tables of pairs are too large for more draws
            names += ["difference of accuracy", "difference of MSCR"]
        if regime.k == 1 and regime.kind == "hardly any loss":
            names += ["accuracy"]
        cases += [(regime, name) for name in names]
    return cases


def cover_points(number: int, trials: int) -> Coverage:
    """Simulate one regime of a fixed model."""
    regime, name = list_point_regimes()[number]
    rng = np.random.default_rng([1, number, trials])
    measure = next(m for m in measures(regime.k) if m.name == name)
    parts = [share * outcome_probabilities(c, regime.k) for share, c in regime.types]
    table = measure.reduce(np.sum(parts, axis=0), regime.k)
    table /= table.sum()
    truth = float(measure.estimate(table).estimate)
    clean = np.indices([(2, regime.k + 1, 2, regime.k + 1)[axis] for axis in measure.keep])
    missed = {"sequence": np.zeros(trials, bool), "naive": np.zeros(trials, bool)}
    counts, last = np.zeros((trials, len(table))), 0
    for n in LOOKS:
        counts += rng.multinomial(n - last, table, size=trials)
        last = n
        looked = np.ones(trials, bool)
        if "MSCR" in name:  # every model is right on ten clean points
            for axis in range(0, len(measure.keep), 2):
                looked &= counts @ clean[axis].ravel() >= 10
        if not looked.any():
            continue
        early = looked & (np.arange(trials) < NAIVE)
        for method, tail, chosen in (
            ("sequence", find_tail(n, "points"), looked),
            ("naive", ALPHA / 2, early),
        ):
            below, above = own_intervals.make_limits(measure.estimate, counts[chosen], tail)
            missed[method][chosen] |= ~(below.is_above(-truth) & above.is_above(truth))
    labels = (name, regime.kind, f"{100 * regime.accuracy:g}", str(regime.k))
    return make_coverage(labels, missed)


def list_run_regimes() -> list[tuple[SplitRegime, str]]:
    """Regimes of studies, and the estimators that are looked at."""
    names = "robust accuracy", "MSCR"
    regimes = [
        r
        for r in split_regimes()
        if r.shift != "one model"
        and (
            (r.k == 1 and r.split in ((100, 20), (1000, 200)))
            or (r.shift != "no" and (r.k, r.split) in ((10, (1000, 200)), (1, (1000, 1000))))
        )
    ]
    return [(regime, name) for regime in regimes for name in names]


def cover_runs(number: int, trials: int) -> Coverage:
    """Simulate one regime of a study."""
    regime, name = list_run_regimes()[number]
    rng = np.random.default_rng([2, number, trials])
    measure = next(m for m in measures(regime.k) if m.name == name)
    population = measure.reduce(population_of_runs(regime, rng), regime.k)
    truth = float(measure.estimate(population).estimate.mean())
    missed = {"sequence": np.zeros(trials, bool), "naive": np.zeros(trials, bool)}
    for part in np.array_split(np.arange(trials), max(1, trials // 500)):
        drawn = population[rng.integers(len(population), size=(len(part), MOST_RUNS))]
        for runs in range(3, MOST_RUNS + 1):
            for method, tail, most in (
                ("sequence", find_tail(runs, "runs"), len(part)),
                ("naive", ALPHA / 2, NAIVE),
            ):
                tables = drawn[:most, :runs]
                below, above = own_intervals.make_limits_over_runs(measure.estimate, tables, tail)
                missed[method][part[:most]] |= ~(below.is_above(-truth) & above.is_above(truth))
    kind, accuracy, n, tested, k, shift = regime.labels
    labels = (name, kind, accuracy, f"{n}, {tested}", k, shift)
    return make_coverage(labels, missed)


def collect(
    cover: Callable[[int, int], Coverage], cases: int, trials: int, workers: int
) -> list[Coverage]:
    """Simulate all regimes, those in doubt again; the number of workers changes nothing."""
    with ProcessPoolExecutor(workers) as pool:
        rows = []
        for row in pool.map(cover, range(cases), [trials] * cases):
            rows.append(row)
            print(f"\r{len(rows)} of {cases} regimes", end="", file=sys.stderr)
        doubtful = [i for i, row in enumerate(rows) if row.sequence < DOUBT]
        again = pool.map(cover, doubtful, [AGAIN * trials] * len(doubtful))
        for i, row in zip(doubtful, again, strict=True):
            rows[i] = row
    print(file=sys.stderr)
    return rows


def summarise(rows: list[Coverage]) -> list[str]:
    """Table of the lowest coverages of every estimator."""
    lines = [
        "| estimator | regimes | lowest coverage, % | in the regime | below 94 % | naive, % |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row.labels[0] for row in rows):
        own = [row for row in rows if row.labels[0] == name]
        worst = min(own, key=lambda row: row.sequence)
        naive = [100 * row.naive for row in own]
        lines.append(
            f"| {name} | {len(own)} | {100 * worst.sequence:.1f} | {', '.join(worst.labels[1:])} | "
            f"{sum(row.sequence < 0.94 for row in own)} | {min(naive):.0f} to {max(naive):.0f} |"
        )
    return [*lines, ""]


SCENARIOS: tuple[tuple[str, str, float, int, float], ...] = (
    ("accuracy", "hardly any loss", 0.5, 1, 3.0),
    ("accuracy", "hardly any loss", 0.9, 1, 2.0),
    ("accuracy", "hardly any loss", 0.9, 1, 1.0),
    ("accuracy", "hardly any loss", 0.99, 1, 0.5),
    ("robust accuracy", "some loss", 0.9, 10, 1.5),
    ("MSCR", "some loss", 0.9, 10, 1.0),
)
"""Estimator, kind of points, accuracy, k, and the half-width asked for, in percentage points."""


@dataclass(frozen=True)
class Cost:
    """Mean size of a method where it stops, and how often it covers there."""

    size: float
    coverage: float


def estimate(name: str, clean: FloatArray, hits: FloatArray, k: int) -> Estimate:
    """Estimate from one evaluation, with the interval of a fixed size."""
    if name == "accuracy":
        return intervals.mean_share(clean, 1)
    if name == "MSCR":
        return intervals.relative_change(clean, hits, k)
    return intervals.mean_share(hits, k)


def stop(looks: list[int], make: Callable[[int], Estimate], width: float) -> tuple[int, Estimate]:
    """Add points or runs as `evaluate` and `study` do, until the interval is narrow enough."""
    size = looks[0]
    while (times := forecast_width(make(size), width)) > 1 and size < looks[-1]:
        size = choose_look(looks, size, times)
    return size, make(size)


def draw_points(
    number: int, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Clean answers and hits of n points of one model in a scenario, and the truth."""
    name, kind, accuracy, k, _ = SCENARIOS[number]
    table = sum(share * outcome_probabilities(c, k) for share, c in point_types(kind, accuracy))
    joint = np.asarray(table).reshape(2, k + 1, -1).sum(axis=-1)
    joint /= joint.sum()
    drawn = rng.choice(joint.size, size=n, p=joint.ravel())
    clean, hits = np.divmod(drawn, k + 1)
    right, robust = joint[1].sum(), joint.sum(axis=0) @ np.arange(k + 1) / k
    truth = {"accuracy": right, "robust accuracy": robust, "MSCR": robust / right - 1}[name]
    return clean, hits, float(truth)


def find_fixed_size(make: Callable[[int, int], Estimate], width: float, most: int) -> int:
    """Return the smallest fixed size whose mean half-width, over 20 samples, is small enough."""
    low, high = 2, most
    while high - low > 1 and high > 1.005 * low:
        size = (low + high) // 2
        half = np.mean([(e.high - e.low) / 2 for e in (make(size, i) for i in range(20))])
        low, high = (low, size) if half <= width else (size, high)
    return high


def cost_of_points(number: int, trials: int) -> tuple[list[str], int, dict[str, Cost]]:
    """Simulate stopping in one scenario, by ours and by the methods that compete."""
    name, kind, accuracy, k, percent = SCENARIOS[number]
    width, rng = percent / 100, np.random.default_rng([3, number])
    most = 40_000
    samples = [draw_points(number, most, rng) for _ in range(trials)]
    truth = samples[0][2]

    def make_fixed(n: int, i: int) -> Estimate:
        clean, hits, _ = samples[i]
        return estimate(name, clean[:n], hits[:n], k)

    fixed = find_fixed_size(make_fixed, width, most)
    costs: dict[str, list[tuple[float, bool]]] = {}
    looks = list_looks(most, FIRST_LOOK["points"])
    for i, (clean, hits, _) in enumerate(samples):

        def make(n: int, i: int = i) -> Estimate:
            return hold_at_any_size(make_fixed(n, i), n, "points")

        n, e = stop(looks, make, width)
        costs.setdefault("shaketable", []).append((n, e.low <= truth <= e.high))
        if name != "MSCR":
            x = clean if name == "accuracy" else hits / k
            for method, sequence in OTHERS.items():
                if method == "betting" and i >= trials // 4:
                    continue  # it takes long
                n, low, high = sequence(x.astype(float), width)
                costs.setdefault(method, []).append((n, low <= truth <= high))
    labels = [name, kind, f"{100 * accuracy:g}", str(k), f"{percent:g}"]
    means = {m: Cost(*np.mean(values, axis=0)) for m, values in costs.items()}
    return labels, fixed, means


def stop_normal(x: FloatArray, width: float) -> tuple[int, float, float]:
    """Normal mixture with the standard deviation as measured."""
    n = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / n
    deviation = np.sqrt(np.maximum(np.cumsum(x**2) / n - mean**2, 0))
    s = n * MIXTURE["points"]
    half = deviation * np.sqrt((1 + 1 / s) * (np.log1p(s) - 2 * np.log(ALPHA)) / n)
    return stop_first(mean - half, mean + half, width)


def stop_bernstein(x: FloatArray, width: float) -> tuple[int, float, float]:
    """Predictable plug-in empirical Bernstein (Waudby-Smith & Ramdas 2024, Theorem 2)."""
    before, variance, n = plug_in(x)
    bets = np.minimum(np.sqrt(2 * np.log(2 / ALPHA) / (variance * n * np.log1p(n))), 0.5)
    psi = (-np.log1p(-bets) - bets) / 4
    spent = np.log(2 / ALPHA) + np.cumsum(4 * (x - before) ** 2 * psi)
    total = np.cumsum(bets)
    centre = np.cumsum(bets * x) / total
    return stop_first(centre - spent / total, centre + spent / total, width)


def stop_betting(x: FloatArray, width: float) -> tuple[int, float, float]:
    """Hedged capital (Waudby-Smith & Ramdas 2024, Theorem 3), looked at at 2 % more points."""
    _, variance, n = plug_in(x)
    bets = np.sqrt(2 * np.log(2 / ALPHA) / (variance * n * np.log1p(n)))

    def lower(x: FloatArray, bets: FloatArray) -> float:
        start, end = 0.0, float(x.mean())
        for _ in range(14):
            m = (start + end) / 2
            gained = np.log1p(np.minimum(bets, 0.5 / max(m, 1e-9)) * (x - m)).sum()
            start, end = (m, end) if gained > np.log(2 / ALPHA) else (start, m)
        return start

    size = 100
    while True:
        part = x[:size]
        low, high = lower(part, bets[:size]), 1 - lower(1 - part, bets[:size])
        if (high - low) / 2 <= width or size == len(x):
            return size, low, high
        size = min(len(x), round(size * 1.02) + 1)


def plug_in(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and variance before every value, and its number."""
    n = np.arange(1.0, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (n + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (n + 1)
    return np.append(0.5, mean[:-1]), np.append(0.25, variance[:-1]), n


def stop_first(low: FloatArray, high: FloatArray, width: float) -> tuple[int, float, float]:
    """Stop after the first of 100 points or more at which the interval is narrow enough."""
    enough = np.flatnonzero((high - low)[99:] / 2 <= width)
    i = 99 + int(enough[0]) if enough.size else len(low) - 1
    return i + 1, float(low[i]), float(high[i])


OTHERS = {"normal": stop_normal, "Bernstein": stop_bernstein, "betting": stop_betting}

STUDIES = (("some loss", 0.9, 1.0), ("some loss", 0.9, 0.5), ("large loss", 0.9, 1.0))
"""Kind of points, accuracy, and the half-width of MSCR, in percentage points."""


def cost_of_runs(number: int, trials: int) -> tuple[list[str], int, dict[str, Cost]]:
    """Simulate stopping in a study: MSCR, 1,000 points of which 200 are tested, k = 1."""
    kind, accuracy, percent = STUDIES[number]
    width, rng = percent / 100, np.random.default_rng([4, number])
    regime = SplitRegime(kind, accuracy, (1000, 200), 1, "both models")
    measure = next(m for m in measures(1) if m.name == "MSCR")
    population = measure.reduce(population_of_runs(regime, rng), 1)
    truth, most = float(measure.estimate(population).estimate.mean()), 1000
    drawn = population[rng.integers(len(population), size=(trials, most))]

    def make_fixed(runs: int, i: int) -> Estimate:
        def compute(confidence: float, times: float, _: bool) -> tuple[float, float]:
            tail, part = (1 - confidence) / 2, drawn[i, :runs]
            ends = own_intervals.compute_limits_over_runs(measure.estimate, part, tail, times=times)
            return float(ends[1]), float(ends[2])

        value = float(measure.estimate(drawn[i, :runs]).estimate.mean())
        return Estimate(value, *compute(0.95, 1.0, False), 0.95, "", compute)

    fixed = find_fixed_size(make_fixed, width, most)
    looks = list_looks(most, FIRST_LOOK["runs"])
    stops = []
    for i in range(trials):

        def make(runs: int, i: int = i) -> Estimate:
            return hold_at_any_size(make_fixed(runs, i), runs, "runs")

        runs, e = stop(looks, make, width)
        stops.append((runs, e.low <= truth <= e.high))
    labels = ["MSCR, study", kind, f"{100 * accuracy:g}", "1", f"{percent:g}"]
    return labels, fixed, {"shaketable": Cost(*np.mean(stops, axis=0))}


def list_costs(trials: int, workers: int) -> Iterator[str]:
    """Table of what stopping costs."""
    methods = ["shaketable", *OTHERS]
    yield f"| estimator | points | accuracy, % | k | ± | fixed size | {' | '.join(methods)} |"
    yield "|---" * (6 + len(methods)) + "|"
    with ProcessPoolExecutor(workers) as pool:
        rows = [
            *pool.map(cost_of_points, range(len(SCENARIOS)), [trials] * len(SCENARIOS)),
            *pool.map(cost_of_runs, range(len(STUDIES)), [trials] * len(STUDIES)),
        ]
    for labels, fixed, costs in rows:
        cells = [
            f"{c.size / fixed:.2f} / {100 * c.coverage:.1f}" if (c := costs.get(m)) else "–"
            for m in methods
        ]
        yield f"| {' | '.join([*labels, str(fixed), *cells])} |"
    yield ""


def list_sections(trials: int, workers: int) -> dict[str, Callable[[], list[str]]]:
    """Functions that simulate the sections of the result, by name."""
    cases = len(list_point_regimes()), len(list_run_regimes())
    return {
        "points": lambda: [
            "## Points: the truth is in all intervals from 10 to 5,000 points",
            "",
            *summarise(collect(cover_points, cases[0], trials, workers)),
        ],
        "runs": lambda: [
            f"## Runs: the truth is in all intervals from 3 to {MOST_RUNS} runs",
            "",
            *summarise(collect(cover_runs, cases[1], trials, workers)),
        ],
        "cost": lambda: [
            "## Cost until the half-width asked for, over that of a fixed size",
            "",
            "Cells read: mean number of points, or of runs, over the smallest fixed number with "
            "the same mean half-width / coverage in % where it stopped. "
            f"{COSTS} evaluations (betting: {COSTS // 4}); ± is the half-width in percentage "
            "points.",
            "",
            *list_costs(COSTS, workers),
        ],
    }


def main() -> None:
    """Simulate all, and write the tables."""
    parser = argparse.ArgumentParser(description="coverage and cost of stopping rules")
    parser.add_argument("--only", choices=["points", "runs", "cost"], help="one section only")
    parser.add_argument("--trials", type=int, default=500, help="evaluations per regime")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    sections = list_sections(options.trials, options.workers)
    text = [
        line
        for name, simulate in sections.items()
        if options.only in (None, name)
        for line in simulate()
    ]
    minutes = (time.perf_counter() - start) / 60
    error = 100 * (0.95 * 0.05 / options.trials) ** 0.5
    head = [
        "# Stopping rules: coverage under continuous looking, and cost",
        "",
        f"Written by `benchmarks/coverage/stopping.py` on 2026-11-17: {options.trials} evaluations "
        f"per regime, {AGAIN} times as many where fewer than {100 * DOUBT:g} % were covered, in "
        f"{minutes:.0f} minutes with {options.workers} workers. The Monte-Carlo error of a "
        f"coverage of 95 % is {error:.1f} points. Nominal are 95 %. *naive* looks at intervals of "
        f"a fixed size instead, in {NAIVE} evaluations, lowest and highest over the regimes.",
        "",
    ]
    print("\n".join(head + text).rstrip())


if __name__ == "__main__":
    main()
