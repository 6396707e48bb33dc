"""From a table of outcomes to an `Estimate`, by the family of intervals that is in force."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.statistics import standard_intervals
from shaketable.statistics.counts import check_confidence
from shaketable.statistics.estimate import Estimate, Limits, Method
from shaketable.statistics.families import get_family
from shaketable.statistics.own_intervals import (
    Estimator,
    Imagine,
    compute_limits,
    compute_limits_over_runs,
    find_upper_limit,
    imagine_point,
    imagine_worst,
    mean_estimator,
)
from shaketable.statistics.standard_intervals import Quantity

_OWN = "Clopper–Pearson, generalised to means of points"
_OWN_OVER_RUNS = "Student t, or wider with beta tails"


def make_estimate(
    estimator: Estimator,
    counts: FloatArray,
    k: int,
    confidence: float,
    *,
    quantity: Quantity = "other",
    least: float = -math.inf,
    imagine: Imagine = imagine_point,
) -> Estimate:
    """Estimate from a table of outcomes: (outcomes) for a fixed model, or (runs, outcomes)."""
    if get_family() == "standard":
        method = standard_intervals.choose_method(estimator, counts, k, quantity)
    else:
        method = choose_own(estimator, counts, imagine)
    return estimate_by(method, counts, k, confidence, least)


def estimate_by(
    method: Method, counts: FloatArray, k: int, confidence: float, least: float = -math.inf
) -> Estimate:
    """Estimate by one method, whatever family is in force when it is computed again."""

    def compute(confidence: float, times: float, careful: bool) -> tuple[float, float, float]:
        tail = (1 - check_confidence(confidence)) / 2
        value, low, high = method.compute(tail, times, careful)
        return value, max(low, least), high

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        return compute(confidence, times, careful)[1:]

    text = describe_target(counts, method.name, k)
    return Estimate(*compute(confidence, 1.0, False), confidence, text, limits)


def choose_own(
    estimator: Estimator, counts: FloatArray, imagine: Imagine = imagine_point
) -> Method:
    """Return shaketable's own method for a table of outcomes, as the standard one."""
    ends = compute_limits if counts.ndim == 1 else compute_limits_over_runs

    def compute(tail: float, times: float, careful: bool) -> tuple[float, float, float]:
        point = imagine_worst if careful else imagine
        value, low, high = map(float, ends(estimator, counts, tail, point, times))
        return value, low, high

    return Method(_OWN if counts.ndim == 1 else _OWN_OVER_RUNS, compute)


def describe_target(counts: FloatArray, method: str, k: int) -> str:
    """Say what an interval is for, how it was computed, and from how many points."""
    n = f"n = {counts.sum(axis=-1).flat[0]:.0f}, k = {k}"
    if counts.ndim > 1:
        return f"mean over all runs like these; {method}: {len(counts)} runs, {n}"
    return f"fixed model, new points and noise; {method}: {n}"


def estimate_each(
    estimate_row: Callable[[int], Estimator],
    estimate_all: Estimator,
    counts: FloatArray,
    k: int,
    confidence: float,
    *,
    quantity: Quantity = "other",
) -> list[Estimate]:
    """One estimate for a fixed model per row of a table of outcomes, as for each row alone.

    Own limits of all rows are found together.
    """
    if get_family() == "standard":
        return [
            make_estimate(estimate_row(row), counts[row], k, confidence, quantity=quantity)
            for row in range(len(counts))
        ]

    def make_limits(row: int) -> Limits:
        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
            own = choose_own(estimate_row(row), counts[row])
            again = estimate_by(own, counts[row], k, confidence)
            again = again.again(times=times, careful=careful)
            return again.low, again.high

        return limits

    tail = (1 - check_confidence(confidence)) / 2
    found = np.stack(compute_limits(estimate_all, counts, tail), axis=-1).tolist()
    methods = [describe_target(row, _OWN, k) for row in counts]
    return [
        Estimate(value, low, high, confidence, methods[row], make_limits(row))
        for row, (value, low, high) in enumerate(found)
    ]


def bound_each(
    errors: FloatArray, counts: FloatArray, k: int, confidence: float = 0.95
) -> list[Estimate]:
    """One-sided upper bound of the share of wrong answers, per row of a table of outcomes.

    `errors` has the share of wrong draws of every outcome.
    """
    linear, tail = mean_estimator(errors)(counts), 1 - check_confidence(confidence)
    if get_family() == "standard":
        name = standard_intervals.describe_share_method(k)
        highs = standard_intervals.compute_share_limits(linear, counts, k, tail)[1]
    else:
        name, highs = _OWN, find_upper_limit(linear, counts, tail)
    return [
        Estimate(value, 0.0, high, confidence, f"one-sided, {describe_target(row, name, k)}")
        for value, high, row in zip(linear.estimate.tolist(), highs.tolist(), counts, strict=True)
    ]
