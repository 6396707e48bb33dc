"""Speed of the training loop against a bare loop of PyTorch, and the cost of noise in training.

The bare loop is what one writes by hand: images on the device, batches by index, flips and crops,
mixed precision, SGD; nothing is recorded. Both train the same network on the same images, one after
the other, several times; the median of each is compared. Then every transform is timed on one
batch, and divided by the time of a training step.

    python benchmarks/training.py --device cuda --network wrn-28-4 --batch 384
    python benchmarks/training.py --network "resnet9(width=8)" --images 512 --batch 64 --repeats 3

Results: results/training.md.
"""

import argparse
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
    "flipcrop(4)",
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


def make_images(n: int) -> Dataset:
    """Return random images of 32 x 32 x 3 in uint8, in ten classes."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return make_dataset(x, np.arange(n) % 10, name="random images")


def train_bare(
    data: Dataset,
    network: str,
    *,
    batch: int,
    epochs: int,
    device: torch.device,
    noise: str | None = None,
) -> None:
    """Train by hand, with noise as one line of the loop."""
    corrupt = Noise(noise, seed=0) if noise else None
    net: Any = build_network(network, shape=data.shape, classes=10, seed=0)
    net.to(device, memory_format=torch.channels_last)
    images = torch.from_numpy(data.x).to(device)
    labels = torch.from_numpy(data.y).to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    net.train()
    for _ in range(epochs):
        order = torch.randperm(len(images), device=device)
        for rows in order.chunk(-(-len(images) // batch)):
            x = images[rows].permute(0, 3, 1, 2).float() / 255
            x = augment(x)
            x = x if corrupt is None else corrupt(x)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = cross_entropy(net(x), labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            optimizer.step()


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


def main() -> None:
    """Print images per second of both loops, and the cost of every transform."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--network", default="resnet9")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=3, help="what is done once counts less")
    parser.add_argument("--repeats", type=int, default=5)
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

    def train_by_hand(noise: str | None = None) -> Callable[[], object]:
        return lambda: train_bare(
            data,
            args.network,
            batch=args.batch,
            epochs=args.epochs,
            device=device,
            noise=noise,
        )

    loops = {
        "by hand": train_by_hand(),
        'by hand, with `Noise("C1")`': train_by_hand("C1"),
        'by hand, with `Noise("TA + C1")`': train_by_hand("TA + C1"),
        "shaketable, clean": train_ours("clean"),
        "shaketable, C1": train_ours("C1"),
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
    x = torch.rand(args.batch, 3, 32, 32, device=device)
    print(f"\nOne step takes {1000 * step:.2f} ms.\n")
    print("| transform of a batch | ms | of a step, % |\n|---|---|---|")
    for spec in TRANSFORMS:
        noise = Noise(spec, seed=0)
        change = partial(noise, x)
        times = [clock(change, device) for _ in range(args.repeats + 3)][3:]
        spent = statistics.median(times)
        print(f"| `{spec}` | {1000 * spent:.2f} | {100 * spent / step:.1f} |")


if __name__ == "__main__":
    main()
