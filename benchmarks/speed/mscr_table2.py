"""Table 2 of Siedel et al. (2022): CPU time of the published procedure and of ours, at equal width.

The published procedure, as its authors' code is described: every run draws a split, seeds its
generator again for every point, so that all points get the same k offsets, trains a random forest
of scikit-learn for every training noise, and asks it about every test noise. Ours is
``shaketable reproduce mscr-table2``. Both are timed on one core, in turn, with the same splits and
offsets; compilation does not count.

How many groups of runs ours needs for the printed widths of all 90 numbers follows from the groups
in the results file of that command, by Student's t; print has 1200 runs. With few groups, the
largest of 90 spreads is too large, and so is that number.

    shaketable reproduce mscr-table2 --data bands2d_b.npz --form full
    python benchmarks/speed/mscr_table2.py bands2d_b.npz reproduced

Results: results/table2.md.
"""

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import special
from sklearn.ensemble import RandomForestClassifier

from shaketable.core.types import Array, FloatArray
from shaketable.data.dataset import Dataset
from shaketable.reproductions.numbers import Number
from shaketable.reproductions.papers.mscr.balanced_runs import RUNS_EACH, GroupedHits, Plan
from shaketable.reproductions.papers.mscr.planes import run_forest, tabulate
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked

PRINTED_RUNS = 1200


def add_noise(x: Array, y: Array, size: float, k: int, seed: int) -> tuple[Array, Array]:
    """Return k noisy copies of every point; the generator is seeded again for every point."""
    if not size:
        return x, y
    copies = []
    for point in x:
        np.random.seed(seed)  # noqa: NPY002  (as published)
        copies.append(point + np.random.uniform(-size, size, (k, x.shape[1])))  # noqa: NPY002
    return np.concatenate(copies), np.repeat(y, k)


def run_published(data: Dataset, plan: Plan, run: int) -> FloatArray:
    """Accuracy of one run of the published procedure, by test noise and training noise."""
    train_rows, test_rows = plan.split(run)
    sizes = [getattr(noise, "epsilon", 0.0) for noise in plan.train]
    accuracies = np.empty((len(sizes), len(sizes)))
    for column, train in enumerate(sizes):
        copies = add_noise(data.x[train_rows], data.y[train_rows], train, plan.k, run)
        model = RandomForestClassifier(n_estimators=100).fit(*copies)
        for row, test in enumerate(sizes):
            x, y = add_noise(data.x[test_rows], data.y[test_rows], test, plan.k, run)
            accuracies[row, column] = (model.predict(x) == y).mean()
    return accuracies


def measure(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def count_groups(number: Number) -> int:
    """Number of groups whose interval is as wide as the printed one, by the spread of ours."""
    printed = number.printed
    assert printed is not None
    assert printed.half is not None
    spread = np.asarray(number.ours).std(ddof=1)
    return next(
        n
        for n in itertools.count(2)
        if -special.stdtrit(n - 1, 0.025) * spread <= printed.half * np.sqrt(n)
    )


def load_groups(asked: Asked) -> GroupedHits:
    """Return the groups that are in the results file."""
    known = run_forest(Asked(**{**vars(asked), "minutes": 0.0}), 200)
    return run_forest(asked, known.groups)


def main() -> None:
    """Time both, and print the ratio at equal width."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("results", help="folder that the command wrote to")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each")
    args = parser.parse_args()
    asked = Asked(name="mscr-table2", data=args.data, folder=Path(args.results), jobs=1)
    found = load_groups(asked)
    plan, data = found.plan, found.plan.data
    tables = tabulate(found, load_published("mscr-table2").numbers)
    counts = {n.name: count_groups(n) for table in tables for n in table.numbers}
    name = max(counts, key=lambda each: counts[each])
    groups = counts[name]
    plan.count_hits(0)  # compiles
    times = np.array(
        [
            (
                measure(lambda run=run: run_published(data, plan, run)),  # type: ignore[misc]
                measure(lambda run=run: plan.count_hits(run)),  # type: ignore[misc]
            )
            for run in range(args.runs)
        ]
    )
    theirs, ours = times.mean(axis=0)
    needed = groups * RUNS_EACH
    print("| | CPU s per run | runs | CPU s |\n|---|---|---|---|")
    print(f"| published | {theirs:.2f} | {PRINTED_RUNS} | {PRINTED_RUNS * theirs:,.0f} |")
    print(f"| ours | {ours:.2f} | {needed} | {needed * ours:,.0f} |")
    print(f"\nper run, least and most: {times.min(axis=0).round(2)}, {times.max(axis=0).round(2)}")
    print(
        f"groups that are needed: {groups}, by {name}; median {np.median(list(counts.values())):g}"
    )
    print(f"spreads are those of {found.groups} groups")
    print(f"ratio at equal width: {PRINTED_RUNS * theirs / (needed * ours):.1f}")


if __name__ == "__main__":
    main()
