"""Time the 19 common corruptions: all of CIFAR-10-C, and 224 pixels against another package.

Each kind is timed at its five severities, on one core. At 32 pixels, shaketable alone is timed
(10 000 images are all of CIFAR-10-C, 950 000 corrupted images). At 224 pixels, it is compared with
`imagecorruptions` from the package imagecorruptions-imaug, which takes one image at a time. Both
run alternately in one process.

    pip install imagecorruptions-imaug           # for the comparison only
    python benchmarks/speed/common.py cifar10.npz      # x_test; without a file, random images
    python benchmarks/speed/common.py --n 1000 --package-n 0

The original code needs about 1,500 s for CIFAR-10-C on one core (measured elsewhere). The package
uses the severities of ImageNet at every size. Results: results/common.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from shaketable.core.keys import row_keys
from shaketable.core.types import Array
from shaketable.corruptions.common.corruption import CommonCorruption, corrupt_images
from shaketable.corruptions.common.severities import NAMES

ORIGINAL_SECONDS = 1500


def median_seconds(do: Callable[[], object], repeats: int) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        do()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def make_call(images: Array, name: str, severity: int) -> Callable[[], Array]:
    """Return a call that corrupts all images at once by shaketable."""
    keys = row_keys(1, np.arange(len(images)), np.arange(1))[:, 0]
    corruption = CommonCorruption(name, severity).for_shape(images.shape[1:])
    return lambda: corrupt_images(images, keys, corruption)


def print_cifar(images: Array, repeats: int) -> None:
    """Print one row per kind at 32 pixels, and the total."""
    print(f"{len(images)} images of 32 x 32 x 3, microseconds per image\n")
    print("| kind | 1 | 2 | 3 | 4 | 5 |")
    print("|---|---|---|---|---|---|")
    total = 0.0
    for name in NAMES:
        row = []
        for severity in range(1, 6):
            do = make_call(images, name, severity)
            make_call(images[:4], name, severity)()  # compiles, makes tables
            row.append(median_seconds(do, repeats) / len(images))
        total += sum(row)
        print(f"| {name} | {' | '.join(f'{1e6 * t:.1f}' for t in row)} |", flush=True)
    whole = 10_000 * total
    print(
        f"\nall of CIFAR-10-C, 950 000 images: {whole:.1f} s on one core; the original code takes "
        f"{ORIGINAL_SECONDS} s, {ORIGINAL_SECONDS / whole:.0f} times as long"
    )


def print_large(images: Array, repeats: int) -> None:
    """Print one row per kind at 224 pixels, for both packages."""
    from imagecorruptions import corrupt

    print(f"\n{len(images)} images of 224 x 224 x 3, milliseconds per image, mean of severities\n")
    print("| kind | shaketable | imagecorruptions-imaug | ratio |")
    print("|---|---|---|---|")
    both = [0.0, 0.0]
    for name in NAMES:
        mine = theirs = 0.0
        for severity in range(1, 6):
            make_call(images[:2], name, severity)()
            mine += median_seconds(make_call(images, name, severity), repeats) / len(images) / 5

            def package(kind: str = name, level: int = severity) -> list[Any]:
                return [corrupt(x, corruption_name=kind, severity=level) for x in images]

            theirs += median_seconds(package, 1) / len(images) / 5
        both[0] += mine
        both[1] += theirs
        print(
            f"| {name} | {1e3 * mine:.2f} | {1e3 * theirs:.1f} | {theirs / mine:.1f} |", flush=True
        )
    print(
        f"\nall 19: {1e3 * both[0]:.1f} ms against {1e3 * both[1]:.1f} ms, "
        f"{both[1] / both[0]:.1f} times"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help=".npz with x_test, uint8 of 32 x 32 x 3")
    parser.add_argument("--n", type=int, default=10_000, help="number of images of 32 pixels")
    parser.add_argument(
        "--package-n", type=int, default=8, help="number of images of 224 pixels; 0: none"
    )
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if args.file is None:
        small = np.random.default_rng(0).integers(256, size=(args.n, 32, 32, 3), dtype=np.uint8)
    else:
        with np.load(args.file) as archive:
            small = np.ascontiguousarray(archive["x_test"][: args.n])
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core\n")
    print_cifar(small, args.repeats)
    if args.package_n:
        enlarged = small[: args.package_n].repeat(7, axis=1).repeat(7, axis=2)
        print_large(np.ascontiguousarray(enlarged), args.repeats)


if __name__ == "__main__":
    main()
