r"""Estimates for groups of points, all groups at once, from counts of right answers per point.

A table has one row per group: how many of its points have 0, 1, … k right answers. The estimates
are those of `intervals` for the points of each group alone.

**Difference from the other points.** A group and the points outside it are independent samples. The
interval is put together from those of the two means, by square and add (Newcombe 1998, method 10;
Zou & Donner 2008): with the means :math:`m` and limits :math:`l, u` of both,

.. math:: m_1 - m_2 - \sqrt{(m_1 - l_1)^2 + (u_2 - m_2)^2}

is its lower limit, and the upper one accordingly. It covers for small groups, as theirs do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.counts import check_confidence, check_draws, read_points
from shaketable.statistics.estimate import Estimate, Limits
from shaketable.statistics.intervals import FIXED_MODEL
from shaketable.statistics.limits import (
    compute_limits,
    find_upper_limit,
    imagine_point,
    imagine_worst,
    mean_estimator,
)


def count_by_group(hits: ArrayLike, k: int, codes: IntArray, groups: int) -> FloatArray:
    """Number of points by group and by hits, shape (groups, k + 1); `codes` are the groups.

    >>> count_by_group([2, 0, 2], 2, np.array([0, 1, 0]), groups=2)
    array([[0., 0., 2.],
           [1., 0., 0.]])
    """
    h = read_points("hits", hits, check_draws(k))[0]
    counts = np.bincount(codes * (k + 1) + h, minlength=groups * (k + 1))
    return counts.reshape(groups, k + 1).astype(np.float64)


def group_shares(counts: FloatArray, *, confidence: float = 0.95) -> list[Estimate]:
    """Share of right answers in every group, none of which is empty, as `mean_share`.

    >>> print(group_shares(np.array([[10.0, 90.0], [1.0, 4.0]]))[0])
    0.900 (95 % interval 0.824 to 0.951)
    """
    k = counts.shape[1] - 1
    estimator = mean_estimator(np.arange(k + 1) / k)

    def compute(
        table: FloatArray, confidence: float, times: float = 1.0, careful: bool = False
    ) -> list[Any]:
        tail = (1 - check_confidence(confidence)) / 2
        imagine = imagine_worst if careful else imagine_point
        return [each.tolist() for each in compute_limits(estimator, table, tail, imagine, times)]

    def make_limits(row: FloatArray) -> Limits:
        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
            _, low, high = compute(row, confidence, times, careful)
            return low, high

        return limits

    values, lows, highs = compute(counts, confidence)
    methods = [f"{FIXED_MODEL}: n = {row.sum():.0f}, k = {k}" for row in counts]
    return [
        Estimate(value, low, high, confidence, method, make_limits(row))
        for value, low, high, method, row in zip(values, lows, highs, methods, counts, strict=True)
    ]


def group_error_bounds(counts: FloatArray) -> list[Estimate]:
    """Share of wrong answers in every group, none of which is empty, as `error_upper_bound`."""
    k = counts.shape[1] - 1
    errors = mean_estimator(1 - np.arange(k + 1) / k)(counts)
    highs = find_upper_limit(errors, counts, 0.05)
    method = f"one-sided, {FIXED_MODEL}"
    return [
        Estimate(float(e), 0.0, float(high), 0.95, f"{method}: n = {row.sum():.0f}, k = {k}")
        for e, high, row in zip(errors.estimate, highs, counts, strict=True)
    ]


def differences_from_others(counts: FloatArray, *, confidence: float = 0.95) -> list[Estimate]:
    """Share of right answers in every group minus that of all other points.

    There must be other points: at least two groups, none of them empty.

    >>> print(differences_from_others(np.array([[10.0, 90.0], [30.0, 70.0]]))[1])
    -0.200 (95 % interval -0.312 to -0.084)
    """
    own, others = (
        group_shares(table, confidence=confidence)
        for table in (counts, counts.sum(axis=0) - counts)
    )
    return [subtract_independent(a, b) for a, b in zip(own, others, strict=True)]


def subtract_independent(first: Estimate, second: Estimate) -> Estimate:
    """First estimate minus the second, of independent points, both with the same confidence."""

    def compute(a: Estimate, b: Estimate) -> tuple[float, float]:
        below = math.hypot(a.value - a.low, b.high - b.value)
        above = math.hypot(a.high - a.value, b.value - b.low)
        return a.value - b.value - below, a.value - b.value + above

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        a, b = (
            e.again(confidence=confidence, times=times, careful=careful) for e in (first, second)
        )
        return compute(a, b)

    value, ends = first.value - second.value, compute(first, second)
    method = f"difference of independent points by square and add; {first.method}, and others"
    return Estimate(value, *ends, first.confidence, method, limits)
