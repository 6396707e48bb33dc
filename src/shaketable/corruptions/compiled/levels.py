"""Values rounded to levels, 0 to 255, redrawn or replaced at random, and rotated: compiled loops.

Noise on 8 bits that is independent from value to value is a distribution over 256 outcomes for each
of 256 values. Walker's alias method draws from each with two lookups: 256 columns of equal weight,
each shared by at most two outcomes. A draw takes 32 bits, the lower 8 for the column and the upper
24 for the place in it.
"""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shaketable.core.compiling import compiled
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.compiled.streams import fill_halves
from shaketable.corruptions.compiled.ziggurat import fill_gaussian, layers
from shaketable.corruptions.corruption import AddedNoise
from shaketable.data.bounds import Bounds


def round_to_levels(x: Array, low: float, factor: float, out: Array | None = None) -> Array:
    """Return ``(x - low) * factor``, rounded, as uint8; results must lie between 0 and 255.

    They are written to `out` if that is given, which must be contiguous. Ten times as fast as
    numpy.
    """
    floats = np.result_type(x, np.float32)
    flat = np.ascontiguousarray(x.reshape(len(x), -1), floats)
    out = np.empty(x.shape, np.uint8) if out is None else out
    settings = floats.type(low), floats.type(factor)
    run_over_rows(_fill_levels, flat, out.reshape(flat.shape), settings=settings)
    return out


@compiled
def _fill_levels(x, out, low, factor):
    for row in range(len(x)):
        values, levels = x[row], out[row]
        for c in range(len(values)):
            levels[c] = np.uint8(np.int32(np.rint((values[c] - low) * factor)))


def add_to_levels(
    x: Array, noise: Array, unit: float, added: AddedNoise, scales: FloatArray, out: Array
) -> None:
    """Write uint8 plus noise to `out`, rounded; it counts as x / unit, and noise is in that unit.

    Every row has its own scale. These are the numbers of `corruption.add_noise` on floats, without
    storing floats in between.
    """
    flat = np.ascontiguousarray(x.reshape(noise.shape))
    floats = noise.dtype.type(unit), noise.dtype.type(added.shift)
    limits = float(added.low), float(added.high)
    flat_out = out.reshape(noise.shape)
    run_over_rows(_fill_sum_of_levels, scales, flat, noise, flat_out, settings=(*floats, *limits))


@compiled
def _fill_sum_of_levels(scales, x, noise, out, unit, shift, low, high):
    for row in range(len(x)):
        scale, given, drawn, levels = scales[row], x[row], noise[row], out[row]
        for c in range(len(given)):
            value = np.float32(np.float32(given[c]) / unit + shift)
            noisy = np.float32(min(max(value + scale * drawn[c], low), high))
            levels[c] = np.uint8(np.int32(np.rint(noisy * unit)))


def interleave_channels(planes: Array) -> Array:
    """Return a contiguous copy of uint8 images, (n, channels, height, width), with channels last.

    Ten times as fast as numpy.
    """
    n, channels, height, width = planes.shape
    out = np.empty((n, height, width, channels), planes.dtype)
    flat = np.ascontiguousarray(planes).reshape(n, channels, -1)
    run_over_rows(_fill_pixels, flat, out.reshape(n, -1, channels))
    return out


@compiled
def _fill_pixels(planes, out):
    for row in range(len(planes)):
        for c in range(planes.shape[1]):
            plane = planes[row, c]
            for i in range(len(plane)):
                out[row, i, c] = plane[i]


_COLUMN = 1 << 24  # weight of a column
_BYTE, _8 = np.uint32(255), np.uint32(8)


@compiled
def fill_aliases(counts, table):
    """Fill alias tables of distributions in multiples of 2**-32, one per row (Vose's algorithm).

    `counts`, (distributions, 256), is overwritten; its rows sum to 2**32. The upper 24 bits of an
    entry of `table` are the number of places of the column's own outcome, the lower 8 bits are the
    outcome of all other places. This is exact.
    """
    small, large = np.empty(256, np.int64), np.empty(256, np.int64)
    for law in range(len(counts)):
        count, row = counts[law], table[law]
        less, more = 0, 0
        for k in range(256):
            if count[k] < _COLUMN:
                small[less], less = k, less + 1
            else:
                large[more], more = k, more + 1
        while less:
            less, k, other = less - 1, small[less - 1], large[more - 1]
            row[k] = count[k] << 8 | other
            count[other] -= _COLUMN - count[k]
            if count[other] < _COLUMN:
                small[less], less, more = other, less + 1, more - 1
        for i in range(more):
            row[large[i]] = large[i]  # a full column: the other outcome is its own


