"""Whether gradients can be trusted: signs that a model hides what an attack by gradients needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from shaketable.adversary.attacks.attack import Attack, confirmed
from shaketable.adversary.attacks.gradients import BATCH_VALUES, PGD
from shaketable.adversary.attacks.losses import Slopes, losses, slopes
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import L1_SHARE, TensorRegion
from shaketable.core.checks import TINY, check_real, check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.spec import format_value
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions.pnorm import Kind
from shaketable.models.classifier import Classifier

_ODD = 0.05  # share of points above which a sign counts
_SHORT = 0.1  # of epsilon: the step that must raise the loss
_ROUNDING = 64  # units in the last place by which scores may be off


@dataclass(frozen=True)
class GradientHealth:
    """Signs of masked gradients, as counts of points (Athalye, Carlini & Wagner, ICML 2018)."""

    points: int
    zero: int
    """Points where the gradient of the loss is 0 in every value."""
    broken: int
    """Points where it is not finite."""
    rising: int
    """Of all others, those where the loss rises along a short step up the gradient."""
    found: int
    """Points at which the attack found a wrong label."""
    found_farther: int
    """The same with a larger epsilon: a ball that holds the smaller one."""
    random: int
    """Points at which noise of the full size found a wrong label."""
    only_random: int
    """Of these, those at which the attack found none."""
    attack: str
    factor: float
    """By which the larger epsilon is larger."""
    tries: int
    """Noise that was tried, for every point."""

    @property
    def signs(self) -> tuple[str, ...]:
        """What points to masked gradients, a sentence each; none for gradients that look sound."""
        usable = self.points - self.zero - self.broken
        told = []
        if self.points - usable > _ODD * self.points:
            told.append(
                f"At {self.points - usable} of {self.points} points the gradient has no direction: "
                f"{self.zero} are zero, {self.broken} not finite."
            )
        if usable - self.rising > _ODD * usable:
            told.append(
                f"A tenth of epsilon up the gradient the loss rises at {self.rising} of {usable} "
                "points only."
            )
        if self.found_farther < self.found:
            told.append(
                f"{self.attack} found fewer wrong labels with {format_value(self.factor)} times "
                f"epsilon ({self.found_farther}) than with epsilon ({self.found})."
            )
        if self.random > self.found or self.only_random > _ODD * self.points:
            told.append(
                f"{self.tries} random tries a point found a wrong label at {self.random} points, "
                f"{self.attack} at {self.found}, and at {self.only_random} only random tries did."
            )
        return tuple(told)

    def __str__(self) -> str:
        if self.signs:
            last = "Gradients may be masked: what they did not find is weak evidence of robustness."
            return " ".join([*self.signs, last])
        return (
            f"No sign of masked gradients at {self.points} points: not in their size, nor in a "
            f"short step along them, {format_value(self.factor)} times epsilon, or {self.tries} "
            "random tries a point. That does not prove that there is nothing else to find."
        )


def gradient_health(
    model: Classifier,
    region: Region,
    rows: IntArray,
    y: IntArray,
    keys: KeyArray,
    *,
    attack: Attack | None = None,
    factor: float = 4.0,
    tries: int = 100,
) -> GradientHealth:
    """Look for signs that a model's gradients are masked, at points that it labels rightly.

    Cells play no part: gradients are the model's, so the whole ball is searched.

    Parameters
    ----------
    model, region, rows, y, keys
        As an `Attack` takes them.
    attack
        Whose finds are compared; `PGD` by default.
    factor
        By how much epsilon is made larger.
    tries
        Random points of the ball's surface (in L-inf: of its corners) that are tried.
    """
    check_real("factor", factor, "be more than 1", low=1 + TINY, high=math.inf)
    check_whole("tries", tries, least=1)
    if not len(rows):
        raise InputError("rows must name points that are labelled rightly, got none")
    attack = PGD() if attack is None else attack
    ball = replace(region, constraint="none", cells=None)
    farther = replace(ball, epsilon=factor * ball.epsilon)
    found = attack(model, ball, rows, y, keys).hit
    zero, broken, rising, random = np.zeros((4, len(rows)), bool)
    size = max(1, BATCH_VALUES // region.x.shape[1])
    with slopes(model, region.shape) as asked:
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            around = TensorRegion.of(ball, rows[part], asked.device)
            zero[part], broken[part], rising[part] = _slopes(asked, around, y[part])
            random[part] = _by_chance(model, around, y[part], fold(keys[part], tries), tries)
    return GradientHealth(
        points=len(rows),
        zero=int(zero.sum()),
        broken=int(broken.sum()),
        rising=int(rising.sum()),
        found=int(found.sum()),
        found_farther=int(attack(model, farther, rows, y, keys).hit.sum()),
        random=int(random.sum()),
        only_random=int((random & ~found).sum()),
        attack=attack.spec,
        factor=factor,
        tries=tries,
    )


def _slopes(asked: Slopes, around: TensorRegion, y: IntArray) -> tuple[Array, Array, Array]:
    """Where the gradient of the margin is 0, where it is not finite, and where the margin rises."""
    labels = torch.from_numpy(y).to(around.x.device)
    scores, loss, gradient = asked("margin", around.x, labels, labels)
    step, _ = around.ascent(around.x, gradient, torch.full_like(loss, L1_SHARE))
    moved = around.held(around.x + _SHORT * around.region.epsilon * step)
    higher = losses("margin", asked.scores(moved), labels, labels) > loss
    # what the slope promises may be less than the rounding of scores: then nothing can be told
    promised = ((moved - around.x) * gradient).sum(dim=1)
    higher |= promised <= _ROUNDING * torch.finfo(scores.dtype).eps * scores.abs().amax(dim=1)
    zero, broken = (gradient == 0).all(dim=1), ~gradient.isfinite().all(dim=1)
    rising = higher & ~zero & ~broken
    return zero.cpu().numpy(), broken.cpu().numpy(), rising.cpu().numpy()


def _by_chance(
    model: Classifier, around: TensorRegion, y: IntArray, keys: KeyArray, tries: int
) -> Array:
    """Where noise as large as the ball finds a wrong label; every row is tried until one is."""
    kind: Kind = "vertices" if math.isinf(around.region.p) else "surface"
    rows, hit = around.rows.cpu().numpy(), np.zeros(len(y), bool)
    for attempt in range(tries):
        left = np.flatnonzero(~hit)
        if not left.size:
            break
        rest = around.kept(torch.from_numpy(~hit).to(around.x.device))
        noise = rest.noise(fold(keys[left], attempt), kind)
        moved = rest.held(rest.x + around.region.epsilon * noise).cpu().numpy()
        hit[left] = confirmed(model, around.region, rows[left], y[left], moved)
    return hit
