"""Ways to climb: where rows at work are, and how they step; of PGD and of APGD."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Protocol

import torch
from torch import Tensor

from shaketable.adversary.region_tensors import L1_SHARE, TensorRegion
from shaketable.core.types import IntArray, KeyArray

_L1_START = 0.02  # share of values that APGD moves in L1, before it is halved


class Walk(Protocol):
    """Where some rows are, and all that a way to climb remembers of them."""

    @property
    def moved(self) -> Tensor:
        """Points to ask the model about next."""

    def stepped(self, ground: Ground, loss: Tensor, gradient: Tensor) -> Walk:
        """Go on from points with this loss and gradient."""

    def kept(self, keep: Tensor) -> Walk:
        """Forget all rows but those where `keep` is true."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Rows at work in one restart."""

    places: IntArray
    """Of these rows in what the attack was given."""
    region: TensorRegion
    y: Tensor
    targets: Tensor
    keys: KeyArray

    def kept(self, keep: Tensor) -> Ground:
        """Forget all rows but those where `keep` is true."""
        host = keep.cpu().numpy()
        return Ground(
            self.places[host],
            self.region.kept(keep),
            self.y[keep],
            self.targets[keep],
            self.keys[host],
        )

    def direction(self, moved: Tensor, gradient: Tensor, share: Tensor) -> Tensor:
        """Step of size 1 up the loss, along the noise where no gradient tells."""
        step, known = self.region.ascent(moved, gradient, share)
        if not known.all():
            step[~known] = self.region.noise(self.keys)[~known]
        return step


@dataclass(frozen=True, eq=False)
class PGDWalk:
    """Steps of one size."""

    moved: Tensor
    size: float

    def stepped(self, ground: Ground, loss: Tensor, gradient: Tensor) -> PGDWalk:
        """Go on from points with this gradient."""
        del loss
        share = gradient.new_full((len(gradient),), L1_SHARE)
        step = self.size * ground.direction(self.moved, gradient, share)
        return PGDWalk(ground.region.held(ground.region.base(self.moved) + step), self.size)

    def kept(self, keep: Tensor) -> PGDWalk:
        """Forget all rows but those where `keep` is true."""
        return PGDWalk(self.moved[keep], self.size)


@dataclass(frozen=True, eq=False)
class APGDWalk:
    """Algorithm 1 of Croce & Hein (ICML 2020), in its letters: x, f, eta, W; one a row."""

    moved: Tensor
    previous: Tensor
    best: Tensor
    best_gradient: Tensor
    best_loss: Tensor
    last_loss: Tensor
    size: Tensor
    """eta, (rows, 1)."""
    share: Tensor
    rises: Tensor
    """Steps since the last checkpoint that raised the loss."""
    halved: Tensor
    """Whether eta was halved at the last checkpoint."""
    checked_loss: Tensor
    """The best loss at the last checkpoint."""
    checkpoints: tuple[int, ...]
    """W: those to come, after the last one."""
    k: int = 0

    @classmethod
    def of(cls, start: Tensor, epsilon: float, checkpoints: tuple[int, ...]) -> APGDWalk:
        """Walk from a start, with steps of epsilon at first."""
        low = start.new_full((len(start),), -math.inf)
        return cls(
            moved=start,
            previous=start,
            best=start,
            best_gradient=torch.zeros_like(start),
            best_loss=low,
            last_loss=-low,
            size=start.new_full((len(start), 1), epsilon),
            share=torch.full_like(low, _L1_START),
            rises=torch.zeros_like(low),
            halved=torch.ones_like(low, dtype=torch.bool),
            checked_loss=low,
            checkpoints=checkpoints,
        )

    def kept(self, keep: Tensor) -> APGDWalk:
        """Forget all rows but those where `keep` is true."""
        tensors = (f.name for f in fields(self) if isinstance(getattr(self, f.name), Tensor))
        return replace(self, **{name: getattr(self, name)[keep] for name in tensors})

    def stepped(self, ground: Ground, loss: Tensor, gradient: Tensor) -> APGDWalk:
        """Go on from points with this loss and gradient; where steps are halved, from the best."""
        base = ground.region.base(self.moved)
        here = self._seen(base, loss, gradient)
        if self.k == self.checkpoints[1]:
            here, base, gradient = here._checked(base, gradient)
        moved, region = here.moved, ground.region
        step = here.size * ground.direction(moved, gradient, here.share)
        onward = region.held(base + step)
        if self.k:  # momentum: alpha = 3/4
            onward = region.held(moved + 0.75 * (onward - moved) + 0.25 * (moved - here.previous))
        return replace(here, moved=onward, previous=moved, k=self.k + 1)

    def _seen(self, base: Tensor, loss: Tensor, gradient: Tensor) -> APGDWalk:
        """Remember the loss, and the point if it is the best so far: of those inside the cell."""
        inside = (base == self.moved).all(dim=1)
        better = (loss > self.best_loss) & inside
        return replace(
            self,
            best=torch.where(better[:, None], self.moved, self.best),
            best_gradient=torch.where(better[:, None], gradient, self.best_gradient),
            best_loss=torch.where(better, loss, self.best_loss),
            last_loss=loss,
            rises=self.rises + (loss > self.last_loss),
        )

    def _checked(self, base: Tensor, gradient: Tensor) -> tuple[APGDWalk, Tensor, Tensor]:
        """Halve steps that rose too rarely (condition 1) or found nothing better (condition 2)."""
        window = self.checkpoints[1] - self.checkpoints[0]
        stuck = ~self.halved & (self.best_loss <= self.checked_loss)
        halve = (self.rises < 0.75 * window) | stuck
        at = halve[:, None]
        moved = torch.where(at, self.best, self.moved)
        walk = replace(
            self,
            moved=moved,
            previous=torch.where(at, self.best, self.previous),
            last_loss=torch.where(halve, self.best_loss, self.last_loss),
            size=torch.where(at, self.size / 2, self.size),
            share=torch.where(halve, self.share / 2, self.share),
            rises=torch.zeros_like(self.rises),
            halved=halve,
            checked_loss=self.best_loss,
            checkpoints=self.checkpoints[1:],
        )
        return walk, torch.where(at, self.best, base), torch.where(at, self.best_gradient, gradient)


def checkpoints(steps: int) -> tuple[int, ...]:
    """Steps at which APGD looks back, from 0 on; the last is never reached.

    The first is after 22 % of all steps, and every wait is 3 % of them shorter than the one before,
    down to 6 %: whole steps, rounded down, one at least.

    >>> checkpoints(100)
    (0, 22, 41, 57, 70, 80, 87, 93, 99, 105)
    >>> checkpoints(20)
    (0, 4, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)
    """
    wait, less, least = (max(1, steps * percent // 100) for percent in (22, 3, 6))
    found = [0]
    while found[-1] <= steps:
        found.append(found[-1] + wait)
        wait = max(wait - less, least)
    return tuple(found)
