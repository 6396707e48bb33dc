"""Time camera faults on CIFAR-10 against scikit-image, and all 69 two-factor sets, on one core.

Both libraries get the same float32 images in [0, 1], converted from uint8 beforehand, and return
images of that type, or of float64 where scikit-image widens them. scikit-image takes one image at a
time (`random_noise` and `rotate`), shaketable 1000, about a batch of `evaluate`, in two variants:
rounded to 256 levels after every factor, as for uint8 data, and unrounded. The variants alternate
in one process without threads; medians of CPU time are printed. The 69 sets are computed by
`corrupted`, uint8 in, float32 out, as in `evaluate`.

    pip install scikit-image                     # beside shaketable, for the comparison only
    python benchmarks/speed/twofactor.py cifar10.npz   # x_test, uint8

Goal: noise and rotation at least 10 times faster. Results: results/twofactor.md.
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


def cpu_seconds(do: Work) -> float:
    """Return the CPU time of one call."""
    started = time.process_time()
    do()
    return time.process_time() - started


def make_call(images: Array, spec: str, bounds: Bounds) -> Work:
    """Return a call that corrupts all images by shaketable, in batches."""
    keys = row_keys(1, np.arange(len(images)), np.arange(1))[:, 0]
    corruption = parse(spec).bind(bounds)
    corruption(images[:2], keys[:2])  # compiles, makes tables

    def work() -> None:
        for i in range(0, len(images), BATCH):
            corruption(images[i : i + BATCH], keys[i : i + BATCH])

    return work


def make_other_calls(images: Array, rng: np.random.Generator | None) -> dict[str, Work]:
    """Return calls that corrupt all images by scikit-image, one by one, by spec.

    Without `rng`, each image uses a new generator. Angles of scikit-image are counter-clockwise.
    """
    noise: Any = import_module("skimage.util").random_noise
    rotate: Any = import_module("skimage.transform").rotate

    def add_salt_pepper(x: Array) -> Any:
        return noise(x, mode="s&p", amount=0.1, rng=rng)

    def add_gaussian(x: Array) -> Any:
        return noise(x, mode="gaussian", mean=0.1, var=0.01, rng=rng)

    def rotate_image(x: Array) -> Any:
        return rotate(x, -30, order=0, resize=False)

    ways: dict[str, Callable[[Array], Any]] = {
        "sp(0.1)": add_salt_pepper,
        "ga(mean=0.1, var=0.01)": add_gaussian,
        "rotation(30)": rotate_image,
        "sp(0.1) + ga(mean=0.1, var=0.01)": lambda x: add_gaussian(add_salt_pepper(x)),
        "sp(0.1) + rotation(30)": lambda x: rotate_image(add_salt_pepper(x)),
    }

    def on_all(way: Callable[[Array], Any]) -> Work:
        def work() -> None:
            for x in images:
                way(x)

        return work

    return {spec: on_all(way) for spec, way in ways.items()}


def print_comparison(images: Array, rounds: int) -> None:
    """Print one row per corruption; the variants alternate."""
    plain, best = make_other_calls(images, None), make_other_calls(images, np.random.default_rng(0))
    print(f"{len(images)} images of 32 x 32 x 3, microseconds per image, {rounds} rounds\n")
    print(
        "| corruption | scikit-image | with one generator | shaketable, 256 levels | floats | "
        "ratio | ratios of floats | of one generator |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for spec, their in plain.items():
        sides = [
            their,
            best[spec],
            make_call(images, spec, LEVELS),
            make_call(images, spec, FLOATS),
        ]
        taken = [[cpu_seconds(side) for side in sides] for _ in range(rounds)]
        a, b, c, d = (statistics.median(t) * 1e6 / len(images) for t in zip(*taken, strict=True))
        print(
            f"| {spec} | {a:.1f} | {b:.1f} | {c:.1f} | {d:.1f} | **{a / c:.1f}** | {a / d:.1f} | "
            f"{b / c:.1f} |",
            flush=True,
        )


def print_agreement(images: Array) -> None:
    """Print the share of equal values in both rotations."""
    rotate: Any = import_module("skimage.transform").rotate
    print(f"\nrotation of {len(images)} images: values that agree to 1e-5\n")
    print("| degrees | nearest | bilinear |")
    print("|---|---|---|")
    for degrees in (-60, -30, 30, 60):
        shares = []
        for order, way in enumerate(("nearest", "bilinear")):
            mine = parse(f"rotation({degrees}, {way})").bind(FLOATS)(images, np.zeros(0, np.uint64))
            other = np.array([rotate(x, -degrees, order=order, resize=False) for x in images])
            shares.append((np.abs(mine - other) < 1e-5).mean())
        print(f"| {degrees} | {100 * shares[0]:.3f} % | {100 * shares[1]:.3f} % |", flush=True)


def print_suite(images: Array) -> None:
    """Print the time of all sets of the suite."""
    data = st.make_dataset(images, np.arange(len(images)) % 10)
    data.fingerprint  # noqa: B018  (computed once, before time counts)
    names = st.suite("two-factor").names

    def make(name: str) -> Work:
        return lambda: st.corrupted(data, name, draws="ladder")

    taken = {cpu_seconds(make(name)): display_name(name) for name in names}
    print(
        f"\nall {len(names)} sets of {data.n} images: {sum(taken):.1f} s; the median set "
        f"{statistics.median(taken):.2f} s, the slowest, {taken[max(taken)]}, {max(taken):.2f} s"
    )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help=".npz with x_test, uint8 of 32 x 32 x 3")
    parser.add_argument("--n", type=int, default=10_000, help="number of images")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with np.load(args.file) as archive:
        images = np.ascontiguousarray(archive["x_test"][: args.n])
    packages = ", ".join(f"{name} {version(name)}" for name in ("scikit-image", "numpy", "numba"))
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core, {packages}\n")
    floats = images / np.float32(255)
    print_comparison(floats, args.rounds)
    print_agreement(floats[:1000])
    print_suite(images)


if __name__ == "__main__":
    main()
