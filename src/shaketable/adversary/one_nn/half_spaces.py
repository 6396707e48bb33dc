"""The shortest vector in an intersection of half-spaces, or the proof that there is none."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shaketable.core.types import FloatArray

_MENDED = 1e-6  # squared residual of a unit normal: below, it is refined once more
_DEPENDENT = 1e-22  # the same: below, the normal depends on the active ones


class HalfSpace(NamedTuple):
    """A half-space, seen from a point."""

    excess: float
    """By how much the point lies outside."""
    normal: FloatArray
    """Unit normal, pointing out."""
    offset: float
    """Position of its edge along the normal."""


def find_least_step(
    outside: Callable[[FloatArray], HalfSpace], d: int, radius: float
) -> FloatArray | None:
    r"""Shortest vector in an intersection of half-spaces, or None if none is within the radius.

    .. math:: \min \lVert\delta\rVert \quad \text{s.t.} \quad a_i\cdot\delta \le b_i

    The dual method of Goldfarb & Idnani (1983) with the identity matrix: from 0, repeatedly add the
    half-space that is violated most, moving along the part of its normal that the active ones do
    not span; half-spaces whose multiplier falls to 0 leave. The length grows with every step, so a
    radius ends the search early. None is returned only with a proof that allows for rounding
    (`_prove_empty`); a vector that is returned may violate half-spaces that are nearly parallel, or
    exceed the radius.

    Parameters
    ----------
    outside
        Maps a vector to the half-space that it violates most.
    d
        Number of dimensions.
    radius
        Largest length of interest.
    """
    step, active, weight, offsets = np.zeros(d), np.zeros((d, 0)), np.zeros(0), np.zeros(0)
    tolerance = 0.0
    for _ in range(100 * (d + 10)):
        excess, normal, offset = outside(step)
        tolerance = max(tolerance, 1e-12 * abs(excess), 1e-12 * float(np.linalg.norm(step)))
        if excess <= tolerance:
            return step
        added = 0.0
        while excess > 0:
            share = np.linalg.lstsq(active, normal, rcond=None)[0] if active.size else weight
            ahead = normal - active @ share
            if active.size and ahead @ ahead < _MENDED:
                more = np.linalg.lstsq(active, ahead, rcond=None)[0]
                share, ahead = share + more, ahead - active @ more
            square = float(ahead @ ahead)
            falls = np.flatnonzero(share > 1e-14)
            ratio = weight[falls] / share[falls]
            limit = float(ratio.min()) if len(falls) else math.inf
            full = excess / square if square > _DEPENDENT else math.inf
            move = min(limit, full)
            if math.isinf(move):  # no vector is in all of them
                everything = np.column_stack([active, normal]), np.append(offsets, offset)
                return None if _prove_empty(*everything, np.append(-share, 1.0), radius) else step
            weight, added = weight - move * share, added + move
            if math.isfinite(full):
                step = step - move * ahead
                excess -= move * square
            if move == full:
                active = np.column_stack([active, normal])
                weight, offsets = np.append(weight, added), np.append(offsets, offset)
                break
            keep = np.arange(len(weight)) != falls[ratio.argmin()]
            active, weight, offsets = active[:, keep], weight[keep], offsets[keep]
        length = np.linalg.norm(step)
        if length > radius and _prove_empty(active, offsets, weight, radius):
            return None
        if length > 2 * radius:
            break
    return step


def _prove_empty(
    normals: FloatArray, offsets: FloatArray, weight: FloatArray, radius: float
) -> bool:
    r"""Whether weak duality proves that no vector within the radius is in all half-spaces.

    .. math:: \lVert\delta\rVert \lVert\sum_i w_i a_i\rVert \ge -\sum_i w_i a_i\cdot\delta
        \ge -\sum_i w_i b_i, \quad w_i \ge 0

    Rounding errors are bounded and subtracted.
    """
    weight = np.maximum(weight, 0.0)
    share = (sum(normals.shape) + 8) * sys.float_info.epsilon
    lost = share * (weight @ (np.abs(offsets) + radius))
    return bool(-(weight @ offsets) - lost > radius * np.linalg.norm(normals @ weight))
