"""Time the overhead of a study over the fit and predict calls it makes.

Three results: the overhead with one process, the time per cell with a constant classifier, and the
speed of two workers relative to ``joblib.Parallel(2)`` over the same calls. Both variants alternate
in one process, median of five ratios; the arrays of the plain calls are prepared beforehand.

    python benchmarks/speed/engine.py

Results: results/engine.md.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

import shaketable as st
from shaketable.core.keys import digest
from shaketable.corruptions import Clean, parse
from shaketable.corruptions.corruption import noisy_copies
from shaketable.data.dataset import Dataset
from shaketable.evaluation.noise import Noise
from shaketable.models.fitting import clone_seeded

LEVELS = [0.0, 0.004, 0.01]
K = 10
Call = tuple[Any, Any, Any, list[Any]]


def prepare_calls(data: Dataset, runs: int, eps_min: float) -> list[Call]:
    """Prepare model, training arrays and test arrays of every task of the study."""
    calls: list[Call] = []
    for run in range(runs):
        train, test = data.parts(run=run)
        noise = Noise(k=K, seed=0, run=run)

        def noisy(rows: Any, epsilon: float, noise: Noise = noise) -> Any:
            corruption = parse(f"linf({epsilon})") if epsilon else Clean()
            if not epsilon:
                return data.rows(rows)
            keys = noise.keys(data, corruption, rows, np.arange(K))
            return noisy_copies(corruption, data.rows(rows), keys)

        tests = [noisy(test, epsilon) for epsilon in [*LEVELS, eps_min]]
        for epsilon in LEVELS:
            model = clone_seeded(RandomForestClassifier(100), digest("fit", run, 0))
            x = noisy(train, epsilon)
            y = np.repeat(data.labels[train], len(x) // len(train))
            calls.append((model, x, y, tests))
    return calls


def fit_and_predict(call: Call) -> list[Any]:
    """Fit, then predict at every level."""
    model, x, y, tests = call
    model.fit(x, y)
    return [model.predict(test) for test in tests]


def time_ratios(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> list[float]:
    """Return time ratios of two calls, which alternate after one warm-up of each."""
    ours()
    theirs()
    values = []
    for i in range(repeats):
        pair = (ours, theirs) if i % 2 == 0 else (theirs, ours)
        seconds = {}
        for side in pair:
            started = time.perf_counter()
            side()
            seconds[side] = time.perf_counter() - started
        values.append(seconds[ours] / seconds[theirs])
    return values


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}\n"
    )
    data = st.load("bands(n=4674, separation=0.008)")
    eps_min = st.separation(data).epsilon_min
    calls = prepare_calls(data, args.runs, eps_min)

    def ours(n_jobs: int) -> None:
        st.study(
            data,
            {"rf": RandomForestClassifier(100)},
            train_eps=LEVELS,
            test_eps=LEVELS,
            k=K,
            runs=args.runs,
            n_jobs=n_jobs,
        )

    one = time_ratios(lambda: ours(1), lambda: list(map(fit_and_predict, calls)), args.repeats)
    print(
        f"overhead over fit + predict, one process: {statistics.median(one) - 1:+.1%}"
        f" (ratios {', '.join(f'{r:.3f}' for r in one)})"
    )

    two = time_ratios(
        lambda: ours(2),
        lambda: joblib.Parallel(2)(joblib.delayed(fit_and_predict)(call) for call in calls),
        args.repeats,
    )
    print(
        f"two workers reach {1 / statistics.median(two):.1%} of the speed of joblib.Parallel(2)"
        f" (ratios {', '.join(f'{r:.3f}' for r in two)})"
    )

    levels = [f"linf({epsilon})" for epsilon in np.linspace(0.001, 0.05, 200)]
    rows = data.parts()[1]
    points = (data.x[rows], data.y[rows])
    times = []
    for _ in range(args.repeats):
        started = time.perf_counter()
        st.evaluate(lambda x: np.zeros(len(x), int), points, levels, k=K)
        times.append((time.perf_counter() - started) / (len(levels) + 1))
    print(
        f"time per cell with a constant classifier, {len(rows)} points, k = {K}, d = 2: "
        f"{1000 * statistics.median(times):.2f} ms"
    )


if __name__ == "__main__":
    main()
