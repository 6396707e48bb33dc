"""Estimates: what they print and give as JSON, and the same with another interval."""

import pickle

import numpy as np
import pytest
from scipy import stats

from shaketable.core.errors import InputError
from shaketable.findings.mcv.numbers import coefficient, coefficient_difference
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.own_intervals import imagine_worst


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.9, 0.824, 0.951), "0.900 (95 % interval 0.824 to 0.951)"),
        ((0.9, 0.89, 0.91), "0.9000 (95 % interval 0.8900 to 0.9100)"),
        ((0.5, 0.0, 1.0), "0.50 (95 % interval 0.00 to 1.00)"),
        ((1.0, 1.0, 1.0), "1.0000 (95 % interval 1.0000 to 1.0000)"),
        ((-0.0001, -0.4, 0.4), "0.000 (95 % interval -0.400 to 0.400)"),
    ],
)
def test_as_many_digits_as_the_interval_supports(numbers, text):
    assert str(Estimate(*numbers, 0.95, "by hand")) == text


def test_json_is_in_per_cent_without_a_negative_zero():
    json = Estimate(-0.0, -0.0, 0.25, 0.9, "by hand").json()
    assert repr(json) == "{'mean': 0.0, 'low': 0.0, 'high': 25.0}"


RNG = np.random.default_rng(0)
CLEAN, FIRST, SECOND = (RNG.binomial(k, 0.8, 60) for k in (1, 4, 4))
SETS = RNG.random((3, 60)) < np.array([[0.9], [0.8], [0.6]])
FIXED = {
    "share": lambda t, **o: intervals.mean_share(np.tile(FIRST, t), 4, **o),
    "change": lambda t, **o: intervals.relative_change(
        np.tile(CLEAN, t), np.tile(FIRST, t), 4, **o
    ),
    "difference": lambda t, **o: intervals.mean_difference(
        np.tile(FIRST, t), np.tile(SECOND, t), 4, **o
    ),
    "cv": lambda t, **o: coefficient(np.tile(SETS, t).astype(float), **o),
    "cv difference": lambda t, **o: coefficient_difference(
        np.tile(SETS, t).astype(float), np.tile(SETS[::-1] | SETS[1], t).astype(float), **o
    ),
    "no cv": lambda t, **o: coefficient_difference(*[np.tile(np.eye(2), 30 * t)] * 2, **o),
}


@pytest.mark.parametrize("name", FIXED)
def test_an_interval_can_be_computed_again_for_another_confidence_or_more_points(name):
    estimate = FIXED[name](1)
    assert estimate.again() == estimate
    assert estimate.again(confidence=0.99) == FIXED[name](1, confidence=0.99)
    more, again = FIXED[name](3), estimate.again(times=3)
    slack = 1e-9 if "cv" not in name else 2e-3  # n - 1 points in what chance adds to a CV
    assert (again.low, again.high) == pytest.approx((more.low, more.high), abs=slack)
    assert again.high - again.low < estimate.high - estimate.low


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_careful_limits_are_never_closer_than_others(runs):
    rng = np.random.default_rng(runs)
    for n in (20, 50, 100):
        shift = rng.normal(0, 0.05, (runs, 1))
        clean = (rng.random((runs, n)) < 0.9).astype(int)
        hits = rng.binomial(10, np.clip(0.9 + shift, 0, 1), (runs, n))
        clean[:, 0], clean[:, 1] = 0, 1
        for e in (
            intervals.mean_change([(1 - clean, 10 - hits)], 10),  # iCE: 41 % narrower
            intervals.mean_change([(clean, hits)], 10),
            intervals.mean_share_over_runs(hits, 10)
            if runs > 1
            else intervals.mean_share(hits[0], 10),
        ):
            careful = e.again(careful=True)
            assert careful.low <= e.low <= e.value <= e.high <= careful.high


def test_careful_limits_are_those_of_the_worst_point():
    values = np.array([0.0] * 95 + [0.1] * 5)
    usual = intervals.mean_of_values(values, low=0, high=1)
    worst = intervals.mean_of_values(values, low=0, high=1, imagine=imagine_worst)
    careful = usual.again(careful=True)
    assert (careful.low, careful.high) == (min(usual.low, worst.low), worst.high)
    assert careful.high > 1.5 * usual.high
    assert careful.again(times=2).high == worst.again(times=2).high
    assert careful.again(careful=False) == usual


def test_more_runs_of_a_study_make_students_interval_narrower():
    hits = np.random.default_rng(1).binomial(1, [[0.5], [0.55], [0.6], [0.65]], (4, 3000))
    again = intervals.mean_share_over_runs(hits, 1).again(times=5)
    means = hits.mean(axis=1)
    expected = stats.t.interval(0.95, 19, means.mean(), means.std(ddof=1) / np.sqrt(20))
    assert (again.low, again.high) == pytest.approx(expected, abs=0.002)


def test_subtracting_turns_the_interval_round():
    right = intervals.proportion(90, 100)
    wrong, exact = right.subtract_from(1), intervals.proportion(10, 100)
    for e, reference in ((wrong, exact), (wrong.again(times=2), exact.again(times=2))):
        numbers = (e.value, e.low, e.high)
        assert numbers == pytest.approx((reference.value, reference.low, reference.high))


def test_a_pickled_estimate_is_equal_but_cannot_be_computed_again():
    estimate = intervals.proportion(90, 100)
    copy = pickle.loads(pickle.dumps(estimate))
    assert copy == estimate
    with pytest.raises(InputError, match="only be computed again from its counts"):
        copy.again(confidence=0.99)
