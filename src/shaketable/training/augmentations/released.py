"""RandAugment and AugMix as torchvision has them, with which the p-norm paper's authors trained.

Their code crops Pillow images, looks up the name in ``torchvision.transforms``, passes no option,
and makes tensors last. So RandAugment's operations are those of Pillow. AugMix turns an image into
a tensor itself, and its operations are those of torchvision on tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, uniforms
from shaketable.core.types import FloatArray, KeyArray
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.auto_augment import ChainMixture
from shaketable.training.augmentations.plans import Columns, Kind, Operation, Size, Step
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor

STRONGEST = 30
"""The largest magnitude of RandAugment: there are 31, from 0."""

BINS = 10
"""Magnitudes of operations of AugMix."""


def _ramp(first: float, last: float, bins: int) -> FloatArray:
    """Evenly spaced numbers in float32, computed from both ends as torch does."""
    start, end, i = np.float32(first), np.float32(last), np.arange(bins, dtype=np.float32)
    step = (end - start) / np.float32(bins - 1)
    found = np.where(i < bins // 2, start + step * i, end - step * (bins - 1 - i))
    return found.astype(np.float64)


def _check_up_to(name: str, value: int, least: int, most: int) -> int:
    number = check_whole(name, value, least=least)
    if number > most:
        raise InputError(f"{name} must be at most {most}, got {number}")
    return number


def _make_space(bins: int, reach: float, bits: int) -> tuple[Operation, ...]:
    """Return the operations that both have, of magnitudes 0 to bins - 1.

    Translations are up to a share of the side, and posterize keeps this many bits at magnitude 0.
    """
    shears, degrees = _ramp(0, 0.3, bins), _ramp(0, 30, bins)
    changes, thresholds = _ramp(0, 0.9, bins), _ramp(255, 0, bins)
    kept = bits - np.round(np.arange(bins) / ((bins - 1) / 4))

    def change(v: FloatArray, signs: FloatArray, _size: Size) -> Columns:
        own = signs * changes[v.astype(int)]
        return 1 + own, -own

    def move(v: FloatArray, signs: FloatArray, side: int) -> FloatArray:
        return -signs * np.floor(v * (reach * side) / (bins - 1))

    return (
        Operation("shear_x", Kind.AFFINE, lambda v, s, _: plans.shear_x(s * shears[v.astype(int)])),
        Operation("shear_y", Kind.AFFINE, lambda v, s, _: plans.shear_y(s * shears[v.astype(int)])),
        Operation(
            "translate_x", Kind.AFFINE, lambda v, s, size: plans.translate_x(move(v, s, size.width))
        ),
        Operation(
            "translate_y",
            Kind.AFFINE,
            lambda v, s, size: plans.translate_y(move(v, s, size.height)),
        ),
        Operation(
            "rotate",
            Kind.AFFINE,
            lambda v, s, size: plans.rotate(s * degrees[v.astype(int)], size),
        ),
        Operation("brightness", Kind.SCALE, change),
        Operation("color", Kind.COLOUR, change),
        Operation("contrast", Kind.CONTRAST, change),
        Operation("sharpness", Kind.SHARPNESS, change),
        Operation(
            "posterize", Kind.POSTERIZE, lambda v, _s, _: plans.posterize(kept[v.astype(int)])
        ),
        Operation("solarize", Kind.SOLARIZE, lambda v, _s, _: (thresholds[v.astype(int)],)),
        Operation("autocontrast", Kind.AUTOCONTRAST),
        Operation("equalize", Kind.EQUALIZE),
    )


DRAWN = (Operation("identity", Kind.IDENTITY), *_make_space(STRONGEST + 1, 150 / 331, 8))
"""The 14 operations of RandAugment."""

CHAINED = _make_space(BINS, 1 / 3, 4)
"""The 13 operations of AugMix, with those that resemble corruptions of the test sets."""


@declare(
    "tv-randaugment", "RA-TV", "n of 14 operations per image, repeated at times, as torchvision has"
)
@dataclass(frozen=True)
class TorchvisionRandAugment:
    """`n` of 14 operations per image, each drawn anew, all of magnitude `m` of 0 to 30.

    RandAugment of Cubuk et al. (2020) as torchvision has it, by its defaults, and as Siedel et al.
    (2024) trained with it. Doing nothing is one of the 14, and an operation can be drawn twice.
    Shears are up to 0.3 about the upper left corner, translations up to 150/331 of the side,
    rotations up to 30°, changes of colour, contrast, brightness and sharpness up to 90 % either
    way; posterize keeps 8 to 4 bits, and solarize inverts from 255 down to 0. Places outside the
    image are black, and the nearest pixel is taken. Operations are Pillow's, which round to 8 bits
    after each; floats are rounded to 256 levels first.

    Parameters
    ----------
    n
        Number of operations per image.
    m
        Their magnitude, up to 30.

    Examples
    --------
    >>> TorchvisionRandAugment().spec
    'tv-randaugment(n=2, m=9)'
    """

    n: int = 2
    """Operations per image."""
    m: int = 9
    """Magnitude, a whole number of 0 to 30."""

    takes_targets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_whole("n", self.n, least=1))
        object.__setattr__(self, "m", _check_up_to("m", self.m, 0, STRONGEST))

    @property
    def spec(self) -> str:
        """Name, number of operations and magnitude."""
        return write_spec("tv-randaugment", self)

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
        >>> len(TorchvisionRandAugment().draw(keys, Size(8, 8)))
        2
        """
        chosen = plans.draw_whole(uniforms(fold(keys, 0), self.n), len(DRAWN))
        entries = 2 * chosen + (uniforms(fold(keys, 1), self.n) >= 0.5)
        table = plans.tabulate(DRAWN, (self.m,), size)
        return [table.take(entries[:, i]) for i in range(self.n)]

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations import eight_bit
        from shaketable.training.augmentations.operations import apply_steps, check_colours

        steps = self.draw(keys, check_colours(x, keys))
        found = apply_steps(eight_bit.as_levels(x), steps, rules=eight_bit.PILLOW)
        return eight_bit.from_levels(found, x)


