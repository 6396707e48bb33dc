"""Correlations: those of scipy, with intervals that cover."""

import math

import numpy as np
import pytest
from scipy import stats

from shaketable.core.errors import InputError, UndefinedError
from shaketable.statistics.correlation import compute_reliability, pearson, spearman
from shaketable.statistics.estimate import Estimate

RNG = np.random.default_rng(0)
X = RNG.normal(size=25)
Y = 0.7 * X + RNG.normal(size=25)


def test_values_are_those_of_scipy() -> None:
    ours, theirs = pearson(X, Y), stats.pearsonr(X, Y)
    ends = theirs.confidence_interval(0.95)
    assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.statistic, *ends))
    tied = np.round(Y)
    assert spearman(X, tied).value == pytest.approx(stats.spearmanr(X, tied).statistic)
    assert spearman(np.exp(X), Y**3) == spearman(X, Y), "ranks alone count"


def test_spearman_covers_the_truth() -> None:
    """Of normal values with correlation rho it is 6 / pi arcsin(rho / 2)."""
    rho, covered, trials = 0.8, 0, 500
    truth = 6 / math.pi * math.asin(rho / 2)
    for _ in range(trials):
        x = RNG.normal(size=30)
        e = spearman(x, rho * x + math.sqrt(1 - rho**2) * RNG.normal(size=30))
        covered += e.low <= truth <= e.high
    assert 0.92 <= covered / trials <= 0.98


def test_a_perfect_order_has_an_interval_too() -> None:
    x = np.arange(12.0)
    up, down = spearman(x, x), spearman(x, -x)
    assert (up.value, up.high) == (1.0, 1.0)
    assert 0.7 < up.low < 1
    assert (down.low, down.high) == pytest.approx((-1.0, -up.low))
    assert up.again(confidence=0.99).low < up.low


def test_what_has_no_correlation_is_refused() -> None:
    with pytest.raises(UndefinedError, match="same value"):
        spearman(X, np.ones(25))
    with pytest.raises(InputError, match="4 models or more, got 3"):
        pearson(X[:3], Y[:3])
    with pytest.raises(InputError, match="got 25 and 24"):
        pearson(X, Y[1:])


def test_reliability_is_the_share_that_is_no_error() -> None:
    truth, error = RNG.normal(0, 1, 4000), 0.5
    measured = truth + RNG.normal(0, error, 4000)
    estimates = [Estimate(v, v - 1.96 * error, v + 1.96 * error, 0.95, "") for v in measured]
    assert compute_reliability(estimates) == pytest.approx(1 / (1 + error**2), abs=0.03)
    assert compute_reliability([Estimate(0.5, 0.4, 0.6, 0.95, "")] * 3) == 0
