"""Attacks that climb a loss by its gradients: PGD and APGD, for torch modules.

Both start at the point itself: on linear models its gradient is all there is to know, and on a
small network 20 steps found more from there than from noise (`benchmarks/results/attacks.md`).
Further restarts start at noise; with the loss ``targeted`` each aims at the next class, nearest
first, and the first at every class starts at the point. A row whose gradient is zero or not finite
moves along its noise instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.attacks.attack import Found, confirmed
from shaketable.adversary.attacks.climbs import APGDWalk, Ground, PGDWalk, Walk, checkpoints
from shaketable.adversary.attacks.losses import Loss, Slopes, slopes
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import TensorRegion, cells_on
from shaketable.core.checks import HUGE, TINY, check_real, check_whole, unknown_name
from shaketable.core.keys import fold
from shaketable.core.spec import Call, Value
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.models.classifier import Classifier

BATCH_VALUES = 1 << 20
"""Values of points that are at work at a time: backward passes keep what every layer made."""

_DLR = "dlr/margin"  # its name in specs, as there is none for two classes


@dataclass(frozen=True)
class PGD:
    """Projected gradient ascent with steps of one size (Madry et al., ICLR 2018).

    `step` is a share of epsilon; ``2.5 / steps`` if it is not given: enough to cross the ball from
    any start. Every point on the way counts, not the last alone.

    >>> PGD().spec
    'pgd(steps=20, restarts=1, loss=margin)'
    """

    steps: int = 20
    restarts: int = 1
    loss: Loss = "margin"
    step: float | None = None

    def __post_init__(self) -> None:
        _check(self)
        if self.step is not None:
            check_real("step", self.step, "be a positive share of epsilon", low=TINY, high=HUGE)

    @property
    def spec(self) -> str:
        """Name and budget."""
        return _spec("pgd", self, {} if self.step is None else {"step": self.step})

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> Found:
        """Search around these rows; see `Attack`."""
        step = 2.5 / self.steps if self.step is None else self.step
        walk = lambda start: PGDWalk(start, step * region.epsilon)  # noqa: E731  (used once)
        return _Search(model, region, rows, y, keys)(self, walk)


@dataclass(frozen=True)
class APGD:
    """Auto-PGD: momentum, and steps that are halved where they do not pay.

    Algorithm 1 of Croce & Hein (ICML 2020), with changes that find more in few steps
    (`benchmarks/results/attacks.md`): it starts at the point itself, with steps of epsilon, not
    twice that; checkpoints are rounded down, as in the authors' code, not up; where a step is
    halved the walk goes on from the best point so far, without momentum. In L1 the share of values
    that move is halved as well. The loss ``dlr``, also written ``dlr/margin``, takes three
    classes: with two it is the margin.

    >>> APGD(loss="dlr").spec
    'apgd(steps=100, restarts=1, loss=dlr/margin)'
    """

    steps: int = 100
    restarts: int = 1
    loss: Loss = "margin"

    def __post_init__(self) -> None:
        _check(self)

    @property
    def spec(self) -> str:
        """Name and budget."""
        return _spec("apgd", self, {})

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> Found:
        """Search around these rows; see `Attack`."""
        looks = checkpoints(self.steps)
        walk = lambda start: APGDWalk.of(start, region.epsilon, looks)  # noqa: E731
        return _Search(model, region, rows, y, keys)(self, walk)


def _check(attack: PGD | APGD) -> None:
    check_whole("steps", attack.steps, least=1)
    check_whole("restarts", attack.restarts, least=1)
    if attack.loss == _DLR:
        object.__setattr__(attack, "loss", "dlr")
    if attack.loss not in get_args(Loss):
        raise unknown_name("loss", str(attack.loss), get_args(Loss))


def _spec(name: str, attack: PGD | APGD, more: dict[str, Value]) -> str:
    budget: dict[str, Value] = {"steps": attack.steps, "restarts": attack.restarts}
    loss = _DLR if attack.loss == "dlr" else attack.loss
    return str(Call(name, options=budget | {"loss": loss} | more))


class _Search:
    """One call of an attack: restarts, hits and queries."""

    def __init__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> None:
        self.model, self.region, self.rows, self.y, self.keys = model, region, rows, y, keys
        self.moved = region.x[rows].astype(region.dtype)
        self.hit = np.zeros(len(rows), bool)
        self.queries = 0

    def __call__(self, attack: PGD | APGD, walk: Callable[[Tensor], Walk]) -> Found:
        size = max(1, BATCH_VALUES // self.region.x.shape[1])
        with slopes(self.model, self.region.shape) as asked:
            cells = cells_on(asked.device, self.region)
            for first in range(0, len(self.rows), size):
                batch = np.arange(first, min(first + size, len(self.rows)))
                around = TensorRegion.of(self.region, self.rows[batch], asked.device, cells)
                self._batch(attack, walk, asked, batch, around)
        return Found(self.moved, self.hit, self.queries)

    def _batch(
        self,
        attack: PGD | APGD,
        walk: Callable[[Tensor], Walk],
        asked: Slopes,
        batch: IntArray,
        around: TensorRegion,
    ) -> None:
        y = torch.from_numpy(self.y[batch]).to(around.x.device)
        ranked = y[:, None]
        if attack.loss == "targeted":
            scores = asked.scores(around.x)
            self.queries += len(batch)
            ranked = scores.scatter(1, y[:, None], -torch.inf).argsort(1, descending=True)[:, :-1]
        for restart in range(attack.restarts):
            left = torch.from_numpy(~self.hit[batch]).to(y.device)
            if not left.any():
                return
            target = ranked[:, restart % ranked.shape[1]]
            keys = fold(self.keys[batch], restart)
            ground = Ground(batch, around, y, target, keys).kept(left)
            start = ground.region.x
            if restart >= ranked.shape[1]:
                start = ground.region.held(
                    start + self.region.epsilon * ground.region.noise(ground.keys)
                )
            self._climb(attack, walk(start), asked, ground)

    def _climb(self, attack: PGD | APGD, walk: Walk, asked: Slopes, ground: Ground) -> None:
        for _ in range(attack.steps):
            scores, loss, gradient = asked(attack.loss, walk.moved, ground.y, ground.targets)
            self.queries += 2 * len(scores)
            left = self._left(walk.moved, scores, ground)
            if not left.all():
                ground, walk, loss, gradient = (
                    ground.kept(left),
                    walk.kept(left),
                    loss[left],
                    gradient[left],
                )
            if not len(loss):
                return
            walk = walk.stepped(ground, loss, gradient)
        scores = asked.scores(walk.moved)
        self.queries += len(scores)
        self._left(walk.moved, scores, ground)

    def _left(self, moved: Tensor, scores: Tensor, ground: Ground) -> Tensor:
        """Rows to go on with: all but those whose points are hits, which are written down."""
        wrong = scores.argmax(dim=1) != ground.y
        if wrong.any():
            places = ground.places[wrong.cpu().numpy()]
            found: Array = moved[wrong].cpu().numpy().astype(self.region.dtype)
            inside = confirmed(self.model, self.region, self.rows[places], self.y[places], found)
            self.queries += len(places)
            self.moved[places[inside]] = found[inside]
            self.hit[places[inside]] = True
            wrong[wrong.clone()] = torch.from_numpy(inside).to(wrong.device)
        return ~wrong
