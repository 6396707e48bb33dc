"""Compiled distances of two points: exact on uint8, compensated sums on floats.

A *measure* stands for a distance: on uint8 a whole number in the norms 1, 2 and inf (for p = 2 the
sum of squares), else the norm. Its computation stops as soon as it must exceed what is wanted.

`compile_measure` makes a C function of them. Loops over pairs call it by its address, so that they
are compiled once for all types and norms.

After a change here clear ``__pycache__``: other modules that use these functions keep the code that
numba compiled before.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: ARG001, ARG005, PLR0917, PLR1714

import math
from functools import lru_cache

import numba
import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from shaketable.core.compiling import INNER, inner

MAXIMUM = 0
"""Stands for p = inf where p is given as a whole number."""

REORDER = {"reassoc", "contract", "nsz"}
"""Allows sums to be vectorised; NaN and infinity are kept."""

_CHUNK = 256  # values compared before a pair may be abandoned; int32 holds their squares


def measure(x, i, j, p, most):
    """Measure of two rows, or any number above `most` if the measure is.

    For p = 1, 2 or MAXIMUM, given as whole numbers, the code for other norms is not compiled.
    """
    raise NotImplementedError("compiled code only")


@overload(measure, jit_options=INNER)
def _measure(x, i, j, p, most):
    return _whole_measure if x.dtype == numba.uint8 else _float_measure


def other_norm(x, i, j, p, largest, most):
    """Norm of any other order, given the largest gap."""
    raise NotImplementedError("compiled code only")


@overload(other_norm, jit_options=INNER)
def _other_norm(x, i, j, p, largest, most):
    if isinstance(p, types.Integer):
        return lambda x, i, j, p, largest, most: largest
    return _power_norm


@intrinsic
def _to_pointer(typingctx, address):
    """Pointer to an address in memory."""

    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.intp), generate


@lru_cache
def compile_measure(dtype, is_whole):
    """C function for the measure of two rows of C-contiguous points of this type.

    It takes the address of the points, their number of values, two rows, the order of the norm and
    `most`. If the norm `is_whole`, of order 1, 2 or MAXIMUM, the others are not compiled.
    """
    order = np.int64 if is_whole else np.float64

    def measure_rows(address, width, i, j, p, most):
        x = carray(_to_pointer(address), (max(i, j) + 1, width), dtype)
        return measure(x, i, j, order(p), most)

    whole, real = types.int64, types.float64
    signature = real(types.intp, whole, whole, whole, real, real)
    return numba.cfunc(signature, cache=True, error_model="numpy")(measure_rows)


@register_jitable
def at(start, c):
    """Index start + c, unsigned.

    A signed index might count from the end, which would keep loops from being vectorised.
    """
    return np.uint64(start) + np.uint64(c)


@register_jitable
def _whole_gap(x, i, j, c):
    return np.int32(np.int32(x[i, c]) - np.int32(x[j, c]))


@register_jitable
def _gap(x, i, j, c):
    return abs(np.float64(x[i, c]) - np.float64(x[j, c]))


def _whole_measure(x, i, j, p, most):
    total = 0
    for start in range(0, x.shape[1], _CHUNK):
        size = min(_CHUNK, x.shape[1] - start)
        part, far = np.int32(0), np.uint8(0)
        if p == 1:
            for c in range(size):
                part = np.int32(part + abs(_whole_gap(x, i, j, at(start, c))))
        elif p == 2:
            for c in range(size):
                gap = _whole_gap(x, i, j, at(start, c))
                part = np.int32(part + np.int32(gap * gap))
        else:
            for c in range(size):
                a, b = x[i, at(start, c)], x[j, at(start, c)]
                far = max(far, np.uint8(max(a, b) - min(a, b)))
        total = max(total + part, np.int64(far))
        if total > most:
            break
    if p == 1 or p == 2 or p == np.inf or p == MAXIMUM or total > most:
        return np.float64(total)
    return other_norm(x, i, j, p, np.float64(total), most)


def _float_measure(x, i, j, p, most):
    # a quick sum rules out most pairs; the rest is summed with compensation
    margin = most * (1 + 1e-12)
    if p == 2:
        margin = margin * margin if margin > 1e-140 else np.inf
    quick = _quick_measure(x, i, j, np.float64(p), margin)
    if quick > margin:
        return np.inf
    if p != 1 and p != 2:
        return quick if p == np.inf or p == MAXIMUM else other_norm(x, i, j, p, quick, most)
    largest = 1.0  # else squares would vanish or overflow
    if p == 2 and not 1e-280 < quick < 1e280:
        largest = _quick_measure(x, i, j, np.float64(np.inf), np.inf)
    scale = 1 / largest if largest > 0 else 1.0
    total = _careful_sum(x, i, j, np.int64(2 * p), scale)
    return total if p == 1 else largest * math.sqrt(total)


@numba.njit(cache=True, error_model="numpy", fastmath={*REORDER, "nnan"}, **INNER)
def _quick_measure(x, i, j, p, most):
    total = 0.0
    for start in range(0, x.shape[1], _CHUNK):
        size = min(_CHUNK, x.shape[1] - start)
        if p == 1:
            for c in range(size):
                total += _gap(x, i, j, at(start, c))
        elif p == 2:
            for c in range(size):
                gap = _gap(x, i, j, at(start, c))
                total += gap * gap
        else:
            for c in range(size):
                total = max(total, _gap(x, i, j, at(start, c)))
        if total > most:
            break
    return total


@inner
def _careful_sum(x, i, j, halves, scale):
    """Sum of (gap * scale)**(halves / 2), as if added in twice the precision."""
    total, lost = np.zeros(16), np.zeros(16)
    for start in range(0, x.shape[1], 16):
        for k in range(min(16, x.shape[1] - start)):
            gap = _gap(x, i, j, at(start, k)) * scale
            term = gap * gap if halves == 4 else gap
            if halves != 2 and halves != 4:
                term = math.sqrt(gap) if halves % 2 else 1.0
                for _ in range(halves // 2):
                    term *= gap
            new = total[k] + term
            back = new - total[k]
            lost[k] += (total[k] - (new - back)) + (term - back)
            total[k] = new
    rest = lost[0]
    for k in range(1, 16):
        rest += lost[k]
        new = total[0] + total[k]
        back = new - total[0]
        rest += (total[0] - (new - back)) + (total[k] - back)
        total[0] = new
    return total[0] + rest


def _power_norm(x, i, j, p, largest, most):
    """p-norm scaled by the largest gap, so that powers neither vanish nor overflow."""
    if largest == 0:
        return 0.0
    if 2 * p == math.floor(2 * p) and p <= 16:
        total = _careful_sum(x, i, j, np.int64(2 * p), 1 / largest)
    else:
        enough = (most / largest) ** p * (1 + 1e-9)
        total = 0.0
        for c in range(x.shape[1]):
            total += (_gap(x, i, j, c) / largest) ** p
            if total > enough:
                return np.inf
    return max(largest, largest * total ** (1 / p))  # rounding must not take it below a gap
