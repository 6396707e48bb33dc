"""Metrics computed from records: values, intervals, and errors where they are undefined."""

from dataclasses import replace

import numpy as np
import pytest

from shaketable import metrics
from shaketable.core.errors import InputError, UndefinedError
from shaketable.corruptions.suites.grids import grid
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.study import study
from shaketable.metrics import relative_change, series

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(300, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")


def crooked(x):
    return np.where(x[:, 0] + 0.05 * np.sin(20 * x[:, 1]) > 0.5, "right", "left")


def straight(x):
    return np.where(x[:, 0] > 0.5, "right", "left")


RECORDS = evaluate(crooked, (X, Y), ["linf(0.1)", "linf(eps_min)"], k=8, name="crooked")


def test_mscr_is_the_relative_loss_at_eps_min():
    by_name = {s.first.corruption: s for s in series(RECORDS)}
    (at_min,) = [s for s in by_name.values() if s.at_eps_min]
    a0, a = by_name["clean"].first.accuracy, at_min.first.accuracy
    assert metrics.mscr(RECORDS).value == pytest.approx((a - a0) / a0, rel=1e-12)
    loud = metrics.relative_loss(RECORDS, corruption="linf(0.1)")
    assert loud.value == pytest.approx((by_name["linf(0.1)"].first.accuracy - a0) / a0, rel=1e-12)
    assert loud.low <= loud.value <= loud.high


def test_a_single_corruption_needs_no_naming():
    records = evaluate(crooked, (X, Y), ["linf(0.02)"], k=4)
    assert metrics.mscr(records).value == metrics.relative_loss(records).value
    assert "linf(0.02), the only noise on record, taken for eps_min" in metrics.mscr(records).method


def test_seeds_and_settings_are_kept_apart():
    one, two = (evaluate(crooked, (X, Y), ["linf(0.1)"], model_id="m", seed=s) for s in (0, 1))
    assert len(series(one + two)) == 4


def test_one_run_of_shared_draws_has_no_interval():
    records = evaluate(crooked, (X, Y), ["linf(0.1)"], draws="shared")
    for metric in (metrics.relative_loss, metrics.mscr, metrics.error_probability):
        with pytest.raises(InputError, match="draws must be independent"):
            metric(records)


def test_a_class_without_test_points_is_named():
    data = make_dataset(X, Y, classes=("left", "middle", "right"))
    error = metrics.error_probability(evaluate(crooked, data, ["linf(0.1)"]))
    assert error.unseen == ("middle",)
    assert set(error.by_class) == {"left", "right"}


def test_over_runs_mscr_is_the_mean_of_the_ratios():
    records = study((X, Y), "1nn", train_eps=[0], test_eps=[0], runs=5, k=3)
    (s,) = [s for s in series(records) if s.at_eps_min]
    ratios = [
        (noisy.accuracy - clean.accuracy) / clean.accuracy
        for noisy, clean in zip(s.noisy, s.clean, strict=True)
    ]
    assert metrics.mscr(s).value == pytest.approx(np.mean(ratios), abs=1e-12)
    assert "runs" in metrics.mscr(s).method
    with pytest.raises(InputError, match="several runs"):
        metrics.error_probability(s)


def test_differences_are_paired():
    other = evaluate(straight, (X, Y), ["linf(0.1)", "linf(eps_min)"], k=8, name="straight")
    d = metrics.mscr_difference(other, RECORDS)
    assert d.value == pytest.approx(metrics.mscr(other).value - metrics.mscr(RECORDS).value)
    swapped = metrics.mscr_difference(RECORDS, other)
    assert (swapped.low, swapped.high) == pytest.approx((-d.high, -d.low))
    elsewhere = evaluate(straight, (X[:200], Y[:200]), ["linf(eps_min)"], k=8)
    with pytest.raises(InputError, match="same points"):
        metrics.mscr_difference(RECORDS, elsewhere)


def test_error_probability_is_told_overall_per_class_and_per_point():
    error = metrics.error_probability(RECORDS, corruption="linf(0.1)")
    (s,) = [s for s in series(RECORDS) if s.first.corruption == "linf(0.1)"]
    assert error.overall.value == pytest.approx(1 - s.first.accuracy)
    assert error.overall.high > error.overall.value
    share = np.array([np.mean(label == Y) for label in ("left", "right")])
    parts = np.array([error.by_class[label].value for label in ("left", "right")])
    assert share @ parts == pytest.approx(error.overall.value)
    # nothing wrong in 8 draws: (1 - p)^8 = 0.05
    assert error.least_provable == pytest.approx(1 - 0.05 ** (1 / 8))
    assert error.by_point.shape == (300,)
    assert error.by_point.min() == pytest.approx(error.least_provable)


def test_clean_accuracy_of_zero_has_no_mscr():
    wrong = evaluate(lambda x: np.where(x[:, 0] > 0.5, "left", "right"), (X, Y), ["linf(eps_min)"])
    with pytest.raises(UndefinedError, match="undefined"):
        metrics.mscr(wrong)
    with pytest.raises(UndefinedError, match="undefined"):
        relative_change([0.0], [0.5])


def test_ambiguous_records_are_refused_with_the_choices():
    with pytest.raises(InputError, match=r"linf\(0\.1\)"):
        metrics.relative_loss(RECORDS)
    lone = replace(RECORDS, cells=RECORDS.cells[1:])
    with pytest.raises(InputError, match="lack the clean cell"):
        metrics.mscr(lone)


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (-0.02, -0.03, -0.01, "Not robust"),
        (0.02, 0.01, 0.03, "Robust"),
        (-0.001, -0.01, 0.005, "No loss shown"),
    ],
)
def test_the_verdict_claims_no_more_than_the_interval(value, low, high, words):
    estimate = replace(metrics.mscr(RECORDS), value=value, low=low, high=high)
    assert metrics.verdict(estimate).startswith(words)


