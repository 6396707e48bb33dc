"""Values rounded to levels, 0 to 255, and the channels of such images: compiled loops."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numba
import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray
from shaketable.corruptions.corruption import AddedNoise


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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fill_levels(x, out, low, factor):
    for row in range(len(x)):
        values, levels = x[row], out[row]
        for c in range(len(values)):
            levels[c] = np.uint8(np.int32(np.rint((values[c] - low) * factor)))


def add_to_levels(
    x: Array, noise: Array, unit: float, added: AddedNoise, scales: FloatArray, out: Array
) -> None:
    """Write uint8 plus noise to `out`, rounded; it counts as x / unit, and noise is in that unit.

    Every row has its own scale. These are the numbers of `adding.add_noise` on floats, without
    storing floats in between.
    """
    flat = np.ascontiguousarray(x.reshape(noise.shape))
    floats = noise.dtype.type(unit), noise.dtype.type(added.shift)
    limits = float(added.low), float(added.high)
    flat_out = out.reshape(noise.shape)
    run_over_rows(_fill_sum_of_levels, scales, flat, noise, flat_out, settings=(*floats, *limits))


@numba.njit(cache=True, nogil=True, error_model="numpy")
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fill_pixels(planes, out):
    for row in range(len(planes)):
        for c in range(planes.shape[1]):
            plane = planes[row, c]
            for i in range(len(plane)):
                out[row, i, c] = plane[i]
