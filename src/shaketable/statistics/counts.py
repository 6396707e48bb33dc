"""Counts per point, as callers give them, checked and tabulated by outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, IntArray

Runs: TypeAlias = Sequence[ArrayLike] | Array
"""One array of counts per point for every run, all of the same length."""

_MOST_CODES = 2**62  # outcomes up to which an outcome is one number


def read_points(name: str, counts: ArrayLike, most: int) -> IntArray:
    """Counts of the points of one run, each in 0..most, as a table with one row."""
    table = np.asarray(counts)
    if table.ndim != 1 or not table.size:
        raise InputError(
            f"{name} must have one count per point, got shape {table.shape}; pass one list per "
            "model (over runs: a list of them)"
        )
    if table.dtype.kind not in "biu":
        raise InputError(f"{name} must be integers, got {table.dtype}; pass counts, not rates")
    if table.min() < 0 or table.max() > most:
        wrong = table[(table < 0) | (table > most)][0]
        raise InputError(f"{name} must lie in 0..{most}, got {wrong}; is k right?")
    return table.astype(np.int64)[None]


def read_runs(name: str, counts: Runs, most: int) -> IntArray:
    """Counts of all runs, each in 0..most, as one table: (runs, points)."""
    rows = [read_points(name, run, most)[0] for run in counts]
    if len(rows) < 2:
        raise InputError(
            f"{name} must hold at least 2 runs, got {len(rows)}; for one run use the function for "
            "a fixed model"
        )
    sizes = sorted({len(row) for row in rows})
    if len(sizes) > 1:
        raise InputError(
            f"{name} must have the same number of points in every run, got {sizes[0]} and "
            f"{sizes[-1]}; runs are splits of one data set"
        )
    return np.stack(rows)


def tabulate(columns: Sequence[IntArray], sizes: list[int]) -> tuple[list[FloatArray], FloatArray]:
    """Distinct outcomes, one array per column, and how often each occurs: (runs, outcomes).

    An outcome is what the columns, tables of (runs, points), hold for one point. The values of
    column i are below ``sizes[i]``.
    """
    shapes = sorted({column.shape for column in columns})
    if len(shapes) > 1:
        raise InputError(
            f"clean and hits must have the same runs and points, got shapes {shapes[0]} and "
            f"{shapes[1]}; pass counts of the same points in the same order"
        )
    outcomes: Sequence[IntArray]
    if math.prod(sizes) < _MOST_CODES:
        codes, inverse = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
        outcomes = np.unravel_index(codes, sizes)
    else:
        rows = np.stack([column.ravel() for column in columns])
        distinct, inverse = np.unique(rows, axis=1, return_inverse=True)
        outcomes = list(distinct)
    runs, m = shapes[0][0], len(outcomes[0])
    places = inverse.reshape(runs, -1) + m * np.arange(runs)[:, None]
    counts = np.bincount(places.ravel(), minlength=runs * m).reshape(runs, m)
    return [column.astype(np.float64) for column in outcomes], counts.astype(np.float64)


def check_draws(k: int) -> int:
    """Return `k`; `InputError` unless it is 1 or more."""
    if k < 1:
        raise InputError(f"k must be 1 or more, got {k}; it is the number of draws per point")
    return k


def check_confidence(confidence: float) -> float:
    """Return `confidence`; `InputError` unless it lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}; 95 % is 0.95")
    return confidence
