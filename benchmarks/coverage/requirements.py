"""Simulate how often requirements are decided wrongly when the truth is exactly at the limit.

Result: at most 4.9 % of one requirement and 3.7 % of any of five are decided wrongly, of nominally
5 %, in all regimes but one: with 100 points, of which 3 % are hard, there is no hard one in 5 % of
the evaluations, and then errors look rarer than they are (6.7 and 5.4 %). With careful limits 4.9 %
and 3.0 % in all regimes (results/requirements.md).
Trials: 10,000 simulated evaluations per regime, seed 0.
Hardware: one core of an AMD EPYC, 1 minute.

At the limit every decision is wrong: *met* is a false pass, as the truth is no better than the
limit, and *not met* is a false fail. A requirement alone has an interval of 95 %, each of five an
interval of 99 %; either way at most 2.5 % of false passes and 2.5 % of false fails are nominal.

Points are of some kinds, such as easy and hard ones; a kind has a probability of a right answer for
each of two models, on clean points and under every noise. So the true values are known exactly, and
the five requirements depend on each other, as those of one evaluation do.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Points, Record, Records, Setting, SuiteRecord
from shaketable.findings.requirements.check import check
from shaketable.separations.separation import SeparationRecord
from shaketable.statistics import own_intervals as limits

BoolArray: TypeAlias = npt.NDArray[np.bool_]

K = 10
NOISES = ("linf(0.1)", "linf(0.2)", "l2(0.5)")
EPS_MIN = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
SUITE = SuiteRecord("f", "pnorm", "mce_lp", "", NOISES)
BATCH = 500
CHECKED = 20
"""Studies of every regime that `shaketable.check` decides, too."""
RARE = "rare points with many errors"
Decided: TypeAlias = tuple[BoolArray, BoolArray]


@dataclass(frozen=True)
class Regime:
    """A population of points, by kinds, and the number of points of one evaluation."""

    name: str
    weights: tuple[float, ...]
    right: tuple[tuple[tuple[float, ...], ...], ...]
    """Probability of a right answer: (models, clean and noises, kinds)."""
    n: int

    def truth(self) -> FloatArray:
        """Accuracies: (models, clean and noises)."""
        return np.asarray(np.array(self.right) @ np.array(self.weights))

    def requirements(self) -> list[str]:
        """Five requirements on the model `new`, with their limits at the truth."""
        (clean, *noisy), (old, *_) = self.truth()
        limits = {
            "model(new).accuracy >=": clean,
            "model(new).error[linf(0.2)] <=": 1 - noisy[1],
            "model(new).mscr >=": noisy[0] / clean - 1,
            "difference(new, old).accuracy >=": clean - old,
            "model(new).mce_lp <=": 1 - np.mean(noisy),
        }
        return [f"{text} {100 * float(limit)!r}" for text, limit in limits.items()]


def list_regimes() -> list[Regime]:
    """Populations with much and with little error, each with few and with many points."""
    mixed = (0.8, 0.15, 0.05)
    populations = {
        "accuracy 90 %": (
            mixed,
            (
                ((0.98, 0.70, 0.22), (0.97, 0.60, 0.22), (0.93, 0.50, 0.2), (0.96, 0.60, 0.2)),
                ((0.97, 0.70, 0.30), (0.95, 0.60, 0.25), (0.90, 0.50, 0.2), (0.95, 0.50, 0.2)),
            ),
        ),
        RARE: (
            (0.97, 0.03),
            (
                ((1.0, 0.67), (1.0, 0.50), (0.995, 0.4), (1.0, 0.55)),
                ((1.0, 0.60), (1.0, 0.50), (0.990, 0.4), (1.0, 0.50)),
            ),
        ),
        "some points always wrong under noise": (
            (0.9, 0.06, 0.04),
            (
                ((1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.99, 0.0, 0.0), (1.0, 0.2, 0.0)),
                ((1.0, 0.9, 0.0), (1.0, 0.0, 0.0), (0.99, 0.0, 0.0), (1.0, 0.1, 0.0)),
            ),
        ),
    }
    return [
        Regime(name, weights, right, n)
        for name, (weights, right) in populations.items()
        for n in (100, 1000)
    ]


SEEN = np.array([not (r.name == RARE and r.n == 100) for r in list_regimes()])
"""Regimes in which points of every kind are nearly always seen."""


def make_records(regime: Regime, hits: Sequence[IntArray]) -> Records:
    """Records of one study: of `new` on clean points and under every noise, of `old` on clean."""
    points = Points("p", (0, 1), np.arange(regime.n), np.zeros(regime.n, np.int64))
    specs = ("clean", *NOISES, "clean")
    cells = [
        Record(
            key=f"{i}",
            points=points,
            data="simulated",
            fingerprint="f",
            model="old" if i == len(specs) - 1 else "new",
            recipe="old" if i == len(specs) - 1 else "new",
            model_id="old" if i == len(specs) - 1 else "new",
            train="as given",
            corruption=spec,
            setting=Setting(
                bounds="none",
                draws="none" if spec == "clean" else "independent",
                noise="none" if spec == "clean" else "cpu",
                dtype="float64",
                k=1 if spec == "clean" else K,
                seed=0,
            ),
            run=0,
            hits=h,
        )
        for i, (spec, h) in enumerate(zip(specs, hits, strict=True))
    ]
    return Records(tuple(cells), (EPS_MIN,), (SUITE,))


def draw_hits(regime: Regime, studies: int, rng: np.random.Generator) -> list[IntArray]:
    """Evaluate two models on the points of many studies: (studies, points) each.

    First the model `new` on clean points and under every noise, then `old` on clean points.
    """
    kinds = rng.choice(len(regime.weights), size=(studies, regime.n), p=regime.weights)
    new, old = regime.right
    clean = [rng.random(kinds.shape) < np.array(rates[0])[kinds] for rates in (new, old)]
    noisy = [rng.binomial(K, np.array(rate)[kinds]) for rate in new[1:]]
    return [clean[0].astype(np.int64), *noisy, clean[1].astype(np.int64)]


def list_estimators(hits: Sequence[IntArray]) -> list[tuple[limits.Estimator, FloatArray]]:
    """The metric of every requirement: its estimator, and the table of outcomes per study.

    Errors are those of wrong answers with the sign changed, so that high is good everywhere.
    """
    clean, first, second, third, old = hits
    draws = K * len(NOISES)
    c, y = (part.ravel() for part in np.mgrid[:2, : K + 1])
    mean, total = limits.mean_estimator, first + second + third
    return [
        (mean(np.arange(2.0)), count(clean, 2)),
        (mean(np.arange(K + 1) / K), count(second, K + 1)),
        (limits.change_estimator(c, y / K), count(clean * (K + 1) + first, 2 * (K + 1))),
        (mean(np.arange(-1.0, 2.0), -1, 1), count(clean - old + 1, 3)),
        (mean(np.arange(draws + 1) / draws), count(total, draws + 1)),
    ]


def count(outcomes: IntArray, number: int) -> FloatArray:
    """How often every outcome occurs in every study: (studies, outcomes)."""
    rows = len(outcomes)
    places = outcomes + number * np.arange(rows)[:, None]
    return np.bincount(places.ravel(), minlength=rows * number).reshape(rows, number).astype(float)


def decide(
    regime: Regime, hits: Sequence[IntArray], tail: float, imagine: limits.Imagine
) -> Decided:
    """Which requirements are met, and which are not: (requirements, studies) each."""
    (clean, *noisy), (old, *_) = regime.truth()
    truth = [clean, noisy[1], noisy[0] / clean - 1, clean - old, np.mean(noisy)]
    met, not_met = [], []
    for (estimator, counts), limit in zip(list_estimators(hits), truth, strict=True):
        _, low, high = limits.compute_limits(estimator, counts, tail, imagine)
        met.append(low >= limit)
        not_met.append(high < limit)
    return np.array(met), np.array(not_met)


def compare(regime: Regime, hits: Sequence[IntArray], decided: Decided, *, careful: bool) -> None:
    """Raise unless `shaketable.check` decides the same of the first studies."""
    for study in range(CHECKED):
        records = make_records(regime, [h[study] for h in hits])
        decisions = check(records, regime.requirements(), careful=careful).decisions
        for i, decision in enumerate(decisions):
            expected = [bool(part[i, study]) for part in decided]
            assert expected == [decision.outcome == "met", decision.outcome == "not met"]


def simulate(regime: Regime, studies: int, *, careful: bool) -> FloatArray:
    """Rates of false passes and false fails in per cent: (each alone and all together, 2)."""
    rng = np.random.default_rng(0)
    wrong = np.zeros((6, 2))
    imagine = limits.imagine_worst if careful else limits.imagine_point
    for start in range(0, studies, BATCH):
        hits = draw_hits(regime, BATCH, rng)
        alone, together = (decide(regime, hits, tail, imagine) for tail in (0.025, 0.005))
        if not start:
            compare(regime, hits, together, careful=careful)
        for side in (0, 1):
            wrong[:-1, side] += alone[side].sum(axis=1)
            wrong[-1, side] += together[side].any(axis=0).sum()
    return 100 * wrong / (BATCH * -(-studies // BATCH))


def write_rows(regime: Regime, usual: FloatArray, careful: FloatArray) -> list[str]:
    """Rows of the table for one regime."""
    names = ["accuracy", "error[linf(0.2)]", "mscr", "difference(new, old).accuracy", "mce_lp"]
    return [
        f"| {regime.name} | {regime.n} | {name} | {a[0]:.2f} | {a[1]:.2f} | {b[0]:.2f} "
        f"| {b[1]:.2f} |"
        for name, a, b in zip([*names, "**any of the five**"], usual, careful, strict=True)
    ]


def main() -> None:
    """Simulate all regimes, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    start, regimes = time.process_time(), list_regimes()
    usual, careful = (
        np.array([simulate(regime, args.studies, careful=careful) for regime in regimes])
        for careful in (False, True)
    )
    minutes = (time.process_time() - start) / 60
    error = 100 * np.sqrt(0.025 * 0.975 / args.studies)
    lines = [
        "# Wrong decisions on requirements at the limit",
        "",
        f"Written by `benchmarks/coverage/requirements.py` on 2026-11-16: {args.studies} simulated "
        f"evaluations per regime, seed 0, {minutes:.1f} minutes of one core of an AMD EPYC. The "
        "truth is exactly at the limit of every requirement. Nominal are 2.5 % false passes and "
        "2.5 % false fails, 5 % together, for a requirement alone (interval of 95 %) and for any "
        "of five (intervals of 99 %, Bonferroni). The Monte-Carlo error of a rate of 2.5 % is "
        f"{error:.2f} points. Of the first {CHECKED} evaluations, `shaketable.check` decided all "
        "requirements, with the same outcomes.",
        "",
        *describe("usual limits, all regimes but that of rare points", usual[SEEN]),
        *describe("usual limits, rare points", usual[~SEEN]),
        *describe("careful limits, all regimes", careful),
        "",
        "| points | n | requirement | false pass, % | false fail, % | careful: false pass, % "
        "| careful: false fail, % |",
        "|---|---|---|---|---|---|---|",
        *(
            line
            for regime, a, b in zip(regimes, usual, careful, strict=True)
            for line in write_rows(regime, a, b)
        ),
        "",
    ]
    text = "\n".join(lines)
    if args.out is None:
        sys.stdout.write(text)
    else:
        args.out.write_text(text, encoding="utf-8")


def describe(what: str, rates: FloatArray) -> list[str]:
    """Say the highest rates of some regimes, in one item of a list."""
    parts = []
    for name, part in (("one requirement", rates[:, :-1]), ("any of five", rates[:, -1:])):
        passed, failed = part.max(axis=(0, 1))
        both = part.sum(axis=2).max()
        parts.append(f"{name} {passed:.2f} % and {failed:.2f} %, together {both:.2f} %")
    return [f"- Highest rates of false passes and false fails, {what}: {'; '.join(parts)}."]


if __name__ == "__main__":
    main()
