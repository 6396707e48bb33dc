"""Time the evaluation of a pipeline on a large data frame, beside its `predict` alone.

The frame has numbers, whole numbers, text, categories, booleans, a date and missing values. The
pipeline encodes text one-hot and is a gradient boosting of 50 trees. It is evaluated on clean rows
and under five corruptions, one draw each; the yardstick is `predict` on the same frame, once per
cell. Both sides run on all cores. The peak of the memory is that of the whole process, in which the
frame itself is held once by us and once by the caller.

    python benchmarks/speed/tables.py
    python benchmarks/speed/tables.py --rows 200000 --model lightgbm

Results: results/tables.md.
"""

import argparse
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import shaketable as st
from shaketable.core.types import Array, FloatArray

SPECS = ["linf(0.1)", "jitter(0.2)", "swap(0.05)", "typo(0.05)", "missing(0.1)"]
WORDS = [f"word {i}" for i in range(20)]


def make_frame(n: int) -> tuple[pd.DataFrame, Array]:
    """Rows of 30 columns, and two classes."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number {i}": rng.normal(size=n) for i in range(14)}
    for i in range(4):
        columns[f"gappy {i}"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    columns |= {f"whole {i}": rng.integers(0, 100, n) for i in range(4)}
    columns |= {f"text {i}": rng.choice(WORDS, n) for i in range(3)}
    columns |= {f"category {i}": pd.Categorical(rng.choice(WORDS[:8], n)) for i in range(2)}
    columns |= {f"flag {i}": rng.random(n) < 0.5 for i in range(2)}
    columns["date"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D")
    frame = pd.DataFrame(columns)
    score = frame["number 0"] + frame["gappy 0"].fillna(0) + (frame["text 0"] < "word 15")
    return frame, (score + rng.normal(0, 0.5, n) > 0.5).to_numpy().astype(int)


def make_model(kind: str, frame: pd.DataFrame, y: Array) -> tuple[Any, pd.DataFrame]:
    """Fit a model of a kind on the first rows; return it and the columns that it takes."""
    few = slice(0, 20_000)
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        texts = [name for name in frame if str(name).startswith("text")]
        frame = frame.drop(columns="date").astype(dict.fromkeys(texts, "category"))
        return LGBMClassifier(n_estimators=50, verbose=-1).fit(frame[few], y[few]), frame
    words = [name for name in frame if str(name).startswith(("text", "category"))]
    rest = [name for name in frame if name not in (*words, "date")]
    encoder = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
            ("rest", "passthrough", rest),
        ]
    )
    return make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=50)).fit(
        frame[few], y[few]
    ), frame


def main() -> None:
    """Time both sides, and print the ratio and the memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--model", choices=["pipeline", "lightgbm"], default="pipeline")
    args = parser.parse_args()
    frame, y = make_frame(args.rows)
    model, frame = make_model(args.model, frame, y)
    st.evaluate(model, (frame[:1000], y[:1000]), SPECS, k=1)  # compiles
    before = peak()
    data, read = run_timed(lambda: st.make_dataset(frame, y))
    records, whole = run_timed(lambda: st.evaluate(model, data, SPECS, k=1))
    after = peak()
    labels, once = run_timed(lambda: model.predict(frame))
    cells = len(records.cells)
    assert records.cells[0].hits.mean() == (labels == y).mean(), "clean accuracy is predict's"
    print(
        f"{datetime.now(UTC):%Y-%m-%d}: {args.rows} rows x {frame.shape[1]} columns, {args.model}"
    )
    print("seconds on the clock, and of CPU time in brackets")
    print(f"predict alone, all rows at once: {show(once)}; {cells} times: {show(cells * once)}")
    print(f"reading the frame: {show(read)}; evaluating {cells} cells: {show(whole)}")
    print(f"ratio: {show((read + whole) / (cells * once))}")
    print(f"memory: {before:.2f} GB before, {after:.2f} GB while evaluating")
    print(f"        {peak():.2f} GB with predict of all rows at once")
    for record in records:
        print(f"  {record.corruption}: {100 * record.hits.mean():.2f} %, {record.seconds:.1f} s")


def run_timed(work: Callable[[], Any]) -> tuple[Any, FloatArray]:
    """Return a result, and the seconds that it took on the clock and of CPU time."""
    started = np.array([time.perf_counter(), time.process_time()])
    result = work()
    return result, np.array([time.perf_counter(), time.process_time()]) - started


def show(seconds: FloatArray) -> str:
    """Write seconds or ratios, of CPU time in brackets."""
    return f"{seconds[0]:.2f} ({seconds[1]:.2f})"


def peak() -> float:
    """Peak of the memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
