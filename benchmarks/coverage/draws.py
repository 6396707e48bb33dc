"""Measure whether antithetic or quasi-random draws make accuracies more precise.

Result: at noise of about eps_min neither saves answers of the model, since one draw per point is
best; under strong noise antithetic pairs would save 13 to 34 % (results/draws.md).

Every point gets k = 8 draws of L-inf noise: independent, in antithetic pairs (an offset and its
negative), or from a scrambled Sobol sequence of its own. The variance of a point's share of right
answers is measured over 15 such sets of draws. What counts is the variance of the accuracy over
points, which is that between points plus that of the draws: draws that are twice as good do not
help where points make up nearly all of it, and fewer draws of more points may be better still. So
the last columns compare answers of the model for the same variance of the accuracy, one clean
answer per point among them: antithetic pairs at their best even k, whose variance is taken to fall
as 1 / k, and Sobol draws at k = 8, with independent draws at their best k.
"""

import time

import numpy as np
from scipy.stats import qmc

from shaketable.core.types import FloatArray
from shaketable.data.files import load
from shaketable.models.builtin import BUILTIN
from shaketable.models.fitting import fit
from shaketable.models.loading import load_model
from shaketable.statistics.draws import recommend_draws

K, SETS, POINTS = 8, 15, 100
CASES = (
    ("bands(n=1000)", "rf", (0.01, 0.05, 0.2)),
    ("bands(n=1000)", "logistic", (0.05, 0.2)),
    ("digits", "rf", (2.0, 6.0)),
    ("digits", "mlp", (2.0, 6.0)),
    ("wine", "logistic", (0.5, 2.0)),
)
"""Data, model, and sizes of the noise."""


def draw_offsets(kind: str, d: int, rng: np.random.Generator) -> FloatArray:
    """Offsets in [-1, 1] of K draws."""
    if kind == "Sobol":
        return np.asarray(2 * qmc.Sobol(d, rng=rng).random(K) - 1)
    if kind == "antithetic":
        half = rng.uniform(-1, 1, size=(K // 2, d))
        return np.concatenate([half, -half])
    return rng.uniform(-1, 1, size=(K, d))


def measure(data: str, model: str, epsilon: float) -> str:
    """One row: variances of a point's share of right answers, by the kind of draws."""
    assert model in BUILTIN
    rng = np.random.default_rng(0)
    dataset = load(data)
    train, test = dataset.parts()
    fitted = fit(load_model(model)[0], dataset, train, seed=0)
    rows = test[:POINTS]
    x, y = dataset.rows(rows).reshape(len(rows), -1), dataset.labels[rows]
    shares = {}
    for kind in ("independent", "antithetic", "Sobol"):
        found = []
        for _ in range(SETS):
            offsets = np.array([draw_offsets(kind, x.shape[1], rng) for _ in rows])
            noisy = (x[:, None] + epsilon * offsets).reshape(-1, x.shape[1])
            right = fitted.predict(noisy).reshape(len(rows), K) == y[:, None]
            found.append(right.mean(axis=1))
        shares[kind] = np.array(found)
    within = {kind: float(s.var(axis=0, ddof=1).mean()) for kind, s in shares.items()}
    probability = np.mean([s.mean(axis=0) for s in shares.values()], axis=0)
    between = float(probability.var(ddof=1))
    total = {kind: between + v for kind, v in within.items()}
    gains = [
        f"{within[kind] / within['independent']:.2f} | {total[kind] / total['independent']:.3f}"
        for kind in ("antithetic", "Sobol")
    ]
    part = within["independent"] / total["independent"]

    def count(kind: str, k: int) -> float:
        return (1 + k) * (between + within[kind] * K / k)

    best = recommend_draws(between, within["independent"] * K)
    least = count("independent", best)
    pairs = min(count("antithetic", k) for k in range(2, 20, 2)) / least
    return (
        f"| {data} | {model} | {epsilon:g} | {100 * probability.mean():.1f} | {100 * part:.1f} | "
        f"{' | '.join(gains)} | {best} | {pairs:.2f} | {count('Sobol', K) / least:.2f} |"
    )


def main() -> None:
    """Measure all cases, and print the table."""
    start = time.perf_counter()
    rows = [measure(data, model, epsilon) for data, model, sizes in CASES for epsilon in sizes]
    minutes = (time.perf_counter() - start) / 60
    print("# Draws of noise: antithetic, quasi-random, and how many")
    print(
        f"\nWritten by `benchmarks/coverage/draws.py` on 2026-11-17 in {minutes:.1f} minutes: k = "
        f"{K} draws of L-inf noise per point, {POINTS} test points at most, {SETS} sets of "
        "draws. *within* is the variance of a point's share of right answers, *accuracy* that "
        "of the accuracy over points, both over those of independent draws; below 1 is better. "
        "The part of the draws is that in the variance of the accuracy with independent draws. The "
        "best k is the one of independent draws that needs the fewest answers of the model; the "
        "last columns are answers for the same variance, over those of independent draws at their "
        "best k.\n"
    )
    print(
        "| data | model | size | accuracy, % | part of the draws, % | antithetic: within | "
        "accuracy | Sobol: within | accuracy | best k | answers, antithetic | answers, Sobol |"
    )
    print("|---" * 12 + "|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
