"""JPEG compression: bit for bit as Pillow with its default settings."""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shaketable.core.compiling import inlined, summed
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.severities import Parameters

# quantisation steps that the standard suggests for quality 50 (ITU-T T.81, Annex K)
_LUMA = np.array([
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
])  # fmt: skip
_CHROMA = np.full((8, 8), 99)
_CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]


def jpeg_compression(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Images as they come back from a JPEG file of a `quality` from 1 to 100.

    Baseline, chroma at half the resolution and interpolated on the way back, integer cosine
    transforms. It is not random: keys are not used.
    """
    (quality,) = parameters
    out = np.empty_like(images)
    blocks = -(-images.shape[2] // 8)
    tables = tuple(np.tile(table, blocks) for table in steps(int(quality)))
    run_over_rows(compress, images, out, settings=tables)
    return out


@lru_cache(maxsize=128)
def steps(quality: int) -> tuple[FloatArray, FloatArray]:
    """Return the quantisation steps of luminance and chroma, scaled by the JPEG Group's rule.

    >>> steps(25)[0][0]
    array([ 32.,  22.,  20.,  32.,  48.,  80., 102., 122.])
    """
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    luma, chroma = (
        np.clip((table * percent + 50) // 100, 1, 255).astype(np.float64)
        for table in (_LUMA, _CHROMA)
    )
    return luma, chroma


# Compiled loops of JPEG compression and decompression without a file, over batches of images.
#
# All lossy steps are here: colours to luminance and chroma, chroma at half the resolution, cosine
# transforms of 8 x 8 blocks, quantisation, and their inverses. Huffman coding is lossless.
#
# The results are those of libjpeg's integer arithmetic, bit for bit, but the numbers are floats:
# they hold integers, multiplied by constants of 13 or 16 bits and divided by powers of two. Such
# sums are exact in float32 for colours and in float64 for transforms, in any order, so numba may
# reorder and fuse them.

_F = np.float32
_16_BITS = _F(2.0**-16)
_ABOVE_EIGHTH = 0.125 * (1 + 2.0**-40)


@summed
def compress(images, out, luma_steps, chroma_steps):
    """Compress and decompress images.

    The quantisation steps are (8, lanes) tables, one step per value of a row of blocks.
    """
    n, height, width, _ = images.shape
    rows, columns = -(-height // 2), -(-width // 2)  # of chroma
    luma = np.empty((_round_up(height), _round_up(width)), np.float32)
    blue = np.empty((_round_up(rows), _round_up(columns)), np.float32)
    red = np.empty_like(blue)
    wide_blue = np.empty((2 * rows, 2 * blue.shape[1]), np.float32)
    wide_red = np.empty_like(wide_blue)
    across, down = np.empty(luma_steps.shape), np.empty(luma_steps.shape)
    sums = np.empty(columns + 2, np.float32)
    for row in range(n):
        _split(images[row], luma, wide_blue, wide_red)
        _halve(wide_blue, blue)
        _halve(wide_red, red)
        _quantise(luma, luma_steps, across, down)
        _quantise(blue, chroma_steps, across, down)
        _quantise(red, chroma_steps, across, down)
        for y in range(height):
            near, next_ = y // 2, min(max(y // 2 + 2 * (y % 2) - 1, 0), rows - 1)
            _double(blue[near], blue[next_], sums, wide_blue[0])
            _double(red[near], red[next_], sums, wide_red[0])
            _join(luma[y], wide_blue[0], wide_red[0], out[row, y])


@inlined
def _round_up(size):
    """Round a size up to whole blocks of 8."""
    return -(-size // 8) * 8


@summed
def _split(image, luma, blue, red):
    """Split an image into luminance and chroma, extended to whole blocks by the last pixels."""
    height, width, _ = image.shape
    for y in range(height):
        for x in range(width):
            r, g, b = _F(image[y, x, 0]), _F(image[y, x, 1]), _F(image[y, x, 2])
            luma[y, x] = np.floor(
                (_F(19595) * r + _F(38470) * g + _F(7471) * b + _F(32768)) * _16_BITS
            )
            blue[y, x] = np.floor(
                (_F(32768) * b - _F(11059) * r - _F(21709) * g + _F(8421375)) * _16_BITS
            )
            red[y, x] = np.floor(
                (_F(32768) * r - _F(27439) * g - _F(5329) * b + _F(8421375)) * _16_BITS
            )
    _extend(luma, height, width)
    _extend(blue, height, width)
    _extend(red, height, width)


@summed
def _extend(plane, height, width):
    """Repeat the last column to the right, then the last row downwards."""
    for y in range(height):
        for x in range(width, plane.shape[1]):
            plane[y, x] = plane[y, width - 1]
    for y in range(height, len(plane)):
        for x in range(plane.shape[1]):
            plane[y, x] = plane[height - 1, x]


@summed
def _halve(wide, small):
    """Average 2 x 2 values; halves are rounded down and up alternately."""
    rows = len(wide) // 2
    for y in range(rows):
        upper, lower, line = wide[2 * y], wide[2 * y + 1], small[y]
        for x in range(len(line)):
            total = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1]
            line[x] = np.floor((total + _F(1 + x % 2)) * _F(0.25))
    _extend(small, rows, small.shape[1])


@summed
def _quantise(plane, steps, across, down):
    """Transform, quantise and transform back the blocks of a plane, one row of blocks at a time.

    A transform runs along the first axis of its array, for all lanes at once. Lane 8 b + i is
    column i of block b in `down`, and row i of block b in `across`.
    """
    lanes = plane.shape[1]
    for top in range(0, len(plane), 8):
        for b in range(0, lanes, 8):
            for i in range(8):
                for k in range(8):
                    across[k, b + i] = np.float64(plane[top + i, b + k]) - 128.0
        _forward(across, lanes, 4.0, 2.0**-11)
        _transpose(across, down, lanes)
        _forward(down, lanes, 0.25, 2.0**-15)
        for v in range(8):
            for i in range(lanes):
                # transforms are 8 times too large; sums are integers below 2**15, and the factor
                # is too large by so little that no quotient reaches the next integer by it
                size = np.floor(
                    (abs(down[v, i]) + 4.0 * steps[v, i]) * (_ABOVE_EIGHTH / steps[v, i])
                )
                down[v, i] = math.copysign(size * steps[v, i], down[v, i])
        _backward(down, lanes, 2.0**-11)
        _transpose(down, across, lanes)
        _backward(across, lanes, 2.0**-18)
        for b in range(0, lanes, 8):
            for i in range(8):
                for k in range(8):
                    x = across[k, b + i] + 128.0
                    plane[top + i, b + k] = min(max(x, 0.0), 255.0)


@summed
def _transpose(source, target, lanes):
    """Exchange rows and columns of every block."""
    for b in range(0, lanes, 8):
        for i in range(8):
            for k in range(8):
                target[k, b + i] = source[i, b + k]


@inlined
def _round(x, scale):
    return np.floor(x * scale + 0.5)


@inlined
def _odd(a, b, c, d):
    """The half of the transform that both directions share; constants of 13 bits."""
    e, f = a + c, b + d
    g = (e + f) * 9633.0
    e, f = g - e * 16069.0, g - f * 3196.0
    g, h = (a + d) * 7373.0, (b + c) * 20995.0
    return (
        a * 2446.0 - g + e,
        b * 16819.0 - h + f,
        c * 25172.0 - h + e,
        d * 12299.0 - g + f,
    )


@summed
def _forward(x, lanes, even, odd):
    """Cosine transform of 8 numbers by Loeffler, Ligtenberg & Moschytz (ICASSP 1989), rounded."""
    for i in range(lanes):
        a, b, c, d = x[0, i] + x[7, i], x[1, i] + x[6, i], x[2, i] + x[5, i], x[3, i] + x[4, i]
        p, q, r, s = x[3, i] - x[4, i], x[2, i] - x[5, i], x[1, i] - x[6, i], x[0, i] - x[7, i]
        a, d = a + d, a - d
        b, c = b + c, b - c
        both = (c + d) * 4433.0
        p, q, r, s = _odd(p, q, r, s)
        x[0, i] = _round(a + b, even)
        x[4, i] = _round(a - b, even)
        x[2, i] = _round(both + d * 6270.0, odd)
        x[6, i] = _round(both - c * 15137.0, odd)
        x[7, i] = _round(p, odd)
        x[5, i] = _round(q, odd)
        x[3, i] = _round(r, odd)
        x[1, i] = _round(s, odd)


@summed
def _backward(x, lanes, scale):
    """The inverse of `_forward`, by the same steps in reverse."""
    for i in range(lanes):
        both = (x[2, i] + x[6, i]) * 4433.0
        c, d = both - x[6, i] * 15137.0, both + x[2, i] * 6270.0
        a, b = (x[0, i] + x[4, i]) * 8192.0, (x[0, i] - x[4, i]) * 8192.0
        a, d = a + d, a - d
        b, c = b + c, b - c
        p, q, r, s = _odd(x[7, i], x[5, i], x[3, i], x[1, i])
        x[0, i] = _round(a + s, scale)
        x[7, i] = _round(a - s, scale)
        x[1, i] = _round(b + r, scale)
        x[6, i] = _round(b - r, scale)
        x[2, i] = _round(c + q, scale)
        x[5, i] = _round(c - q, scale)
        x[3, i] = _round(d + p, scale)
        x[4, i] = _round(d - p, scale)


@summed
def _double(near, next_, sums, wide):
    """Double the width of a row of chroma: 3/4 of the near value, 1/4 of the next, on both axes."""
    columns = len(sums) - 2
    for x in range(columns):
        sums[x + 1] = _F(3) * near[x] + next_[x]
    sums[0], sums[columns + 1] = sums[1], sums[columns]
    for x in range(columns):
        total = _F(3) * sums[x + 1]
        wide[2 * x] = np.floor((total + sums[x] + _F(8)) * _F(0.0625))
        wide[2 * x + 1] = np.floor((total + sums[x + 2] + _F(7)) * _F(0.0625))


@summed
def _join(luma, blue, red, line):
    """Convert a row of luminance and chroma to colours."""
    for x in range(len(line)):
        y, b, r = luma[x], blue[x] - _F(128), red[x] - _F(128)
        line[x, 0] = _level(y + np.floor((_F(91881) * r + _F(32768)) * _16_BITS))
        line[x, 1] = _level(y + np.floor((_F(32768) - _F(22554) * b - _F(46802) * r) * _16_BITS))
        line[x, 2] = _level(y + np.floor((_F(116130) * b + _F(32768)) * _16_BITS))


@inlined
def _level(x):
    return np.int32(min(max(x, _F(0)), _F(255)))
