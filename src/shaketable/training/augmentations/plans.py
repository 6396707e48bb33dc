"""Plans: which operation every image of a batch gets, and with which parameters.

A *space* is a list of operations to choose from. Parameters are computed here, on the host, for
all images that have drawn the same operation; `operations` applies them.

Affine operations map places in the result to places in the image, in pixels:
``x' = a x + b y + c`` and ``y' = d x + e y + f``. The centre of the first pixel is (0.5, 0.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from shaketable.core.types import FloatArray, IntArray

Columns: TypeAlias = "tuple[FloatArray | float, ...]"
"""Parameters of an operation: one number for all images, or one per image."""

WIDTH = 6
"""Most parameters that an operation has."""


class Size(NamedTuple):
    """Height and width of the images, in pixels."""

    height: int
    width: int


class Kind(IntEnum):
    """What is computed; the comment names the parameters."""

    AFFINE = 0  # a, b, c, d, e, f
    SCALE = 1  # factor
    SHIFT = 2  # amount
    COLOUR = 3  # factor
    SATURATION = 4  # factor
    CONTRAST = 5  # factor
    SHARPNESS = 6  # factor
    POSTERIZE = 7  # distance of the levels that are kept, of 256
    SOLARIZE = 8  # threshold, amount that is added before
    AUTOCONTRAST = 9
    EQUALIZE = 10
    IDENTITY = 11  # last: these images are passed on as they are


@dataclass(frozen=True)
class Operation:
    """An operation of a space."""

    name: str
    kind: Kind
    parameters: Callable[[FloatArray, FloatArray, Size], Columns] = lambda _levels, _signs, _: ()
    """Of strengths, signs (1 or -1), both one per image, and the size of the images."""


@dataclass(frozen=True, eq=False)
class Step:
    """One operation for every image."""

    kinds: IntArray
    """A `Kind` per image."""
    parameters: FloatArray
    """(images, `WIDTH`); those that a kind does not have are 0."""

    def take(self, rows: IntArray) -> Step:
        """Return the step of these images, or of entries of a table."""
        return Step(self.kinds[rows], self.parameters[rows])


@lru_cache(maxsize=32)
def tabulate(space: tuple[Operation, ...], levels: tuple[float, ...], size: Size) -> Step:
    """Return every operation with every strength and both signs, which vary the fastest.

    It is all that can be drawn for images of a size: taking from a table is faster than planning.
    """
    entries = np.arange(len(space) * len(levels) * 2)
    signs = np.where(entries % 2, 1.0, -1.0)
    chosen, level = np.divmod(entries // 2, len(levels))
    return plan_step(space, chosen, np.array(levels, np.float64)[level], signs, size)


def plan_step(
    space: Sequence[Operation], chosen: IntArray, levels: FloatArray, signs: FloatArray, size: Size
) -> Step:
    """Return the step in which image i gets operation ``space[chosen[i]]``.

    The operation that follows the last one is to do nothing.
    """
    kinds = np.array([*(operation.kind for operation in space), Kind.IDENTITY])[chosen]
    order = np.argsort(chosen, kind="stable")
    levels, signs = levels[order], signs[order]
    ends = np.searchsorted(chosen[order], np.arange(len(space)), side="right").tolist()
    found, start = np.zeros((len(chosen), WIDTH)), 0
    for operation, end in zip(space, ends, strict=True):
        own = slice(start, end)
        if end > start:
            for column, values in enumerate(operation.parameters(levels[own], signs[own], size)):
                found[own, column] = values
        start = end
    parameters = np.empty_like(found)
    parameters[order] = found
    return Step(kinds, parameters)


def draw_whole(u: FloatArray, n: int) -> IntArray:
    """Whole numbers 0 to n - 1, equally likely, from uniform numbers."""
    return np.minimum((u * n).astype(np.int64), n - 1)


def shear_x(shear: FloatArray, *, fixed: float = 0) -> Columns:
    """Shear along rows; the row at height `fixed` stays where it is."""
    return 1.0, shear, -shear * fixed, 0.0, 1.0, 0.0


def shear_y(shear: FloatArray, *, fixed: float = 0) -> Columns:
    """Shear along columns; the column at `fixed` stays where it is."""
    return 1.0, 0.0, 0.0, shear, 1.0, -shear * fixed


def translate_x(pixels: FloatArray) -> Columns:
    """Move the image to the left."""
    return 1.0, 0.0, pixels, 0.0, 1.0, 0.0


def translate_y(pixels: FloatArray) -> Columns:
    """Move the image up."""
    return 1.0, 0.0, 0.0, 0.0, 1.0, pixels


def rotate(degrees: FloatArray, size: Size) -> Columns:
    """Rotate the image anticlockwise about its centre."""
    angle = -np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = size.width / 2, size.height / 2
    return cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y


def posterize(bits: FloatArray) -> Columns:
    """Keep so many of 8 bits."""
    return (2.0 ** (8 - bits),)


def solarize(level: FloatArray) -> Columns:
    """Invert values from this one of 256 levels on; halfway to the level below, for rounding."""
    return ((level - 0.5) / 255,)