@compiled
def fill_draws(images, keys, out, table):
    """Replace every value by a draw from its distribution; `images` and `out` are (n, values).

    Values 2i and 2i + 1 of an image take the lower and the upper half of word i of its key.
    """
    n, laws = images.shape[1], table.ravel()
    words = np.empty((n + 1) // 2, np.uint64)
    halves = np.empty(2 * len(words), np.uint32)
    for row in range(len(keys)):
        key, image, result = keys[row], images[row], out[row]
        fill_halves(key, words, halves)
        for j in range(n):
            bits = halves[j]
            entry = laws[np.uint32(image[j]) << _8 | bits & _BYTE]
            result[j] = np.uint8(bits) if bits >> _8 < entry >> _8 else np.uint8(entry)


def replace_values(
    x: Array, keys: KeyArray, half: float, first: FloatArray, second: FloatArray
) -> Array:
    """Return a copy of `x` with every value replaced with probability ``2 * half``.

    Half of the new values are from `first`, half from `second`, which have one value per column.
    For the same key, the places replaced at a smaller `half` are also replaced at a larger one.
    """
    columns = first.astype(x.dtype), second.astype(x.dtype)
    return _fill_rows(_fill_replaced, x, keys, *columns, np.uint32(round(half * 2**32)))


def add_normal_noise(x: Array, keys: KeyArray, mean: float, sigma: float, bounds: Bounds) -> Array:
    """Return a copy of `x` with normal noise on every value, clipped to the bounds."""
    limits = float(bounds.low), float(bounds.high)
    return _fill_rows(_fill_noisy, x, keys, mean, sigma, *limits, *layers(2.0))


def redraw_levels(x: Array, keys: KeyArray, table: Array, bounds: Bounds) -> Array:
    """Return a copy of `x`, with 256 levels, where every level is drawn from its law in a table.

    uint8 is these levels, from 0 to 255.
    """
    if x.dtype == np.uint8:
        return _fill_rows(fill_draws, x, keys, table)
    span = bounds.high - bounds.low
    levels = bounds.enforce(bounds.low + np.arange(256) * (span / 255)).astype(x.dtype)
    scale = x.dtype.type(bounds.low), x.dtype.type(255 / span)
    return _fill_rows(_fill_redrawn, x, keys, table, levels, *scale)


def make_law_table(cumulated: Array) -> Array:
    """Return the alias table of the laws P(outcome <= k | v): 256 rows for v, 255 columns for k."""
    edges = np.pad(np.rint(cumulated * 2.0**32).astype(np.int64), ((0, 0), (1, 1)))
    edges[:, -1] = 2**32
    table = np.empty((256, 256), np.uint32)
    fill_aliases(np.diff(edges), table)
    table.flags.writeable = False
    return table


def _fill_rows(work, x, keys, *settings):
    flat = np.ascontiguousarray(x.reshape(len(x), -1))
    out = np.empty_like(flat)
    run_over_rows(work, flat, keys, out, settings=settings)
    return out.reshape(x.shape)


@compiled
def _fill_replaced(x, keys, out, first, second, part):
    """Replace by 32 bits per value: values 2i and 2i + 1 use the halves of word i of their key."""
    n = x.shape[1]
    words = np.empty((n + 1) // 2, np.uint64)
    halves = np.empty(2 * len(words), np.uint32)
    for row in range(len(keys)):
        key, old, new = keys[row], x[row], out[row]
        fill_halves(key, words, halves)
        for c in range(n):
            # all are read, whichever is used, so that the loop is vectorized
            bits, low, high, kept = halves[c], first[c], second[c], old[c]
            new[c] = low if bits < part else high if ~bits < part else kept


@compiled
def _fill_noisy(x, keys, out, mean, sigma, low, high, p, step, inside, height, tail):
    """Add noise row by row, so that it is never stored as a whole."""
    noise = np.empty((1, x.shape[1]))
    for row in range(len(keys)):
        fill_gaussian(keys[row : row + 1], noise, p, step, inside, height, tail)
        for c in range(x.shape[1]):
            out[row, c] = min(max(x[row, c] + mean + sigma * noise[0, c], low), high)


@compiled
def _fill_redrawn(x, keys, out, table, levels, low, factor):
    """Draw a new level from 0 to 255 for every value, from the law of its old level."""
    image, half = np.empty(x.shape, np.uint8), x.dtype.type(0.5)
    for row in range(len(x)):
        for c in range(x.shape[1]):
            level = np.int32((x[row, c] - low) * factor + half)
            image[row, c] = np.uint8(min(max(level, np.int32(0)), np.int32(255)))
    fill_draws(image, keys, image, table)
    for row in range(len(x)):
        for c in range(x.shape[1]):
            out[row, c] = levels[image[row, c]]


_DIGITS = 9  # of coordinates: rounding errors must not change which pixel is the nearest


class Sources(NamedTuple):
    """Pixels that every pixel is a weighted sum of."""

    index: Array
    """(pixels, taps); 0 where there is none."""
    weight: FloatArray
    """(pixels, taps); 0 where there is none."""
    rest: FloatArray
    """Weight of what lies outside of the image, (pixels,)."""

    def astype(self, dtype: np.dtype) -> tuple[Array, ...]:
        """Return index, weight and rest, with weights of a type."""
        return self.index, self.weight.astype(dtype), self.rest.astype(dtype)


@lru_cache(maxsize=32)
def find_sources(height: int, width: int, degrees: float, interpolation: str) -> Sources:
    """Find where the pixels of an image that is rotated clockwise come from."""
    angle = math.radians(math.fmod(degrees, 360))
    down, right = np.mgrid[:height, :width].reshape(2, -1)
    y, x = down - (height - 1) / 2, right - (width - 1) / 2
    cos, sin = math.cos(angle), math.sin(angle)
    # on a screen, with y downwards, the inverse rotation is counter-clockwise
    rows = (cos * y - sin * x + (height - 1) / 2).round(_DIGITS)
    columns = (sin * y + cos * x + (width - 1) / 2).round(_DIGITS)
    (i, a), (j, b) = _taps(rows, interpolation), _taps(columns, interpolation)
    index = i[:, :, None] * width + j[:, None, :]
    inside = ((i >= 0) & (i < height))[:, :, None] & ((j >= 0) & (j < width))[:, None, :]
    weight = np.where(inside, a[:, :, None] * b[:, None, :], 0.0).reshape(height * width, -1)
    index = np.where(inside, index, 0).reshape(height * width, -1)
    # unsigned: the compiled loop need not ask whether an index counts from the end
    return Sources(index.astype(np.uint32), weight, 1 - weight.sum(axis=1))


def _taps(at: FloatArray, interpolation: str) -> tuple[IntArray, FloatArray]:
    """Return the pixels around every coordinate and their weights, (coordinates, taps) each."""
    if interpolation == "nearest":
        nearest = np.floor(at + 0.5).astype(np.int64)
        return nearest[:, None], np.ones((len(at), 1))
    start = np.floor(at)
    t = (at - start)[:, None]
    first = start.astype(np.int64)[:, None]
    if interpolation == "bilinear":
        return first + np.arange(2), np.hstack([1 - t, t])
    distance = np.abs(t - np.arange(-1, 3))  # cubic convolution (Keys 1981), a = -1/2
    near = (1.5 * distance - 2.5) * distance**2 + 1
    far = ((2.5 - 0.5 * distance) * distance - 4) * distance + 2
    return first + np.arange(-1, 3), np.where(distance <= 1, near, far)


@compiled
def fill_rotated(x, out, index, weight, rest, fill):
    """Fill `out` with rotated images, (images, pixels, channels)."""
    for row in range(len(x)):
        for p in range(out.shape[1]):
            outside = rest[p] * fill
            for c in range(out.shape[2]):
                total = outside
                for tap in range(index.shape[1]):
                    total += weight[p, tap] * x[row, index[p, tap], c]
                out[row, p, c] = total
