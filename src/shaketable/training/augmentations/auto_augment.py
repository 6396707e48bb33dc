"""Automatic augmentation: TrivialAugment, RandAugment and AugMix draw operations per image."""

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
from shaketable.training.augmentations.plans import Columns, Kind, Operation, Size, Step
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor

MOST = 30
"""The largest strength of TrivialAugment, and the largest magnitude of RandAugment."""

MOST_MIXED = 10
"""The largest strength of AugMix."""

DEEPEST = 3
"""Most operations of a chain of AugMix if its length is drawn."""


def _scale(levels: FloatArray, most: float, of: int = MOST) -> FloatArray:
    return levels * most / of


def _scale_whole(levels: FloatArray, most: float, of: int = MOST) -> FloatArray:
    return np.floor(levels * most / of)


def _enhance(levels: FloatArray, _signs: FloatArray, _size: Size) -> Columns:
    return (0.01 + _scale(levels, 1.99),)


WIDE = (
    Operation("identity", Kind.IDENTITY),
    Operation("autocontrast", Kind.AUTOCONTRAST),
    Operation("equalize", Kind.EQUALIZE),
    Operation(
        "rotate", Kind.AFFINE, lambda v, s, size: plans.rotate(s * _scale_whole(v, 135), size)
    ),
    Operation(
        "solarize", Kind.SOLARIZE, lambda v, _s, _: plans.solarize(256 - _scale_whole(v, 256))
    ),
    Operation("color", Kind.COLOUR, _enhance),
    Operation(
        "posterize", Kind.POSTERIZE, lambda v, _s, _: plans.posterize(8 - _scale_whole(v, 6))
    ),
    Operation("contrast", Kind.CONTRAST, _enhance),
    Operation("brightness", Kind.SCALE, _enhance),
    Operation("sharpness", Kind.SHARPNESS, _enhance),
    Operation("shear_x", Kind.AFFINE, lambda v, s, _: plans.shear_x(s * _scale(v, 0.99))),
    Operation("shear_y", Kind.AFFINE, lambda v, s, _: plans.shear_y(s * _scale(v, 0.99))),
    Operation(
        "translate_x", Kind.AFFINE, lambda v, s, _: plans.translate_x(s * _scale_whole(v, 32))
    ),
    Operation(
        "translate_y", Kind.AFFINE, lambda v, s, _: plans.translate_y(s * _scale_whole(v, 32))
    ),
)
"""The wide space of the paper: 14 operations with strengths 0 to 30."""


