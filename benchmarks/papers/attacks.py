"""Compare PGD with foolbox and APGD with torchattacks: robust accuracy at equal budget, paired.

Both use the same points, steps, restarts, epsilon and, where applicable, step size. An attack of
the other libraries succeeds if the model misclassifies its result; for ours, the result must also
lie in the ball in float64. Needs torch, foolbox and torchattacks.

    python benchmarks/papers/attacks.py net:net cifar10.npz --rows 2000

The model is named as in shaketable's --model; it takes images as CxHxW in [0, 1]. The file holds
x_test and y_test, uint8. Results: results/attacks.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.attacks.gradients import APGD, PGD
from shaketable.adversary.attacks.registry import Attack
from shaketable.adversary.region import Region
from shaketable.core.keys import row_keys
from shaketable.core.norms import norm_title
from shaketable.core.types import Array, IntArray
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.models.classifier import Classifier, as_classifier
from shaketable.models.loading import load_model
from shaketable.statistics.intervals import mean_difference

BATCH = 250
PGD_STEPS = APGD_STEPS = 20
STEP = 0.125  # of epsilon, in PGD
SIZES = {np.inf: 1 / 255, 2.0: 0.15}

Theirs = Callable[[Any, float, float, Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Points:
    """The attacked images (n, H, W, C): those of all `n_all` that are classified correctly."""

    model: Classifier
    module: Any
    x: Array
    y: IntArray
    n_all: int


def run_ours(attack: Attack, points: Points, p: float, epsilon: float) -> Array:
    """Return whether our attack succeeds, per point."""
    n = len(points.x)
    region = Region(
        points.x.reshape(n, -1).astype(np.float64),
        points.x.shape[1:],
        points.x.dtype,
        p,
        epsilon,
        bounds=Bounds(0, 1),
    )
    keys = row_keys(0, np.arange(n), np.array([0]))[:, 0]
    return attack(points.model, region, np.arange(n), points.y, keys).hit


def run_theirs(attack: Theirs, points: Points, p: float, epsilon: float) -> Array:
    """Return whether an attack of another library on batches of CxHxW tensors succeeds."""
    hit = np.zeros(len(points.x), bool)
    for first in range(0, len(hit), BATCH):
        part = slice(first, first + BATCH)
        x = torch.from_numpy(points.x[part]).permute(0, 3, 1, 2).contiguous()
        y = torch.from_numpy(points.y[part])
        moved = attack(points.module, p, epsilon, x, y).detach()
        away = torch.linalg.vector_norm((moved - x).double().flatten(1), p, dim=1)
        assert float(away.max()) < epsilon * (1 + 1e-4)
        with torch.no_grad():
            hit[part] = (points.module(moved).argmax(dim=1) != y).numpy()
    return hit


def foolbox_pgd(module: Any, p: float, epsilon: float, x: Tensor, y: Tensor) -> Tensor:
    """Run foolbox's PGD on cross-entropy from a random start."""
    foolbox = import_module("foolbox")
    make = foolbox.attacks.LinfPGD if np.isinf(p) else foolbox.attacks.L2PGD
    attack = make(rel_stepsize=STEP, steps=PGD_STEPS, random_start=True)
    model = foolbox.PyTorchModel(module, bounds=(0, 1))
    moved: Tensor = attack(model, x, y, epsilons=epsilon)[1]
    return moved


def torchattacks_apgd(loss: str) -> Theirs:
    """Return the APGD of torchattacks with this loss."""

    def attack(module: Any, p: float, epsilon: float, x: Tensor, y: Tensor) -> Tensor:
        make = import_module("torchattacks").APGD
        norm = "Linf" if np.isinf(p) else "L2"
        moved: Tensor = make(
            module, norm=norm, eps=epsilon, steps=APGD_STEPS, n_restarts=1, loss=loss
        )(x, y)
        return moved

    return attack


CONTESTS: dict[str, tuple[Theirs, list[Attack]]] = {
    f"foolbox pgd(steps={PGD_STEPS}, loss=ce)": (
        foolbox_pgd,
        [PGD(PGD_STEPS, loss="ce", step=STEP), PGD(PGD_STEPS, step=STEP)],
    ),
    f"torchattacks apgd(steps={APGD_STEPS}, loss=ce)": (
        torchattacks_apgd("ce"),
        [APGD(APGD_STEPS, loss="ce"), APGD(APGD_STEPS)],
    ),
    f"torchattacks apgd(steps={APGD_STEPS}, loss=dlr)": (
        torchattacks_apgd("dlr"),
        [APGD(APGD_STEPS, loss="dlr"), APGD(APGD_STEPS)],
    ),
}


def time_call(call: Callable[[], Array]) -> tuple[Array, float]:
    """Return the result of a call and its time in seconds."""
    started = time.perf_counter()
    return call(), time.perf_counter() - started


def table_rows(points: Points, against: str) -> Iterator[str]:
    """Yield rows of the table, for libraries whose name contains `against`."""
    n, wrong = points.n_all, np.zeros(points.n_all - len(points.x))
    for p, epsilon in SIZES.items():
        known: dict[str, tuple[Array, float]] = {}
        for name, (attack, own) in CONTESTS.items():
            if against not in name:
                continue
            hit, seconds = time_call(partial(run_theirs, attack, points, p, epsilon))
            right = np.concatenate([~hit, wrong])
            for our_attack in own:
                if our_attack.spec not in known:
                    known[our_attack.spec] = time_call(
                        partial(run_ours, our_attack, points, p, epsilon)
                    )
                our_hit, taken = known[our_attack.spec]
                our_right = np.concatenate([~our_hit, wrong])
                gap = mean_difference(our_right.astype(int), right.astype(int), k=1)
                yield (
                    f"| {norm_title(p)} {epsilon:.4g} | {our_attack.spec} | {name} "
                    f"| {our_right.sum() / n:.4f} | {right.sum() / n:.4f} "
                    f"| {gap.value:+.4f} ({gap.low:+.4f} to {gap.high:+.4f}) "
                    f"| {'yes' if gap.high < 0.005 else 'NO'} | {taken:.0f} | {seconds:.0f} |"
                )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="first row")
    parser.add_argument("--against", default="", help="only this library")
    options = parser.parse_args()
    torch.manual_seed(0)
    module, data = load_model(options.model, trust=True)[0], np.load(options.file)
    part = slice(options.first, options.first + options.rows)
    x = (data["x_test"][part] / 255).astype(np.float32)
    y = data["y_test"][part].ravel().astype(np.int64)
    model = as_classifier(module, make_dataset(x, y, classes=tuple(range(10)), bounds=(0, 1)))
    right = model(x) == y
    points = Points(model, module, x[right], y[right], len(x))
    names = "torch", "foolbox", "torchattacks"
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"{len(x)} points, {right.mean():.4f} of them classified correctly\n")
    print("| ball | ours | theirs | robust: ours | theirs | difference | holds | s ours | theirs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in table_rows(points, options.against):
        print(line, flush=True)


if __name__ == "__main__":
    main()
