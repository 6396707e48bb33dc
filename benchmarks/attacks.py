"""PGD against foolbox's, APGD against torchattacks': robust accuracy at equal budget, paired.

The same points, steps, restarts, epsilon and, where a rule has one, step size. Theirs count where
the model mislabels what they return; ours also have to lie in the ball in float64. Needs foolbox
and torchattacks besides torch.

    python benchmarks/attacks.py net:net cifar10.npz --rows 2000

The model is named as on the command line of shaketable; it takes pictures channels first, in
[0, 1]. The file holds x_test and y_test, uint8. Result: see results/attacks.md.
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

from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.gradients import APGD, PGD
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
    """What both sides attack: pictures (n, H, W, C) that are labelled rightly, of all `n_all`."""

    model: Classifier
    module: Any
    x: Array
    y: IntArray
    n_all: int


def ours(attack: Attack, points: Points, p: float, epsilon: float) -> Array:
    """Whether a wrong label was found, one a point."""
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


def theirs(attack: Theirs, points: Points, p: float, epsilon: float) -> Array:
    """The same for an attack on batches of tensors, channels first."""
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
    """PGD on cross-entropy, from a random start."""
    foolbox = import_module("foolbox")
    make = foolbox.attacks.LinfPGD if np.isinf(p) else foolbox.attacks.L2PGD
    attack = make(rel_stepsize=STEP, steps=PGD_STEPS, random_start=True)
    model = foolbox.PyTorchModel(module, bounds=(0, 1))
    moved: Tensor = attack(model, x, y, epsilons=epsilon)[1]
    return moved


def torchattacks_apgd(loss: str) -> Theirs:
    """APGD of torchattacks."""

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


def timed(found: Callable[[], Array]) -> tuple[Array, float]:
    """Result and seconds."""
    started = time.perf_counter()
    return found(), time.perf_counter() - started


def lines(points: Points, against: str) -> Iterator[str]:
    """Rows of the table, about libraries whose name has this in it."""
    n, wrong = points.n_all, np.zeros(points.n_all - len(points.x))
    for p, epsilon in SIZES.items():
        known: dict[str, tuple[Array, float]] = {}
        for name, (attack, own) in CONTESTS.items():
            if against not in name:
                continue
            hit, seconds = timed(partial(theirs, attack, points, p, epsilon))
            right = np.concatenate([~hit, wrong])
            for mine in own:
                if mine.spec not in known:
                    known[mine.spec] = timed(partial(ours, mine, points, p, epsilon))
                found, taken = known[mine.spec]
                my_right = np.concatenate([~found, wrong])
                gap = mean_difference(my_right.astype(int), right.astype(int), k=1)
                yield (
                    f"| {norm_title(p)} {epsilon:.4g} | {mine.spec} | {name} "
                    f"| {my_right.sum() / n:.4f} | {right.sum() / n:.4f} "
                    f"| {gap.value:+.4f} ({gap.low:+.4f} to {gap.high:+.4f}) "
                    f"| {'yes' if gap.high < 0.005 else 'NO'} | {taken:.0f} | {seconds:.0f} |"
                )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="row to begin with")
    parser.add_argument("--against", default="", help="only this library")
    options = parser.parse_args()
    torch.manual_seed(0)
    module, data = load_model(options.model)[0], np.load(options.file)
    part = slice(options.first, options.first + options.rows)
    x = (data["x_test"][part] / 255).astype(np.float32)
    y = data["y_test"][part].ravel().astype(np.int64)
    model = as_classifier(module, make_dataset(x, y, classes=tuple(range(10)), bounds=(0, 1)))
    right = model(x) == y
    points = Points(model, module, x[right], y[right], len(x))
    names = "torch", "foolbox", "torchattacks"
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"{len(x)} points, {right.mean():.4f} of them labelled rightly\n")
    print("| ball | ours | theirs | robust: ours | theirs | difference | holds | s ours | theirs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in lines(points, options.against):
        print(line, flush=True)


if __name__ == "__main__":
    main()
