"""Intervals: closed forms, simulated coverage, symmetries, and what is refused."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import (
    change_difference,
    change_difference_over_runs,
    error_upper_bound,
    error_upper_bounds,
    mean_difference,
    mean_difference_over_runs,
    mean_differences,
    mean_of_values,
    mean_share,
    mean_share_over_runs,
    means_of_values,
    point_error_upper_bound,
    proportion,
    relative_change,
    relative_change_over_runs,
)
from shaketable.statistics.own_intervals import (
    compute_limits,
    compute_limits_over_runs,
    mean_estimator,
)

K = 4


def ones(right: int, n: int) -> IntArray:
    return (np.arange(n) < right).astype(np.int64)


def limits(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (3, 7), (50, 100), (998, 1000), (60, 60)])
def test_one_draw_per_point_is_clopper_pearson(hits: int, n: int, confidence: float) -> None:
    exact = stats.binomtest(hits, n).proportion_ci(confidence, method="exact")
    for estimate in (
        proportion(hits, n, confidence=confidence),
        mean_share(ones(hits, n), 1, confidence=confidence),
    ):
        assert estimate.value == hits / n
        assert limits(estimate) == pytest.approx((exact.low, exact.high), abs=1e-10)


def tail_of_t(df: float) -> float:
    """Normal tail beyond the quantile of Student's t."""
    return float(stats.norm.sf(stats.t.ppf(0.975, df)))


