"""Contrasts are weighted sums of accuracies with intervals."""

import numpy as np
import pytest

from helpers.records import draw_hits, make_suite_result
from shaketable.findings.mcv.effects import contrast, estimate_contrast
from shaketable.statistics.intervals import mean_share

K = 4
SPECS = ("clean", "sp(0.1)", "ga(0.1)", "sp(0.1) + ga(0.1)", "rotation(30)")
HITS = draw_hits(0, SPECS)
ACCURACIES = {spec: np.mean(h) / (1 if spec == "clean" else K) for spec, h in HITS.items()}
RESULT = make_suite_result(HITS, k=K)


def test_a_contrast_is_the_weighted_sum_of_accuracies():
    weights = {"clean": 2.0, SPECS[3]: -1.5, SPECS[4]: 0.25}
    e = contrast(RESULT, weights)
    assert e.value == pytest.approx(sum(w * ACCURACIES[spec] for spec, w in weights.items()))
    assert -1.5 <= e.low < e.value < e.high <= 2.25
    sharp = contrast(RESULT, weights, confidence=0.5)
    assert e.low < sharp.low < sharp.high < e.high
    negated = contrast(RESULT, {spec: -w for spec, w in weights.items()})
    assert (negated.low, negated.high) == pytest.approx((-e.high, -e.low))


def test_one_set_alone_has_the_interval_of_its_accuracy():
    e, alone = contrast(RESULT, {SPECS[1]: 1.0}), mean_share(HITS[SPECS[1]], K)
    assert (e.value, e.low, e.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_at_few_points_a_contrast_of_many_sets_is_about_as_wide_as_normal_theory_says():
    rng = np.random.default_rng(0)
    skill, harder = rng.beta(3, 0.6, size=120), np.linspace(0, 0.1, 60)[:, None]
    shares = (rng.random((60, 120)) < np.clip(skill - harder, 0, 1)).astype(float)
    weights = np.where(np.arange(60) < 30, 1 / 30, -1 / 30)
    e = estimate_contrast(shares, weights)
    error = np.std(weights @ shares, ddof=1) / np.sqrt(120)
    assert 1 <= (e.high - e.low) / (2 * 1.96 * error) <= 1.1
