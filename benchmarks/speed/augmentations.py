"""Time augmentations of a batch, and compare TrivialAugment and RandAugment with kornia's.

kornia draws the operations once for a whole batch, ours are drawn for every image, as published. So
before times, this prints how many kinds of operations a batch gets (all affine ones are one kind of
ours), and how far the operations of RandAugment are from kornia's, in levels of 255, in the middle
of the image: kornia mixes its edges with black.

Times are medians of calls on a batch of 384 images of 3 x 32 x 32, by turns in one process: CPU
time on one thread, or on a CUDA device the time until it is idle. `calls` are those that start a
kernel.

    python benchmarks/speed/augmentations.py               # kornia is optional: pip install kornia
    python benchmarks/speed/augmentations.py --device cuda

Results: results/augmentations.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from shaketable.core.keys import row_keys
from shaketable.core.types import KeyArray
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.auto_augment import OF_KORNIA
from shaketable.training.augmentations.mixup import one_hot
from shaketable.training.augmentations.operations import apply_steps
from shaketable.training.augmentations.registry import parse_augmentation

SPECS = (
    "flipcrop", "trivialaugment", "randaugment", "augmix", "tv-randaugment", "tv-augmix", "mixup",
)  # fmt: skip
SHAPE = (3, 32, 32)
CLASSES = 10
M = 9


def make_keys(n: int, draw: int) -> KeyArray:
    """Keys of images 0 to n - 1, new ones for every draw."""
    return row_keys(0, np.arange(n), np.array([draw]))[:, 0]


def make_call(spec: str, x: Tensor) -> Callable[[], Any]:
    """Return a function that augments the batch, with new randomness at every call."""
    augmentation: Any = parse_augmentation(spec)
    draws = iter(range(10**9))
    if augmentation.takes_targets:
        targets = one_hot(torch.arange(len(x), device=x.device) % CLASSES, CLASSES)
        return lambda: augmentation(x, targets, make_keys(len(x), next(draws)))
    return lambda: augmentation(x, make_keys(len(x), next(draws)))


def make_kornias() -> dict[str, Any]:
    """Return kornia's augmentations by the names of ours; none if it is not installed."""
    if find_spec("kornia") is None:
        return {}
    from kornia.augmentation.auto import RandAugment, TrivialAugment

    return {"trivialaugment": TrivialAugment(), "randaugment": RandAugment(n=2, m=M)}


def count_kinds(spec: str, n: int) -> float:
    """Kinds of operations in one batch of n images: the mean over 100 batches."""
    augmentation: Any = parse_augmentation(spec)
    size = plans.Size(*SHAPE[1:])
    batches = (augmentation.draw(make_keys(n, draw), size) for draw in range(100))
    return statistics.mean(
        len(np.unique(np.concatenate([step.kinds for step in steps]))) for steps in batches
    )


def count_kornias_kinds(augmentation: Any, n: int) -> float:
    """Policies that kornia applies to one batch of n images: the mean over 100 batches."""
    x = torch.rand(n, *SHAPE)
    counts = []
    for _ in range(100):
        augmentation(x)
        counts.append(len(augmentation._params))
    return statistics.mean(counts)


def measure_distance(operation: plans.Operation, x: Tensor) -> tuple[float, float]:
    """Median and largest distance of an operation from kornia's, in levels, of 99 % of pixels.

    kornia's operation draws its signs; ours gets the sign that fits better.
    """
    from kornia.augmentation.auto import RandAugment
    from kornia.augmentation.auto.rand_augment.rand_augment import default_policy

    policy = next(entry for entry in default_policy if entry[0][0] == operation.name)
    torch.manual_seed(0)
    theirs = RandAugment(n=1, m=M, policy=[policy])(x)
    n, size = len(x), plans.Size(*x.shape[2:])
    results = [
        apply_steps(
            x,
            [
                plans.plan_step(
                    [operation], np.zeros(n, np.int64), np.full(n, M / 30), np.full(n, sign), size
                )
            ],
            interpolation="bilinear",
        )
        for sign in (-1.0, 1.0)
    ]
    distances = torch.stack([(ours - theirs).abs()[:, :, 8:-8, 8:-8] for ours in results])
    nearer = distances.flatten(2).mean(dim=2).argmin(dim=0)
    own = distances[nearer, torch.arange(n)].flatten() * 255
    ordered = own.sort().values
    return float(ordered.median()), float(ordered[int(0.99 * len(ordered))])


