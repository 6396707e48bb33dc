"""Metrics of one model under one corruption: values, intervals, and errors if undefined."""

from dataclasses import replace

import numpy as np
import pytest

from shaketable import metrics
from shaketable.core.errors import InputError, UndefinedError
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


def test_differences_of_accuracy_need_no_clean_points():
    other = evaluate(straight, (X, Y), ["linf(0.1)"], k=8, name="straight")
    expected = metrics.accuracy_difference(RECORDS, other, corruption="linf(0.1)")
    noisy = [r.select(corruption="linf(0.1)") for r in (RECORDS, other)]
    found = metrics.accuracy_difference(*noisy, corruption="linf(0.1)")
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


def test_a_single_corruption_need_not_be_named():
    records = evaluate(crooked, (X, Y), ["linf(0.02)"], k=4)
    assert metrics.mscr(records).value == metrics.relative_loss(records).value
    assert "linf(0.02), the only noise on record, taken for eps_min" in metrics.mscr(records).method


def test_one_run_with_shared_draws_has_no_interval():
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
    with pytest.raises(InputError, match="got 5 runs of a study"):
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


def test_error_probability_is_overall_per_class_and_per_point():
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


def test_mscr_is_undefined_at_a_clean_accuracy_of_zero():
    wrong = evaluate(lambda x: np.where(x[:, 0] > 0.5, "left", "right"), (X, Y), ["linf(eps_min)"])
    with pytest.raises(UndefinedError, match="undefined"):
        metrics.mscr(wrong)
    with pytest.raises(UndefinedError, match="undefined"):
        relative_change([0.0], [0.5])


def test_ambiguous_records_are_refused_with_a_list_of_choices():
    with pytest.raises(InputError, match=r"linf\(0\.1\)"):
        metrics.relative_loss(RECORDS)
    lone = replace(RECORDS, cells=RECORDS.cells[1:])
    with pytest.raises(InputError, match="needs the clean cells too"):
        metrics.mscr(lone)
