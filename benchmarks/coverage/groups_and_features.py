"""Simulate how often claims about groups of points and about fragile features are wrong.

Result: see results/groups_and_features.md.
Trials: 500 simulated evaluations per regime, seed 0.
Hardware: two shared cores of an AMD EPYC.

Groups: all groups have the same accuracy, so every difference that is shown is a false claim; such
a claim about any group may be made in at most 5 % of all evaluations. The intervals of accuracies
and differences should cover the truth in at least 95 %, those of the smallest group too, and so
should the bound that holds in every group.

Features: the one that loses most should be among those that are called the most fragile (at least
95 %); where a feature loses nothing, every loss that is shown is false (at most 5 %, any of them).
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from shaketable.core.types import FloatArray, IntArray
from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.evaluation.records import Points, Record, Setting, SuiteRecord
from shaketable.findings.features.numbers import choose_most_fragile, make_losses
from shaketable.findings.series import Series
from shaketable.findings.subgroups.numbers import Breakdown, Partition
from shaketable.findings.suite_results import SuiteResult

SIZES = (5, 20, 75, 300)


@dataclass(frozen=True)
class GroupRegime:
    """Groups of equal accuracy; the draws of a point depend on each other as `tie` says."""

    accuracy: float
    k: int
    tie: float

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Hits and groups of all points."""
        codes = np.repeat(np.arange(len(SIZES)), SIZES)
        p = _draw_skills(rng, self.accuracy, self.tie, len(codes))
        return rng.binomial(self.k, p), codes


@dataclass(frozen=True)
class Margins:
    """Points have a margin to the boundary, and noise in a feature moves it by normal numbers.

    Points near the boundary lose or gain; the accuracy on clean points is 90 %.
    """

    spreads: tuple[float, ...]
    """Standard deviation of the moves, by feature; 0 for features that the model does not use."""
    n: int
    k: int = 10

    name = "margins"

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, list[IntArray]]:
        """Clean hits, and hits under noise in every feature."""
        margins = stats.norm.ppf(0.9) + rng.normal(size=self.n)
        clean = (margins > 0).astype(np.int64)
        noisy = [
            rng.binomial(self.k, stats.norm.cdf(margins / spread)) if spread else clean * self.k
            for spread in self.spreads
        ]
        return clean, noisy

    @property
    def losses(self) -> FloatArray:
        """Expected losses."""
        mean = stats.norm.ppf(0.9)
        return np.asarray(0.9 - stats.norm.cdf(mean / np.sqrt(1 + np.square(self.spreads))))


@dataclass(frozen=True)
class SmallLosses:
    """Many points lose a little and few gain much, so that nothing is lost on average."""

    features: int
    n: int
    k: int = 10

    name = "many small losses, few large gains"

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, list[IntArray]]:
        """Clean hits, and hits under noise in every feature."""
        clean = rng.binomial(1, 0.9, self.n)
        noisy = []
        for _ in range(self.features):
            hit = rng.random(self.n) < 1 / 3
            p = np.where(clean == 1, 1 - 0.05 * hit, 0.45 * hit)
            noisy.append(rng.binomial(self.k, p))
        return clean, noisy

    @property
    def losses(self) -> FloatArray:
        """Expected losses."""
        return np.zeros(self.features)


def _draw_skills(rng: np.random.Generator, mean: float, tie: float, n: int) -> FloatArray:
    if tie == 0:
        return np.full(n, mean)
    size = 1 / tie - 1
    return rng.beta(mean * size, (1 - mean) * size, n)


def try_groups(regime: GroupRegime, seed: int) -> list[bool]:
    """Whether intervals covered, the bound held, and no difference was shown."""
    hits, codes = regime.draw(np.random.default_rng([1, seed]))
    labels = tuple(map(str, range(len(SIZES))))
    cell = _make_cell("l2(1)", hits, regime.k)
    breakdown = Breakdown(cell, "l2(1)", False, Partition("g", labels, codes, ()), len(SIZES))
    smallest, truth = breakdown.find("0"), regime.accuracy
    gaps = [group.gap for group in breakdown.groups if group.gap is not None]
    return [
        smallest.accuracy.low <= truth <= smallest.accuracy.high,
        smallest.gap is not None and smallest.gap.low <= 0 <= smallest.gap.high,
        sum(gap.low <= 0 <= gap.high for gap in gaps) == len(gaps),
        1 - truth <= breakdown.upper,
        not any(group.shown for group in breakdown.groups),
    ]