PICTURES = make_dataset(
    RNG.uniform(size=(80, 6, 4)), np.where(np.arange(80) % 3 == 0, "dark", "bright"), bounds=(0, 1)
)


def mean_of_a_corner(x):
    return np.where(x[:, :3, :2].mean(axis=(1, 2)) > 0.45, "bright", "dark")


def error_rates(records, name):
    """Error rate of every cell of a suite, from its counts alone."""
    (suite_,) = [s for s in records.suites if s.name == name]
    by_spec = {c.corruption: 1 - c.hits.sum() / (c.n * c.k) for c in records}
    return [by_spec[spec] for spec in suite_.specs], by_spec["clean"]


@pytest.mark.parametrize("draws", ["ladder", "independent"])
def test_mce_lp_and_ice_are_their_definitions_on_the_error_rates(draws):
    records = evaluate(mean_of_a_corner, PICTURES, [suite("pnorm"), suite("ice")], k=2, draws=draws)
    errors, clean = error_rates(records, "pnorm")
    mce = metrics.mce_lp(records)
    assert mce.value == pytest.approx(np.mean(errors), rel=1e-12)
    assert mce.low <= mce.value <= mce.high
    assert f"mean over {len(errors)} corruptions of suite pnorm, derived from" in mce.method
    errors, clean = error_rates(records, "ice")
    ice = metrics.ice(records)
    assert clean > 0
    assert ice.value == pytest.approx((np.mean(errors) - clean) / clean, rel=1e-9)
    assert ice.low <= ice.value <= ice.high
    assert "mean over 6 corruptions of suite ice" in ice.method


def test_a_model_that_ignores_its_input_has_an_ice_of_0():
    records = evaluate(lambda x: np.full(len(x), "dark"), PICTURES, suite("ice"))
    assert metrics.ice(records).value == 0


def test_ice_without_an_error_is_undefined():
    y = PICTURES.labels
    answers = {row.tobytes(): label for row, label in zip(PICTURES.x, y, strict=True)}

    def perfect(x):
        return np.array([answers.get(row.tobytes(), "dark") for row in x])

    records = evaluate(perfect, PICTURES, suite("ice"))
    with pytest.raises(UndefinedError, match="iCE is undefined at a clean error of 0"):
        metrics.ice(records)


def test_a_suite_metric_needs_one_model_under_a_whole_suite():
    records = evaluate(mean_of_a_corner, PICTURES, suite("ice"), model_id="m")
    with pytest.raises(InputError, match="mce_lp needs exactly one model.*got none"):
        metrics.mce_lp(records)
    part = replace(records, cells=records.cells[:-1])
    with pytest.raises(InputError, match="got none"):
        metrics.ice(part)
    two = records + evaluate(mean_of_a_corner, PICTURES, suite("ice"), seed=1, model_id="m")
    with pytest.raises(InputError, match="exactly one model"):
        metrics.ice(two)
    assert len(metrics.suite_results(two)) == 2


@pytest.mark.parametrize("k", [1, 3])
def test_mcv_counts_clean_points_among_the_sets(k):
    sets = grid(["linf(0.3)", "linf(0.5)"], ["l2(1)"])
    records = evaluate(mean_of_a_corner, PICTURES, sets, k=k)
    errors, clean = error_rates(records, sets.name)
    right = 1 - np.array(errors)
    mcv = metrics.mcv(records)
    assert len(right) == 8
    assert next(iter(mcv.variation.scores)) == "clean"
    assert list(mcv.variation.scores.values()) == pytest.approx(right)
    assert (mcv.mean.value, mcv.clean.value) == pytest.approx((right.mean(), 1 - clean))
    assert mcv.cv.value == pytest.approx(right.std() / right.mean())
    assert mcv.cv.low <= mcv.cv.value <= mcv.cv.high
    assert mcv.mean.low <= mcv.mean.value <= mcv.mean.high
