"""Holm's procedure: the same from p-values and from intervals."""

import numpy as np
import pytest
from scipy.special import ndtri

from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.multiplicity import (
    LEAST_P,
    adjust_p_values,
    compute_p_value,
    judge_together,
)


def test_a_p_value_is_where_the_interval_ends_at_zero() -> None:
    gap = intervals.mean_difference([1] * 20 + [0] * 80, [0] * 88 + [1] * 12, 1)
    p = compute_p_value(gap)
    assert 0.01 < p < 0.9
    assert gap.again(confidence=1 - p).low == pytest.approx(0, abs=1e-6)
    assert compute_p_value(gap.subtract_from(0)) == pytest.approx(p)
    assert compute_p_value(intervals.mean_difference([1, 0] * 9, [0, 1] * 9, 1)) == 1
    assert compute_p_value(intervals.mean_difference([1] * 500, [0] * 500, 1)) == LEAST_P


def test_intervals_are_judged_as_their_adjusted_p_values_are() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2):
        gaps = [
            intervals.mean_difference(rng.binomial(1, p, 60), rng.binomial(1, 0.5, 60), 1)
            for p in (0.5, 0.6, 0.7, 0.8, 0.75)
        ]
        adjusted = adjust_p_values([compute_p_value(gap) for gap in gaps])
        assert judge_together(gaps) == [p <= 0.05 for p in adjusted]


def test_those_left_are_tested_again_with_what_is_left() -> None:
    """Normal estimates with p-values of 0.009, 0.021 and 0.32: 0.021 is above 0.05 / 3."""
    gaps = [make_normal(z) for z in (2.6, -2.3, 1.0)]
    assert judge_together(gaps) == [True, True, False]
    assert judge_together(gaps[1:]) == [True, False]
    assert judge_together([gaps[1], *gaps[2:] * 2]) == [False, False, False]


def make_normal(z: float) -> Estimate:
    def limits(confidence: float, *_: object) -> tuple[float, float]:
        step = float(ndtri((1 + confidence) / 2))
        return z - step, z + step

    return Estimate(z, *limits(0.95), 0.95, "normal", limits)


def test_adjusted_p_values_keep_their_order_and_stay_below_one() -> None:
    assert adjust_p_values([0.9, 0.001, 0.5]) == pytest.approx([1.0, 0.003, 1.0])
    assert adjust_p_values([]) == []
