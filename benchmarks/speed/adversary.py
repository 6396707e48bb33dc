"""Time the genuine constraint: PGD in balls against PGD in balls cut by Voronoi cells.

PGD with the margin loss is started at the correctly classified test points of CIFAR-10. Two modes:
- used: the attack as it is. It stops at the first success, so it takes more steps with the genuine
  constraint, under which fewer points are misclassified;
- full: every point takes every step, and only the last one is checked.

The time of the neighbour lists (`VoronoiCells.of`) is part of the genuine constraint's time.

    python benchmarks/speed/adversary.py cifar10.npz --model net:net
    python benchmarks/speed/adversary.py cifar10.npz --model net:net --way full --attacked 1023

The model is named as in shaketable's --model; it takes images as CxHxW in [0, 1]. The file holds
x_test and y_test, uint8. Results: results/adversary.md.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
import torch

from shaketable.adversary.attacks.gradient_search import (
    BATCH_VALUES,
    ActiveRows,
    PGDState,
    open_gradients,
)
from shaketable.adversary.attacks.gradients import PGD
from shaketable.adversary.attacks.registry import confirm
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import TensorRegion
from shaketable.adversary.target import fast_device
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.keys import row_keys
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.models.loading import load_model

BALLS = [("L2 1", 2.0, 1.0), ("L2 4", 2.0, 4.0)]
BALLS += [(f"L-inf {step}/255", np.inf, step / 255) for step in (8, 27)]
HEAD = """
| ball | rows with neighbours | list entries | accuracy: ball | genuine | s: lists | ball \
| genuine, with lists | ratio | at most 1.3 |
|---|---|---|---|---|---|---|---|---|---|"""


def attack_as_used(
    attack: PGD, model: Classifier, y: IntArray, rows: IntArray, region: Region
) -> Array:
    """Return whether the attack as it is succeeds, per row."""
    return attack(model, region, rows, y[rows], row_keys(0, rows, np.arange(1))[:, 0]).hit


def attack_all_steps(
    attack: PGD, model: Classifier, y: IntArray, rows: IntArray, region: Region
) -> Array:
    """Return whether the last of all steps is a success, per row."""
    moved, size = region.x[rows].astype(region.dtype), BATCH_VALUES // region.x.shape[1]
    with open_gradients(model, region.shape) as module:
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            around = TensorRegion.of(region, some, module.device)
            label = torch.from_numpy(y[some]).to(module.device)
            active = ActiveRows(some, around, label, label, row_keys(0, some, np.arange(1))[:, 0])
            state = PGDState(around.x, 2.5 / attack.steps * region.epsilon)
            for _ in range(attack.steps):
                _, loss, gradient = module.differentiate(attack.loss, state.moved, label, label)
                state = state.advance(active, loss, gradient)
            moved[first : first + size] = state.moved.cpu().numpy()
    return confirm(model, region, rows, y[rows], moved)


def read_clocks() -> FloatArray:
    """Return wall time and CPU time of all threads, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def compare_constraints(
    attacked: Callable[[IntArray, Region], Array],
    rows: IntArray,
    region: Region,
    clean: float,
    device: str | None,
) -> str:
    """Return the columns of one row; the two constraints alternate by batch to share any load."""
    started = read_clocks()
    cells = VoronoiCells.of(region.x, region.p, region.epsilon, dtype=region.dtype, device=device)
    lists = read_clocks() - started
    sides = region, replace(region, constraint="genuine-max", voronoi=cells)
    hits, spent = np.zeros(2), np.array([np.zeros(2), lists])
    for i in range(0, len(rows), size := BATCH_VALUES // region.x.shape[1]):
        for side in (0, 1) if i // size % 2 else (1, 0):
            started = read_clocks()
            hits[side] += attacked(rows[i : i + size], sides[side]).sum()
            spent[side] += read_clocks() - started
    wall, cpu = spent[1] / spent[0]
    accuracy = [f"{clean * (1 - hit / len(rows)):.4f}" for hit in hits]
    seconds = [f"{wall:.1f} ({cpu:.1f})" for wall, cpu in (lists, *spent)]
    return (
        f"{cells.find_crowded().sum()} | {len(cells.lists.others)} | "
        f"{' | '.join(accuracy + seconds)} | {wall:.2f} ({cpu:.2f}) "
        f"| {'yes' if max(wall, cpu) <= 1.3 else 'NO'}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--model", required=True)
    parser.add_argument("--way", choices=("used", "full"), default="used")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument(
        "--attacked", type=int, help="number of points to attack; Voronoi cells use all points"
    )
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    x, y = (np.load(options.file)[name][: options.points] for name in ("x_test", "y_test"))
    data = make_dataset(x, y.ravel(), classes=tuple(range(10)))
    model, given = (
        as_classifier(load_model(options.model, trust=True)[0], data),
        data.rows(slice(None)),
    )
    right, attack = model(given) == data.y, PGD(options.steps)
    device = fast_device(model)
    rows, clean = np.flatnonzero(right)[: options.attacked], float(right.mean())
    attacked = partial(
        {"used": attack_as_used, "full": attack_all_steps}[options.way], attack, model, data.y
    )
    where = torch.cuda.get_device_name() if device else f"{torch.get_num_threads()} CPU threads"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {where}, {attack.spec},")
    print(f"way {options.way}, {data.n} points, {clean:.4f} correct, {len(rows)} attacked\n{HEAD}")
    flat = given.reshape(data.n, -1).astype(np.float64)
    for title, p, epsilon in BALLS:
        region = Region(flat, data.shape, given.dtype, p, epsilon, bounds=data.bounds)
        compare_constraints(attacked, rows[:20], region, clean, device)  # compiles
        print(
            f"| {title} | {compare_constraints(attacked, rows, region, clean, device)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
