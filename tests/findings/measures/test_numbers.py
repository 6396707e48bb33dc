"""Measures on clean points are scikit-learn's; intervals follow the points, not the draws."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.measures.formulas import Sample, measure_average_precision
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


MODELS = {"linear": LogisticRegression(), "ties": KNeighborsClassifier(4)}


@pytest.fixture(
    scope="module",
    params=[(classes, name) for classes in (2, 3) for name in MODELS],
    ids=lambda each: f"{each[0]} classes, {each[1]}",
)
def case(request):
    classes, name = request.param
    x, y = make_data(classes)
    model = MODELS[name].fit(x[::2], y[::2])
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
    if len({*np.unique(scores)}) > 5 and not two:  # of equal scores, each has its own order
        expected["top_2"] = metrics.top_k_accuracy_score(y, scores, k=2)
    for name, value in expected.items():
        assert st.metrics.measure(records, name).value == pytest.approx(value, abs=1e-6), name
    for label, ap, auc in zip(classes, aps, aucs, strict=True):
        for name, value in (("average_precision", ap), ("auc", auc)):
            assert st.metrics.measure(records, name, label=label).value == pytest.approx(value)


def test_classes_that_are_never_answered_or_that_the_data_lack_count_as_scikit_learn_says():
    rng = np.random.default_rng(3)
    y = LABELS[rng.choice(3, 200)]
    names, codes = ["no", "yes", "never seen", "perhaps"], rng.choice(3, 200, p=[0.5, 0.4, 0.1])
    x, answers = np.arange(200.0)[:, None], np.array(names)[codes]
    model = st.adapt(lambda x: codes[x[:, 0].astype(int)], classes=names)
    records = st.evaluate(model, (x, y), "clean", name="table")
    settings = {"labels": np.unique(y), "zero_division": 0.0}
    for name in ("precision", "recall", "f1"):
        function = getattr(metrics, f"{name}_score")
        mean = function(y, answers, average="macro", **settings)
        assert st.metrics.measure(records, name).value == pytest.approx(mean), name
        each = function(y, answers, average=None, **settings)
        for label, value in zip(settings["labels"], each, strict=True):
            assert st.metrics.measure(records, name, label=label).value == pytest.approx(value)
    correlation = metrics.matthews_corrcoef(y, answers)
    assert st.metrics.measure(records, "matthews").value == pytest.approx(correlation)
    recalls = metrics.recall_score(y, answers, average="macro", labels=np.unique(y))
    assert st.metrics.balanced_accuracy(records).value == pytest.approx(recalls)


def test_a_class_without_points_counts_as_scikit_learn_says(case):
    records, y, answers, scores, classes = case
    series, kept = st.metrics.series(records)[0], y != "yes"
    assert (answers[kept] == "yes").any()
    for name in ("precision", "recall", "f1"):
        function = getattr(metrics, f"{name}_score")
        value = function(y[kept], answers[kept], average="macro", zero_division=0.0)
        assert estimate_measure(series, name, rows=kept).value == pytest.approx(value), name
    rest = [i for i, c in enumerate(classes) if c != "yes"]
    if len(rest) == 1:
        with pytest.raises(UndefinedError, match="all points are of one class"):
            estimate_measure(series, "auc", rows=kept)
        return
    for name, function in (
        ("auc", metrics.roc_auc_score),
        ("average_precision", metrics.average_precision_score),
    ):
        value = np.mean([function(y[kept] == classes[i], scores[kept, i]) for i in rest])
        assert estimate_measure(series, name, rows=kept).value == pytest.approx(value), name


def test_no_correlation_with_an_answer_that_is_always_the_same():
    x = np.linspace(0, 1, 100)[:, None]
    records = st.evaluate(lambda x: np.zeros(len(x), bool), (x, x[:, 0] > 0.6), "linf(0.1)")
    e = st.metrics.measure(records, "matthews", corruption="linf(0.1)")
    assert (e.value, e.low, e.high, has_interval(e)) == (0, -1, 1, False)
    assert "most frequent" in e.method


@pytest.mark.parametrize("kind", ["own", "others"])
def test_the_ends_of_average_precision_are_those_of_one_more_point(case, kind):
    """The influence of a point before, or after all others, by adding it."""
    scores, classes = case[3], case[4]
    own = case[1] == classes[1]
    values = scores[:, 1].astype(float)
    before = metrics.average_precision_score(own, values)
    changes = [
        (len(own) + 1) * (metrics.average_precision_score([*own, kind == "own"], more) - before)
        for more in ([*values, -1.0], [*values, 2.0])
    ]
    influence = linearise(
        st.metrics.series(case[0])[0].first, "average_precision", label=classes[1]
    )
    s = 0 if kind == "own" else 1
    expected = influence.low[s], influence.high[s]
    assert expected == pytest.approx((min(changes), max(changes)), abs=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_the_bias_of_average_precision_is_what_scores_without_meaning_have(k):
    """The truth of random scores is the share of the class."""
    rng, found = np.random.default_rng(0), []
    y = (np.arange(60) < 20).astype(np.int64)
    for _ in range(300):
        own = rng.random((60, 1, 1)) + 0.01 * rng.random(
            (60, k, 1)
        )  # the draws of a point are alike
        sample = Sample(
            y, (own[:, :, 0] > 0.5).astype(np.int64), 2, np.concatenate([1 - own, own], 2)
        )
        influence = measure_average_precision(sample, 1)
        found.append((influence.value - 1 / 3, influence.bias))
    actual, expected = np.mean(found, axis=0)
    error = np.std(found, axis=0)[0] / np.sqrt(len(found))
    assert actual > 5 * error  # so that there is something to correct
    assert actual == pytest.approx(expected, abs=3 * error)


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
