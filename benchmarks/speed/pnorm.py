"""Time p-norm noise on one core, against numpy's gamma method and against a forward pass.

Noise uniform in the ball is drawn for 10 000 images of 3072 values in float32, for every
0 < p < inf of the published suite: by shaketable; by numpy's ``standard_gamma(1/p)**(1/p)`` with
signs and normalisation in float32, which is fast, but underflows for large p; and by numpy's
uniform float32 fill, a lower bound for the cost of any noise. The methods alternate; medians of the
repeats are printed.

Then all noise of the suite pnorm-cifar is drawn and added as in `evaluate`, and compared with one
forward pass of a small convolutional network (needs torch, one thread).

Last, `corrupt` with C1, one of 90 noises for every image, is compared with the mean over nine
single noises, one per norm, for uint8 and float32 images.

    python benchmarks/speed/pnorm.py            # about 3 minutes
    python benchmarks/speed/pnorm.py --n 2000   # quicker

Results: results/pnorm.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

import numpy as np

from shaketable.core.keys import row_keys
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions import corrupt, parse
from shaketable.corruptions.compiled import ziggurat
from shaketable.corruptions.suites.suite import suite
from shaketable.data.bounds import Bounds

D = 3072
ORDERS = (0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0)


def fill_ball(keys: KeyArray, out: Array, p: float) -> None:
    """Fill an array with noise, on one thread."""
    ziggurat.fill_ball(keys, out, False, *ziggurat.layers(p))


def fill_by_gamma(rng: np.random.Generator, out: Array, p: float) -> None:
    """Fill an array by the method of Calafiore et al. (1998) in numpy, in place where possible."""
    rng.standard_gamma(1 / p, out=out, dtype=np.float32)
    out **= np.float32(1 / p)
    norm = (out ** np.float32(p)).sum(axis=1, dtype=np.float64) ** (1 / p)
    radius = rng.random(len(out)) ** (1 / D)
    out *= (radius / norm).astype(np.float32)[:, None]
    np.negative(out, out=out, where=rng.integers(2, size=out.shape, dtype=np.uint8).view(bool))


def median_seconds(work: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median time of each call; the calls alternate."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats + 1):  # the first turn warms up
        for name, do in work.items():
            started = time.perf_counter()
            do()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(all_[1:]) for name, all_ in times.items()}


def print_sampling(n: int, repeats: int) -> None:
    """Print one row per norm."""
    keys = row_keys(1, np.arange(n), np.arange(1))[:, 0]
    out, rng = np.empty((n, D), np.float32), np.random.default_rng(0)
    print("| p | shaketable, M/s | gamma method, M/s | ratio | uniform fill, M/s | of the fill |")
    print("|---|---|---|---|---|---|")
    for p in ORDERS:
        work: dict[str, Callable[[], object]] = {
            "ours": partial(fill_ball, keys, out, p),
            "gamma": partial(fill_by_gamma, rng, out, p),
            "fill": partial(rng.random, out=out, dtype=np.float32),
        }
        t = median_seconds(work, repeats)
        rate = {name: out.size / s / 1e6 for name, s in t.items()}
        print(
            f"| {p:g} | {rate['ours']:.0f} | {rate['gamma']:.0f} | {t['gamma'] / t['ours']:.1f} | "
            f"{rate['fill']:.0f} | 1/{t['ours'] / t['fill']:.1f} |",
            flush=True,
        )


def print_suite(n: int, repeats: int) -> None:
    """Print the time of all 90 noises, drawn once per norm, relative to a forward pass."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    ).eval()
    x = np.random.default_rng(0).random((n, D), np.float32)
    keys = row_keys(1, np.arange(n), np.arange(1))[:, 0]
    levels = [parse(name).bind(Bounds(0, 1)) for name in suite("pnorm-cifar").names]
    ladders = {c.ladder: [m for m in levels if m.ladder == c.ladder] for c in levels}

    def noise(*, once: bool) -> None:
        for start in range(0, n, 1000):
            part, own = x[start : start + 1000], keys[start : start + 1000]
            for members in ladders.values():
                drawn = members[-1].draw(part, own)
                for member in members:
                    member.apply(part, drawn if once else member.draw(part, own))

    def forward() -> None:
        with torch.inference_mode():
            for start in range(0, n, 500):
                net(torch.from_numpy(x[start : start + 500]).reshape(-1, 3, 32, 32))

    t = median_seconds(
        {"once": lambda: noise(once=True), "anew": lambda: noise(once=False), "forward": forward},
        repeats,
    )
    for name, what in (
        ("once", "drawn once per norm and scaled"),
        ("anew", "drawn for every size"),
    ):
        passes = t[name] / t["forward"]
        print(
            f"- {what}: {t[name]:.2f} s for 90 noises of {n} images = {passes:.2f} forward "
            f"passes ({t['forward']:.2f} s each), {passes / 90:.1%} of the 90 that the suite needs"
        )


def print_choice(n: int, repeats: int) -> None:
    """Print the time of one of 90 noises for every image, relative to single noises."""
    levels = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), np.uint8)
    singles = suite("pnorm-cifar").names[4::10]  # the fifth size of every norm
    for x in (levels, (levels / 255).astype(np.float32)):
        work = {spec: partial(corrupt, x, spec, rng=0, bounds=(0, 1)) for spec in ("C1", *singles)}
        t = median_seconds(work, repeats)
        mean = statistics.mean(t[spec] for spec in singles)
        print(
            f"- {x.dtype}: C1 takes {t['C1']:.3f} s, single noises {mean:.3f} s on average: ratio "
            f"{t['C1'] / mean:.2f}",
            flush=True,
        )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000, help="number of images")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {args.n} images of {D} values, float32, one core\n")
    print_sampling(args.n, args.repeats)
    print("\nall noise of pnorm-cifar, added and clipped:")
    print_suite(args.n, args.repeats)
    print("\none of 90 noises for every image:")
    print_choice(args.n, args.repeats)


if __name__ == "__main__":
    main()
