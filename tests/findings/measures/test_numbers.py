"""Measures on clean points are scikit-learn's; intervals follow the points, not the draws."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.findings.measures.numbers import (
    estimate_measure,
    has_interval,
    linearise,
    subtract_measures,
)

LABELS = np.array(["no", "yes", "perhaps"])


def make_data(classes, n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=[0.6, 0.4] if classes == 2 else [0.5, 0.3, 0.2])
    return np.round(rng.normal(size=(n, 3)) + np.eye(3)[y], 1), LABELS[y]  # rounded: with ties


@pytest.fixture(scope="module", params=[2, 3])
def case(request):
    x, y = make_data(request.param)
    model = LogisticRegression().fit(x, y)
    scores = model.predict_proba(x).astype(np.float32)
    return st.evaluate(model, (x, y), "linf(0.4)"), y, model.predict(x), scores, model.classes_


def test_measures_of_answers_are_those_of_scikit_learn(case):
    records, y, answers, _, classes = case
    expected = {
        "balanced_accuracy": metrics.balanced_accuracy_score(y, answers),
        "matthews": metrics.matthews_corrcoef(y, answers),
    }
    functions = {
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "f1": metrics.f1_score,
    }
    for name, function in functions.items():
        expected[name] = function(y, answers, average="macro")
        each = function(y, answers, average=None, labels=classes)
        for label, value in zip(classes, each, strict=True):
            assert st.metrics.measure(records, name, label=label).value == pytest.approx(value)
    for name, value in expected.items():
        assert st.metrics.measure(records, name).value == pytest.approx(value), name


def test_measures_of_scores_are_those_of_scikit_learn(case):
    records, y, _, scores, classes = case
    aps = [metrics.average_precision_score(y == c, scores[:, i]) for i, c in enumerate(classes)]
    aucs = [metrics.roc_auc_score(y == c, scores[:, i]) for i, c in enumerate(classes)]
    two = len(classes) == 2
    expected = {
        "log_loss": metrics.log_loss(y, scores),
        "brier": metrics.brier_score_loss(y == classes[1], scores[:, 1])
        if two
        else metrics.brier_score_loss(y, scores),
        "auc": aucs[1] if two else np.mean(aucs),
        "average_precision": aps[1] if two else np.mean(aps),
    }
    if not two:
        expected["top_2"] = metrics.top_k_accuracy_score(y, scores, k=2)
    for name, value in expected.items():
        assert st.metrics.measure(records, name).value == pytest.approx(value, abs=1e-6), name
    for label, ap, auc in zip(classes, aps, aucs, strict=True):
        for name, value in (("average_precision", ap), ("auc", auc)):
            assert st.metrics.measure(records, name, label=label).value == pytest.approx(value)


@pytest.mark.parametrize(
    "name",
    ["balanced_accuracy", "precision", "f1", "matthews", "log_loss", "auc", "average_precision"],
)
def test_influences_are_the_changes_without_a_point(case, name):
    records = case[0]
    series = st.metrics.series(records)[-1]
    influence = linearise(series.first, name)
    n = series.first.n
    assert influence.points.mean() == pytest.approx(0, abs=1e-9)
    for i in (0, 5, 17):
        rows = np.arange(n) != i
        without = estimate_measure(series, name, rows=rows).value
        jackknife = (influence.value - without) * (n - 1)
        assert influence.points[i] == pytest.approx(jackknife, abs=0.05 + 0.1 * abs(jackknife))


def test_a_model_does_not_differ_from_itself(case):
    series = st.metrics.series(case[0])[-1]
    difference = subtract_measures(series, series, "f1")
    assert difference.value == 0
    assert difference.low < 0 < difference.high


def test_more_points_and_less_confidence_narrow_an_interval(case):
    e = st.metrics.measure(case[0], "f1", corruption="linf(0.4)")
    for narrower in (e.again(times=10), e.again(confidence=0.8)):
        assert e.low < narrower.low < e.value < narrower.high < e.high


def test_a_class_with_fewer_than_ten_points_has_no_interval():
    x = np.linspace(0, 1, 100)[:, None]
    records = st.evaluate(lambda x: x[:, 0] > 0.93, (x, x[:, 0] > 0.95), "clean")
    e = st.metrics.measure(records, "recall", label=True)
    assert (e.value, e.low, e.high, has_interval(e)) == (1, 0, 1, False)
    assert e.again(confidence=0.5, times=9).low == 0
    assert has_interval(st.metrics.measure(records, "recall", label=False))


def test_what_is_missing_is_an_error_with_a_remedy():
    x = np.linspace(0, 1, 30)[:, None]
    data = x, x[:, 0] > 0.5
    labels = st.evaluate(lambda x: x[:, 0] > 0.5, data, "clean")
    with pytest.raises(InputError, match="returns labels"):
        st.metrics.measure(labels, "auc")
    hits = st.evaluate(lambda x: x[:, 0] > 0.5, data, "clean", record="hits")
    with pytest.raises(InputError, match="record='answers'"):
        st.metrics.balanced_accuracy(hits)
