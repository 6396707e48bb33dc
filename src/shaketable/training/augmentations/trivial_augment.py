"""TrivialAugment: one operation per image, of any strength."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shaketable.core.keys import uniforms
from shaketable.core.types import FloatArray, KeyArray
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.plans import Columns, Kind, Operation, Size, Step
from shaketable.training.augmentations.registry import declare, write_spec

if TYPE_CHECKING:
    from torch import Tensor

MOST = 30
"""The largest strength."""


def _scale(levels: FloatArray, most: float) -> FloatArray:
    return levels * most / MOST


def _scale_whole(levels: FloatArray, most: float) -> FloatArray:
    return np.floor(levels * most / MOST)


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


@lru_cache(maxsize=16)
def _tabulate(size: Size) -> Step:
    """Return all that can be drawn for images of a size: a table, which is faster than planning."""
    return plans.tabulate(WIDE, np.arange(MOST + 1.0), size)


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

    >>> TrivialAugment().spec
    'trivialaugment'
    """

    takes_targets: ClassVar[bool] = False

    @property
    def spec(self) -> str:
        """Its name."""
        return write_spec("trivialaugment", self)

    def draw(self, keys: KeyArray, size: Size) -> list[Step]:
        """Draw the operation of every image."""
        choice, strength, sign = uniforms(keys, 3).T
        levels, chosen = plans.draw_whole(strength, MOST + 1), plans.draw_whole(choice, len(WIDE))
        return [_tabulate(size).take(((MOST + 1) * chosen + levels) * 2 + (sign >= 0.5))]

    def __call__(self, x: Tensor, keys: KeyArray) -> Tensor:
        """Return changed images; see `ImageAugmentation`."""
        from shaketable.training.augmentations.operations import augment

        return augment(x, keys, self.draw, interpolation="nearest")
