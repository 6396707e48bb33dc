"""Estimates for groups of points, all groups at once, from counts of right answers per point.

A table has one row per group: how many of its points have 0, 1, … k right answers. The estimates
are those of `intervals` for the points of each group alone. A group and the points outside it are
independent samples (`independent.subtract_independent`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.counts import check_draws, read_points
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.estimating import bound_each, estimate_each
from shaketable.statistics.independent import subtract_independent
from shaketable.statistics.own_intervals import mean_estimator


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
    return estimate_each(lambda _: estimator, estimator, counts, k, confidence, quantity="share")


def group_error_bounds(counts: FloatArray) -> list[Estimate]:
    """Share of wrong answers in every group, none of which is empty, as `error_upper_bound`."""
    k = counts.shape[1] - 1
    return bound_each(1 - np.arange(k + 1) / k, counts, k)


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
