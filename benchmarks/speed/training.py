"""Speed of the training loop against a bare loop of PyTorch, and the cost of noise in training.

The bare loop is what one writes by hand: images on the device, batches by index, flips and crops,
mixed precision, SGD; nothing is recorded. Both train the same network on the same images, one after
the other, several times; the median of each is compared.

Then the loop by hand takes steps with every transform in turn, some at a time, round by round; what
a transform costs is compared within a round. Last, every transform is looked at by itself: the time
to start it, and on CUDA the time and number of its kernels.

    python benchmarks/speed/training.py --device cuda --network wrn-28-4 --batch 384
    python benchmarks/speed/training.py --network "resnet9(width=8)" --images 512 --batch 64 \
        --repeats 3

Results: results/training.md.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from shaketable import Dataset, make_dataset
from shaketable.models.networks import build_network
from shaketable.training import Noise, make_recipe
from shaketable.training.trained import train

TRANSFORMS = (
    "linf(0.1)",
    "l2(1)",
    "l0(0.05)",
    "C1",
    "C2",
    "C3",
    "trivialaugment",
    "randaugment",
    "augmix",
    "trivialaugment + C1",
)
STEPS = 20
"""That are taken with one transform at a time."""


def make_images(n: int) -> Dataset:
    """Return random images of 32 x 32 x 3 in uint8, in ten classes."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return make_dataset(x, np.arange(n) % 10, name="random images")


class Bare:
    """A training by hand, with noise as one line of the loop."""

    def __init__(self, data: Dataset, network: str, batch: int, device: torch.device) -> None:
        net: Any = build_network(network, shape=data.shape, classes=10, seed=0)
        self.net = net.to(device, memory_format=torch.channels_last).train()
        self.images = torch.from_numpy(data.x).to(device)
        self.labels = torch.from_numpy(data.y).to(device)
        self.optimizer = torch.optim.SGD(
            self.net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4
        )
        self.batch, self.device = batch, device

    def run(self, epochs: int, noise: Noise | None = None, steps: int | None = None) -> None:
        """Train, or take so many steps of an epoch."""
        for _ in range(epochs):
            order = torch.randperm(len(self.images), device=self.device)
            for rows in order.chunk(-(-len(self.images) // self.batch))[:steps]:
                x = self.images[rows].permute(0, 3, 1, 2).float() / 255
                x = augment(x)
                x = x if noise is None else noise(x)
                on = self.device.type == "cuda"
                with torch.autocast(self.device.type, torch.bfloat16, enabled=on):
                    loss = cross_entropy(self.net(x), self.labels[rows])
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
                self.optimizer.step()


def augment(x: Tensor) -> Tensor:
    """Flip and crop at random, as by hand."""
    n, side = len(x), x.shape[2]
    x = torch.where(torch.rand(n, 1, 1, 1, device=x.device) < 0.5, x.flip(3), x)
    wide = torch.nn.functional.pad(x, (4, 4, 4, 4)).unfold(2, side, 1).unfold(3, side, 1)
    top, left = torch.randint(9, (2, n), device=x.device)
    return wide[torch.arange(n, device=x.device), :, top, left]


def clock(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds that work takes, until the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def time_in_loop(bare: Bare, specs: list[str], rounds: int) -> dict[str, list[float]]:
    """Return what a step takes with every transform, relative to a step without, round by round."""
    noises = {spec: Noise(spec, seed=0) for spec in specs}
    ratios: dict[str, list[float]] = {spec: [] for spec in specs}
    for number in range(rounds + 1):  # the first one warms up
        clean = [clock(lambda: bare.run(1, steps=STEPS), bare.device)]
        spent = {}
        for spec, noise in noises.items():
            spent[spec] = clock(partial(bare.run, 1, noise, STEPS), bare.device)
            clean.append(clock(lambda: bare.run(1, steps=STEPS), bare.device))
        for before, after, spec in zip(clean, clean[1:], specs, strict=False):
            if number:
                ratios[spec].append(2 * spent[spec] / (before + after))
    return ratios


def look_at(noise: Noise, x: Tensor, repeats: int) -> tuple[float, float, float]:
    """Return the seconds to start a transform, those on the device, and its number of kernels."""
    for _ in range(3):
        noise(x)
    starts = []
    for _ in range(10 * repeats):
        if x.is_cuda:
            torch.cuda.synchronize(x.device)
        start = time.perf_counter()
        noise(x)
        starts.append(time.perf_counter() - start)
    if not x.is_cuda:
        return statistics.median(starts), math.nan, math.nan
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(repeats):
            noise(x)
        torch.cuda.synchronize(x.device)
    events = [e for e in profile.key_averages() if e.self_device_time_total > 0]
    spent = sum(e.self_device_time_total for e in events) / 1e6 / repeats
    return statistics.median(starts), spent, sum(e.count for e in events) / repeats


def main() -> None:
    """Print images per second of both loops, and the cost of every transform."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--network", default="resnet9")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=3, help="what is done once counts less")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--transforms", nargs="+", default=TRANSFORMS, help="to measure in a loop")
    parser.add_argument("--rounds", type=int, default=10, help="in which they take turns")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, help="of torch on the CPU")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    device, data = torch.device(args.device), make_images(args.images)
    recipe = replace(
        make_recipe("fast", network=args.network, epochs=args.epochs, batch=args.batch),
        rate=0.1,
        schedule="constant",
        nesterov=False,
        smoothing=0.0,
    )
    rows = np.arange(data.n)

    def train_ours(noise: str) -> Callable[[], object]:
        return lambda: train(
            None, data, noise=noise, recipe=recipe, batch=args.batch, rows=rows, device=args.device
        )

    loops = {
        "by hand": lambda: Bare(data, args.network, args.batch, device).run(args.epochs),
        "shaketable, clean": train_ours("clean"),
        "shaketable, C1": train_ours("C1"),
        "shaketable, trivialaugment + C1": train_ours("trivialaugment + C1"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    for repeat in range(args.repeats + 1):  # the first one warms up
        for name, loop in loops.items():
            spent = clock(loop, device)
            if repeat:
                seconds[name].append(spent)
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    n = args.images * args.epochs
    print(f"{chip}, torch {torch.__version__}, {args.network}, batches of {args.batch}\n")
    print("| loop | images per second | of the loop by hand, % |")
    print("|---|---|---|")
    bare = statistics.median(seconds["by hand"])
    for name, times in seconds.items():
        spent = statistics.median(times)
        print(f"| {name} | {n / spent:,.0f} | {100 * bare / spent:.1f} |")
    step = bare * args.batch / n
    print(f"\nOne step by hand takes {1000 * step:.2f} ms.\n")
    bare_loop = Bare(data, args.network, args.batch, device)
    ratios = time_in_loop(bare_loop, list(args.transforms), args.rounds)
    x = torch.rand(args.batch, 3, 32, 32, device=device)
    print(
        "| transform of a batch | costs, % of a step | quartiles | start, ms | GPU, ms | kernels |"
    )
    print("|---|---|---|---|---|---|")
    for spec, found in ratios.items():
        low, middle, high = (100 * (q - 1) for q in statistics.quantiles(found, n=4))
        start, spent, kernels = look_at(Noise(spec, seed=0), x, args.repeats)
        print(
            f"| `{spec}` | {middle:+.1f} | {low:+.1f}, {high:+.1f} | {1000 * start:.2f} | "
            f"{1000 * spent:.3f} | {kernels:.0f} |"
        )


if __name__ == "__main__":
    main()