def try_features(regime: Margins | SmallLosses, seed: int) -> list[bool]:
    """Whether the largest loss is among the most fragile, and none is shown where there is none."""
    clean, noisy = regime.draw(np.random.default_rng([2, seed]))
    first = _make_cell("clean", clean, 1)
    specs = [f'jitter(0.5, only="{i}")' for i in range(len(noisy))]
    cells = [_make_cell(spec, hits, regime.k) for spec, hits in zip(specs, noisy, strict=True)]
    series = tuple(Series((cell,), (first,), at_eps_min=False) for cell in cells)
    result = SuiteResult(SuiteRecord("f", "per-feature", METRIC, "", tuple(specs)), series)
    (losses,) = make_losses(result, len(specs)).values()
    truth = regime.losses
    best = str(truth.argmax())
    names = [loss.feature for loss in choose_most_fragile(losses)]
    false = any(loss.shown and truth[int(loss.feature)] < 1e-9 for loss in losses)
    return [best in names, len(names) == 1, not false]


def _make_cell(spec: str, hits: IntArray, k: int) -> Record:
    n = len(hits)
    return Record(
        key=spec,
        points=Points("p", (0, 1), np.arange(n), np.zeros(n, np.int64)),
        data="simulated",
        fingerprint="f",
        model="net",
        recipe="net",
        model_id="net",
        train="as given",
        corruption=spec,
        setting=Setting(
            bounds="none",
            draws="independent",
            noise="cpu",
            dtype="float64",
            k=k,
            seed=0,
        ),
        run=0,
        hits=np.asarray(hits, np.int64),
    )


GROUPS = [
    GroupRegime(accuracy, k, tie)
    for accuracy in (0.7, 0.95, 0.99)
    for k, tie in ((1, 0.0), (10, 0.5))
]
FEATURES: list[Margins | SmallLosses] = [
    *(
        Margins(spreads, n)
        for spreads in (
            (0.5, 0.5, *(0.1,) * 6),
            (0.9, 0.8, 0.5, *(0.0,) * 5),
            (1.5, *(0.1,) * 7),
        )
        for n in (100, 1000)
    ),
    *(SmallLosses(8, n) for n in (100, 1000)),
]


def main() -> None:
    """Simulate all regimes, and print the tables of the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = [
        "| accuracy | k | tie of draws | smallest group covered % | its difference covered % | "
        "all differences at once % | bound holds in the worst group % | any false claim % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with ProcessPoolExecutor(args.workers) as pool:
        for group in GROUPS:
            rates = _rates(pool, partial(try_groups, group), args.trials)
            rates[-1] = 100 - rates[-1]
            facts = [f"{group.accuracy:g}", f"{group.k}", f"{group.tie:g}"]
            lines.append(_row(facts, rates))
        lines += [
            "",
            "| points | true losses, percentage points | n | largest among the most fragile % | "
            "named alone % | any false claim % |",
            "|---|---|---|---|---|---|",
        ]
        for regime in FEATURES:
            rates = _rates(pool, partial(try_features, regime), args.trials)
            rates[-1] = 100 - rates[-1]
            true = ", ".join(f"{100 * loss:.2f}" for loss in regime.losses)
            facts = [regime.name, true, f"{regime.n}"]
            lines.append(_row(facts, rates))
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")


def _rates(pool: ProcessPoolExecutor, attempt: partial[list[bool]], trials: int) -> FloatArray:
    outcomes = list(pool.map(attempt, range(trials), chunksize=20))
    return np.asarray(100 * np.mean(outcomes, axis=0))


def _row(facts: list[str], rates: FloatArray) -> str:
    return "| " + " | ".join([*facts, *(f"{rate:.1f}" for rate in rates)]) + " |"


if __name__ == "__main__":
    main()
