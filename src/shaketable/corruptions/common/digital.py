"""Brightness, saturate, contrast and pixelate: bit for bit as the original generators.

They are not random: keys are not used.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.corruptions.common.digital_kernels import enlarge_pixels, flatten, shift_hsv
from shaketable.corruptions.common.severities import Parameters


def brightness(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Colours in HSV with `c` added to V, clipped to [0, 1]; levels are truncated, not rounded."""
    (c,) = parameters
    return _shift_colours(images, factor=1.0, offset=0.0, brighten=c)


def saturate(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Colours in HSV with S replaced by ``factor * S + offset``, clipped to [0, 1].

    Grey has hue 0, which is red: with an offset, grey pixels become reddish, as in the original.
    """
    factor, offset = parameters
    return _shift_colours(images, factor=factor, offset=offset, brighten=0.0)


def _shift_colours(images: Array, *, factor: float, offset: float, brighten: float) -> Array:
    out = np.empty_like(images)
    settings = (float(factor), float(offset), float(brighten))
    run_over_rows(shift_hsv, images, out, settings=settings)
    return out


def contrast(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Values moved towards the mean m of their channel in the image: ``(x - m) * c + m``."""
    (c,) = parameters
    out = np.empty_like(images)
    run_over_rows(flatten, images, out, settings=(float(c),))
    return out


def pixelate(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Images reduced to ``int(c * height)`` x ``int(c * width)`` pixels, and enlarged again.

    Reduced by Pillow's box filter, in fixed point: horizontally first, rounded to levels, then
    vertically (Pillow 13 has the reverse order for tall images). Enlarged by the nearest pixel.
    """
    (c,) = parameters
    height, width = images.shape[1:3]
    rows, columns = max(1, int(height * c)), max(1, int(width * c))
    settings = (
        *_to_values(*box_weights(width, columns), images.shape[3]),
        _to_values(*box_weights(columns, width), images.shape[3])[0],
        *box_weights(height, rows),
        box_weights(rows, height)[0],
    )
    out = np.empty_like(images)
    run_over_rows(enlarge_pixels, images, out, settings=settings)
    return out


@lru_cache(maxsize=64)
def box_weights(size: int, boxes: int) -> tuple[IntArray, Array]:
    """Return the first pixel of every box, and the weights of pixels from there on, times 2**22.

    A pixel counts if its centre is in the box; a centre between two boxes is in the first.

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


def _to_values(first: IntArray, weights: Array, channels: int) -> tuple[IntArray, Array]:
    """Turn boxes of pixels into boxes of values; their weights get one row per step."""
    values = (first[:, None] * channels + np.arange(channels)).ravel()
    return values, np.ascontiguousarray(np.repeat(weights, channels, axis=0).T)
