"""The shortest vector in an intersection of half-spaces, or the proof that there is none."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shaketable.core.types import FloatArray

_MENDED = 1e-6  # square of what is left of a unit normal that others span: less is rounding too
_DEPENDENT = 1e-22  # the same: less is nothing


class HalfSpace(NamedTuple):
    """A half-space, seen from a point."""

    excess: float
    """By how much the point lies outside."""
    normal: FloatArray
    """Of length 1, pointing out."""
    offset: float
    """Of its edge from 0, along the normal."""


def least_step(
    outside: Callable[[FloatArray], HalfSpace], d: int, radius: float
) -> FloatArray | None:
    r"""Shortest vector in an intersection of half-spaces, or None if none is within the radius.

    .. math:: \min \lVert\delta\rVert \quad \text{s.t.} \quad a_i\cdot\delta \le b_i

    The dual method of Goldfarb & Idnani (1983) for the identity: from 0, take in the half-space
    that is violated most, along what its normal adds to the active ones; those whose multiplier
    falls to 0 leave. The length grows with every step, so a radius ends it early. That none is
    there is proven whatever rounding did (`_excluded`); a vector that comes back, on the other
    hand, may be outside of half-spaces that are nearly parallel, or beyond the radius.

    Parameters
    ----------
    outside
        Of a vector, the half-space that it violates most.
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
            share = np.linalg.lstsq(active, normal)[0] if active.size else weight
            ahead = normal - active @ share
            if active.size and ahead @ ahead < _MENDED:
                more = np.linalg.lstsq(active, ahead)[0]
                share, ahead = share + more, ahead - active @ more
            square = float(ahead @ ahead)
            falls = np.flatnonzero(share > 1e-14)
            ratio = weight[falls] / share[falls]
            limit = float(ratio.min()) if len(falls) else math.inf
            full = excess / square if square > _DEPENDENT else math.inf
            move = min(limit, full)
            if math.isinf(move):  # no vector is in all of them
                all_of = np.column_stack([active, normal]), np.append(offsets, offset)
                return None if _excluded(*all_of, np.append(-share, 1.0), radius) else step
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
        if length > radius and _excluded(active, offsets, weight, radius):
            return None
        if length > 2 * radius:
            break
    return step


def _excluded(normals: FloatArray, offsets: FloatArray, weight: FloatArray, radius: float) -> bool:
    r"""Whether no vector within the radius is in all half-spaces: by weak duality.

    .. math:: \lVert\delta\rVert \lVert\sum_i w_i a_i\rVert \ge -\sum_i w_i a_i\cdot\delta
        \ge -\sum_i w_i b_i, \quad w_i \ge 0

    Rounding is allowed for.
    """
    weight = np.maximum(weight, 0.0)
    share = (sum(normals.shape) + 8) * sys.float_info.epsilon
    lost = share * (weight @ (np.abs(offsets) + radius))
    return bool(-(weight @ offsets) - lost > radius * np.linalg.norm(normals @ weight))
