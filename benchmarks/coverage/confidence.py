"""Simulate how often the intervals of calibration errors and of sure answers hold the truth.

Result: see results/coverage_confidence.md.
Trials: 1000 simulated evaluations per regime, seed 0.
Hardware: one core of an AMD EPYC.

A point has a latent number z, normal with standard deviation 2, and is of the second class with the
probability sigmoid(z); the mean of z makes that class rare or not. A model answers with the score
sigmoid(t (z + e)), with its own e in each of ten draws, and none on clean points: t = 1 is
calibrated without noise, t = 2 too sure. The other model of a pair has another t and the same
noise. The truth is what 400,000 points show, in the same bins.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, special

from shaketable.core.errors import UndefinedError
from shaketable.findings.confidence.calibration import Calibration
from shaketable.findings.confidence.numbers import SURE, Sureness, select_accuracy
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import mean_of_values
from shaketable.statistics.parts import share_of_part

K, SPREAD, NOISE, TRUE_POINTS = 10, 2.0, 1.0, 400_000
REFUSED = (0.1, 0.5)


@dataclass(frozen=True)
class Regime:
    """How rare the second class is, and how sure the model is."""

    minority: float
    slope: float

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Sureness, Sureness, Sureness]:
        """Return answers under noise, on clean points, and of the other model under noise."""
        mean = find_mean(self.minority)
        z = rng.normal(mean, SPREAD, n)
        y = rng.random(n) < special.expit(z)
        moved = z[:, None] + rng.normal(0, NOISE, (n, K))
        other = 3 - self.slope
        return (
            answer(self.slope * moved, y),
            answer(self.slope * z[:, None], y),
            answer(other * (moved + 0.3), y),
        )


def find_mean(minority: float) -> float:
    """Return the mean of z at which the second class has this share."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    return float(
        optimize.brentq(lambda m: special.expit(m + SPREAD * nodes) @ weights - minority, -20, 20)
    )


def answer(logits: np.ndarray, y: np.ndarray) -> Sureness:
    """Return confidence and hits of answers."""
    confidence = special.expit(np.abs(logits)).astype(np.float32)
    return Sureness(confidence, (logits > 0) == y[:, None])


def estimate_all(
    noisy: Sureness, clean: Sureness, other: Sureness
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the estimate and the value of every quantity; values are the plain ones."""
    a, b, c = (Calibration(s.confidence, s.right) for s in (noisy, clean, other))
    for norm in ("l1", "l2"):
        yield norm, partial(a.estimate, norm), partial(a.plain, norm)
        yield f"{norm} clean", partial(b.estimate, norm), partial(b.plain, norm)
        for name, second in (("clean", b), ("model", c)):
            yield (
                f"{norm} minus {name}",
                partial(a.subtract, second, norm),
                lambda s=second, norm=norm: a.plain(norm) - s.plain(norm),
            )
    wrong = ~noisy.right
    sure = wrong & noisy.is_above(SURE)
    yield (
        "sure and wrong",
        lambda: share_of_part(sure.sum(axis=1), wrong.sum(axis=1), K),
        lambda: sure.sum() / wrong.sum(),
    )
    yield (
        "of all answers",
        lambda: mean_of_values(sure.mean(axis=1), low=0.0, high=1.0),
        sure.mean,
    )
    for refused in REFUSED:
        yield (
            f"{refused:.0%} refused",
            partial(select_accuracy, noisy, refused),
            lambda q=refused: (noisy.keep(q) * noisy.right).mean() / (1 - q),
        )


def find_truths(regime: Regime) -> dict[str, float]:
    """Return the value of every quantity at many points."""
    answers = regime.draw(np.random.default_rng(1), TRUE_POINTS)
    return {name: float(value()) for name, _, value in estimate_all(*answers)}


def measure(
    regime: Regime, truths: dict[str, float], n: int, trials: int
) -> dict[str, list[float]]:
    """Coverage, mean error of the estimate, and mean width, by quantity."""
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in truths}
    for _ in range(trials):
        for name, estimate, plain in estimate_all(*regime.draw(rng, n)):
            try:
                e: Estimate = estimate()
            except UndefinedError:
                continue
            truth = truths[name]
            held = e.low - 1e-9 <= truth <= e.high + 1e-9
            found[name].append((held, e.value - truth, float(plain()) - truth, e.high - e.low))
    return {
        name: [100 * truths[name], *(100 * np.mean(rows, axis=0))] for name, rows in found.items()
    }


def main() -> None:
    """Print one row per regime, number of points and quantity."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=1000)
    trials, began = parser.parse_args().trials, time.perf_counter()
    print("| minority | t | n | quantity | truth % | covered % | bias | plain bias | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for regime in (Regime(m, t) for m in (0.1, 0.5) for t in (1.0, 2.0)):
        truths = find_truths(regime)
        for n in (100, 300, 1000):
            found = measure(regime, truths, n, trials)
            for name, (truth, covered, bias, plain, width) in found.items():
                print(
                    f"| {regime.minority:.0%} | {regime.slope:g} | {n} | {name} | {truth:.2f} | "
                    f"{covered:.1f} | {bias:+.2f} | {plain:+.2f} | {width:.2f} |",
                    flush=True,
                )
    print(f"\n{trials} trials per regime, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
