"""Time the class separation of image sets against the published procedure, and its growth.

The published procedure fits one scikit-learn ``NearestNeighbors`` (brute force, float32) per class
and searches the nearest point of another class: for training and test points in the training part,
for test points also in the test part. It is timed on a slice and scaled by the number of pairs.
shaketable runs on all data, from arrays in memory to the result, after a warm-up that compiles.
Both alternate in one process and use all cores. Ratios are given by the clock, which needs an idle
machine, and in CPU seconds of all threads.

    python benchmarks/speed/separation.py mnist.npz fashion.npz cifar10.npz
    python benchmarks/speed/separation.py mnist.npz --norms inf
    python benchmarks/speed/separation.py cifar10.npz --growth growth.svg

The files hold x_train, y_train, x_test, y_test. Results: results/separation.md.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors

import shaketable as st
from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset

NORMS = [math.inf, 2.0, 1.0]
QUESTIONS: dict[str, dict[str, Any]] = {
    "minimum": {"points": False, "per_class": False},
    "of class pairs": {"points": False},
    "every point": {"points": True},
}
BARS = {
    "minimum": {math.inf: 1000},
    "every point": {math.inf: 150},
}
CIFAR_BARS = {
    "minimum": {math.inf: 4000, 2.0: 2000, 1.0: 2000},
    "every point": {math.inf: 500, 2.0: 500, 1.0: 500},
}
SIZES = [7_500, 15_000, 30_000, 60_000]
SIDES = [8, 16, 32]
IMAGENET = 1_281_167


@dataclass(frozen=True)
class Duration:
    """How long a call took."""

    seconds: float
    cpu_seconds: float

    def __mul__(self, factor: float) -> Duration:
        return Duration(self.seconds * factor, self.cpu_seconds * factor)


def time_published(data: Dataset, p: float, queries: int, targets: int) -> Duration:
    """Time the published procedure, scaled from the search of some points of one class.

    They are searched among some points of the other classes.
    """
    x = data.x.reshape(data.n, -1)
    own = x[data.y == 0][:queries].astype(np.float32) / np.float32(255)
    others = x[data.y != 0][:targets].astype(np.float32) / np.float32(255)
    model = NearestNeighbors(n_neighbors=1, algorithm="brute", metric="minkowski", p=p, n_jobs=-1)
    model.fit(others)
    taken = time_call(lambda: model.kneighbors(own))
    return taken * (count_published_pairs(data) / (len(own) * len(others)))


def count_published_pairs(data: Dataset) -> int:
    """Count the pairs that the published procedure compares: within parts twice, across once."""
    n_train = data.n if data.n_train is None else data.n_train
    train, test = np.bincount(data.y[:n_train]), np.bincount(data.y[n_train:], minlength=1)
    inside = [int(c.sum()) ** 2 - int((c**2).sum()) for c in (train, test)]
    across = int(test.sum()) * int(train.sum()) - int((test * train[: len(test)]).sum())
    return inside[0] + inside[1] + across


def time_call(work: Callable[[], object]) -> Duration:
    """Return the time of a call."""
    started, cpu_started = time.perf_counter(), time.process_time()
    work()
    return Duration(time.perf_counter() - started, time.process_time() - cpu_started)


def time_ours(data: Dataset, p: float, question: str) -> Duration:
    """Return the time of a separation, including checks of the data."""
    fresh = Dataset(name="fresh", x=data.x, y=data.y, classes=data.classes, n_train=data.n_train)
    return time_call(lambda: st.separation(fresh, norm=p, **QUESTIONS[question]))


def take_median(durations: list[Duration]) -> Duration:
    """Medians of the times of several calls."""
    return Duration(
        statistics.median(d.seconds for d in durations),
        statistics.median(d.cpu_seconds for d in durations),
    )


def peak_memory(work: Callable[[], object]) -> float:
    """Return the peak resident memory that a call adds, in MB; Linux only."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _resident("VmRSS")
    work()
    return _resident("VmHWM") - before


