"""Shares of answers of one kind among those of another, such as sure answers among wrong ones."""

from __future__ import annotations

import numpy as np

from shaketable.core.errors import UndefinedError
from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.estimating import make_estimate
from shaketable.statistics.own_intervals import Estimator, LinearEstimate


def part_estimator(whole: FloatArray, part: FloatArray) -> Estimator:
    """Estimator of the mean of `part` over the mean of `whole`, of which it is a part."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        mean = np.asarray(counts @ whole / counts.sum(axis=-1))
        share = np.asarray(counts @ part / (counts @ whole))
        bases, most = whole / mean[..., None], 1 / mean
        values = share[..., None] + part / mean[..., None] - share[..., None] * bases
        ends = share - share * most, share + (1 - share) * most
        return LinearEstimate(share, values, *ends, (), bases, most, most)

    return estimate


def share_of_part(part: IntArray, whole: IntArray, k: int, *, confidence: float = 0.95) -> Estimate:
    """Answers of one kind as a share of those of another, for a fixed model.

    `whole` counts answers per point, from 0 to k, and `part` those of them that are of the other
    kind. Points are the units: answers at one point may be alike. If a point has all its answers or
    none, the interval is close to that of Clopper–Pearson, with the points that have them.

    >>> print(share_of_part(np.array([1] * 5 + [0] * 95), np.array([1] * 10 + [0] * 90), k=1))
    0.500 (95 % interval 0.198 to 0.802)
    """
    if not whole.any():
        raise UndefinedError(
            "a share of no answers is undefined; evaluate more points or a stronger corruption"
        )
    has = whole > 0  # the others say nothing
    outcomes, counts = np.unique(np.stack([whole, part])[:, has], axis=1, return_counts=True)
    estimator = part_estimator(outcomes[0] / k, outcomes[1] / k)
    estimate = make_estimate(estimator, counts.astype(np.float64), k, confidence, least=0.0)
    return keep_within(estimate, 0.0, 1.0)


def keep_within(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return an estimate whose limits are not beyond what is possible."""
    limits = estimate.limits

    def clip(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        assert limits is not None
        ends = limits(confidence, times, careful)
        return max(ends[0], low), min(ends[1], high)

    return Estimate(
        estimate.value,
        max(estimate.low, low),
        min(estimate.high, high),
        estimate.confidence,
        estimate.method,
        None if limits is None else clip,
        estimate.careful,
    )
