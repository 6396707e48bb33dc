import math

import numpy as np
import pytest
from scipy import special

from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import mean_share, proportion
from shaketable.statistics.sequences import (
    LEAST_TAIL,
    MIXTURE,
    find_fixed_confidence,
    forecast_times,
    forecast_width,
    hold_at_any_size,
)


def find_bound(confidence, n, unit):
    """Bound on Student's T that belongs to the confidence of a fixed size."""
    tail = (1 - find_fixed_confidence(confidence, n, unit)) / 2
    return -special.stdtrit(n - 1, tail)


@pytest.mark.parametrize("unit", ["points", "runs"])
@pytest.mark.parametrize("n", [12, 300, 20_000])
def test_the_mixture_is_one_over_alpha_at_the_bound(n, unit):
    g = MIXTURE[unit]
    if unit == "points" and n < 100:
        assert find_fixed_confidence(0.95, n, unit) == 1 - 2 * LEAST_TAIL  # there is no bound
        return
    square = find_bound(0.95, n, unit) ** 2
    # the mixture of t densities over effect sizes, N(0, g), relative to that of effect size 0
    ratio = (1 + square / (n - 1)) / (1 + square / ((n - 1) * (1 + n * g)))
    assert -0.5 * math.log1p(n * g) + n / 2 * math.log(ratio) == pytest.approx(math.log(20))


def test_means_of_normal_values_are_in_all_intervals_at_once():
    trials, most = 1000, 60
    rng = np.random.default_rng(0)
    x = rng.normal(size=(trials, most))
    missed = {"sequence": np.zeros(trials, bool), "fixed size": np.zeros(trials, bool)}
    for n in range(2, most + 1):
        part = x[:, :n]
        t = np.abs(part.mean(axis=1)) / (part.std(axis=1, ddof=1) / np.sqrt(n))
        missed["sequence"] |= t > find_bound(0.95, n, "runs")
        missed["fixed size"] |= t > special.stdtrit(n - 1, 0.975)
    assert missed["sequence"].mean() < 0.05
    assert missed["fixed size"].mean() > 0.25


def test_an_estimate_keeps_its_value_and_confidence():
    fixed = mean_share([10] * 950 + [4] * 50, 10)
    held = hold_at_any_size(fixed, 1000, "points")
    assert (held.value, held.confidence) == (fixed.value, 0.95)
    assert held.low < fixed.low < fixed.high < held.high
    assert "any number of points" in held.method
    strict = held.again(confidence=0.99)
    assert strict.low < held.low < held.high < strict.high
    assert held.again(confidence=0.95, times=1.0) == held


def test_more_points_are_forecast_with_the_bound_of_that_many():
    held = hold_at_any_size(proportion(900, 1000), 1000, "points")
    tenfold = hold_at_any_size(proportion(9000, 10_000), 10_000, "points")
    assert held.again(times=10).high == pytest.approx(tenfold.high)


def test_a_forecast_is_reached():
    held = hold_at_any_size(proportion(900, 1000), 1000, "points")
    times = forecast_width(held, 0.01)
    e = held.again(times=times)
    assert 0.0097 < (e.high - e.low) / 2 <= 0.01
    assert forecast_width(held, 0.2) == 1
    still = Estimate(0.5, 0.4, 0.6, 0.95, "never narrower", lambda *_: (0.4, 0.6))
    assert forecast_times(lambda times: still.again(times=times).high < 0.55) == math.inf