def _resident(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def comparison_rows(
    data: Dataset, norms: list[float], repeats: int, queries: int, targets: int
) -> Iterator[str]:
    """Yield the table of both procedures, which alternate; medians."""
    yield (
        "| norm | question | shaketable, s | published, s (scaled) | times faster | "
        "CPU s | published, CPU s | times less CPU | bar | peak memory beyond the data, MB |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    bars = CIFAR_BARS if data.d == 3072 else BARS
    for p in norms:
        for question in QUESTIONS:
            time_ours(_part(data, 3000), p, question)  # compiles
            theirs, mine = [], []
            for _ in range(repeats):
                theirs.append(time_published(data, p, queries, targets))
                mine.append(time_ours(data, p, question))
            added = peak_memory(lambda p=p, question=question: time_ours(data, p, question))  # type: ignore[misc]
            published, ours = take_median(theirs), take_median(mine)
            bar = bars.get(question, {}).get(p)
            yield (
                f"| {norm_title(p)} | {question} | {ours.seconds:.2f} | {published.seconds:,.0f} | "
                f"{published.seconds / ours.seconds:,.0f} | {ours.cpu_seconds:.2f} | "
                f"{published.cpu_seconds:,.0f} | {published.cpu_seconds / ours.cpu_seconds:,.0f} | "
                f"{f'{bar:,}' if bar else ''} | {added:,.0f} |"
            )
    yield ""
    yield f"Pairs of the published procedure: {count_published_pairs(data):,}."
    yield f"The data take {data.x.nbytes / 2**20:,.0f} MB."


def _part(data: Dataset, n: int) -> Dataset:
    """Return the first points of the shuffled data, without train/test split."""
    rows = np.random.default_rng(0).permutation(data.n)[:n]
    return Dataset(name="part", x=data.x[rows], y=data.y[rows], classes=data.classes)


def _smaller(data: Dataset, side: int) -> Dataset:
    """Shrink images by averaging squares of pixels."""
    n, height, width, channels = data.x.shape
    step = height // side
    tiles = data.x.reshape(n, side, step, width // step, step, channels)
    x = np.round(tiles.mean(axis=(2, 4), dtype=np.float32)).astype(np.uint8)
    return Dataset(name="smaller", x=x, y=data.y, classes=data.classes).drop_clashes()


def measure_growth(data: Dataset) -> list[dict[str, Any]]:
    """Measure the time at several numbers of points and dimensions."""
    rows: list[dict[str, Any]] = []
    for side in SIDES:
        scaled = _smaller(data, side)
        for n in SIZES if side == data.x.shape[1] else SIZES[-1:]:
            part = _part(scaled, n)
            for p in NORMS:
                for question in ("minimum", "every point"):
                    time_ours(_part(part, 2000), p, question)
                    seconds = min(time_ours(part, p, question).seconds for _ in range(2))
                    rows.append(
                        {
                            "n": part.n,
                            "d": part.d,
                            "norm": norm_title(p),
                            "question": question,
                            "seconds": seconds,
                        }
                    )
    return rows


def fit_exponent(rows: list[dict[str, Any]], of: str) -> float:
    """Fit the exponent of n or d: slope of log seconds by least squares."""
    other = "d" if of == "n" else "n"
    top = max(row[other] for row in rows)
    kept = [row for row in rows if row[other] >= 0.99 * top]
    logs = [np.log([row[field] for row in kept]) for field in (of, "seconds")]
    return float(np.polyfit(logs[0], logs[1], 1)[0])


def growth_rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of growth, with estimates for ImageNet-1k."""
    cores = os.cpu_count() or 1
    columns = [
        "norm",
        "question",
        *(f"n = {n:,}" for n in SIZES),
        "d = 192",
        "d = 768",
        "grows as",
        "ImageNet-1k 64x64",
        "on 64 cores",
        "224x224",
        "on 64 cores",
    ]
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for p in NORMS:
        for question in ("minimum", "every point"):
            mine = [r for r in rows if r["norm"] == norm_title(p) and r["question"] == question]
            by_n, by_d = fit_exponent(mine, "n"), fit_exponent(mine, "d")
            largest = max(mine, key=lambda r: (r["d"], r["n"]))
            cells = [f"{r['seconds']:.2f} s" for r in sorted(mine, key=lambda r: (-r["d"], r["n"]))]
            hours = []
            for side in (64, 224):
                factor = (IMAGENET / largest["n"]) ** max(by_n, 2) * (
                    side * side * 3 / largest["d"]
                ) ** max(by_d, 0)
                seconds = largest["seconds"] * factor
                hours += [_duration(seconds), _duration(seconds * cores / 64)]
            order = [*cells[: len(SIZES)], cells[-1], cells[-2]]
            yield (
                f"| {norm_title(p)} | {question} | {' | '.join(order)} | "
                f"n^{by_n:.2f} d^{by_d:.2f} | {' | '.join(hours)} |"
            )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min"


def draw_growth(rows: list[dict[str, Any]], path: str) -> None:
    """Draw time against points and against dimensions."""
    top_d, top_n = max(r["d"] for r in rows), max(r["n"] for r in rows)
    panels = []
    for field, title, kept in (
        ("n", f"points, at {top_d} dimensions", [r for r in rows if r["d"] == top_d]),
        ("d", "dimensions, at 60 000 points", [r for r in rows if r["n"] >= 0.99 * top_n]),
    ):
        values = sorted({r[field] for r in kept})
        panels.append(
            alt.Chart(pd.DataFrame(kept), width=280, height=220)
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    f"{field}:Q",
                    title=title,
                    axis=alt.Axis(values=values, format=","),
                    scale=alt.Scale(type="log", nice=False),
                ),
                y=alt.Y("seconds:Q", title="seconds", scale=alt.Scale(type="log")),
                color=alt.Color("norm:N", title="norm"),
                strokeDash=alt.StrokeDash(
                    "question:N", title="question", legend=alt.Legend(symbolType="stroke")
                ),
            )
        )
    alt.hconcat(*panels).save(path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("data", nargs="+", help=".npz with x_train, y_train, x_test, y_test")
    parser.add_argument("--norms", nargs="+", type=float, default=NORMS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=600, help="size of the slice")
    parser.add_argument("--targets", type=int, default=4000, help="size of the slice")
    parser.add_argument("--growth", metavar="CHART", help="measure growth instead, draw it here")
    args = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, numpy {np.__version__}, "
        f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}"
    )
    for path in args.data:
        data = st.load(path).drop_clashes()
        print(f"\n{Path(path).stem}: {data.n:,} images of {data.d} values\n")
        if args.growth:
            rows = measure_growth(data)
            draw_growth(rows, args.growth)
            lines = growth_rows(rows)
        else:
            lines = comparison_rows(data, args.norms, args.repeats, args.queries, args.targets)
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
