"""Signs that a model's gradients are masked, so that gradient attacks prove little."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from shaketable.adversary.attacks.gradient_search import (
    BATCH_VALUES,
    ModuleGradients,
    compute_losses,
    open_gradients,
)
from shaketable.adversary.attacks.gradients import PGD
from shaketable.adversary.attacks.registry import confirm
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import L1_SHARE, TensorRegion
from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions.pnorm import Kind
from shaketable.models.classifier import Classifier

_ATTACK = PGD()  # whose finds are compared
_FARTHER = 4  # the larger epsilon as a multiple of epsilon
_ODD = 0.05  # share of points above which a sign counts
_SHORT = 0.1  # share of epsilon: a step that must raise the loss
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
    """Of all others, those where a short step up the gradient raises the loss."""
    found: int
    """Points for which PGD found a misclassified one."""
    found_farther: int
    """The same with a larger epsilon, whose ball contains the smaller one."""
    random: int
    """Points for which noise of size epsilon found a misclassified one."""
    only_random: int
    """Of these, the points for which PGD found none."""
    tries: int
    """Noise draws per point."""

    @property
    def signs(self) -> tuple[str, ...]:
        """Signs of masked gradients, one sentence each; none if gradients look sound."""
        usable = self.points - self.zero - self.broken
        signs = []
        if self.points - usable > _ODD * self.points:
            signs.append(
                f"At {self.points - usable} of {self.points} points the gradient has no direction: "
                f"{self.zero} are zero, {self.broken} not finite."
            )
        if usable - self.rising > _ODD * usable:
            signs.append(
                f"A step of a tenth of epsilon up the gradient raises the loss at {self.rising} of "
                f"{usable} points only."
            )
        if self.found_farther < self.found:
            signs.append(
                f"{_ATTACK.spec} found fewer misclassified points with {_FARTHER} "
                f"times epsilon ({self.found_farther}) than with epsilon ({self.found})."
            )
        if self.random > self.found or self.only_random > _ODD * self.points:
            signs.append(
                f"{self.tries} random tries per point succeeded at {self.random} points, "
                f"{_ATTACK.spec} at {self.found}; at {self.only_random} only random tries did."
            )
        return tuple(signs)

    def __str__(self) -> str:
        if self.signs:
            last = "Gradients may be masked: what they did not find is weak evidence of robustness."
            return " ".join([*self.signs, last])
        return (
            f"No sign of masked gradients at {self.points} points: not in their size, nor with a "
            f"short step along them, {_FARTHER} times epsilon, or {self.tries} "
            "random tries per point. That does not prove that there is nothing else to find."
        )


def gradient_health(
    model: Classifier,
    region: Region,
    rows: IntArray,
    y: IntArray,
    keys: KeyArray,
    *,
    tries: int = 100,
) -> GradientHealth:
    """Look for signs that a model's gradients are masked, at points that it labels correctly.

    The whole ball is searched, whatever the constraint: gradients are a property of the model.

    Parameters
    ----------
    model, region, rows, y, keys
        As an `Attack` takes them.
    tries
        Random points per row on the surface of the ball, in L-inf at its corners.
    """
    check_whole("tries", tries, least=1)
    if not len(rows):
        raise InputError("rows must name points that are labelled correctly, got none")
    ball = replace(region, constraint="none", voronoi=None)
    farther = replace(ball, epsilon=_FARTHER * ball.epsilon)
    found = _ATTACK(model, ball, rows, y, keys).hit
    zero, broken, rising, random = np.zeros((4, len(rows)), bool)
    size = max(1, BATCH_VALUES // region.x.shape[1])
    with open_gradients(model, region.shape) as module:
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            around = TensorRegion.of(ball, rows[part], module.device)
            zero[part], broken[part], rising[part] = _inspect(module, around, y[part])
            random[part] = _try_noise(model, around, y[part], fold(keys[part], tries), tries)
    return GradientHealth(
        points=len(rows),
        zero=int(zero.sum()),
        broken=int(broken.sum()),
        rising=int(rising.sum()),
        found=int(found.sum()),
        found_farther=int(_ATTACK(model, farther, rows, y, keys).hit.sum()),
        random=int(random.sum()),
        only_random=int((random & ~found).sum()),
        tries=tries,
    )


def _inspect(
    module: ModuleGradients, around: TensorRegion, y: IntArray
) -> tuple[Array, Array, Array]:
    """Where the gradient of the margin is 0, where it is not finite, and where the margin rises."""
    labels = torch.from_numpy(y).to(around.x.device)
    scores, loss, gradient = module.differentiate("margin", around.x, labels, labels)
    step, _ = around.find_ascent(around.x, gradient, torch.full_like(loss, L1_SHARE))
    moved = around.project(around.x + _SHORT * around.region.epsilon * step)
    higher = compute_losses("margin", module.score(moved), labels, labels) > loss
    # what the gradient promises may be less than the rounding of scores: that is no sign
    promised = ((moved - around.x) * gradient).sum(dim=1)
    higher |= promised <= _ROUNDING * torch.finfo(scores.dtype).eps * scores.abs().amax(dim=1)
    zero, broken = (gradient == 0).all(dim=1), ~gradient.isfinite().all(dim=1)
    rising = higher & ~zero & ~broken
    return zero.cpu().numpy(), broken.cpu().numpy(), rising.cpu().numpy()


def _try_noise(
    model: Classifier, around: TensorRegion, y: IntArray, keys: KeyArray, tries: int
) -> Array:
    """Where noise of size epsilon finds a misclassified point; a row stops at its first."""
    kind: Kind = "vertices" if math.isinf(around.region.p) else "surface"
    rows, hit = around.rows.cpu().numpy(), np.zeros(len(y), bool)
    for attempt in range(tries):
        left = np.flatnonzero(~hit)
        if not left.size:
            break
        rest = around.select(torch.from_numpy(~hit).to(around.x.device))
        noise = rest.draw_noise(fold(keys[left], attempt), kind)
        moved = rest.project(rest.x + around.region.epsilon * noise).cpu().numpy()
        hit[left] = confirm(model, around.region, rows[left], y[left], moved)
    return hit