@pytest.mark.parametrize("n", [20, 1000])
def test_without_a_loss_the_limits_are_close_to_the_rule_of_three(n: int) -> None:
    # 0.65 of an imagined loss or gain has the weight Beta(0.65, n) among n points
    sure = np.ones(n, dtype=int), np.full(n, K)
    reach = special.betaincinv(0.65, n, 1 - tail_of_t((n - 1) / 2))
    assert reach == pytest.approx(2.9 / n, rel=0.01 + 3 / n)
    for estimate in (change_difference(sure, sure, K), mean_difference(sure[1], sure[1], K)):
        assert limits(estimate) == pytest.approx((-reach, reach), rel=1e-6)
    # a ratio has half a clean point more, and a gain does not add to the clean answers
    reach = special.betaincinv(0.65, n + 0.5 - 2 / n**2, 1 - tail_of_t((n - 1) / 2))
    expected = -reach, reach / (1 - reach)
    assert limits(relative_change(*sure, K)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("runs", [2, 5, 60])
def test_runs_that_are_all_right_count_as_their_points(runs: int) -> None:
    n = 20
    exact = stats.binomtest(runs * n, runs * n).proportion_ci(method="exact")
    assert limits(mean_share_over_runs(np.full((runs, n), K), K)) == pytest.approx(
        (exact.low, 1), abs=1e-8
    )
    change = relative_change_over_runs(np.ones((runs, n), dtype=int), np.full((runs, n), K), K)
    reach = special.betaincinv(0.65, runs * n + 0.5 - 2 / (runs * n) ** 2, 0.975)
    assert limits(change) == pytest.approx((-reach, reach / (1 - reach)), abs=1e-8)


def upper_limit(values: FloatArray, most: float, room_below: float) -> float:
    """The definition, point by point and by simulation; most is the end of the range."""
    steps = values - values.mean()
    above, below = steps[steps > 0], -steps[steps < 0]
    size, size_below = ((d**3).sum() / (d**2).sum() if len(d) else 0 for d in (above, below))
    seen, seen_anywhere = (
        (d**2).sum() / max(size, size_below) ** 2 for d in (above, np.append(above, below))
    )
    absent = min(0.95 ** len(values) / 0.05, 1)
    unseen, unseen_anywhere = (absent + (1 - absent) / (1 + m) for m in (seen, seen_anywhere))
    room = most - values.mean()
    widest = room * max(size / room, size_below / room_below)
    distance = size + unseen * (widest - size) + unseen_anywhere * (room - widest)
    filled = values.var() / (room * room_below)
    weight = filled + (1 - filled) * (0.35 + 0.3 * unseen)
    rng = np.random.default_rng(5)
    distinct, counts = np.unique(steps, return_counts=True)
    weights = rng.standard_gamma([*counts, weight], size=(400_000, len(counts) + 1))
    means = weights @ [*distinct, distance] / weights.sum(axis=1)
    tail = tail_of_t((len(values) - 1) / 2 / (1 - filled))
    return float(values.mean() + np.quantile(means, 1 - tail))


@pytest.mark.parametrize("counts", [[0, 0, 1, 0, 99], [3, 0, 2, 5, 90], [40, 20, 0, 10, 30]])
def test_limits_are_those_of_random_weights(counts: list[int]) -> None:
    hits = np.repeat(np.arange(K + 1), counts)
    mean = hits.mean() / K
    share = mean_share(hits, K)
    gap = mean_difference(hits, np.full(len(hits), 2), K)
    tolerance = 0.04 * (share.high - share.low)
    assert share.high == pytest.approx(upper_limit(hits / K, 1, mean), abs=tolerance)
    assert share.low == pytest.approx(-upper_limit(-hits / K, 0, 1 - mean), abs=tolerance)
    assert gap.high == pytest.approx(upper_limit(hits / K - 0.5, 1, mean + 0.5), abs=tolerance)
    assert gap.low == pytest.approx(-upper_limit(0.5 - hits / K, 1, 1.5 - mean), abs=tolerance)


@pytest.mark.parametrize("counts", [[10, 0, 1, 89], [100, 5, 15, 880], [30, 4, 26, 140]])
def test_limits_of_a_relative_change_are_those_of_the_linearised_ratio(counts: list[int]) -> None:
    # the outcomes (clean, hits) are 00, 01, 10, 11
    clean, hits = np.repeat([0, 0, 1, 1], counts), np.repeat([0, 1, 0, 1], counts)
    estimate = relative_change(clean, hits, 1)
    change = hits.sum() / clean.sum() - 1
    assert estimate.value == pytest.approx(change)
    values = change + (hits - (1 + change) * clean) / clean.mean()
    loss, gain = (1 + change) / clean.mean(), 1 / clean.mean()
    high, low = upper_limit(values, change + gain, loss), -upper_limit(-values, loss - change, gain)
    assert limits(estimate) == pytest.approx((low, high), abs=0.04 * (high - low))


def count_flips(n: int, most: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Numbers of gains and losses among n points, and the limits of their mean difference."""
    flips = np.array([(a, b) for a in range(most) for b in range(most) if a + b <= n])
    table = np.column_stack([flips[:, 1], n - flips.sum(axis=1), flips[:, 0]]).astype(float)
    estimator = mean_estimator(np.array([-1.0, 0.0, 1.0]), -1.0, 1.0)
    _, low, high = compute_limits(estimator, table, 0.025)
    return flips, low, high


@pytest.mark.parametrize("n", [16, 20, 100])
def test_few_points_that_change_are_covered_whatever_their_shares_are(n: int) -> None:
    # exact: the probability of every number of gains and losses
    flips, low, high = count_flips(n, 42)
    for losses in (0, 0.3 / n, 0.03, 0.1):
        for gains in np.concatenate([np.arange(0.5, 6, 0.25), np.arange(6, 12, 0.7)]) / n:
            still = 1 - gains - losses
            chance = stats.multinomial.pmf(
                np.column_stack([flips, n - flips.sum(axis=1)]), n, [gains, losses, still]
            )
            truth = gains - losses
            assert chance[(low <= truth) & (truth <= high)].sum() >= 0.94


def test_nothing_seen_on_one_side_does_not_narrow_that_side() -> None:
    # losses were seen, gains were not: gains of 2 % remain possible
    n = 100
    flips, low, high = count_flips(n, 6)
    for losses in range(1, 6):
        limit = high[(flips[:, 0] == 0) & (flips[:, 1] == losses)][0]
        assert limit + losses / n >= 0.02
    assert low[(flips == [0, 0]).all(axis=1)] == -high[(flips == [0, 0]).all(axis=1)]


def students(values: FloatArray) -> float:
    """Width of the t interval."""
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return float(high - low)


@pytest.mark.parametrize(("n", "bar"), [(100, 1.3), (1000, 1.1)])
def test_small_changes_of_many_points_do_not_count_with_a_complete_one(n: int, bar: float) -> None:
    # a third of the points changes by less than a third of its draws
    rng = np.random.default_rng(n)
    q = np.where(rng.random(n) < 0.3, rng.uniform(0.2, 1, n), 1.0)
    first, second = rng.binomial(30, q), rng.binomial(30, np.clip(q - 0.05, 0, 1))
    gap = mean_difference(first, second, 30)
    assert 1 <= (gap.high - gap.low) / students((first - second) / 30) <= bar
    clean = np.ones(n, dtype=int)
    change = change_difference((clean, first), (clean, second), 30)
    assert change.high - change.low == pytest.approx(gap.high - gap.low, rel=0.2)
    # all points are right about as often, so the share is known better than from one draw each
    alike = rng.binomial(100, 0.7, size=n)
    share = mean_share(alike, 100)
    assert 1 <= (share.high - share.low) / students(alike / 100) <= bar


@pytest.mark.parametrize("runs", [3, 8, 40])
def test_amid_the_range_the_mean_over_runs_has_students_t_interval(runs: int) -> None:
    rng = np.random.default_rng(runs)
    n = 4000
    level = rng.normal(0.6, 0.02, size=(runs, 1))
    clean = rng.random((runs, n)) < level + 0.1
    first, second = (rng.binomial(K, level * clean, size=(runs, n)) for _ in range(2))
    ratio = [hits.mean(axis=1) / K / clean.mean(axis=1) - 1 for hits in (first, second)]
    for estimate, sample in (
        (mean_share_over_runs(first, K), first.mean(axis=1) / K),
        (relative_change_over_runs(clean, first, K), ratio[0]),
        (change_difference_over_runs((clean, first), (clean, second), K), ratio[0] - ratio[1]),
    ):
        interval = stats.t.interval(0.95, runs - 1, sample.mean(), stats.sem(sample))
        assert estimate.value == pytest.approx(sample.mean(), abs=1e-12)
        assert limits(estimate) == pytest.approx(interval, abs=0.03 * (interval[1] - interval[0]))


def test_two_runs_that_happen_to_agree_are_not_certain() -> None:
    estimate = mean_share_over_runs([ones(198, 200), ones(198, 200)], 1)
    pooled = proportion(396, 400)
    assert estimate.low < pooled.low
    assert estimate.high > pooled.high


def test_error_bounds_are_one_sided_clopper_pearson() -> None:
    exact = stats.binomtest(3, 50, alternative="less").proportion_ci(0.9, method="exact")
    assert error_upper_bound(ones(47, 50), 1, confidence=0.9).high == pytest.approx(exact.high)
    # no error in n points: (1 - p)^n = 5 %, whatever the number of draws
    assert error_upper_bound(np.full(50, K), K).high == pytest.approx(1 - 0.05 ** (1 / 50))
    bounds = [
        stats.binomtest(wrong, 10, alternative="less").proportion_ci(0.95, method="exact").high
        for wrong in range(11)
    ]
    assert point_error_upper_bound(10 - np.arange(11), 10) == pytest.approx(np.array(bounds))
    assert bounds[0] == pytest.approx(0.2589, abs=1e-4)


points = st.lists(
    st.tuples(st.booleans(), st.integers(0, K), st.booleans(), st.integers(0, K)),
    min_size=1,
    max_size=30,
).map(lambda rows: np.array([(True, K, True, K), *rows], dtype=int).T)


@given(points)
@settings(max_examples=20, deadline=None)
def test_swapping_models_negates_the_difference(columns: IntArray) -> None:
    first, second = (columns[0], columns[1]), (columns[2], columns[3])
    one, other = change_difference(first, second, K), change_difference(second, first, K)
    assert limits(one) == pytest.approx((-other.high, -other.low), abs=1e-9)
    halves = [tuple(np.stack([column, column[::-1]]) for column in m) for m in (first, second)]
    one, other = (
        change_difference_over_runs((a[0], a[1]), (b[0], b[1]), K)
        for a, b in (halves, halves[::-1])
    )
    assert limits(one) == pytest.approx((-other.high, -other.low), abs=1e-9)


@given(points, st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_intervals_hold_their_value_and_ignore_the_order(columns: IntArray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(columns.shape[1])
    clean, hits = columns[0], columns[1]
    shuffled = relative_change(clean[order], hits[order], K)
    estimate = relative_change(clean, hits, K)
    assert limits(shuffled) == pytest.approx(limits(estimate), abs=1e-9)
    assert -1 <= estimate.low < estimate.value < estimate.high or estimate.value == -1
    accuracy = mean_share(hits, K)
    assert 0 <= accuracy.low <= accuracy.value <= accuracy.high <= 1
    # what is right and what is wrong is a matter of names
    mirrored = mean_share(K - hits, K)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx(limits(accuracy), abs=1e-9)
    # more draws that agree add nothing
    assert limits(mean_share(7 * hits, 7 * K)) == pytest.approx(limits(accuracy), abs=1e-9)
    wide = mean_share(hits, K, confidence=0.99)
    assert wide.low <= accuracy.low
    assert wide.high >= accuracy.high


def test_pairing_makes_the_difference_of_similar_models_sharp() -> None:
    rng = np.random.default_rng(3)
    clean = np.ones(2000, dtype=int)
    first = rng.binomial(K, rng.beta(2, 0.5, size=2000))
    second = np.minimum(first, rng.binomial(K, 0.99, size=2000))
    paired = change_difference((clean, first), (clean, second), K)
    unpaired = change_difference((clean, first), (clean, rng.permutation(second)), K)
    assert paired.value == pytest.approx(unpaired.value)
    assert paired.high - paired.low < 0.5 * (unpaired.high - unpaired.low)


@given(points)
@settings(max_examples=20, deadline=None)
def test_mean_differences_are_those_of_the_means_and_swap(columns: IntArray) -> None:
    first, second = columns[1], columns[3]
    one, other = mean_difference(first, second, K), mean_difference(second, first, K)
    assert one.value == pytest.approx((first.mean() - second.mean()) / K, abs=1e-12)
    assert limits(one) == pytest.approx((-other.high, -other.low), abs=1e-9)
    assert -1 <= one.low <= one.value <= one.high <= 1
    runs = [np.stack([c, c[::-1]]) for c in (first, second)]
    assert mean_difference_over_runs(*runs, K).value == pytest.approx(one.value, abs=1e-12)


def test_mean_differences_cover_and_agree_with_changes_if_all_is_right_without_noise() -> None:
    def counts(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        q = rng.beta(0.3, 3, size=200)
        return rng.binomial(K, q), rng.binomial(K, np.minimum(1, 1.5 * q))

    gaps = [np.subtract(*counts(np.random.default_rng(i))).mean() / K for i in range(2000)]
    truth = float(np.mean(gaps))
    assert covers(truth, lambda rng: mean_difference(*counts(rng), K)) >= 0.93
    first, second = counts(np.random.default_rng(0))
    ones = np.ones_like(first)
    change = change_difference((ones, first), (ones, second), K)
    plain = mean_difference(first, second, K)
    assert plain.value == pytest.approx(change.value)
    assert limits(plain) == pytest.approx(limits(change), abs=0.02 * (plain.high - plain.low))


def mixed_points(rng: np.random.Generator, n: int, error: float) -> tuple[IntArray, IntArray]:
    """Sure points, sure errors and boundary points; the latter two in equal shares."""
    kind = rng.random(n)
    q = np.where(kind < error / 2, 0.0, np.where(kind < error, rng.random(n), 1.0))
    return (rng.random(n) < np.sqrt(q)).astype(int), rng.binomial(K, q)


def covers(
    truth: float, make: Callable[[np.random.Generator], Estimate], trials: int = 150
) -> float:
    rng = np.random.default_rng(11)
    estimates = [make(rng) for _ in range(trials)]
    return sum(e.low <= truth <= e.high for e in estimates) / trials


@pytest.mark.parametrize(("n", "error"), [(100, 0.004), (100, 0.2), (1000, 0.02)])
def test_fixed_model_intervals_cover(n: int, error: float) -> None:
    clean = 1 - error / 2 - error / 2 / 3  # the mean of sqrt(q) is 2/3
    robust = 1 - error / 2 - error / 4
    assert covers(robust, lambda rng: mean_share(mixed_points(rng, n, error)[1], K)) >= 0.93
    change = robust / clean - 1
    assert covers(change, lambda rng: relative_change(*mixed_points(rng, n, error), K)) >= 0.93


@pytest.mark.parametrize(
    ("runs", "n", "error"), [(2, 200, 0.01), (5, 20, 0.02), (5, 200, 0.2), (30, 200, 0.02)]
)
def test_intervals_over_runs_cover(runs: int, n: int, error: float) -> None:
    def study(rng: np.random.Generator) -> Estimate:
        # the error of a run varies by a third
        errors = error * rng.uniform(0.67, 1.33, size=runs)
        return mean_share_over_runs([mixed_points(rng, n, e)[1] for e in errors], K)

    assert covers(1 - 0.75 * error, study) >= 0.93


@pytest.mark.parametrize("runs", [3, 4])
def test_differences_of_fractions_over_few_runs_are_covered(runs: int) -> None:
    """Runs of 40 points in ten draws each, and a difference that varies from run to run."""
    rng, n, k = np.random.default_rng(0), 40, 10
    shift = rng.normal(0, 0.03, (2000, runs, 1, 1))
    first, second = (
        rng.binomial(k, np.clip(0.05 + way * shift / 2, 0, 1), (2000, runs, n, 1))
        for way in (1, -1)
    )
    counts = (first - second == np.arange(-k, k + 1)).sum(axis=2).astype(float)
    estimator = mean_estimator(np.arange(-k, k + 1) / k, -1, 1)
    _, low, high = compute_limits_over_runs(estimator, counts, 0.025)
    assert ((low <= 0) & (high >= 0)).mean() >= 0.94  # 0.90 with one point at the end of the range


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: proportion(1, 0), "n must be 1 or more, got 0"),
        (lambda: proportion(5, 4), "hits must lie in 0..n = 0..4, got 5"),
        (lambda: mean_share([], 1), r"hits must have one count per point, got shape \(0,\)"),
        (lambda: mean_share([[1]], 1), r"one count per point, got shape \(1, 1\)"),
        (lambda: mean_share([1], 0), "k must be 1 or more, got 0"),
        (lambda: mean_share([1, 5], 4), "hits must lie in 0..4, got 5"),
        (lambda: mean_share([1, -1], 4), "hits must lie in 0..4, got -1"),
        (lambda: mean_share([0.5], 1), "hits must be integers, got float64; pass counts"),
        (lambda: mean_share([1], 1, confidence=95), "confidence must lie between 0 and 1, got 95"),
        (lambda: error_upper_bound([1], 1, confidence=0), "confidence must lie between"),
        (lambda: mean_share_over_runs([[1, 0]], 1), "at least 2 runs, got 1; .* fixed model"),
        (
            lambda: mean_share_over_runs([[1, 0], [1]], 1),
            "same number of points in every run, got 1 and 2",
        ),
        (lambda: relative_change([1], [1, 1], 1), "same runs and points, got shapes"),
        (lambda: relative_change([2], [1], 4), "clean must lie in 0..1, got 2"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Callable[[], Estimate], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_no_clean_accuracy_leaves_the_relative_change_undefined() -> None:
    with pytest.raises(UndefinedError, match="clean accuracy is 0, so the relative change"):
        relative_change([0, 0], [1, 0], 1)
    with pytest.raises(UndefinedError, match="clean accuracy is 0 in run 1"):
        relative_change_over_runs([[1, 0], [0, 0]], [[1, 0], [1, 0]], 1)
    with pytest.raises(UndefinedError, match="report the accuracies"):
        change_difference(([1, 1], [1, 1]), ([0, 0], [1, 1]), 1)


def test_an_estimate_says_what_its_interval_is_for() -> None:
    assert "fixed model" in mean_share([1, 4, 4], K).method
    assert mean_share([1, 4, 4], K).method.endswith("n = 3, k = 4")
    assert "mean over all runs" in mean_share_over_runs([[1, 4, 4], [4, 4, 4]], K).method
    assert mean_share_over_runs([[1, 4, 4], [4, 4, 4]], K).method.endswith("2 runs, n = 3, k = 4")


def test_import_leaves_scipy_stats_alone() -> None:
    # it takes longer to load than all of the rest
    code = "import sys, shaketable.statistics.intervals; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def assert_same(many: list[Estimate], single: list[Estimate]) -> None:
    """Estimates that were computed together are those of one after another, also once more."""
    assert len(many) == len(single)
    for a, b in zip(many, single, strict=True):
        assert (a.confidence, a.method) == (b.confidence, b.method)
        assert (a.value, *limits(a)) == pytest.approx((b.value, *limits(b)), abs=1e-10)
        if b.limits is not None:
            again, wanted = (e.again(confidence=0.8, times=3, careful=True) for e in (a, b))
            assert limits(again) == pytest.approx(limits(wanted), abs=1e-10)
            assert limits(again) != pytest.approx(limits(a), abs=1e-3)


@pytest.mark.parametrize("models", [1, 5])
@pytest.mark.parametrize("k", [1, 4])
def test_many_estimates_at_once_are_those_of_each(models: int, k: int) -> None:
    rng = np.random.default_rng(models)
    rates = np.linspace(0.3, 1, models)[:, None]  # the last one is always right
    first, second = (rng.binomial(k, rates, (models, 70)) for _ in range(2))
    pairs = list(zip(first, second, strict=True))
    for confidence in (0.95, 0.999):
        assert_same(
            mean_differences(first, second, k, confidence=confidence),
            [mean_difference(a, b, k, confidence=confidence) for a, b in pairs],
        )
    assert_same(error_upper_bounds(first, k), [error_upper_bound(a, k) for a in first])
    values = (first - 0.5 * second) / k
    values[0] = 2.0  # outside of its range
    low, high = np.linspace(-0.5, -0.7, models), np.linspace(1, 1.2, models)
    assert_same(
        means_of_values(values, low=low, high=high, confidence=0.9),
        [
            mean_of_values(row, low=low[i], high=high[i], confidence=0.9)
            for i, row in enumerate(values)
        ],
    )
