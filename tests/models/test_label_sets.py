"""Models that answer with several labels per point."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.adversary.target import Target
from shaketable.core.errors import InputError
from shaketable.models.classifier import as_classifier

X, Y = make_multilabel_classification(150, 6, n_classes=4, n_labels=2, random_state=0)
MODELS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "mlp": MLPClassifier((8,), solver="lbfgs", max_iter=2000, random_state=0),
    "one vs rest": OneVsRestClassifier(LogisticRegression(max_iter=1000)),
    "multi-output": MultiOutputClassifier(LogisticRegression(max_iter=1000)),
    "chain": ClassifierChain(LogisticRegression(max_iter=1000)),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "search": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}),
}


@pytest.fixture(scope="module")
def data():
    return st.make_dataset(X, Y, n_train=100)


@pytest.mark.parametrize("name", MODELS)
def test_accuracy_is_that_of_exact_matches(name, data):
    model = MODELS[name]
    given = st.evaluate(model.fit(X[:100], Y[:100]), data, "linf(0)").cells[0]
    assert given.accuracy == accuracy_score(Y[100:], model.predict(X[100:]))
    refitted = st.evaluate(model, data, "linf(0)", refit=True).cells[0]
    if name not in ("forest", "tree", "mlp"):  # these have other seeds
        assert refitted.accuracy == given.accuracy
    codes = as_classifier(model, data)(X[100:])
    expected = model.predict(X[100:])
    known = codes >= 0
    np.testing.assert_array_equal(data.label_sets.indicate(codes[known]), expected[known])
    lacking = {row.tobytes() for row in expected[~known].astype(np.int64)}
    assert lacking.isdisjoint(row.tobytes() for row in Y)


def test_sets_that_the_data_lack_are_wrong_and_have_a_name(data):
    model = as_classifier(lambda x: np.tile([1, 0, 0, 1], (len(x), 1)), data)
    some = st.make_dataset(X, np.where((Y == [1, 0, 0, 1]).all(axis=1)[:, None], 0, Y))
    answer = as_classifier(model.answer, some).start(X[:3])()
    assert answer.codes.tolist() == [-1, -1, -1]
    assert answer.others.tolist() == ["0 + 3"] * 3
    assert answer.scores is None


def test_a_model_of_one_label_learns_the_sets(data):
    found = st.evaluate(SVC(), data, "linf(0)", refit=True).cells[0]
    svc = SVC().fit(X[:100], data.labels[:100])
    assert found.accuracy == (svc.predict(X[100:]) == data.labels[100:]).mean()
    regression = LogisticRegression(max_iter=2000).fit(X[:100], data.labels[:100])
    assert as_classifier(regression, data).start(X[:5], scored=True)().scores is not None


def test_the_order_of_columns_counts(data):
    model = KNeighborsClassifier(1).fit(X, Y[:, ::-1])
    found = st.evaluate(model, data, "linf(0)").cells[0]
    assert found.accuracy == accuracy_score(Y[100:], Y[100:, ::-1])


def test_scores_of_labels_are_refused(data):
    with pytest.raises(InputError, match="answer with 0 and 1 for each of 4 labels"):
        st.evaluate(lambda x: np.full((len(x), 4), 0.3), data, "linf(0)")
    with pytest.raises(InputError, match="0 and 1 for each of 4 labels"):
        st.evaluate(lambda x: np.ones((len(x), 3)), data, "linf(0)")


def test_as_many_scores_as_labels_and_sets_get_a_note():
    y = np.array([[0, 0], [1, 1], [0, 0], [1, 1]])
    data = st.make_dataset([0.0, 1.0, 0.2, 0.8], y)
    model = as_classifier(lambda x: np.hstack([x, 0.9 - x]), data)
    assert model(np.array([[0.0], [1.0]])).tolist() == [1, 0]
    assert any("sets of labels, not of the labels" in note for note in model.notes)


def test_a_study_trains_models_of_several_labels(data):
    records = st.study(data, KNeighborsClassifier(1), train_eps=[0, 0.5], test_eps=[0], runs=1)
    plain, noisy = (records.select(train_epsilon=e).cells[0] for e in (0, 0.5))
    expected = KNeighborsClassifier(1).fit(X[:100], Y[:100]).predict(X[100:])
    assert plain.accuracy == accuracy_score(Y[100:], expected)
    assert 0 < noisy.accuracy <= 1


@pytest.mark.parametrize("name", ["neighbours", "forest", "one vs rest", "ridge"])
def test_worst_cases_take_sets(data, name):
    model = {**MODELS, "ridge": RidgeClassifier()}[name].fit(X[:100], Y[:100])
    worst = st.worst_case(model, data, [0.0, 0.5], points=10, attacks="random(queries=20)")
    assert Target.of(model, data).provers == ()
    rows = worst.curves[0].attacked.rows
    clean = accuracy_score(Y[rows], model.predict(X[rows]))
    assert worst.curves[0].clean == clean
    assert worst.curves[0].accuracies[-1].value <= clean
