"""Simulate the coverage of the 95 % intervals of the CV and of the difference of two CVs.

Result: at least 94 % for the CV and 93 % for the difference in all 506 regimes
(results/cv_coverage.md), from 20 points on.
Trials: 300 simulated evaluations per regime, seed 0.
Hardware: one core of an AMD EPYC, 10 minutes.

The true accuracies of the sets have a given mean and CV; they are evenly spaced, or one set differs
from all others. A point is classified correctly in a draw of set s if a uniform number is below the
accuracy of s. With probability `tie` this number is the point's own, the same in all sets, draws
and models; otherwise it is new. The accuracies are thus exact for any `tie`, and ties make points
easy or hard. The second model of a difference has half the CV of the first, on the same points.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.findings.mcv.stability import coefficient, coefficient_difference

SETS = (2, 5, 69)
POINTS = (20, 100, 1000)
MEANS = (0.5, 0.9, 0.99)
CVS = (0.0, 0.01, 0.03, 0.1, 0.3)
TIES = (0.0, 0.9)
DRAWS = (1, 10)
SHAPES = ("even", "one apart")


def accuracies(shape: str, sets: int, mean: float, cv: float) -> FloatArray | None:
    """Accuracies of the sets with this mean and CV; None where they leave [0, 1]."""
    place = np.arange(sets)
    z = place - (sets - 1) / 2 if shape == "even" else 1 / sets - (place == 0)
    values = mean * (1 + cv * z / z.std())
    return np.asarray(values) if values.min() >= 0 and values.max() <= 1 else None


def simulate_hits(
    levels: list[FloatArray], n: int, k: int, tie: float, rng: np.random.Generator
) -> list[FloatArray]:
    """Simulate the share of correct answers of every model, (sets, points)."""
    sets = len(levels[0])
    own = rng.random(n)
    right = np.zeros((len(levels), sets, n))
    for _ in range(k):
        noise = np.where(rng.random((sets, n)) < tie, own, rng.random((sets, n)))
        right += [noise < level[:, None] for level in levels]
    return list(right / k)


def regimes() -> Iterator[tuple[str, int, int, float, float, float, int]]:
    """Yield all combinations; ten draws per point only where they are quick."""
    for shape, sets, n, mean, cv, tie, k in itertools.product(
        SHAPES, SETS, POINTS, MEANS, CVS, TIES, DRAWS
    ):
        duplicate = shape != "even" and (sets == 2 or cv == 0)
        if not duplicate and not (k > 1 and n * sets > 10_000):
            yield shape, sets, n, mean, cv, tie, k


def simulate_coverage(
    levels: list[FloatArray], n: int, *, k: int, tie: float, trials: int, rng: np.random.Generator
) -> FloatArray:
    """Return shares of trials (CV covered, truth below, truth above, difference covered), width."""
    first, second = (float(level.std() / level.mean()) for level in levels)
    seen = []
    for _ in range(trials):
        first_hits, second_hits = simulate_hits(levels, n, k, tie, rng)
        if not (first_hits.any() and second_hits.any()):
            continue
        e, d = coefficient(first_hits), coefficient_difference(first_hits, second_hits)
        seen.append(
            (
                e.low <= first <= e.high,
                first < e.low,
                first > e.high,
                d.low <= first - second <= d.high,
                e.high - e.low,
            )
        )
    return np.asarray(np.mean(seen, axis=0))


def main() -> None:
    """Simulate all regimes and write the table."""
    parser = argparse.ArgumentParser(description="coverage of the intervals for CV")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="Markdown file; standard output if not given")
    options = parser.parse_args()
    rng, start = np.random.default_rng(options.seed), time.process_time()
    rows, lowest = [], {(n, what): (1.0, "") for n in POINTS for what in ("CV", "difference")}
    for shape, sets, n, mean, cv, tie, k in regimes():
        levels = [accuracies(shape, sets, mean, value) for value in (cv, cv / 2)]
        if levels[0] is None or levels[1] is None:
            continue
        pair = [level for level in levels if level is not None]
        coverage = simulate_coverage(pair, n, k=k, tie=tie, trials=options.trials, rng=rng)
        cells = [shape, sets, n, f"{mean:g}", f"{100 * cv:g}", f"{tie:g}", k]
        about = " | ".join(map(str, cells))
        share = [f"{100 * v:.1f}" for v in coverage[:4]]
        share = [f"**{s}**" if float(s) < 93 and i in (0, 3) else s for i, s in enumerate(share)]
        rows.append(f"| {about} | {' | '.join(share)} | {100 * coverage[4]:.2f} |")
        for what, value in (("CV", coverage[0]), ("difference", coverage[3])):
            lowest[n, what] = min(lowest[n, what], (float(value), about))
        print(
            f"\r{len(rows)} regimes, {time.process_time() - start:.0f} s", end="", file=sys.stderr
        )
    print(file=sys.stderr)
    columns = "sets' accuracies | sets | n | mean | CV % | tie | k"
    text = "\n".join(
        [
            "# Coverage of the 95 % intervals for CV",
            "",
            f"Written by `benchmarks/cv_coverage.py`: {options.trials} evaluations per regime, "
            f"seed {options.seed}, {len(rows)} regimes, {time.process_time() - start:.0f} CPU s "
            "on one core. The Monte-Carlo error of a coverage of 95 % is "
            f"{100 * (0.95 * 0.05 / options.trials) ** 0.5:.1f} points.",
            "",
            f"| interval | lowest coverage % | {columns} |",
            "|---" * 9 + "|",
            *(
                f"| {what}, n = {n} | {100 * value:.1f} | {about} |"
                for (n, what), (value, about) in lowest.items()
            ),
            "",
            f"| {columns} | CV covered % | truth below % | truth above % | difference covered % | "
            "mean width, points of CV |",
            "|---" * 12 + "|",
            *rows,
            "",
        ]
    )
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
