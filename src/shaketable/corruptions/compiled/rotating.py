"""Images rotated about their centre: where every pixel comes from, and a compiled loop."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np

from shaketable.core.types import Array, FloatArray, IntArray

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
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


@_compiled
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
