"""Adding noise to points, in threads."""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array
from shaketable.data.bounds import Bounds


def add_noise(flat: Array, noise: Array, scale: float, bounds: Bounds | None) -> Array:
    """Return ``flat + scale * noise``, clipped to the bounds, in one pass over the values."""
    from shaketable.corruptions.compiled.ziggurat import fill_sum  # compiled code, slow to load

    limits = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
    out = np.empty_like(noise)
    run_over_rows(
        fill_sum, np.ascontiguousarray(flat), noise, out, settings=(float(scale), *limits)
    )
    return out
