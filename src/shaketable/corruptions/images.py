"""Arrays of images as corruptions see them: where the channels are, and values as 256 levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.image_layout import find_channels
from shaketable.core.types import Array
from shaketable.data.bounds import Bounds

if TYPE_CHECKING:
    from shaketable.corruptions.corruption import Corruption


class ImageLayout(NamedTuple):
    """Size of an image, and the order of its axes."""

    height: int
    width: int
    channels: int
    channels_first: bool


def find_layout(shape: tuple[int, ...], name: str) -> ImageLayout:
    """Return the layout of images of this shape; `name` is who asks, for error messages.

    >>> find_layout((3, 32, 40), "fog")
    ImageLayout(height=32, width=40, channels=3, channels_first=True)
    """
    if len(shape) == 2:
        return ImageLayout(shape[0], shape[1], 1, channels_first=False)
    if len(shape) != 3:
        raise InputError(
            f"{name} is for images, height x width x channels, got points of shape {shape}"
        )
    first = find_channels(shape) == "first"
    if shape[0] < shape[2] and not first:
        raise InputError(
            f"{name} cannot tell the channels of images of shape {shape}; put them last, as in "
            f"{(*shape[1:], shape[0])}"
        )
    height, width, channels = (*shape[1:], shape[0]) if first else shape
    return ImageLayout(height, width, channels, first)


def move_channels_last(images: Array, layout: ImageLayout) -> Array:
    """Return a view of a batch of images with the channels last, if they are first."""
    return np.moveaxis(images, 1, -1) if layout.channels_first else images


def to_images(levels: Array, layout: ImageLayout) -> Array:
    """Return uint8 images as the compiled code takes them: (n, height, width, channels) in order.

    They are copied only if they have to be.
    """
    images = move_channels_last(levels, layout).reshape(len(levels), *layout[:3])
    if images.flags.c_contiguous:
        return images
    if not layout.channels_first:
        return np.ascontiguousarray(images)
    from shaketable.corruptions.compiled.levels import interleave_channels  # slow to load

    return interleave_channels(levels)


def check_finite_range(bounds: Bounds | None, corruption: Corruption) -> Bounds:
    """Return the bounds; missing or infinite ones are an error that names the corruption."""
    if bounds is None or math.inf in (-bounds.low, bounds.high):
        raise InputError(
            f"{corruption.spec} needs a finite value range, and none is declared; give "
            + either("--bounds LOW,HIGH", "bounds=(low, high)")
        )
    return bounds


def find_ends(bounds: Bounds, *, levels: bool) -> tuple[float, float]:
    """Return the ends of the value range; if values are given as levels, which are uint8: 0, 255.

    >>> find_ends(Bounds(-1, 1), levels=True), find_ends(Bounds(-1, 1), levels=False)
    ((0, 255), (-1, 1))
    """
    return (0, 255) if levels else (bounds.low, bounds.high)


def to_levels(x: Array, bounds: Bounds) -> Array:
    """Return values as uint8, rounded to 256 levels; uint8 as it is. Others must be in bounds."""
    if x.dtype == np.uint8:
        return x
    bounds.check(x)
    from shaketable.corruptions.compiled.levels import round_to_levels  # compiled, slow to load

    return round_to_levels(x, bounds.low, 255 / (bounds.high - bounds.low))


def from_levels(images: Array, x: Array, bounds: Bounds, *, channels_first: bool) -> Array:
    """Return uint8 images, channels last, in the units, the type and the shape of `x`."""
    images = (np.moveaxis(images, -1, 1) if channels_first else images).reshape(x.shape)
    if x.dtype == np.uint8:
        return images
    if (bounds.low, bounds.high) == (0, 1) and x.dtype in (np.float32, np.float64):
        return np.asarray(images / x.dtype.type(255))  # the same numbers, ten times as fast
    span = bounds.high - bounds.low
    return np.asarray(images / 255 * span + bounds.low).astype(x.dtype)