@declare("trivialaugment", "TA", "one of 14 operations per image, of any strength")
@dataclass(frozen=True)
class TrivialAugment:
    """One of 14 operations per image, its strength drawn uniformly from 0, 1, …, 30.

    TrivialAugment of Müller & Hutter (ICCV 2021) with their wide space, by the ranges of their
    code: shears up to 0.99 about the upper left corner, translations up to 32 pixels whatever the
    size, rotations up to 135°, factors of enhancement from 0.01 to 2. The signs of shears,
    translations and rotations are random. Places outside the image are black, and the nearest
    pixel is taken.

    Departures: between the operation and the result nothing is rounded to 8 bits, unless uint8 was
    given. torchvision's version rounds the bits of posterize instead of cutting them off, inverts
    white pixels at strength 0 of solarize, and draws enhancements as 1 ± 0.033 strength.

    Examples
    --------
    >>> TrivialAugment().spec
    'trivialaugment'
    """

    takes_targets: ClassVar[bool] = False

    @property
    def spec(self) -> str:
        """Its name."""
        return write_spec("trivialaugment", self)

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operation of every image.

        Parameters
        ----------
        keys
            One key per image.
        size
            Height and width of the images.

        Returns
        -------
        list[Step]
            One step.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> keys = row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> len(TrivialAugment().draw(keys, Size(8, 8))) > 0
        True
        """
        choice, strength, sign = uniforms(keys, 3).T
        levels, chosen = plans.draw_whole(strength, MOST + 1), plans.draw_whole(choice, len(WIDE))
        table = plans.tabulate(WIDE, tuple(range(MOST + 1)), size)
        return [table.take(((MOST + 1) * chosen + levels) * 2 + (sign >= 0.5))]

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations.operations import augment

        return augment(x, keys, self.draw, interpolation="nearest")


def _factor(v: FloatArray, _signs: FloatArray, _size: Size) -> Columns:
    return (0.1 + 1.8 * v,)


def _slope(v: FloatArray, signs: FloatArray) -> FloatArray:
    return signs * np.tan(np.deg2rad(54 * v))


OF_KORNIA = (
    Operation("auto_contrast", Kind.AUTOCONTRAST),
    Operation("equalize", Kind.EQUALIZE),
    Operation("invert", Kind.SOLARIZE),
    Operation("rotate", Kind.AFFINE, lambda v, s, size: plans.rotate(s * 30 * v, size)),
    Operation("posterize", Kind.POSTERIZE, lambda v, _s, _: plans.posterize(np.floor(8 - 4 * v))),
    Operation("solarize", Kind.SOLARIZE, lambda v, _s, _: (v,)),
    Operation("solarize_add", Kind.SOLARIZE, lambda v, _s, _: (0.5, 0.43 * v)),
    Operation("color", Kind.SATURATION, _factor),
    Operation("contrast", Kind.SCALE, _factor),
    Operation("brightness", Kind.SHIFT, lambda v, _s, _: (1.8 * v - 0.9,)),
    Operation("sharpness", Kind.SHARPNESS, _factor),
    Operation(
        "shear_x",
        Kind.AFFINE,
        lambda v, s, size: plans.shear_x(_slope(v, s), fixed=size.height / 2),
    ),
    Operation(
        "shear_y",
        Kind.AFFINE,
        lambda v, s, size: plans.shear_y(_slope(v, s), fixed=size.width / 2),
    ),
    Operation(
        "translate_x", Kind.AFFINE, lambda v, s, size: plans.translate_x(s * 0.1 * v * size.width)
    ),
    Operation(
        "translate_y", Kind.AFFINE, lambda v, s, size: plans.translate_y(s * 0.1 * v * size.height)
    ),
)
"""kornia's operations and ranges, of a strength between 0 and 1."""


