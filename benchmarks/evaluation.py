"""Time `evaluate` on a torch device against the bare forward passes that it needs.

A small convolutional network is evaluated on images of 32 x 32 x 3 under whole suites. The bare
passes take as many images, which lie on the device as float32, in batches of a fixed size, and
fetch the predicted classes once at the end. Both sides run in one process, alternately; the ratio
is the median of the repeats.

    python benchmarks/evaluation.py --device cuda
    python benchmarks/evaluation.py --device cpu --n 500 --suites common-19

Results: results/evaluation.md.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import torch
from torch import Tensor, nn

import shaketable as st

SUITES = ("pnorm-cifar", "common-19", "two-factor")


def make_network(width: int) -> nn.Module:
    """Return a convolutional network of three layers, with random weights."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Conv2d(2 * width, 4 * width, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    ).eval()


def measure_seconds(do: Callable[[], object], device: str) -> float:
    """Return the time of a call, with all work on the device done."""
    started = time.perf_counter()
    do()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def pass_forward(network: nn.Module, images: Tensor, *, passes: int, batch: int) -> Tensor:
    """Return the classes of the last pass."""
    with torch.inference_mode():
        for _ in range(passes):
            codes = torch.cat([network(part).argmax(dim=1) for part in torch.split(images, batch)])
    return codes.cpu()


def main() -> None:
    """Print one row per suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, default=10_000, help="number of images")
    parser.add_argument("--width", type=int, default=128, help="channels of the first layer")
    parser.add_argument("--batch", type=int, default=1000, help="images per bare forward pass")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--suites", nargs="+", default=SUITES)
    parser.add_argument("--device-noise", action="store_true")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(args.n, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(10, size=args.n)
    network = make_network(args.width).to(args.device)
    small, data = (
        st.make_dataset(images[:n], labels[:n], name="random") for n in (min(200, args.n), args.n)
    )
    resident = torch.tensor(images, device=args.device).permute(0, 3, 1, 2).float().div(255)
    resident = resident.contiguous()
    where = torch.cuda.get_device_name() if args.device != "cpu" else "CPU"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {where}, {len(os.sched_getaffinity(0))} cores, ", end="")
    print(f"torch {torch.__version__}; {args.n} images, a network of {args.width} channels\n")
    print("| suite | forward passes | bare, s | evaluate, s | ratio |")
    print("|---|---|---|---|---|", flush=True)
    for name in args.suites:
        suite = st.suite(name)

        def run(data: st.Dataset, suite: st.Suite = suite) -> st.Records:
            return st.evaluate(network, data, suite, k=1, device_noise=args.device_noise)

        passes = len(run(small))  # compiles, makes tables, loads libraries
        bare_times, our_times = [], []
        for repeat in range(args.repeats + 1):

            def bare(passes: int = passes) -> Tensor:
                return pass_forward(network, resident, passes=passes, batch=args.batch)

            times = (
                measure_seconds(bare, args.device),
                measure_seconds(lambda: run(data), args.device),
            )
            if repeat:  # the first one warms up
                bare_times.append(times[0])
                our_times.append(times[1])
        ratio = statistics.median(o / b for o, b in zip(our_times, bare_times, strict=True))
        print(
            f"| {name} | {passes} | {statistics.median(bare_times):.2f} | "
            f"{statistics.median(our_times):.2f} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
