"""Brightness, saturate, contrast and pixelate: bit for bit what the original generators make.

They are not random: keys are not looked at.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions.common.digital_kernels import enlarge_pixels, flatten, shift_hsv
from shaketable.corruptions.common.severities import Parameters


def brightness(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Colours in HSV with `c` added to V, kept within [0, 1]; levels are cut off, not rounded."""
    (c,) = parameters
    return _shifted(images, factor=1.0, offset=0.0, brighten=c)


def saturate(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Colours in HSV with S replaced by ``factor * S + offset``, kept within [0, 1].

    Grey has hue 0, which is red: with an offset, grey pixels turn reddish, as in the originals.
    """
    factor, offset = parameters
    return _shifted(images, factor=factor, offset=offset, brighten=0.0)


def _shifted(images: Array, *, factor: float, offset: float, brighten: float) -> Array:
    out = np.empty_like(images)
    settings = (float(factor), float(offset), float(brighten))
    run_over_rows(shift_hsv, images, out, settings=settings)
    return out


def contrast(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Values drawn to the mean m of their channel over the picture: ``(x - m) * c + m``."""
    (c,) = parameters
    out = np.empty_like(images)
    run_over_rows(flatten, images, out, settings=(float(c),))
    return out


def pixelate(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Pictures of ``int(c * height)`` times ``int(c * width)`` pixels, enlarged to their old size.

    Both ways as Pillow's box filter, in fixed point: across first, rounded to levels, then down
    (Pillow 13 does it the other way round in tall pictures). The way back is the nearest pixel.
    """
    (c,) = parameters
    height, width = images.shape[1:3]
    rows, columns = max(1, int(height * c)), max(1, int(width * c))
    settings = (
        *_values(*box_weights(width, columns), images.shape[3]),
        _values(*box_weights(columns, width), images.shape[3])[0],
        *box_weights(height, rows),
        box_weights(rows, height)[0],
    )
    out = np.empty_like(images)
    run_over_rows(enlarge_pixels, images, out, settings=settings)
    return out


@lru_cache(maxsize=64)
def box_weights(size: int, boxes: int) -> tuple[IntArray, Array]:
    """First pixel of every box, and the weights of the pixels from there on, in units of 2**-22.

    A pixel counts if its centre lies in the box; between two boxes, it is in the first one.

    >>> first, weights = box_weights(5, 2)
    >>> first
    array([0, 2])
    >>> (weights * 2.0**-22).round(2)
    array([[0.33, 0.33, 0.33],
           [0.  , 0.5 , 0.5 ]])
    """
    scale = max(size / boxes, 1.0)
    centre = (np.arange(boxes)[:, None] + 0.5) * (size / boxes)
    first = np.maximum(centre - scale / 2 + 0.5, 0).astype(np.int64)
    last = np.minimum((centre + scale / 2 + 0.5).astype(np.int64), size) - 1
    pixel = np.arange(size)
    place = (pixel - centre + 0.5) * (1 / scale)
    inside = (first <= pixel) & (pixel <= last) & (place > -0.5) & (place <= 0.5)
    count = inside.sum(axis=1)
    weights = (inside / count[:, None] * 2.0**22 + 0.5).astype(np.int32)
    start = np.minimum(inside.argmax(axis=1), size - count.max())
    return start, np.take_along_axis(weights, start[:, None] + np.arange(count.max()), axis=1)


def _values(first: IntArray, weights: Array, channels: int) -> tuple[IntArray, Array]:
    """Boxes of pixels as boxes of values, and their weights with one row a step."""
    values = (first[:, None] * channels + np.arange(channels)).ravel()
    return values, np.ascontiguousarray(np.repeat(weights, channels, axis=0).T)
