"""Values that are changed at random, each independently of the others: compiled loops."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numba
import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.noise_kernels import fill_aliases, fill_draws
from shaketable.corruptions.compiled.streams import fill_halves
from shaketable.corruptions.compiled.ziggurat import fill_gaussian, layers
from shaketable.data.bounds import Bounds

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


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


def make_law_table(cumulated: FloatArray) -> Array:
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


@_compiled
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


@_compiled
def _fill_noisy(x, keys, out, mean, sigma, low, high, p, step, inside, height, tail):
    """Add noise row by row, so that it is never stored as a whole."""
    noise = np.empty((1, x.shape[1]))
    for row in range(len(keys)):
        fill_gaussian(keys[row : row + 1], noise, p, step, inside, height, tail)
        for c in range(x.shape[1]):
            out[row, c] = min(max(x[row, c] + mean + sigma * noise[0, c], low), high)


@_compiled
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
