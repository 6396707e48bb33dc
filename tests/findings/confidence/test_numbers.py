"""Calibration, selective accuracy, sure and wrong: closed forms, written without the package."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from shaketable import evaluate, metrics
from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.confidence.calibration import Calibration
from shaketable.findings.confidence.numbers import (
    Sureness,
    estimate_calibration,
    estimate_sure_and_wrong,
    select_accuracy,
    subtract_calibration,
)
from shaketable.statistics.parts import share_of_part


@pytest.fixture(scope="module")
def records() -> Records:
    x, y = load_iris(return_X_y=True)
    return evaluate(GaussianNB().fit(x[::2], y[::2]), (x, y), "linf(0.5)")


def test_plain_errors_are_the_weighted_gaps_of_bins() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.3, 1, 500)
    right = rng.random(500) < sure**2
    gaps, shares = [], []
    for b in range(15):
        inside = (sure >= b / 15) & (sure < (b + 1) / 15)
        if inside.any():
            gaps.append(sure[inside].mean() - right[inside].mean())
            shares.append(inside.mean())
    calibration = Calibration(sure[:, None], right[:, None])
    assert calibration.plain("l1") == pytest.approx(np.dot(shares, np.abs(gaps)))
    assert calibration.plain("l2") == pytest.approx(np.sqrt(np.dot(shares, np.square(gaps))))


def test_debiased_errors_are_nearer_to_0_for_calibrated_answers() -> None:
    rng = np.random.default_rng(0)
    squares, plain = [], []
    for _ in range(300):
        sure = rng.uniform(0.5, 1, (200, 1))
        c = Calibration(sure, rng.random((200, 1)) < sure)
        squares.append(c.plain("l2") ** 2 - c.find_bias("l2"))
        plain.append(c.plain("l2") ** 2)
    assert abs(np.mean(squares)) < 0.1 * np.mean(plain)


def test_bias_of_l1_is_how_much_larger_the_mean_distance_of_normal_values_is() -> None:
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1, (60, 1))
    c = Calibration(sure, rng.random((60, 1)) < 0.8)
    for times in (1.0, 4.0):
        s = np.sqrt(c.variances / times)
        more = [stats.foldnorm(abs(g) / t, scale=t).mean() for g, t in zip(c.gaps, s, strict=True)]
        expected = np.sum(more) - np.abs(c.gaps).sum()
        assert c.find_bias("l1", times) == pytest.approx(expected)


def test_draws_that_repeat_a_point_do_not_count_as_points() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, (100, 1))
    right = rng.random((100, 1)) < 0.7
    once = Calibration(sure, right)
    often = Calibration(np.repeat(sure, 10, axis=1), np.repeat(right, 10, axis=1))
    for norm in ("l1", "l2"):
        a, b = once.estimate(norm), often.estimate(norm)
        assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high))


def test_a_model_minus_itself_is_0(records: Records) -> None:
    series = metrics.series(records)[-1]
    difference = subtract_calibration(series, series)
    assert difference.value == 0
    assert difference.low <= 0 <= difference.high


def test_selective_accuracy_is_that_of_the_sure_half() -> None:
    sure = np.linspace(0.5, 1, 100)[:, None]
    right = (np.arange(100) >= 40)[:, None]
    assert select_accuracy(Sureness(sure, right), 0.5).value == pytest.approx(1.0)
    assert select_accuracy(Sureness(sure, right), 0.2).value == pytest.approx(60 / 80)
    assert select_accuracy(Sureness(sure, right), 0.0).value == pytest.approx(0.6)


def test_a_share_of_no_part_has_nearly_the_limit_of_clopper_and_pearson() -> None:
    e = share_of_part(np.zeros(100, int), np.repeat([1, 0], [20, 80]), k=1)
    exact = stats.binomtest(0, 20).proportion_ci(method="exact").high
    assert (e.value, e.low) == (0, 0)
    assert e.high == pytest.approx(exact, abs=0.02)


def test_metrics_work_at_some_points_and_with_another_confidence(records: Records) -> None:
    series = metrics.series(records)[-1]
    answers = series.first.answers
    assert answers is not None
    rows = series.first.points.y > 0
    wrong = answers.predicted[rows] != series.first.points.y[rows, None]
    expected = (answers.confidence[rows] > np.float32(0.9))[wrong].mean()
    assert estimate_sure_and_wrong(series, rows=rows).value == pytest.approx(expected)
    e = estimate_calibration(series, rows=rows)
    assert e.again(confidence=0.99).high > e.high > e.again(times=10).high


def test_labels_and_hits_alone_are_refused() -> None:
    data = np.linspace(0, 1, 20)[:, None], np.arange(20) > 9
    with pytest.raises(InputError, match="returns labels only"):
        metrics.calibration_error(evaluate(lambda x: x[:, 0] > 0.5, data, "clean"))
    with pytest.raises(InputError, match="needs answers"):
        metrics.sure_and_wrong(evaluate(lambda x: x[:, 0] > 0.5, data, "clean", record="hits"))