def time_call(work: Callable[[], Any], x: Tensor) -> float:
    """Milliseconds of one call."""
    if x.is_cuda:
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start)
    start = time.process_time()
    work()
    return 1e3 * (time.process_time() - start)


def count_calls(work: Callable[[], Any]) -> int:
    """Calls of torch that start a kernel: those that call no other one, and are not views."""
    views = {"select", "view", "unbind", "slice", "unsqueeze", "expand", "permute", "as_strided"}
    allocations = {"empty", "empty_strided", "empty_like", "detach", "resize_", "flatten"}
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        work()
    events: Any = recorded.events()
    names = [event.name.removeprefix("aten::") for event in events if not event.cpu_children]
    return sum(name not in views | allocations for name in names if "::" not in name)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=384)
    parser.add_argument("--calls", type=int, default=31)
    args = parser.parse_args()
    torch.set_num_threads(1)
    x = torch.rand(args.batch, *SHAPE, device=args.device)
    name = torch.cuda.get_device_name() if x.is_cuda else "CPU, one thread"
    print(f"{datetime.now(UTC):%Y-%m-%d}, torch {torch.__version__}, {name}\n")
    kornias = make_kornias()
    if kornias:
        print_comparison(kornias)
    calls = {spec: make_call(spec, x) for spec in SPECS}
    theirs: dict[str, Callable[[], Any]] = {
        spec: partial(kornia, x) for spec, kornia in kornias.items()
    }
    for work in [*calls.values(), *theirs.values()]:
        work()
    times: dict[str, list[float]] = {spec: [] for spec in SPECS}
    their_times: dict[str, list[float]] = {spec: [] for spec in theirs}
    for _ in range(args.calls):
        for spec in SPECS:
            times[spec].append(time_call(calls[spec], x))
            if spec in theirs:
                their_times[spec].append(time_call(theirs[spec], x))
    print(
        "| augmentation | ms | calls | kornia: ms (mean) | ratio of means |\n|---|---|---|---|---|"
    )
    for spec in SPECS:
        ours = statistics.mean(times[spec])
        other = statistics.mean(their_times[spec]) if spec in theirs else 0
        beside = f"{other:.1f} | {ours / other:.2f}" if other else " | "
        median = statistics.median(times[spec])
        print(f"| {spec} | {median:.2f} | {count_calls(calls[spec])} | {beside} |")


def print_comparison(kornias: dict[str, Any]) -> None:
    """Print what kornia does otherwise, and how far its operations are from ours."""
    print("| augmentation | kinds of operations in a batch of 64 | kornia |\n|---|---|---|")
    for spec, kornia in kornias.items():
        print(f"| {spec} | {count_kinds(spec, 64):.1f} | {count_kornias_kinds(kornia, 64):.1f} |")
    print("\nkornia documents a threshold of 0.5 for solarize_add, and draws it from [0, 1].")
    print("\n| operation of RandAugment | median distance in levels | of 99 % of pixels |")
    print("|---|---|---|")
    x = torch.rand(64, *SHAPE, generator=torch.Generator().manual_seed(0)).mul(255).round() / 255
    for operation in OF_KORNIA:
        median, most = measure_distance(operation, x)
        print(f"| {operation.name} | {median:.4f} | {most:.4f} |")
    print()


if __name__ == "__main__":
    main()
