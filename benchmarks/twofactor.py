"""Faults of cameras on CIFAR-10 against scikit-image, one core; and all 69 two-factor sets.

Both sides get the same float32 pictures in [0, 1], made from uint8 beforehand, and return
corrupted ones of that type, or of float64 where scikit-image widens them. scikit-image takes one
picture at a time: `random_noise` and `rotate`. Ours takes 1000, about a batch of `evaluate`: as
they come from uint8 data, with results rounded to 256 levels after every factor; and as floats,
without. Results are dropped on both sides. The sides take turns in one process, without threads;
medians of CPU time count. The sets are made by `corrupted`, uint8 in, float32 out: they are what
`evaluate` meets.

    pip install scikit-image                     # beside shaketable, for the comparison only
    python benchmarks/twofactor.py cifar10.npz   # x_test, uint8

Bar: noise and rotation at least 10 times faster. Result: see results/twofactor.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

import shaketable as st
from shaketable.core.keys import row_keys
from shaketable.core.spec import display_name
from shaketable.core.types import Array
from shaketable.corruptions import parse
from shaketable.data.bounds import Bounds

Work = Callable[[], object]

BATCH = 1000
FLOATS, LEVELS = Bounds(0, 1), Bounds(0, 1, steps=255)


def seconds(do: Work) -> float:
    """Time of one call, on the one core it runs on, whatever else runs."""
    started = time.process_time()
    do()
    return time.process_time() - started


def ours(images: Array, spec: str, bounds: Bounds) -> Work:
    """Our way, for a batch of pictures at once."""
    keys = row_keys(1, np.arange(len(images)), np.arange(1))[:, 0]
    corruption = parse(spec).bind(bounds)
    corruption(images[:2], keys[:2])  # compiles, makes tables

    def work() -> None:
        for i in range(0, len(images), BATCH):
            corruption(images[i : i + BATCH], keys[i : i + BATCH])

    return work


def theirs(images: Array, rng: np.random.Generator | None) -> dict[str, Work]:
    """scikit-image's way by spec, picture by picture; a new generator a call, unless one is given.

    Its angles count counter-clockwise.
    """
    noise: Any = import_module("skimage.util").random_noise
    rotate: Any = import_module("skimage.transform").rotate

    def spotted(x: Array) -> Any:
        return noise(x, mode="s&p", amount=0.1, rng=rng)

    def noisy(x: Array) -> Any:
        return noise(x, mode="gaussian", mean=0.1, var=0.01, rng=rng)

    def turned(x: Array) -> Any:
        return rotate(x, -30, order=0, resize=False)

    ways: dict[str, Callable[[Array], Any]] = {
        "sp(0.1)": spotted,
        "ga(mean=0.1, var=0.01)": noisy,
        "rotation(30)": turned,
        "sp(0.1) + ga(mean=0.1, var=0.01)": lambda x: noisy(spotted(x)),
        "sp(0.1) + rotation(30)": lambda x: turned(spotted(x)),
    }

    def on_all(way: Callable[[Array], Any]) -> Work:
        def work() -> None:
            for x in images:
                way(x)

        return work

    return {spec: on_all(way) for spec, way in ways.items()}


def compare(images: Array, rounds: int) -> None:
    """Print a row a corruption, all sides in turns."""
    plain, best = theirs(images, None), theirs(images, np.random.default_rng(0))
    print(f"{len(images)} pictures of 32 x 32 x 3, microseconds a picture, {rounds} rounds\n")
    print(
        "| corruption | scikit-image | with one generator | ours, 256 levels | ours, floats | "
        "ratio | ratios of floats | of one generator |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for spec, their in plain.items():
        sides = [their, best[spec], ours(images, spec, LEVELS), ours(images, spec, FLOATS)]
        taken = [[seconds(side) for side in sides] for _ in range(rounds)]
        a, b, c, d = (statistics.median(t) * 1e6 / len(images) for t in zip(*taken, strict=True))
        print(
            f"| {spec} | {a:.1f} | {b:.1f} | {c:.1f} | {d:.1f} | **{a / c:.1f}** | {a / d:.1f} | "
            f"{b / c:.1f} |",
            flush=True,
        )


def agree(images: Array) -> None:
    """Print how many pixels both rotations have in common."""
    rotate: Any = import_module("skimage.transform").rotate
    print(f"\nrotation of {len(images)} pictures: values that are equal to 1e-5\n")
    print("| degrees | nearest | bilinear |")
    print("|---|---|---|")
    for degrees in (-60, -30, 30, 60):
        shares = []
        for order, way in enumerate(("nearest", "bilinear")):
            mine = parse(f"rotation({degrees}, {way})").bind(FLOATS)(images, np.zeros(0, np.uint64))
            other = np.array([rotate(x, -degrees, order=order, resize=False) for x in images])
            shares.append((np.abs(mine - other) < 1e-5).mean())
        print(f"| {degrees} | {100 * shares[0]:.3f} % | {100 * shares[1]:.3f} % |", flush=True)


def make_all(images: Array) -> None:
    """Print how long all sets of the suite take."""
    data = st.make_dataset(images, np.arange(len(images)) % 10)
    data.fingerprint  # noqa: B018  (computed once, before time counts)
    names = st.suite("two-factor").names

    def make(name: str) -> Work:
        return lambda: st.corrupted(data, name, draws="ladder")

    taken = {seconds(make(name)): display_name(name) for name in names}
    print(
        f"\nall {len(names)} sets of {data.n} pictures: {sum(taken):.1f} s; the median set "
        f"{statistics.median(taken):.2f} s, the slowest, {taken[max(taken)]}, {max(taken):.2f} s"
    )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help=".npz with x_test, uint8 of 32 x 32 x 3")
    parser.add_argument("--n", type=int, default=10_000, help="pictures")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with np.load(args.file) as archive:
        images = np.ascontiguousarray(archive["x_test"][: args.n])
    packages = ", ".join(f"{name} {version(name)}" for name in ("scikit-image", "numpy", "numba"))
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core, {packages}\n")
    floats = images / np.float32(255)
    compare(floats, args.rounds)
    agree(floats[:1000])
    make_all(images)


if __name__ == "__main__":
    main()
