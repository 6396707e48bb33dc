"""Quantities with the influence of every point: closed forms of means and of their ratio."""

import numpy as np
import pytest

from shaketable.core.types import FloatArray
from shaketable.statistics.influence import Influence, tabulate_influence

RNG = np.random.default_rng(0)


def of_mean(values: FloatArray) -> Influence:
    """Mean of values in [0, 1]."""
    mean = float(values.mean())
    strata = np.zeros(len(values), np.int64)
    return Influence(mean, values - mean, strata, [-mean], [1 - mean])


def test_the_relative_change_of_means_is_that_of_the_ratio_estimator() -> None:
    y, x = RNG.random(200), RNG.uniform(0.5, 1, 200)
    change = of_mean(y).relate(of_mean(x))
    ratio = y.mean() / x.mean()
    assert change.value == pytest.approx(ratio - 1)
    assert change.points == pytest.approx((y - ratio * x) / x.mean())


def test_strata_of_few_points_are_one_with_the_widest_range() -> None:
    sizes, low, high = np.array([3, 5, 60]), np.array([-3.0, -1.0, -0.5]), np.array([1.0, 4.0, 0.5])
    strata = np.repeat(np.arange(3), sizes)
    points = np.where(strata == 2, RNG.uniform(-0.4, 0.4, 68), RNG.uniform(-0.9, 0.9, 68))
    points -= points.mean()
    linear, counts = tabulate_influence(Influence(0.0, points, strata, low, high))
    means = {own: points[np.isin(strata, own)].mean() for own in ((2,), (0, 1))}
    ends = [(-0.5, 0.5), (-3.0, 4.0)]
    for i, (own, mean) in enumerate(means.items()):
        share = np.isin(strata, own).mean()
        assert counts[i].sum() == np.isin(strata, own).sum()
        assert linear.low[i] == pytest.approx(share * (ends[i][0] - mean))
        assert linear.high[i] == pytest.approx(share * (ends[i][1] - mean))
