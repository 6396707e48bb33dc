"""Time `st.corrupt` on uint8 images against the compiled kernels alone, for several batch sizes.

Both sides corrupt the same uint8 images with the same noise, in batches of the same size, in one
process and on one core, alternately; the median CPU time of several calls counts. `st.corrupt` gets
a spec and a seed. The kernels get the keys, derived from the seed for every batch, and a corruption
that was made before; of noise that is computed in floats, they are what draws it and adds it to
images that are floats already.

    python benchmarks/speed/corrupt.py cifar10.npz     # x_test; without a file, random images
    python benchmarks/speed/corrupt.py --batches 1 100 --kinds fog linf

Results: results/corrupt.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

import shaketable as st
from shaketable.core.keys import make_key, row_keys
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions import parse
from shaketable.corruptions.common.corruption import CommonCorruption, corrupt_images
from shaketable.corruptions.common.severities import NAMES
from shaketable.data.bounds import Bounds

SEED = 0
FLOATS = {"linf": "linf(0.1)", "l2": "l2(1)", "l1": "l1(20)", "gaussian": "gaussian(0.1)"}


def list_specs(kind: str, severities: list[int]) -> list[str]:
    """Return the specs that are timed together as one kind."""
    return [FLOATS[kind]] if kind in FLOATS else [f"{kind}({s})" for s in severities]


def make_calls(x: Array, spec: str) -> tuple[Callable[[], Array], Callable[[], Array]]:
    """Return the two calls that corrupt a batch: by the kernels alone, and by `st.corrupt`."""
    corruption = parse(spec).for_shape(x.shape[1:]).bind(Bounds(0, 1))
    floats = x / np.float32(255)

    def make_keys() -> KeyArray:
        return row_keys(make_key(SEED), np.arange(len(x)), np.arange(1))[:, 0]

    def run_kernels() -> Array:
        if isinstance(corruption, CommonCorruption):
            return corrupt_images(x, make_keys(), corruption)
        return corruption(floats, make_keys())

    def corrupt() -> Array:
        return np.asarray(st.corrupt(x, spec, rng=SEED))

    expected = run_kernels()
    expected = expected if expected.dtype == np.uint8 else np.rint(expected * 255)
    np.testing.assert_array_equal(corrupt(), expected)
    return run_kernels, corrupt


def time_both(calls: tuple[Callable[[], Array], ...], seconds: float) -> list[float]:
    """Return the median time of each call; they are called alternately for so many seconds."""
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while len(times[0]) < 3 or time.perf_counter() < end:
        for call, own in zip(calls, times, strict=True):
            started = time.thread_time()
            call()
            own.append(time.thread_time() - started)
    return [statistics.median(own) for own in times]


def main() -> None:
    """Print one row per kind, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help=".npz with x_test, uint8 of 32 x 32 x 3")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 10, 100, 1000, 10_000])
    parser.add_argument("--kinds", nargs="+", default=[*NAMES, *FLOATS])
    parser.add_argument("--severities", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seconds", type=float, default=0.1, help="at least, per spec and batch")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    n = max(args.batches)
    if args.file is None:
        images = np.random.default_rng(0).integers(256, size=(n, 32, 32, 3), dtype=np.uint8)
    else:
        with np.load(args.file) as archive:
            images = np.ascontiguousarray(archive["x_test"][:n])
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core, images of {images.shape[1:]}\n")
    print("microseconds per image: kernels, st.corrupt, ratio\n")
    print(f"| kind | {' | '.join(f'batches of {batch}' for batch in args.batches)} |")
    print(f"|---|{'---|' * len(args.batches)}")
    totals = np.zeros((2, len(args.batches)))
    for kind in args.kinds:
        row = []
        for column, batch in enumerate(args.batches):
            both = np.zeros(2)
            for spec in list_specs(kind, args.severities):
                calls = make_calls(images[:batch], spec)
                both += time_both(calls, args.seconds)
            both *= 1e6 / batch / len(list_specs(kind, args.severities))
            row.append(f"{both[0]:.1f}, {both[1]:.1f}, {both[1] / both[0]:.2f}")
            totals[:, column] += both if kind not in FLOATS else 0
        print(f"| {kind} | {' | '.join(row)} |", flush=True)
    cells = [f"{a:.1f}, {b:.1f}, **{b / a:.2f}**" for a, b in totals.T]
    print(f"| all common ones | {' | '.join(cells)} |\n")
    for batch, (kernels, corrupt) in zip(args.batches, totals.T, strict=True):
        print(
            f"CIFAR-10-C, 950 000 images, in batches of {batch}: kernels {kernels / 20:.1f} s, "
            f"st.corrupt {corrupt / 20:.1f} s"
        )


if __name__ == "__main__":
    main()
