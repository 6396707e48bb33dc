"""Adding noise to points, in threads."""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray
from shaketable.data.bounds import Bounds


def add_noise(flat: Array, noise: Array, scale: float | FloatArray, bounds: Bounds | None) -> Array:
    """Return ``flat + scale * noise``, clipped to the bounds, in one pass over the values.

    The scale is one number, or one for every row.
    """
    from shaketable.corruptions.compiled.ziggurat import fill_sum  # compiled code, slow to load

    limits = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
    out = np.empty_like(noise)
    scales = spread_over_rows(scale, len(flat))
    run_over_rows(fill_sum, scales, np.ascontiguousarray(flat), noise, out, settings=limits)
    return out


def spread_over_rows(scale: float | FloatArray, n: int) -> FloatArray:
    """Return one scale for every row, from one number or as they are."""
    return np.full(n, scale, np.float64) if np.ndim(scale) == 0 else np.asarray(scale, np.float64)