@declare("randaugment", "RA", "n different operations per image, all of magnitude m of 30")
@dataclass(frozen=True)
class RandAugment:
    """`n` different operations per image, all of magnitude `m` of 30, with random signs.

    RandAugment of Cubuk et al. (2020) with the 15 operations of kornia, their ranges and their
    meaning: brightness is added, contrast is a factor, colour is the saturation of HSV, solarize
    inverts more the smaller `m` is, and shears are up to 54° about the centre. Places outside the
    image are black; interpolation is bilinear.

    Departures: kornia draws the operations once for a whole batch; here every image has its own, as
    in the paper. The paper may draw an operation twice; kornia does not, nor do we. kornia draws
    the threshold of solarize_add although it documents 0.5; here it is 0.5. Two rules are Pillow's:
    at edges the nearest pixel is not mixed with black, and a constant channel is left alone by
    auto_contrast.

    Parameters
    ----------
    n
        Number of operations per image.
    m
        Their magnitude, up to 30.

    Examples
    --------
    >>> RandAugment().spec
    'randaugment(n=2, m=9)'
    """

    n: int = 2
    """Operations per image."""
    m: float = 9
    """Magnitude, between 0 and 30."""

    takes_targets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_whole("n", self.n, least=1))
        if self.n > len(OF_KORNIA):
            raise InputError(
                f"n must be at most {len(OF_KORNIA)}, the number of operations, got {self.n}"
            )
        rule = f"lie between 0 and {MOST}"
        object.__setattr__(self, "m", check_real("m", self.m, rule, low=0, high=MOST))

    @property
    def spec(self) -> str:
        """Name, number of operations and magnitude."""
        return write_spec("randaugment", self)

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operations of every image.

        Parameters
        ----------
        keys
            One key per image.
        size
            Height and width of the images.

        Returns
        -------
        list[Step]
            One step per operation.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> keys = row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> len(RandAugment().draw(keys, Size(8, 8))) > 0
        True
        """
        chosen = np.argsort(uniforms(fold(keys, 0), len(OF_KORNIA)), axis=1)[:, : self.n]
        entries = 2 * chosen + (uniforms(fold(keys, 1), self.n) >= 0.5)
        table = plans.tabulate(OF_KORNIA, (self.m / MOST,), size)
        return [table.take(entries[:, i]) for i in range(self.n)]

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations.operations import augment

        return augment(x, keys, self.draw, interpolation="bilinear")


MIXED = (
    Operation("autocontrast", Kind.AUTOCONTRAST),
    Operation("equalize", Kind.EQUALIZE),
    Operation(
        "posterize",
        Kind.POSTERIZE,
        lambda v, _s, _: plans.posterize(4 - _scale_whole(v, 4, MOST_MIXED)),
    ),
    Operation(
        "rotate",
        Kind.AFFINE,
        lambda v, s, size: plans.rotate(s * _scale_whole(v, 30, MOST_MIXED), size),
    ),
    Operation(
        "solarize",
        Kind.SOLARIZE,
        lambda v, _s, _: plans.solarize(256 - _scale_whole(v, 256, MOST_MIXED)),
    ),
    Operation(
        "shear_x", Kind.AFFINE, lambda v, s, _: plans.shear_x(s * _scale(v, 0.3, MOST_MIXED))
    ),
    Operation(
        "shear_y", Kind.AFFINE, lambda v, s, _: plans.shear_y(s * _scale(v, 0.3, MOST_MIXED))
    ),
    Operation(
        "translate_x",
        Kind.AFFINE,
        lambda v, s, size: plans.translate_x(s * _scale_whole(v, size.width / 3, MOST_MIXED)),
    ),
    Operation(
        "translate_y",
        Kind.AFFINE,
        lambda v, s, size: plans.translate_y(s * _scale_whole(v, size.height / 3, MOST_MIXED)),
    ),
)
"""The paper's operations without those that resemble corruptions of the test sets."""


@dataclass(frozen=True)
class ChainMixture:
    """What both kinds of AugMix share: chains of operations, and the weights of their mixture."""

    severity: float = 3
    """Largest strength of operations, of 10."""
    width: int = 3
    """Number of chains."""
    depth: int = -1
    """Operations per chain; -1 for a random number."""
    alpha: float = 1
    """Of the laws of the weights."""

    takes_targets: ClassVar[bool] = False
    operations: ClassVar[tuple[Operation, ...]]
    """Those that chains are made of."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", check_whole("width", self.width, least=1))
        object.__setattr__(self, "depth", check_whole("depth", self.depth, least=-1))
        if not self.depth:
            raise InputError("depth must be at least 1, or -1 for a random number, got 0")
        alpha = check_real("alpha", self.alpha, "lie between 0.1 and 1000", low=0.1, high=1000)
        object.__setattr__(self, "alpha", alpha)

    def choose_strengths(self, uniform: FloatArray) -> FloatArray:
        """Return strengths of operations, from numbers uniform between 0 and 1."""
        raise NotImplementedError

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operations of all chains: those of the first one for every image, and so on.

        Parameters
        ----------
        keys
            One key per image.
        size
            Height and width of the images.

        Returns
        -------
        list[Step]
            One step per operation.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> keys = row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> len(AugMix(depth=2).draw(keys, Size(8, 8)))
        2
        """
        deepest = DEEPEST if self.depth < 0 else self.depth
        own = np.concatenate([fold(keys, i) for i in range(self.width)])
        numbers = uniforms(own, 1 + 3 * deepest)
        last = self.depth if self.depth > 0 else 1 + plans.draw_whole(numbers[:, 0], DEEPEST)
        steps, count = [], len(self.operations)
        for i in range(deepest):
            choice, strength, sign = numbers[:, 1 + 3 * i : 4 + 3 * i].T
            chosen = np.where(i < last, plans.draw_whole(choice, count), count)
            signs, levels = np.where(sign < 0.5, -1.0, 1.0), self.choose_strengths(strength)
            steps.append(plans.plan_step(self.operations, chosen, levels, signs, size))
        return steps

    def draw_weights(self, keys: KeyArray) -> FloatArray:
        """Draw the weights of the image itself and of the chains, (images, 1 + width).

        Parameters
        ----------
        keys
            One key per image.

        Returns
        -------
        FloatArray
            Weights, which add up to 1 for every image.

        Examples
        --------
        >>> from shaketable.core.keys import row_keys
        >>> keys = row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> AugMix().draw_weights(keys).shape
        (2, 4)
        """
        return draw_mixture(keys, self.width, self.alpha)


