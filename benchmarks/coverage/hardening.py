"""Simulate how often `harden` claims that noise helps when it does not, and when it does.

Result: where no noise helps, it is claimed in 5 of 480 searches (1.0 %), at most in 2.5 % for one
kind of chance; the points for selection would claim it in 10 %, the spread between runs alone in up
to 40 %. Where noise helps, it is claimed for 12 of 12 data sets (results/hardening.md).
Trials: 120 searches per kind of chance, 12 on bands, seeds 0, 1, …
Hardware: one shared core of an AMD EPYC, 3 minutes.

Where noise does not help, every training noise gives models of the same accuracy, 90 % of all
points there could be, and they differ by chance only. The chance may lie in the training, so that
every model is wrong on other points, or has another accuracy; or in the noise, so that all models
that are trained with it are wrong on the same points. Every claim is wrong then, and at most 2.5 %
are nominal: an interval of 95 %, on one side.

For comparison: what would be claimed from the points for selection, on which the best of 8 was
chosen, and from intervals that count only the spread between the runs of the test.
"""

import argparse
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.core.keys import digest, row_keys
from shaketable.core.types import Array, FloatArray
from shaketable.statistics import intervals
from shaketable.training.hardening import search
from shaketable.training.hardening.result import Answers, Measures, compare_trainings

RESULT = Path(__file__).parents[1] / "results/hardening.md"
ERROR, POINTS = 0.1, 500
NOISE = tuple(f"linf({0.003 * 2**i:g})" for i in range(8))
KINDS = {
    "other points in every training": "training",
    "another accuracy in every training": "accuracy",
    "other points with every noise": "noise",
    "noise and training": "both",
}
TEXT = """# How often harden claims that noise helps

Written by `benchmarks/coverage/hardening.py` on {day}: {trials} searches per
row, {minutes:.0f} minutes of one shared core of an AMD EPYC. 8 training noises, 3 runs of the
search, 5 of the test; of {points} points, 20 % are the test part. No noise helps, so that every
claim is wrong, and 2.5 % are nominal. The Monte-Carlo error of a rate of 2.5 % is {error:.1f}
points.

*Helps* and *costs more* are outcomes of `harden`: in both, accuracy under noise is claimed to rise.
*Selection* is what the 95 % interval on the points for selection would claim for the best of the
8, and *runs only* an interval on the test part that counts only the spread between runs.

| models differ by | helps, % | costs more, % | selection, % | runs only, % |
|---|---|---|---|---|
{rows}

Of all {searches} searches: {totals}.

Where noise does help, decision trees on `bands(n=1000)`, {sets} data sets: {outcomes}.
"""
Compared = list[tuple[Answers, Answers]]


class Chance(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """A model whose errors do not depend on noise, except by chance; points are whole numbers."""

    def __init__(self, kind: str = "training", random_state: int | None = None) -> None:
        self.kind = kind
        self.random_state = random_state

    def fit(self, x: Array, y: Array) -> "Chance":
        """Choose the points that are misclassified: by the noise, by all values, or by both."""
        self.classes_ = np.unique(y)
        largest = np.abs(x - np.rint(x)).max()
        by_noise = digest("noise", round(2 * float(np.log2(largest))) if largest else "clean")
        values = np.ascontiguousarray(x).tobytes()
        by_training = digest("training", str(self.random_state), values)
        rng = np.random.default_rng(by_training)
        self.parts_ = {
            "training": [(by_training, ERROR)],
            "accuracy": [(by_training, rng.uniform(0, 2 * ERROR))],
            "noise": [(by_noise, ERROR)],
            "both": [(by_noise, ERROR / 2), (by_training, rng.uniform(0, ERROR))],
        }[self.kind]
        return self

    def predict(self, x: Array) -> Array:
        """Return the parity of the numbers, or the other one where it is wrong."""
        numbers = np.rint(x[:, 0]).astype(np.int64)
        wrong = np.zeros(len(x), dtype=bool)
        for key, share in self.parts_:
            wrong |= draw_uniform(key, numbers) < share
        return np.asarray(self.classes_[(numbers + wrong) % 2])


def draw_uniform(key: int, numbers: Array) -> FloatArray:
    """Return a number in [0, 1) for every point, which depends on the key."""
    return np.asarray(row_keys(key, numbers, np.arange(1))[:, 0] / 2.0**64)


def simulate(kind: str, seed: int) -> list[str]:
    """Search once where no noise helps; return by which way a help would be claimed."""
    compared: Compared = []

    def keep(first: Answers, second: Answers) -> Measures:
        compared.append((first, second))
        return compare_trainings(first, second)

    numbers = np.random.default_rng(seed).choice(10**7, POINTS, replace=False)
    data = st.make_dataset(numbers[:, None].astype(float), numbers % 2, name="numbers")
    options: dict[str, Any] = {"target": "l2(0.01)", "noise": NOISE, "k": 2, "n_jobs": 1}
    with patch.object(search, "compare", keep):
        found = st.harden(data, Chance(kind), runs=5, search_runs=3, seed=seed, **options)
    claims: list[str] = [found.outcome]
    best = [c for c in found.candidates if c.noise == found.chosen]
    if best and best[0].robust.low > 0:
        claims.append("selection")
    if found.difference is not None:
        a, b = compared[0]  # after it, what the copies alone change
        if intervals.mean_difference_over_runs(a.robust, b.robust, a.draws).low > 0:
            claims.append("runs only")
    return claims


def measure_power(trials: int) -> Counter[str]:
    """Search on bands, where noise is known to help decision trees."""
    outcomes: Counter[str] = Counter()
    for seed in range(trials):
        data = f"bands(n=1000, seed={seed})"
        found = st.harden(data, DecisionTreeClassifier(), runs=5, k=5, seed=seed, n_jobs=1)
        outcomes[found.outcome] += 1
    return outcomes


def main() -> None:
    """Simulate, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    started = time.perf_counter()
    names = ("helps", "costs more", "selection", "runs only")
    rows, everywhere = [], Counter[str]()
    for title, kind in KINDS.items():
        claims = Counter(c for seed in range(args.trials) for c in simulate(kind, seed))
        everywhere += claims
        rates = (f"{100 * claims[name] / args.trials:.1f}" for name in names)
        rows.append(f"| {title} | {' | '.join(rates)} |")
        print(rows[-1], flush=True)
    power = measure_power(max(1, args.trials // 10))
    outcomes = ", ".join(f"{name} {count}" for name, count in power.most_common())
    totals = ", ".join(f"{name} {everywhere[name]}" for name in names)
    text = TEXT.format(
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        trials=args.trials,
        minutes=(time.perf_counter() - started) / 60,
        points=POINTS,
        error=100 * (0.025 * 0.975 / args.trials) ** 0.5,
        rows="\n".join(rows),
        searches=len(rows) * args.trials,
        totals=totals,
        sets=power.total(),
        outcomes=outcomes,
    )
    args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
