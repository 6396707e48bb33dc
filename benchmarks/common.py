"""The 19 common corruptions: all of CIFAR-10-C on one core, and 224 pixels against a package.

Each kind at its five severities. At 32 pixels ours alone, for as many pictures as asked (10 000 are
all of CIFAR-10-C, 950 000 pictures); at 224 pixels ours and `imagecorruptions` from the package
imagecorruptions-imaug, which takes one picture at a time, in turns and in the same process.

    pip install imagecorruptions-imaug           # for the comparison only
    python benchmarks/common.py cifar10.npz      # x_test; without a file, random pictures
    python benchmarks/common.py --n 1000 --package-n 0

The original generators need about 1,500 s for CIFAR-10-C on one core (measured elsewhere); the
package has ImageNet's severities at every size. Result: see results/common.md.
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


def seconds(do: Callable[[], object], repeats: int) -> float:
    """Median time."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        do()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def ours(images: Array, name: str, severity: int) -> Callable[[], Array]:
    """Our way, for all pictures at once."""
    keys = row_keys(1, np.arange(len(images)), np.arange(1))[:, 0]
    corruption = CommonCorruption(name, severity).for_shape(images.shape[1:])
    return lambda: corrupt_images(images, keys, corruption)


def cifar(images: Array, repeats: int) -> None:
    """Print a row a kind at 32 pixels, and the total."""
    print(f"{len(images)} pictures of 32 x 32 x 3, microseconds a picture\n")
    print("| kind | 1 | 2 | 3 | 4 | 5 |")
    print("|---|---|---|---|---|---|")
    total = 0.0
    for name in NAMES:
        row = []
        for severity in range(1, 6):
            do = ours(images, name, severity)
            ours(images[:4], name, severity)()  # compiles, makes tables
            row.append(seconds(do, repeats) / len(images))
        total += sum(row)
        print(f"| {name} | {' | '.join(f'{1e6 * t:.1f}' for t in row)} |", flush=True)
    whole = 10_000 * total
    print(
        f"\nall of CIFAR-10-C, 950 000 pictures: {whole:.1f} s on one core; the originals' "
        f"{ORIGINAL_SECONDS} s are {ORIGINAL_SECONDS / whole:.0f} times that"
    )


def large(images: Array, repeats: int) -> None:
    """Print a row a kind at 224 pixels, both sides."""
    from imagecorruptions import corrupt

    print(
        f"\n{len(images)} pictures of 224 x 224 x 3, milliseconds a picture, mean of severities\n"
    )
    print("| kind | ours | imagecorruptions-imaug | ratio |")
    print("|---|---|---|---|")
    both = [0.0, 0.0]
    for name in NAMES:
        mine = theirs = 0.0
        for severity in range(1, 6):
            ours(images[:2], name, severity)()
            mine += seconds(ours(images, name, severity), repeats) / len(images) / 5

            def package(kind: str = name, level: int = severity) -> list[Any]:
                return [corrupt(x, corruption_name=kind, severity=level) for x in images]

            theirs += seconds(package, 1) / len(images) / 5
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
    parser.add_argument("--n", type=int, default=10_000, help="pictures of 32 pixels")
    parser.add_argument("--package-n", type=int, default=8, help="pictures of 224 pixels; 0: none")
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if args.file is None:
        small = np.random.default_rng(0).integers(256, size=(args.n, 32, 32, 3), dtype=np.uint8)
    else:
        with np.load(args.file) as archive:
            small = np.ascontiguousarray(archive["x_test"][: args.n])
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core\n")
    cifar(small, args.repeats)
    if args.package_n:
        enlarged = small[: args.package_n].repeat(7, axis=1).repeat(7, axis=2)
        large(np.ascontiguousarray(enlarged), args.repeats)


if __name__ == "__main__":
    main()