@declare("augmix", "AM", "mixture of chains of operations and the image itself, without JSD")
@dataclass(frozen=True)
class AugMix(ChainMixture):
    r"""Mixture of `width` chains of operations and the image itself.

    .. math:: (1 - m)\,x + m \sum_i w_i\,c_i(x), \quad
        w \sim \text{Dirichlet}(\alpha, \ldots, \alpha), \quad m \sim \text{Beta}(\alpha, \alpha)

    AugMix of Hendrycks et al. (ICLR 2020), without the loss that compares several mixtures (JSD).
    A chain has `depth` operations, or 1 to 3 of them, equally likely, if `depth` is -1; every
    operation has a strength of its own, uniform between 0.1 and `severity`. Operations that
    resemble corruptions of the test sets (colour, contrast, brightness, sharpness) are left out.
    Translations are up to a third of the image at strength 10; shears are about the upper left
    corner; places outside the image are black; interpolation is bilinear.

    Departures: nothing is rounded to 8 bits within a chain, and images are mixed as they are,
    before they are normalised, which is the same.

    Parameters
    ----------
    severity
        Strength of the operations, up to 10.
    width
        Number of chains.
    depth
        Number of operations per chain; -1 draws it from 1 to 3.
    alpha
        Parameter of the distributions of the weights.

    Examples
    --------
    >>> AugMix().spec
    'augmix(severity=3, width=3, depth=-1, alpha=1)'
    """

    operations: ClassVar[tuple[Operation, ...]] = MIXED

    def __post_init__(self) -> None:
        rule = f"lie between 0.1 and {MOST_MIXED}"
        severity = check_real("severity", self.severity, rule, low=0.1, high=MOST_MIXED)
        object.__setattr__(self, "severity", severity)
        super().__post_init__()

    @property
    def spec(self) -> str:
        """Name and parameters."""
        return write_spec("augmix", self)

    def choose_strengths(self, uniform: FloatArray) -> FloatArray:
        """Return strengths between 0.1 and `severity`; see `draw`."""
        return 0.1 + (self.severity - 0.1) * uniform

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


def draw_mixture(keys: KeyArray, width: int, alpha: float) -> FloatArray:
    """Draw weights of an image, by Beta(alpha, alpha), and of `width` chains, by Dirichlet.

    >>> draw_mixture(np.zeros(1, np.uint64), 3, 1.0).sum().round(12)
    np.float64(1.0)
    """
    u = uniforms(fold(keys, -1), 1 + width)
    if alpha == 1:  # closed forms are much faster
        share, parts = u[:, :1], -np.log1p(-u[:, 1:])
    else:
        share = betaincinv(alpha, alpha, u[:, :1])
        parts = gammaincinv(alpha, u[:, 1:])
    return np.hstack([1 - share, share * parts / parts.sum(axis=1, keepdims=True)])
