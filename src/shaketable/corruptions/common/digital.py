"""Brightness, saturate, contrast and pixelate: bit for bit as the original generators.

They are not random: keys are not used.
"""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs
# ruff: noqa: PLR0917

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.compiling import compiled
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, IntArray, KeyArray
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


# Compiled loops of brightness, saturate, contrast and pixelate, over batches of images.

_BLOCK = 256  # pixels whose colours are computed at a time
_BITS = 22  # after the point, of Pillow's weights
_HALF = np.int32(1 << (_BITS - 1))


@compiled
def shift_hsv(images, out, factor, offset, brighten):
    """Replace V by V + brighten and S by S * factor + offset, both clipped to [0, 1]."""
    pixels, shifted = images.reshape(-1, 3), out.reshape(-1, 3)
    r, g, b = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, len(pixels), _BLOCK):
        size = min(_BLOCK, len(pixels) - start)
        block = pixels[start : start + size]
        for i in range(size):
            r[i] = block[i, 0] / 255.0
            g[i] = block[i, 1] / 255.0
            b[i] = block[i, 2] / 255.0
        _shift(r[:size], g[:size], b[:size], factor, offset, brighten)
        block = shifted[start : start + size]
        for i in range(size):
            block[i, 0] = np.int32(r[i])
            block[i, 1] = np.int32(g[i])
            block[i, 2] = np.int32(b[i])


@compiled
def _shift(red, green, blue, factor, offset, brighten):
    """Shift colours in [0, 1], and scale them to [0, 255], in the order of scikit-image.

    There are selections but no branches, so that the loop is vectorised.
    """
    for i in range(len(red)):
        r, g, b = red[i], green[i], blue[i]
        v = max(r, g, b)
        delta = v - min(r, g, b)
        is_grey, is_blue, is_red = delta == 0.0, b == v, g != v
        more = r if is_blue else (g if is_red else b)
        less = g if is_blue else (b if is_red else r)
        start = 4.0 if is_blue else (0.0 if is_red else 2.0)
        h = (start + (more - less) / delta) / 6.0
        h += 1.0 if h < 0.0 else 0.0
        h *= 6.0
        h = 0.0 if is_grey else h
        s = delta / v
        s = 0.0 if is_grey else s

        s = min(max(s * factor + offset, 0.0), 1.0)
        v = min(max(v + brighten, 0.0), 1.0)

        sector = np.float64(np.int32(h))
        f = h - sector
        p = v * (1.0 - s) * 255.0
        q = v * (1.0 - f * s) * 255.0
        t = v * (1.0 - (1.0 - f) * s) * 255.0
        v *= 255.0
        odd = (sector == 1.0) | (sector == 3.0) | (sector == 5.0)
        early, middle = sector < 2.0, sector < 4.0
        first = q if odd else v
        second = v if odd else t
        red[i] = first if early else (p if middle else second)
        green[i] = second if early else (first if middle else p)
        blue[i] = p if early else (second if middle else first)


@compiled
def flatten(images, out, factor):
    """Move every value towards its channel's mean in the image, by a table of the 256 levels."""
    n, height, width, channels = images.shape
    size = height * width
    levels = np.arange(256) / 255.0
    table = np.empty((channels, 256), np.uint8)
    for row in range(n):
        pixels, flat = images[row].reshape(size, channels), out[row].reshape(size, channels)
        for c in range(channels):
            total = 0.0
            for i in range(size):
                total += levels[pixels[i, c]]
            mean = total / size
            for level in range(256):
                x = (levels[level] - mean) * factor + mean
                table[c, level] = np.int32(min(max(x, 0.0), 1.0) * 255.0)
            for i in range(size):
                flat[i, c] = table[c, pixels[i, c]]


@compiled
def enlarge_pixels(images, out, left, across, wide, top, down, high):
    """Write the mean of the pixels in every box to the pixels that are nearest to the box.

    For the values of a row, `left` holds the first value of every box, `across` the weights from
    there on, and `wide` the box of every value of the result; `top`, `down` and `high` are the
    same for rows.
    """
    n, height, width, channels = images.shape
    size = len(left)
    narrow = np.empty((height, size), np.uint8)
    small = np.empty((len(top), size), np.uint8)
    total = np.empty(size, np.int32)
    for row in range(n):
        for y in range(height):
            line = images[row, y].reshape(-1)
            total[:] = _HALF
            for k in range(len(across)):
                for i in range(size):
                    total[i] += across[k, i] * np.int32(line[left[i] + k * channels])
            for i in range(size):
                narrow[y, i] = total[i] >> _BITS
        for y in range(len(top)):
            total[:] = _HALF
            for k in range(down.shape[1]):
                weight, line = down[y, k], narrow[top[y] + k]
                for i in range(size):
                    total[i] += weight * np.int32(line[i])
            for i in range(size):
                small[y, i] = total[i] >> _BITS
        for y in range(height):
            line, target = small[high[y]], out[row, y].reshape(-1)
            for i in range(width * channels):
                target[i] = line[wide[i]]
