"""Mean and CV with intervals that cover the true values."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from helpers.records import make_records, make_suite_result
from shaketable import metrics
from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.mcv import numbers
from shaketable.findings.mcv.effects import estimate_contrast
from shaketable.findings.mcv.numbers import (
    coefficient,
    coefficient_difference,
    cv_difference,
    make_variation,
)
from shaketable.statistics import intervals

RNG = np.random.default_rng(2)
N, K = 60, 5
SKILL = RNG.beta(3, 1, N)
SPECS = ("clean", "sp(0.1) as A", "ga(0.1) as B", "sp(0.1) + ga(0.1) as AB")


def hits(seed, strength=1.0):
    rng = np.random.default_rng(seed)
    counts = {"clean": rng.binomial(1, SKILL)}
    for i, spec in enumerate(SPECS[1:], start=1):
        counts[spec] = rng.binomial(K, SKILL * (1 - 0.1 * i * strength))
    return counts


def simulate(rng, levels, n, *, tie=0.0, k=1):
    """Shares of right answers on sets with these accuracies; with ties points are easy or hard."""
    sets, own = len(levels), rng.random(n)
    draws = (np.where(rng.random((sets, n)) < tie, own, rng.random((sets, n))) for _ in range(k))
    return np.mean([noise < np.asarray(levels)[:, None] for noise in draws], axis=0)


def test_mcv_is_the_published_formula_on_the_accuracies_of_all_sets():
    counts = hits(0)
    mcv = metrics.mcv(make_records(counts, k=K))
    accuracies = [counts["clean"].mean(), *(counts[spec].mean() / K for spec in SPECS[1:])]
    assert list(mcv.variation.scores) == ["clean", "A", "B", "AB"]
    assert list(mcv.variation.scores.values()) == pytest.approx(accuracies)
    assert (mcv.variation.label, mcv.variation.clean) == ("net", pytest.approx(accuracies[0]))
    assert mcv.mean.value == pytest.approx(np.mean(accuracies))
    assert mcv.cv.value == pytest.approx(np.std(accuracies) / np.mean(accuracies))
    assert 100 * mcv.cv.value == pytest.approx(mcv.variation.cv)
    assert mcv.clean.value == pytest.approx(accuracies[0])
    error = metrics.mean_error(mcv.result)
    assert (mcv.mean.low, mcv.mean.high) == pytest.approx((1 - error.high, 1 - error.low))
    numbers = mcv.json()
    assert numbers["cv"]["mean"] == pytest.approx(mcv.variation.cv)
    assert numbers["least"] == {"set": "AB", "accuracy": pytest.approx(100 * min(accuracies))}
    assert numbers["sets"]["A"] == pytest.approx(100 * accuracies[1])
    assert numbers["cv_by_chance"] == pytest.approx(100 * mcv.floor)


def test_every_point_has_its_influence_on_the_cv():
    shares = simulate(RNG, [0.9, 0.7, 0.5, 0.65], 40, tie=0.5, k=3)
    (linear,) = numbers._linearise(shares)

    def cv(accuracies):
        return np.std(accuracies) / np.mean(accuracies)

    step, mean = 1e-6, shares.mean(axis=1)
    pulled = [(cv((1 - step) * mean + step * y) - cv(mean)) / step for y in shares.T]
    assert linear.values - linear.cv == pytest.approx(pulled, abs=1e-4)
    assert linear.values.mean() == pytest.approx(linear.cv)
    # the ends belong to points that are right in some sets and wrong in all others
    corners = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1)
    pulled = [(cv((1 - step) * mean + step * y) - cv(mean)) / step for y in corners.T]
    assert (linear.low - linear.cv, linear.high - linear.cv) == pytest.approx(
        (min(pulled), max(pulled)), abs=1e-4
    )


def test_the_floor_is_the_cv_by_chance_alone():
    rng = np.random.default_rng(0)
    for tie in (0.0, 0.8):
        linearisations = [
            numbers._linearise(simulate(rng, [0.8] * 12, 200, tie=tie))[0] for _ in range(300)
        ]
        expected = np.mean([linear.cv**2 for linear in linearisations])
        assert np.mean([linear.floor**2 for linear in linearisations]) == pytest.approx(
            expected, rel=0.05
        )


shares = st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32)).map(
    lambda t: np.random.default_rng(t[2]).integers(0, 3, size=t[:2]) / 2
)


@given(shares)
@settings(deadline=None)
def test_the_interval_holds_the_value(table):
    if not table.any():
        with pytest.raises(UndefinedError, match="undefined at a mean accuracy of 0"):
            coefficient(table)
        return
    e = coefficient(table)
    assert 0 <= e.low <= e.value <= e.high
    assert e.value == pytest.approx(table.mean(axis=1).std() / table.mean())
    order = np.random.default_rng(0).permutation(len(table))
    again = coefficient(table[order][:, ::-1])
    assert (again.value, again.high) == pytest.approx((e.value, e.high), abs=1e-6)
    nothing = coefficient_difference(table, table)
    assert nothing.value == 0
    assert nothing.low == pytest.approx(-nothing.high, abs=1e-9)


def permute_rows(rng, sets, n, levels):
    """Sets of equal accuracy; a row that is repeated or rotated gives spreads of equal width."""
    row = rng.integers(0, levels + 1, n) / levels
    row[0] = 1
    if rng.random() < 0.3:
        return np.array([np.roll(row, i) for i in range(sets)])
    return np.array([rng.permutation(row) for _ in range(sets)])


def test_limits_do_not_depend_on_the_order_of_sets_of_equal_accuracy():
    rng = np.random.default_rng(0)
    several = 0
    for _ in range(40):
        sets, n, levels = rng.integers(2, 5), rng.integers(2, 9), rng.integers(1, 4)
        table, other = (permute_rows(rng, sets, n, levels) for _ in range(2))
        orders = [list(order) for order in permutations(range(sets))][:: 1 if sets < 4 else 4]
        several += len(numbers._linearise(table)) > 2
        estimates = [coefficient(table[order]) for order in orders]
        assert {(e.value, e.low) for e in estimates} == {(0, 0)}
        assert np.ptp([e.high for e in estimates]) < 1e-9
        varied = rng.random((sets, n)) < 0.5
        varied[0] = True
        for second in (other, varied):
            differences = [
                coefficient_difference(table[order], second[order])
                for order in (orders[0], orders[-1], orders[len(orders) // 2])
            ]
            assert np.ptp([d.low for d in differences]) < 1e-9
            assert np.ptp([d.high for d in differences]) < 1e-9
    assert several > 5


def test_of_both_signs_the_wider_limit_counts():
    table = np.array([[0.5, 1, 0, 1], [1, 1, 0, 0.5], [0.5, 0.5, 1, 0.5]])
    for order in permutations(range(3)):
        assert coefficient(table[list(order)]).high == pytest.approx(0.5606, abs=1e-4)


@pytest.mark.parametrize(("sets", "n"), [(2, 50), (8, 1000)])
def test_without_any_variation_the_upper_limit_has_a_closed_form(sets, n):
    # one imagined point, wrong in half of the sets, has the weight Beta(1, n)
    e = coefficient(np.ones((sets, n)))
    assert (e.value, e.low) == (0, 0)
    assert e.high == pytest.approx(0.5 * special.betaincinv(1, n, 0.975), rel=1e-6)


def test_one_set_does_not_vary():
    e = coefficient(np.array([[1, 0, 1]]))
    assert (e.value, e.low, e.high) == (0, 0, 0)


def spread(sets, mean, cv):
    z = np.arange(sets) - (sets - 1) / 2
    return mean * (1 + cv * z / z.std())


@pytest.mark.parametrize(
    ("cv", "tie", "sets", "n", "k"),
    [
        (0.0, 0.0, 20, 100, 1),
        (0.0, 0.9, 20, 100, 1),
        (0.02, 0.0, 20, 100, 1),
        (0.06, 0.9, 20, 100, 2),
        (0.06, 0.5, 2, 300, 1),
        (0.02, 0.5, 20, 1000, 1),
    ],
)
def test_intervals_cover_the_true_cv(cv, tie, sets, n, k):
    rng, trials = np.random.default_rng(7), 120
    first, second = spread(sets, 0.85, cv), spread(sets, 0.9, cv / 2)
    covered = differences = zeros = 0
    for _ in range(trials):
        tables = [simulate(rng, levels, n, tie=tie, k=k) for levels in (first, second)]
        e, d = coefficient(tables[0]), coefficient_difference(*tables)
        covered += e.low <= cv <= e.high
        differences += d.low <= cv / 2 <= d.high
        zeros += e.low == 0
    assert covered / trials >= 0.93
    assert differences / trials >= 0.93
    if cv == 0:
        assert zeros / trials >= 0.97


def test_with_many_points_the_interval_is_that_of_the_bootstrap():
    table = simulate(RNG, spread(10, 0.7, 0.2), 3000, tie=0.5)
    e = coefficient(table)
    cvs = []
    for _ in range(400):
        mean = table[:, RNG.integers(0, 3000, 3000)].mean(axis=1)
        cvs.append(mean.std() / mean.mean())
    assert e.high - e.low == pytest.approx(4 * np.std(cvs), rel=0.15)


def test_differences_are_paired_and_need_the_same_points():
    steady, shaky = (
        make_suite_result(hits(0, 0.2), k=K),
        make_suite_result(hits(0, 2.0), k=K, model="shaky"),
    )
    d = cv_difference(shaky, steady)
    values = [metrics.mcv(r).cv.value for r in (shaky, steady)]
    assert d.value == pytest.approx(values[0] - values[1])
    swapped = cv_difference(steady, shaky)
    assert (swapped.low, swapped.high) == pytest.approx((-d.high, -d.low))
    assert d.low > 0
    records = make_records(hits(0), k=K), make_records(hits(0), k=K, model="other", seed=1)
    with pytest.raises(InputError, match="same suite on the same points"):
        metrics.cv_difference(*records)
    assert metrics.cv_difference(records[0], records[0]).value == 0


def test_sets_need_different_names():
    twice = {"clean": [1, 1], "sp(0.1) as A": [1, 0], "sp(0.2) as A": [1, 0]}
    with pytest.raises(InputError, match="different names, got 'A' 2 times"):
        make_variation(make_suite_result(twice))
    assert make_variation(make_suite_result(hits(1), k=K), label="mine").label == "mine"


def test_mcv_needs_one_model_with_right_answers():
    never = dict.fromkeys(SPECS, np.zeros(5, int))
    with pytest.raises(UndefinedError, match="mean accuracy of 0"):
        _ = metrics.mcv(make_records(never)).cv
    with pytest.raises(InputError, match="mcv needs exactly one model under one whole suite"):
        metrics.mcv(make_records(hits(0), k=K, metric="mce"))
    assert math.isfinite(metrics.METRICS["mcv"](make_records(hits(0), k=K)).floor)


def test_over_runs_it_is_the_cv_of_the_mean_accuracies():
    parts = [make_records(hits(run), k=K, run=run) for run in range(3)]
    both = metrics.mcv(parts[0] + parts[1] + parts[2])
    each = [metrics.mcv(part).variation for part in parts]
    for name, score in both.variation.scores.items():
        assert score == pytest.approx(np.mean([v.scores[name] for v in each]))
    assert both.variation.clean == pytest.approx(np.mean([v.clean for v in each]))
    assert both.cv.value == pytest.approx(both.variation.cv / 100)
    assert both.mean.value == pytest.approx(both.variation.mean)
    assert both.cv.low < both.cv.value < both.cv.high
    for estimate in (both.cv, both.mean):
        assert "3 runs" in estimate.method


def test_over_runs_it_covers_the_truth_and_chance_adds_little():
    """Runs have accuracies of their own on every set; the CV is that of the mean over all runs."""
    rng, trials, covered = np.random.default_rng(0), 40, 0
    for means in (np.full(5, 0.7), np.array([0.9, 0.85, 0.8, 0.7, 0.6])):
        truth = means.std() / means.mean()
        for _ in range(trials):
            runs = rng.normal(means, 0.05, (6, 5))
            e = coefficient(rng.binomial(1, np.clip(runs, 0, 1)[:, :, None], (6, 5, 60)))
            covered += e.low <= truth <= e.high
    assert covered >= 0.9 * 2 * trials


def test_a_contrast_over_runs_is_the_difference_over_runs():
    rng = np.random.default_rng(0)
    right = rng.binomial(1, 0.7, (4, 2, 50))
    ours = estimate_contrast(right, np.array([1.0, -1.0]))
    theirs = intervals.mean_difference_over_runs(right[:, 0], right[:, 1], 1)
    assert (ours.value, ours.low, ours.high) == pytest.approx(
        (theirs.value, theirs.low, theirs.high)
    )
