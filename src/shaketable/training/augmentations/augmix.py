"""AugMix: a mixture of chains of operations and the image itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import betaincinv, gammaincinv

from shaketable.core.checks import check_real, check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, uniforms
from shaketable.core.types import FloatArray, KeyArray
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.plans import Kind, Operation, Size, Step
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor

MOST = 10
"""The largest strength."""
DEEPEST = 3
"""Most operations of a chain if its length is drawn."""


def _scale(levels: FloatArray, most: float) -> FloatArray:
    return levels * most / MOST


def _scale_whole(levels: FloatArray, most: float) -> FloatArray:
    return np.floor(levels * most / MOST)


SPACE = (
    Operation("autocontrast", Kind.AUTOCONTRAST),
    Operation("equalize", Kind.EQUALIZE),
    Operation(
        "posterize", Kind.POSTERIZE, lambda v, _s, _: plans.posterize(4 - _scale_whole(v, 4))
    ),
    Operation(
        "rotate", Kind.AFFINE, lambda v, s, size: plans.rotate(s * _scale_whole(v, 30), size)
    ),
    Operation(
        "solarize", Kind.SOLARIZE, lambda v, _s, _: plans.solarize(256 - _scale_whole(v, 256))
    ),
    Operation("shear_x", Kind.AFFINE, lambda v, s, _: plans.shear_x(s * _scale(v, 0.3))),
    Operation("shear_y", Kind.AFFINE, lambda v, s, _: plans.shear_y(s * _scale(v, 0.3))),
    Operation(
        "translate_x",
        Kind.AFFINE,
        lambda v, s, size: plans.translate_x(s * _scale_whole(v, size.width / 3)),
    ),
    Operation(
        "translate_y",
        Kind.AFFINE,
        lambda v, s, size: plans.translate_y(s * _scale_whole(v, size.height / 3)),
    ),
)
"""The paper's operations without those that resemble corruptions of the test sets."""


@declare("augmix", "AM", "mixture of chains of operations and the image itself, without JSD")
@dataclass(frozen=True)
class AugMix:
    r"""Mixture of `width` chains of operations and the image itself.

    .. math:: (1 - m)\,x + m \sum_i w_i\,c_i(x), \quad
        w \sim \text{Dirichlet}(\alpha, …, \alpha), \quad m \sim \text{Beta}(\alpha, \alpha)

    AugMix of Hendrycks et al. (ICLR 2020), without the loss that compares several mixtures (JSD).
    A chain has `depth` operations, or 1 to 3 of them, equally likely, if `depth` is -1; every
    operation has a strength of its own, uniform between 0.1 and `severity`. Operations that
    resemble corruptions of the test sets (colour, contrast, brightness, sharpness) are left out.
    Translations are up to a third of the image at strength 10; shears are about the upper left
    corner; places outside the image are black; interpolation is bilinear.

    Departures: nothing is rounded to 8 bits within a chain, and images are mixed as they are,
    before they are normalised, which is the same.

    >>> AugMix().spec
    'augmix(severity=3, width=3, depth=-1, alpha=1)'
    """

    severity: float = 3
    """Largest strength of operations, of 10."""
    width: int = 3
    """Number of chains."""
    depth: int = -1
    """Operations per chain; -1 for a random number."""
    alpha: float = 1
    """Of the laws of the weights."""

    takes_targets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        rule = f"lie between 0.1 and {MOST}"
        severity = check_real("severity", self.severity, rule, low=0.1, high=MOST)
        object.__setattr__(self, "severity", severity)
        object.__setattr__(self, "width", check_whole("width", self.width, least=1))
        object.__setattr__(self, "depth", check_whole("depth", self.depth, least=-1))
        if not self.depth:
            raise InputError("depth must be at least 1, or -1 for a random number, got 0")
        alpha = check_real("alpha", self.alpha, "lie between 0.1 and 1000", low=0.1, high=1000)
        object.__setattr__(self, "alpha", alpha)

    @property
    def spec(self) -> str:
        """Name and parameters."""
        return write_spec("augmix", self)

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operations of all chains: those of the first one for every image, and so on."""
        deepest = DEEPEST if self.depth < 0 else self.depth
        own = np.concatenate([fold(keys, i) for i in range(self.width)])
        numbers = uniforms(own, 1 + 3 * deepest)
        last = self.depth if self.depth > 0 else 1 + plans.draw_whole(numbers[:, 0], DEEPEST)
        steps = []
        for i in range(deepest):
            choice, strength, sign = numbers[:, 1 + 3 * i : 4 + 3 * i].T
            chosen = np.where(i < last, plans.draw_whole(choice, len(SPACE)), len(SPACE))
            levels = 0.1 + (self.severity - 0.1) * strength
            steps.append(plans.plan_step(SPACE, chosen, levels, plans.draw_signs(sign), size))
        return steps

    def draw_weights(self, keys: KeyArray) -> FloatArray:
        """Draw the weights of the image itself and of the chains, (images, 1 + width)."""
        u = uniforms(fold(keys, -1), 1 + self.width)
        if self.alpha == 1:  # closed forms are much faster
            share, parts = u[:, :1], -np.log1p(-u[:, 1:])
        else:
            share = betaincinv(self.alpha, self.alpha, u[:, :1])
            parts = gammaincinv(self.alpha, u[:, 1:])
        return np.hstack([1 - share, share * parts / parts.sum(axis=1, keepdims=True)])

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations.operations import (
            apply_steps,
            as_floats,
            as_given,
            check_colours,
            mix,
        )

        steps, images = self.draw(keys, check_colours(x, keys)), as_floats(x)
        rows = np.tile(np.arange(len(x)), self.width)
        chains = apply_steps(images, steps, interpolation="bilinear", rows=rows)
        parts = [images, *chains.view(self.width, *x.shape)]
        mixed = mix(parts, self.draw_weights(keys))
        return as_given(mixed, x)
