"""Simulate how often requirements are decided wrongly when the truth is exactly at the limit.

Result: see results/requirements.md.
Trials: 2,000 simulated evaluations per regime, seed 0.
Hardware: two shared cores of an AMD EPYC.

At the limit, every decision is wrong in one sense: *met* is a false pass, as the truth may be
on the other side by nothing, and *not met* a false fail. A requirement alone has an interval of
95 %, and each of five an interval of 99 %; either way the rates of false passes and of false fails
should be at most 2.5 % each, 5 % together, for any of the requirements.

Points are of some kinds, such as easy and hard ones; a kind has a probability of a right answer
for each of two models, on clean points and under every noise. These make the true values exact, and
the five requirements depend on each other, as those of one evaluation do. `shaketable.check`
decides.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Points, Record, Records, SuiteRecord
from shaketable.findings.requirements.check import check
from shaketable.separations.record import SeparationRecord

K = 10
NOISES = ("linf(0.1)", "linf(0.2)", "l2(0.5)")
EPS_MIN = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)
SUITE = SuiteRecord("f", "pnorm", "mce_lp", "", NOISES)
NOMINAL = 2.5


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
        "accuracy 99 %": (
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


def draw_records(regime: Regime, rng: np.random.Generator) -> Records:
    """Evaluate two models on new points, which both see."""
    kinds = rng.choice(len(regime.weights), size=regime.n, p=regime.weights)
    points = Points("p", (0, 1), np.arange(regime.n), np.zeros(regime.n, np.int64))
    cells = []
    for model, rates in zip(("new", "old"), regime.right, strict=True):
        for spec, rate in zip(("clean", *NOISES), rates, strict=True):
            clean = spec == "clean"
            k = 1 if clean else K
            cell = Record(
                key=f"{model} {spec}",
                points=points,
                data="simulated",
                fingerprint="f",
                model=model,
                recipe=model,
                model_id=model,
                train="as given",
                corruption=spec,
                bounds="none",
                draws="none" if clean else "independent",
                noise="none" if clean else "cpu",
                dtype="float64",
                k=k,
                seed=0,
                run=0,
                hits=rng.binomial(k, np.array(rate)[kinds]),
            )
            cells.append(cell)
    return Records(tuple(cells), (EPS_MIN,), (SUITE,))


def simulate(regime: Regime, studies: int) -> FloatArray:
    """Rates of false passes and false fails in per cent: (each alone and all together, 2)."""
    rng, texts = np.random.default_rng(0), regime.requirements()
    wrong = np.zeros((len(texts) + 1, 2))
    for _ in range(studies):
        decisions = check(draw_records(regime, rng), texts).decisions
        together = {decision.outcome for decision in decisions}
        wrong[-1] += ["met" in together, "not met" in together]
        for i, decision in enumerate(decisions):
            alone = decision.estimate.again(confidence=0.95)  # as if it were the only one
            outcome = decision.requirement.decide(alone.low, alone.high)
            wrong[i] += [outcome == "met", outcome == "not met"]
    return 100 * wrong / studies


def write_rows(regime: Regime, rates: FloatArray) -> list[str]:
    """Rows of the table for one regime."""
    names = [text.split(" ")[0].removeprefix("model(new).") for text in regime.requirements()[:3]]
    names += ["difference(new, old).accuracy", "mce_lp", "**any of the five**"]
    return [
        f"| {regime.name} | {regime.n} | {name} | {passed:.2f} | {failed:.2f} |"
        for name, (passed, failed) in zip(names, rates, strict=True)
    ]


def main() -> None:
    """Simulate all regimes, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    start, regimes = time.perf_counter(), list_regimes()
    with ProcessPoolExecutor(args.jobs) as pool:
        results = list(pool.map(simulate, regimes, [args.studies] * len(regimes)))
    minutes = (time.perf_counter() - start) / 60
    every = np.array(results)
    error = 100 * np.sqrt(0.025 * 0.975 / args.studies)
    lines = [
        "# Wrong decisions on requirements at the limit",
        "",
        f"Written by `benchmarks/requirements.py` on 2026-11-16: {args.studies} simulated "
        f"evaluations per regime, seed 0, {minutes:.0f} minutes with {args.jobs} workers on two "
        "shared cores of an AMD EPYC. The truth is exactly at the limit of every requirement. "
        f"Nominal are {NOMINAL} % false passes and {NOMINAL} % false fails, for a requirement "
        "alone (interval of 95 %) and for any of five (intervals of 99 %, Bonferroni). The "
        f"Monte-Carlo error of a rate of {NOMINAL} % is {error:.2f} points.",
        "",
        f"Highest rate of a requirement alone: false pass {every[:, :-1, 0].max():.2f} %, false "
        f"fail {every[:, :-1, 1].max():.2f} %, both together "
        f"{every[:, :-1].sum(axis=2).max():.2f} %. Highest rate of any of five: false pass "
        f"{every[:, -1, 0].max():.2f} %, false fail {every[:, -1, 1].max():.2f} %, both together "
        f"{every[:, -1].sum(axis=1).max():.2f} %.",
        "",
        "| points | n | requirement | false pass, % | false fail, % |",
        "|---|---|---|---|---|",
        *(line for r, rates in zip(regimes, results, strict=True) for line in write_rows(r, rates)),
        "",
    ]
    text = "\n".join(lines)
    if args.out is None:
        sys.stdout.write(text)
    else:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
