"""What it costs to keep answers: 5 models x 20 corruptions x 10 000 points x 10 draws.

Five models of scikit-learn are evaluated with ``record="answers"`` and with ``record="hits"``, and
the bare passes that this needs are timed beside: `predict` of all corrupted points, and
`predict_proba`, in batches of as many rows. Then all findings are taken from both results files,
as JSON, and written as a page. Every side runs in a process of its own, which tells its seconds of
CPU and on the clock, and the peak of its memory; libraries use one thread.

    python benchmarks/speed/answers.py
    python benchmarks/speed/answers.py --n 1000 --classes 2

Results: results/answers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

import shaketable as st
from shaketable.core.types import Array
from shaketable.evaluation.cells import BATCH_ROWS
from shaketable.evaluation.store import Store
from shaketable.findings.page import write_report

FEATURES, SIZES = 20, (0.05, 0.1, 0.2, 0.4)
SPECS = [f"{kind}({size})" for kind in ("linf", "l2", "l1", "gaussian", "jitter") for size in SIZES]

MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "naive Bayes": GaussianNB,
    "forest of 20": lambda: RandomForestClassifier(20, max_depth=8, random_state=0),
    "boosting of 30": lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "network": lambda: MLPClassifier((64,), max_iter=200, random_state=0),
}
PASSES = {
    "predict": ("predict",),
    "predict_proba": ("predict_proba",),
    "both": ("predict", "predict_proba"),
}
RECORDS = ("hits", "answers")


def prepare(folder: Path, n: int, classes: int) -> None:
    """Fit the models, and write them and n test points."""
    x, y = make_classification(
        n + 2000, FEATURES, n_informative=10, n_classes=classes, n_clusters_per_class=1,
        class_sep=1.2, random_state=0,
    )  # fmt: skip
    models = {name: make() for name, make in MODELS.items()}
    for model in models.values():
        model.fit(x[n:], y[n:])
    joblib.dump((models, x[:n], y[:n]), folder / "models.joblib")


def list_batches(x: Array, k: int) -> Iterator[Array]:
    """Yield all corrupted points: k draws of every one under every corruption, in batches."""
    rows = BATCH_ROWS // k
    for spec in SPECS:
        for start in range(0, len(x), rows):
            copies = np.repeat(x[start : start + rows], k, axis=0)
            yield st.corrupt(copies, spec, rng=start)


def pass_all(folder: Path, methods: tuple[str, ...], k: int) -> dict[str, list[float]]:
    """Time the bare passes of every model, without making the points."""
    models, x, _ = joblib.load(folder / "models.joblib")
    seconds = {name: np.zeros(2) for name in models}
    for batch in list_batches(x, k):
        for name, model in models.items():
            for method in methods:
                began = np.array(read_clocks())
                getattr(model, method)(batch)
                seconds[name] += read_clocks() - began
    return {name: each.tolist() for name, each in seconds.items()}


def evaluate_all(folder: Path, record: Any, k: int) -> dict[str, list[float]]:
    """Time the evaluation of every model."""
    models, x, y = joblib.load(folder / "models.joblib")
    data = st.make_dataset(x, y, name="made up")
    few = st.make_dataset(x[:100], y[:100], name="few")
    seconds: dict[str, list[float]] = {}
    for name, model in models.items():
        st.evaluate(model, few, SPECS, k=k, record=record)  # compiles
        began = np.array(read_clocks())
        store = folder / f"{record}.sqlite"
        st.evaluate(model, data, SPECS, k=k, name=name, record=record, store=store)
        seconds[name] = (read_clocks() - began).tolist()
    return seconds


def read_all(folder: Path, record: str) -> dict[str, list[float]]:
    """Time reading the file, all numbers, and the page."""
    seconds: dict[str, list[float]] = {}

    def measure(name: str, work: Callable[[], Any]) -> Any:
        began = np.array(read_clocks())
        result = work()
        seconds[name] = (read_clocks() - began).tolist()
        return result

    with Store(folder / f"{record}.sqlite", must_exist=True) as store:
        records = measure("read", store.everything)
    found = measure("find", lambda: st.find(records))
    measure("numbers", found.json)
    measure("page", lambda: write_report(folder / f"{record}.html", found))
    return seconds


def read_clocks() -> Array:
    """Seconds of CPU of this process, and on the clock."""
    return np.array([time.process_time(), time.perf_counter()])


def work(way: str, folder: Path, k: int) -> None:
    """Do one side in this process; print its seconds and the peak of its memory as JSON."""
    kind, _, what = way.partition(":")
    if kind == "pass":
        seconds = pass_all(folder, PASSES[what], k)
    else:
        seconds = evaluate_all(folder, what, k) if kind == "evaluate" else read_all(folder, what)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps([seconds, peak]))


def run(way: str, folder: Path, k: int) -> tuple[dict[str, Array], float]:
    """Do one side in a process of its own; return its seconds and the peak of its memory in GB."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--folder", str(folder), "--k", str(k)],
        check=True, stdout=subprocess.PIPE, text=True, env=os.environ | dict.fromkeys(threads, "1"),
    )  # fmt: skip
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return {name: np.array(each) for name, each in seconds.items()}, peak


def print_row(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Run all sides, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        work(args.way, args.folder, args.k)
        return
    count = len(MODELS) * (len(SPECS) * args.k + 1) * args.n
    print(
        f"{datetime.now(UTC):%Y-%m-%d}: {len(MODELS)} models x {len(SPECS)} corruptions x ", end=""
    )
    print(
        f"{args.n} points x {args.k} draws, {FEATURES} features, {args.classes} classes: ", end=""
    )
    print(f"{count} answers; seconds of CPU\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, args.n, args.classes)
        ways = [f"pass:{each}" for each in PASSES] + [f"evaluate:{each}" for each in RECORDS]
        found = {way: run(way, folder, args.k) for way in ways}
        titles = [*PASSES, *(f"evaluate, {each}" for each in RECORDS)]
        ratios = [f"{each} / predict" for each in RECORDS]
        print_row("model", *titles, *ratios)
        print_row(*["---"] * (len(titles) + 3))
        for model in [*MODELS, "all"]:
            chosen = list(MODELS) if model == "all" else [model]
            sums = [sum(found[way][0][each][0] for each in chosen) for way in ways]
            both = [f"{each / sums[0]:.2f}" for each in sums[-2:]]
            print_row(model, *(f"{each:.2f}" for each in sums), *both)
        clock = [sum(each[1] for each in found[way][0].values()) for way in ways]
        print_row("all, on the clock", *(f"{each:.1f}" for each in clock), "", "")
        print_row("peak of memory, GB", *(f"{found[way][1]:.2f}" for way in ways), "", "")
        print()
        print_row("results file", "MB", "bytes per answer", "read, s", "find, s", "numbers, s",
                  "page, s", "page, MB", "peak of memory, GB")  # fmt: skip
        print_row(*["---"] * 9)
        for record in RECORDS:
            size = (folder / f"{record}.sqlite").stat().st_size
            seconds, peak = run(f"read:{record}", folder, args.k)
            page = (folder / f"{record}.html").stat().st_size
            each = [f"{value[0]:.1f}" for value in seconds.values()]
            print_row(record, f"{size / 1e6:.1f}", f"{size / count:.2f}", *each,
                      f"{page / 1e6:.1f}", f"{peak:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
