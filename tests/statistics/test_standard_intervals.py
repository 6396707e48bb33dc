"""The standard intervals: equal to scipy's, and chosen where they are asked for, never mixed."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from shaketable.core.errors import InputError
from shaketable.findings.mcv.numbers import coefficient
from shaketable.statistics import intervals
from shaketable.statistics.difference import compute_p_value
from shaketable.statistics.families import cached_by_family, get_family, use_intervals
from shaketable.statistics.groups import count_by_group, group_error_bounds, group_shares
from shaketable.statistics.sequences import hold_at_any_size
from shaketable.statistics.standard_intervals import (
    RESAMPLES,
    Bootstrap,
    compute_clopper_pearson,
    compute_tango,
    compute_wilson,
)

RNG = np.random.default_rng(0)
CLEAN = RNG.binomial(1, 0.9, 200)
HITS = RNG.binomial(10, np.where(RNG.random(200) < 0.7, 0.99, 0.4))
OTHER = RNG.binomial(10, 0.8, 200)


@pytest.fixture
def standard():
    with use_intervals("standard"):
        yield


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (10, 10), (37, 40), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.usefixtures("standard")
def test_shares_of_single_answers_are_clopper_pearson(hits, n, confidence):
    expected = stats.binomtest(hits, n).proportion_ci(confidence, method="exact")
    answers = [1] * hits + [0] * (n - hits)
    for e in (
        intervals.proportion(hits, n, confidence=confidence),
        intervals.mean_share(answers, 1, confidence=confidence),
        group_shares(np.array([[n - hits, hits]], dtype=float), confidence=confidence)[0],
    ):
        assert (e.low, e.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert e.method == f"fixed model, new points and noise; Clopper–Pearson: n = {n}, k = 1"
        assert e.again(careful=True).low == e.low, "exact for all kinds of points"


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (10, 10), (37, 40)])
@pytest.mark.usefixtures("standard")
def test_shares_of_draws_that_always_agree_are_wilson_of_the_points(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    e = intervals.mean_share([4] * hits + [0] * (n - hits), 4)
    assert (e.low, e.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert "Wilson, effective number of draws: n = " in e.method
    with pytest.raises(InputError, match="drop careful=True or use_intervals"):
        e.again(careful=True)


@pytest.mark.usefixtures("standard")
def test_independent_draws_count_one_by_one():
    hits = stats.binom.ppf((np.arange(2000) + 0.5) / 2000, 10, 0.9).astype(int)
    e = intervals.mean_share(hits, 10)
    expected = stats.binomtest(int(hits.sum()), 20000).proportion_ci(0.95, method="wilson")
    assert (e.low, e.high) == pytest.approx((expected.low, expected.high), abs=1e-4)
    alike = intervals.mean_share([5] * 20, 10)
    expected = stats.binomtest(100, 200).proportion_ci(0.95, method="wilson")
    assert (alike.low, alike.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.usefixtures("standard")
def test_error_bounds_are_one_sided():
    single = intervals.error_upper_bound([1] * 97 + [0] * 3, 1)
    expected = stats.binomtest(3, 100, alternative="less").proportion_ci(0.95, method="exact")
    assert (single.low, single.high) == pytest.approx((0, expected.high))
    assert single.method.startswith("one-sided, fixed model, new points and noise; Clopper–Pearson")
    draws = intervals.error_upper_bound([4] * 97 + [0] * 3, 4, confidence=0.99)
    expected = stats.binomtest(3, 100, alternative="less").proportion_ci(0.99, method="wilson")
    assert draws.high == pytest.approx(expected.high)
    both = intervals.error_upper_bounds([HITS, OTHER], 10)
    assert [e.high for e in both] == pytest.approx(
        [intervals.error_upper_bound(hits, 10).high for hits in (HITS, OTHER)]
    )
    codes = np.arange(200) % 2
    groups = group_error_bounds(count_by_group(HITS, 10, codes, 2))
    assert [e.high for e in groups] == pytest.approx(
        [intervals.error_upper_bound(HITS[codes == i], 10).high for i in (0, 1)]
    )


@pytest.mark.usefixtures("standard")
def test_means_over_runs_are_students_t():
    runs = RNG.binomial(1, [[0.5], [0.55], [0.6], [0.65]], (4, 300))
    means = runs.mean(axis=1)
    for times, confidence in ((1, 0.95), (5, 0.99)):
        e = intervals.mean_share_over_runs(runs, 1).again(confidence=confidence, times=times)
        scale = means.std(ddof=1) / math.sqrt(4 * times)
        expected = stats.t.interval(confidence, 4 * times - 1, means.mean(), scale)
        assert (e.low, e.high) == pytest.approx(expected)
    assert e.method == "mean over all runs like these; Student t: 4 runs, n = 300, k = 1"
    e = intervals.mean_share_over_runs([[1, 1, 0, 1], [1, 1, 1, 1]], 1)
    assert (e.value, e.low, e.high) == pytest.approx((0.875, 0, 1)), "within the range"
    clean = np.ones_like(runs)
    change = intervals.relative_change_over_runs(clean, runs, 1)
    assert change.low == pytest.approx(
        stats.t.interval(0.95, 3, means.mean() - 1, means.std(ddof=1) / 2)[0]
    )


def test_tango_inverts_the_score_test():
    """Beyond the limits, the score test rejects; scipy finds the most likely share here."""

    def compute_score(first, second, n, d):
        def loss(q):
            parts = (first, q + d), (second, q), (n - first - second, 1 - 2 * q - d)
            return -sum(count * math.log(share) for count, share in parts if count)

        ends = max(0.0, -d) + 1e-12, (1 - d) / 2 - 1e-12
        q = optimize.minimize_scalar(loss, bounds=ends, options={"xatol": 1e-13}).x
        return (first - second - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))

    for first, second, n in ((12, 3, 100), (1, 0, 20), (40, 35, 90), (5, 0, 50)):
        low, high = compute_tango(first, second, n, 0.025)
        z = stats.norm.ppf(0.975)
        assert compute_score(first, second, n, low) == pytest.approx(z, abs=1e-4)
        assert compute_score(first, second, n, high) == pytest.approx(-z, abs=1e-4)
        assert compute_tango(second, first, n, 0.025) == pytest.approx((-high, -low))
    low, high = compute_tango(0, 0, 50, 0.025)
    assert (low, high) == pytest.approx((-(z**2) / (50 + z**2), z**2 / (50 + z**2)))
    assert compute_tango(9, 0, 9, 0.025)[1] == pytest.approx(1)


@pytest.mark.usefixtures("standard")
def test_paired_differences_of_single_answers_are_judged_as_by_mcnemar():
    a, b = np.repeat([1, 0, 1, 0], [14, 5, 50, 31]), np.repeat([0, 1, 1, 0], [14, 5, 50, 31])
    e = intervals.mean_difference(a, b, 1)
    assert e.method == (
        "fixed model, new points and noise; Tango's score interval, paired: n = 100, k = 1"
    )
    assert e.value == pytest.approx(0.09)
    assert compute_p_value(e) == pytest.approx(stats.chi2.sf(9**2 / 19, 1), rel=1e-6)
    assert intervals.mean_differences([a, b], [b, a], 1)[0] == e


def resample(data, statistic):
    # scipy's own, by drawing rows; the Monte-Carlo error of both is a few per cent of the width
    return stats.bootstrap(
        data,
        statistic,
        n_resamples=RESAMPLES,
        paired=True,
        vectorized=True,
        method="BCa",
        random_state=np.random.default_rng(1),  # scipy before 1.15 has no rng=
    ).confidence_interval


@pytest.mark.parametrize(
    ("estimate", "data", "statistic"),
    [
        pytest.param(
            lambda: intervals.mean_difference(HITS, OTHER, 10),
            (HITS, OTHER),
            lambda a, b, axis=-1: (a - b).mean(axis) / 10,
            id="difference",
        ),
        pytest.param(
            lambda: intervals.relative_change(CLEAN, HITS, 10),
            (CLEAN, HITS),
            lambda c, h, axis=-1: h.mean(axis) / 10 / c.mean(axis) - 1,
            id="change",
        ),
        pytest.param(
            lambda: intervals.change_difference((CLEAN, HITS), (CLEAN, OTHER), 10),
            (CLEAN, HITS, OTHER),
            lambda c, a, b, axis=-1: (a - b).mean(axis) / 10 / c.mean(axis),
            id="difference of changes",
        ),
        pytest.param(
            lambda: intervals.mean_of_values(HITS**3 / 1000, low=0, high=1),
            (HITS**3 / 1000,),
            lambda y, axis=-1: y.mean(axis),
            id="values",
        ),
    ],
)
@pytest.mark.usefixtures("standard")
def test_other_means_and_ratios_are_the_bootstrap_of_points(estimate, data, statistic):
    e, expected = estimate(), resample(data, statistic)
    slack = 0.03 * (expected.high - expected.low)
    assert (e.low, e.high) == pytest.approx(tuple(expected), abs=slack)
    assert e.method.startswith(
        "fixed model, new points and noise; BCa bootstrap of points, 9999 resamples: n = 200"
    )
    assert estimate() == e, "the seed is fixed"
    narrower, wider = (e.again(confidence=c) for c in (0.9, 0.99))
    assert wider.low < e.low < narrower.low < e.value < narrower.high < e.high < wider.high
    four = e.again(times=4)
    assert four.high - four.low == pytest.approx((e.high - e.low) / 2)


@pytest.mark.usefixtures("standard")
def test_tails_beyond_the_resamples_grow_as_normal_ones():
    e = intervals.mean_difference(HITS, OTHER, 10)
    far, edge = (e.again(confidence=1 - 2 * tail) for tail in (1e-9, 10 / 10000))
    ratio = stats.norm.ppf(1e-9) / stats.norm.ppf(10 / 10000)
    assert far.high - e.value == pytest.approx(ratio * (edge.high - e.value))
    assert far.low - e.value == pytest.approx(ratio * (edge.low - e.value))
    assert 0 < compute_p_value(e) < 1


@pytest.mark.usefixtures("standard")
def test_resamples_without_a_right_clean_answer_are_left_out():
    e = intervals.relative_change([1, 1] + [0] * 18, [1] * 3 + [0] * 17, 1)
    assert -1 <= e.low <= e.value == 0.5 <= e.high < math.inf
    assert intervals.relative_change([1] * 20, [1] * 20, 1).low == 0, "the bootstrap knows no other"


def test_many_outcomes_are_resampled_less_often():
    from shaketable.statistics.own_intervals import mean_estimator

    values = np.arange(50000) / 50000
    assert Bootstrap(mean_estimator(values), np.ones(50000)).resamples == 999
    assert Bootstrap(mean_estimator(values), np.r_[np.ones(9), np.zeros(49991)]).resamples == 9999


@pytest.mark.usefixtures("standard")
def test_what_is_made_of_intervals_is_made_of_standard_ones():
    e = hold_at_any_size(intervals.proportion(900, 1000), 1000, "points")
    assert "Clopper–Pearson: n = 1000" in e.method
    sets = RNG.random((3, 60)) < np.array([[0.9], [0.8], [0.6]])
    cv = coefficient(sets.astype(float))
    assert "BCa bootstrap of points" in cv.method
    assert cv.low < cv.value < cv.high


def test_an_estimate_keeps_its_family_when_it_is_computed_again():
    own = [intervals.mean_share(HITS, 10), *intervals.mean_differences([HITS], [OTHER], 10)]
    again = [e.again(confidence=0.9) for e in own]
    with use_intervals("standard"):
        assert [e.again(confidence=0.9) for e in own] == again
        other = intervals.mean_share(HITS, 10)
        narrow = other.again(confidence=0.9)
    assert other.again(confidence=0.9) == narrow
    assert intervals.mean_share(HITS, 10) == own[0] != other


def test_the_choice_ends_with_its_block_and_an_unknown_one_is_refused():
    with pytest.raises(ValueError, match="stop"), use_intervals("standard"):
        raise ValueError("stop")
    assert get_family() == "own"
    with use_intervals("standard"), use_intervals("own"):
        assert get_family() == "own"
    with pytest.raises(InputError, match="standard"), use_intervals("standrad"):
        pass


def test_kept_values_are_kept_by_family():
    class Thing:
        @cached_by_family
        def share(self):
            """Share of right answers."""
            return intervals.mean_share(HITS, 10)

    thing = Thing()
    assert thing.share is thing.share
    with use_intervals("standard"):
        chosen = thing.share
        assert chosen is thing.share
    assert chosen.low != thing.share.low
    assert Thing.share.__doc__ == "Share of right answers."


def test_closed_forms_take_many_at_once():
    hits, n = np.array([0.0, 3.0, 10.0]), np.full(3, 10.0)
    assert np.transpose(compute_clopper_pearson(hits, n, 0.025)) == pytest.approx(
        np.array([stats.binomtest(int(h), 10).proportion_ci() for h in hits])
    )
    assert np.transpose(compute_wilson(hits / 10, n, 0.025)) == pytest.approx(
        np.array([stats.binomtest(int(h), 10).proportion_ci(method="wilson") for h in hits])
    )