@declare(
    "tv-augmix", "AM-TV", "mixture of chains of 13 operations and the image, as torchvision has"
)
@dataclass(frozen=True)
class TorchvisionAugMix(ChainMixture):
    r"""Mixture of `width` chains of operations and the image itself, all of 13 operations.

    .. math:: \lfloor (1 - m)\,x + m \sum_i w_i\,c_i(x) \rfloor, \quad
        w \sim \text{Dirichlet}(\alpha, \ldots, \alpha), \quad m \sim \text{Beta}(\alpha, \alpha)

    AugMix of Hendrycks et al. (2020) as torchvision has it, by its defaults, and as Siedel et al.
    (2024) trained with it. Operations that resemble corruptions of the test sets (colour, contrast,
    brightness, sharpness) are among the 13, unlike in `AugMix`. A chain has `depth` of them, or 1
    to 3, equally likely, if `depth` is -1; every operation has a magnitude of its own, one of
    the first `severity` of ten. The first is 0, at which most operations do nothing.

    Interpolation is bilinear; places outside the image are black, and pixels at edges are mixed
    with that. Operations round to 8 bits after each, and the mixture is cut off to 8 bits, which
    makes images half a level darker; floats are rounded to 256 levels first.

    Parameters
    ----------
    severity
        How many of the ten magnitudes are drawn from.
    width
        Number of chains.
    depth
        Number of operations per chain; -1 draws it from 1 to 3.
    alpha
        Parameter of the distributions of the weights.

    Examples
    --------
    >>> TorchvisionAugMix().spec
    'tv-augmix(severity=3, width=3, depth=-1, alpha=1)'
    """

    severity: int = 3
    """How many of the ten magnitudes are drawn from."""

    operations: ClassVar[tuple[Operation, ...]] = CHAINED

    def __post_init__(self) -> None:
        object.__setattr__(self, "severity", _check_up_to("severity", self.severity, 1, BINS))
        super().__post_init__()

    @property
    def spec(self) -> str:
        """Name and parameters."""
        return write_spec("tv-augmix", self)

    def choose_strengths(self, uniform: FloatArray) -> FloatArray:
        """Return magnitudes, one of the first `severity`; see `draw`."""
        return plans.draw_whole(uniform, self.severity).astype(np.float64)

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations import eight_bit
        from shaketable.training.augmentations.operations import apply_steps, check_colours

        steps, images = self.draw(keys, check_colours(x, keys)), eight_bit.as_levels(x)
        rows = np.tile(np.arange(len(x)), self.width)
        chains = apply_steps(images, steps, rows=rows, rules=eight_bit.TORCHVISION)
        chains = chains.view(self.width, *x.shape)
        mixed = eight_bit.mix_levels(images, [*chains], self.draw_weights(keys))
        return eight_bit.from_levels(mixed, x)
