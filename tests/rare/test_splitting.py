"""Estimates against probabilities that are known."""

import numpy as np
import pytest
from scipy import special, stats

from shaketable.rare.latent import LatentNoise
from shaketable.rare.measuring import ask_together
from shaketable.rare.splitting import PLAIN_DRAWS, estimate_risk
from shaketable.statistics.rare import IMPORTANCE, PLAIN, SPLITTING, PointRisks

WEIGHTS = np.random.default_rng(0).normal(size=20)
WEIGHTS /= np.linalg.norm(WEIGHTS)


def estimate(margin, dimensions, seeds=range(20), budget=20_000, precision=None):
    """Estimates from several seeds, asked together."""
    estimates = [estimate_risk(1 + seed, dimensions, budget, precision) for seed in seeds]
    return PointRisks.of(ask_together(estimates, lambda _, u: margin(u), 1 << 16))


def share_covered(risks, truth):
    low, high = risks.limits(0.025)
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize("p", [1e-3, 1e-6, 1e-9])
def test_half_spaces_under_gaussian_noise(p):
    risks = estimate(lambda u: stats.norm.isf(p) - u @ WEIGHTS, 20)
    assert share_covered(risks, p) >= 0.85
    assert np.median(risks.value) == pytest.approx(p, rel=0.5)


@pytest.mark.parametrize("p", [1e-3, 1e-6])
def test_caps_of_the_ball(p):
    d, latent = 3, LatentNoise(2.0, 3)
    limit = 1 - 2 * special.betaincinv((d + 1) / 2, (d + 1) / 2, p)
    risks = estimate(lambda u: limit - latent(u)[:, 0], latent.dimensions)
    assert share_covered(risks, p) >= 0.85


def test_importance_sampling_pays_where_the_margin_is_curved():
    p, latent = 1e-6, LatentNoise(2.0, 20)
    limit = 1 - 2 * special.betaincinv(10.5, 10.5, p)
    risks = estimate(lambda u: limit - latent(u) @ WEIGHTS, latent.dimensions, budget=50_000)
    low, high = risks.limits(0.025)
    assert np.mean(risks.method == IMPORTANCE) > 0.8
    assert np.median(high / low) < 1.6  # 1,000 times as many plain draws: 1.74


@pytest.mark.parametrize("p", [1e-3, 1e-6, 1e-9])
def test_corners_of_the_cube(p):
    latent = LatentNoise(np.inf, 4)
    limit = 4 - (p * 24 * 16) ** 0.25
    risks = estimate(lambda u: limit - latent(u).sum(axis=1), 4)
    assert share_covered(risks, p) >= 0.85


def test_splitting_alone_is_unbiased_and_covers():
    """Failures on both sides of 0 forbid importance sampling."""
    p = 1e-5
    risks = estimate(lambda u: stats.norm.isf(p / 2) - np.abs(u[:, 0]), 8, range(24))
    assert np.mean(risks.method == SPLITTING) > 0.8
    assert share_covered(risks, p) >= 0.9
    error = risks.value.std() / np.sqrt(24)
    assert abs(risks.value.mean() - p) < 4 * error


@pytest.mark.parametrize("d", [6, 20])
def test_a_region_that_few_replicas_see_is_not_lost(d):
    """Nine tenths of the failures are in one direction, one tenth in another."""
    p = 1e-6
    ends = stats.norm.isf(0.9 * p), stats.norm.isf(0.1 * p)
    risks = estimate(lambda u: np.minimum(ends[0] - u[:, 0], ends[1] - u[:, 1]), d)
    assert share_covered(risks, p) >= 0.85


def test_a_margin_of_few_values_is_followed_over_its_plateaus():
    p = 1e-6
    ends = stats.norm.isf([p, 1e-4, 1e-2, 0.3])  # 5 values

    def margin(u):
        return (ends[0] > u[:, 0]) * 1.0 + (u[:, :1] < ends[1:]).sum(axis=1)

    risks = estimate(margin, 4, budget=50_000)
    assert share_covered(risks, p) >= 0.85
    assert (risks.value > 0).mean() > 0.8


@pytest.mark.parametrize("budget", [5000, 50_000])
def test_a_point_that_never_fails_gets_a_bound_and_keeps_to_the_budget(budget):
    risks = estimate(lambda u: 1 + np.exp(-u[:, 0]), 4, range(3), budget)
    low, high = risks.limits(0.025)
    assert (low == 0).all()
    assert (high < (2e-8 if budget > 5000 else 1e-2)).all()
    assert (risks.queries <= budget + 2000).all()


def test_a_constant_margin_gets_plain_draws():
    risks = estimate(lambda u: np.ones(len(u)), 3, range(2))
    assert (risks.method == PLAIN).all()
    assert risks.limits(0.025)[1][0] < 4 / 19_000


def test_a_point_that_fails_often_gets_plain_draws_and_their_limits():
    risks = estimate(lambda u: 1 - u[:, 0], 3, range(2))
    assert (risks.method == PLAIN).all()
    assert (risks.sample == PLAIN_DRAWS).all()
    assert share_covered(risks, stats.norm.sf(1)) == 1
    sure = estimate(lambda u: -np.ones(len(u)), 3, range(1))
    assert sure.value[0] == 1


def test_a_precision_that_is_reached_takes_fewer_answers():
    def margin(u):
        return stats.norm.isf(1e-4) - u[:, 0]

    whole = estimate(margin, 2, range(3))
    early = estimate(margin, 2, range(3), precision=0.2)
    assert (early.queries < whole.queries).all()
    assert (early.method == IMPORTANCE).all()
    assert (2 * early.error < 0.25).all()


def test_who_is_asked_together_changes_nothing():
    def margin(u):
        return 3.0 - u[:, 0]

    alone = [estimate(margin, 2, [seed]) for seed in range(3)]
    together = estimate(margin, 2, range(3))
    assert [a.value[0] for a in alone] == together.value.tolist()
    assert [a.queries[0] for a in alone] == together.queries.tolist()
