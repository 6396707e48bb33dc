"""RandAugment: several operations per image, all of one strength."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

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
"""The largest magnitude."""


def _factor(v: FloatArray, _signs: FloatArray, _size: Size) -> Columns:
    return (0.1 + 1.8 * v,)


def _slope(v: FloatArray, signs: FloatArray) -> FloatArray:
    return signs * np.tan(np.deg2rad(54 * v))


SPACE = (
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


@lru_cache(maxsize=16)
def _tabulate(m: float, size: Size) -> Step:
    """Return all that can be drawn for images of a size: a table, which is faster than planning."""
    return plans.tabulate(SPACE, np.array([m / MOST]), size)


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
        if self.n > len(SPACE):
            raise InputError(
                f"n must be at most {len(SPACE)}, the number of operations, got {self.n}"
            )
        rule = f"lie between 0 and {MOST}"
        object.__setattr__(self, "m", check_real("m", self.m, rule, low=0, high=MOST))

    @property
    def spec(self) -> str:
        """Name, number of operations and magnitude."""
        return write_spec("randaugment", self)

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operations of every image."""
        chosen = np.argsort(uniforms(fold(keys, 0), len(SPACE)), axis=1)[:, : self.n]
        entries = 2 * chosen + (uniforms(fold(keys, 1), self.n) >= 0.5)
        table = _tabulate(self.m, size)
        return [table.take(entries[:, i]) for i in range(self.n)]

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations.operations import augment

        return augment(x, keys, self.draw, interpolation="bilinear")
