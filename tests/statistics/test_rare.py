"""Intervals of rare failures against those of scipy, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from shaketable.statistics.rare import (
    IMPORTANCE,
    PLAIN,
    SPLITTING,
    PointRisk,
    PointRisks,
    measure_spread,
)


def test_plain_draws_have_the_limits_of_clopper_and_pearson():
    risks = PointRisks.of([PointRisk(PLAIN, h / 50, 0.0, 50, h, 50) for h in (0, 7, 50)])
    low, high = risks.limits(0.025)
    for i, hits in enumerate((0, 7, 50)):
        exact = stats.binomtest(hits, 50).proportion_ci(0.95)
        assert (low[i], high[i]) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("spread", [0.3, 1.0, 1.5])
def test_ten_replicas_of_a_log_normal_law_cover_its_mean(spread):
    values = np.random.default_rng(0).lognormal(-(spread**2) / 2, spread, size=(2000, 10))
    risks = PointRisks.of(
        [PointRisk(SPLITTING, v.mean(), measure_spread(v), 10, 1, 0, v.mean()) for v in values]
    )
    low, high = risks.limits(0.025)
    assert np.mean((low <= 1) & (high >= 1)) > 0.94


def test_without_a_failure_the_last_level_bounds_the_probability():
    risks = PointRisks.of([PointRisk(SPLITTING, 0.0, 0.5, 10, 0, 0, reach=1e-8)])
    low, high = risks.limits(0.025)
    assert low[0] == 0
    assert high[0] == pytest.approx(1e-8 * np.exp(stats.t.isf(0.025, 9) * 0.5))


def test_an_unseen_region_raises_the_upper_limit_alone():
    plain, raised = (
        PointRisks.of([PointRisk(IMPORTANCE, 1e-6, 0.01, 1000, 500, 0, reach)]).limits(0.025)
        for reach in (1e-6, 1.3e-6)
    )
    assert raised[0] == plain[0]
    assert raised[1] == pytest.approx(1.3 * plain[1])


def test_points_with_equally_many_plain_draws_count_as_one():
    risks = PointRisks.of([PointRisk(PLAIN, h / 100, 0.0, 100, h, 100) for h in (0, 0, 3, 5)])
    exact = stats.binomtest(8, 400).proportion_ci(0.95)
    assert (risks.mean.low, risks.mean.high) == pytest.approx((exact.low, exact.high))
    wider = risks.mean.again(confidence=0.99)
    assert wider.low < risks.mean.low < risks.mean.high < wider.high


def test_the_mean_of_independent_points_is_covered():
    rng, truth, hits = np.random.default_rng(1), np.array([1e-6, 5e-6, 2e-5, 1e-3]), []
    for _ in range(400):
        values = [rng.lognormal(np.log(p) - 0.18, 0.6, size=10) for p in truth[:3]]
        found = [
            PointRisk(SPLITTING, v.mean(), measure_spread(v), 10, 1, 0, v.mean()) for v in values
        ]
        wrong = int(rng.binomial(2000, truth[3]))
        mean = PointRisks.of([*found, PointRisk(PLAIN, wrong / 2000, 0.0, 2000, wrong, 0)]).mean
        hits.append(mean.low <= truth.mean() <= mean.high)
    assert np.mean(hits) > 0.94


def test_the_bound_for_all_points_holds_as_often_as_one_limit():
    rng, n, p = np.random.default_rng(2), 20, 0.01
    wrong = rng.binomial(500, p, size=(500, n))
    bounds = [
        PointRisks.of([PointRisk(PLAIN, w / 500, 0.0, 500, w, 500) for w in row]).highest.high
        for row in wrong.tolist()
    ]
    assert np.mean(np.array(bounds) >= p) > 0.95


def test_points_are_told_below_above_and_neither():
    found = [PointRisk(PLAIN, h / 1000, 0.0, 1000, h, 1000) for h in (0, 100, 500)]
    assert PointRisks.of(found).count_above(0.1) == (1, 1, 1)
