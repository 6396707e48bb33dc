"""Differences: which model is better, or why nothing can be said; several judged by Holm."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from shaketable.statistics import intervals
from shaketable.statistics.difference import (
    LEAST_P,
    Difference,
    adjust_p_values,
    compute_p_value,
    is_shown,
    judge_together,
)
from shaketable.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("low", "high", "options", "words"),
    [
        (0.01, 0.2, {}, "a wins"),
        (-0.2, -0.01, {}, "b wins"),
        (0.01, 0.2, {"lower_is_better": True}, "b wins"),
        (-0.2, -0.01, {"lower_is_better": True}, "a wins"),
        (0.0, 0.2, {}, "the difference may be chance"),
        (-0.2, 0.0, {}, "the difference may be chance"),
        (0.01, 0.2, {"doubt": "other attacks"}, "other attacks"),
    ],
)
def test_words_follow_the_interval(low, high, options, words):
    value = Estimate((low + high) / 2, low, high, 0.95, "by hand")
    difference = Difference("a", "b", value, "wins", **options)
    assert difference.words == words
    assert difference.shown == ("wins" in words)
    assert difference.json() == {"first": "a", "second": "b", **value.json(), "method": "by hand"}


@pytest.mark.parametrize("value", [-0.4, -0.1, 0.05, 0.1, 0.4])
@pytest.mark.parametrize("judged", [1, 2, 10])
def test_differences_that_are_judged_together_share_the_error_probability(value, judged):
    def limits(confidence, times=1.0, careful=True):
        return stats.norm.interval(confidence, loc=value, scale=0.045)

    estimate = Estimate(value, *limits(0.95), 0.95, "by hand", limits)
    p = 2 * stats.norm.sf(abs(value) / 0.045)  # 0.026 for 0.1
    assert is_shown(estimate, judged) == (p * judged < 0.05)


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
