"""Estimators asked for labels and scores at once: `predict` is what counts."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.models.answers import Answer, Labelled, as_probabilities, ask_for_both

X, Y = make_classification(
    200, 6, n_informative=4, n_classes=3, class_sep=0.7, flip_y=0.2, random_state=0
)
NAMES = np.array(["c", "a", "b"])[Y]

MODELS = {
    "forest": RandomForestClassifier(8, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(8, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "neighbours": KNeighborsClassifier(4),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "bayes": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline in a pipeline": make_pipeline(
        StandardScaler(), make_pipeline(StandardScaler(), GaussianNB())
    ),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
    "search": GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1]},
        cv=2,
    ),
    "soft voting": VotingClassifier(
        [("a", GaussianNB()), ("b", LogisticRegression())], voting="soft"
    ),
    "pipeline without steps": make_pipeline(GaussianNB()),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0),
    "older boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "network": MLPClassifier((4,), solver="lbfgs", max_iter=100, tol=1, random_state=0),
    "neighbours by distance": KNeighborsClassifier(4, weights="distance"),
    "support vectors": SVC(kernel="linear"),
}
ONCE = ("forest", "extra trees", "tree", "neighbours", "boosting", "bayes", "pipeline", "search",
        "pipeline in a pipeline", "pipeline without steps", "calibrated", "bagging",
        "older boosting", "network")  # fmt: skip
"""Those of which labels are read off the scores."""


@pytest.mark.parametrize("labels", [Y, NAMES, NAMES > "a"], ids=["numbers", "texts", "two classes"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "support vectors"])
def test_labels_are_those_of_predict_and_scores_those_of_predict_proba(name, labels):
    model = MODELS[name].fit(X, labels)
    both = ask_for_both(model, X)
    assert isinstance(both, Labelled)
    assert np.array_equal(both.labels, model.predict(X))
    assert np.array_equal(both.scores, model.predict_proba(X))
    assert list(both.classes) == model.classes_.tolist()


def deny_predict(model, monkeypatch):
    """Let an error tell if `predict` of the model inside pipelines and searches is called."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = model.steps[-1][1] if hasattr(model, "steps") else model.best_estimator_

    def predict(*_):
        raise AssertionError("predict was called")

    monkeypatch.setattr(model, "predict", predict, raising=False)


@pytest.mark.parametrize("name", MODELS)
def test_known_models_compute_once(name, monkeypatch):
    model = MODELS[name].fit(X, Y)
    deny_predict(model, monkeypatch)
    if name in ONCE:
        assert isinstance(ask_for_both(model, X), Labelled)
    else:
        with pytest.raises(AssertionError, match="predict was called"):
            ask_for_both(model, X)


@pytest.mark.parametrize("name", ["forest", "pipeline", "boosting"])
def test_answers_of_an_evaluation_are_those_of_the_model(name):
    model = MODELS[name].fit(X, NAMES)
    record = next(iter(st.evaluate(model, (X, NAMES), "linf(0.1)")))
    order = [record.points.classes.index(label) for label in model.classes_]
    codes = np.array(order)[np.searchsorted(model.classes_, model.predict(X))]
    assert np.array_equal(record.answers.predicted[:, 0], codes)
    scores = model.predict_proba(X)[:, np.argsort(order)]
    assert np.allclose(record.answers.scores[:, 0], scores, atol=1e-7)
    assert record.hits.sum() == (model.predict(X) == NAMES).sum()


class Contrary(ClassifierMixin, BaseEstimator):
    """Its `predict` and `predict_proba` disagree where the first value is positive."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        return self.classes_[(x[:, 0] > 0).astype(int)]

    def predict_proba(self, x):
        return np.tile([0.75, 0.25], (len(x), 1))


class Proud(RandomForestClassifier):
    """A forest whose `predict` is its own."""

    def predict(self, x):
        return np.full(len(x), self.classes_[-1])


class Deciding(DecisionTreeClassifier):
    """A tree with its own `predict_proba`, which its `predict` does not ask."""

    def predict_proba(self, x):
        return np.tile([0.2, 0.3, 0.5], (len(x), 1))


def test_a_tree_with_its_own_scores_is_asked_by_predict():
    model = Deciding(random_state=0).fit(X, Y)
    assert np.array_equal(ask_for_both(model, X).labels, Y)


def test_scores_that_rounding_made_equal_do_not_decide():
    model = LogisticRegression().fit(X, Y % 2)
    model.coef_, model.intercept_ = np.array([[1e-17, 0, 0, 0, 0, 0]]), np.zeros(1)
    both = ask_for_both(model, X)
    assert np.array_equal(both.labels, X[:, 0] > 0)
    assert (both.scores == 0.5).all()


def test_where_scores_disagree_predict_counts_and_the_disagreement_is_told():
    y = Y % 2
    record = next(iter(st.evaluate(Contrary().fit(X, y), (X, y), "linf(0.1)")))
    above = X[:, 0] > 0
    assert np.array_equal(record.answers.predicted[:, 0], above)
    assert np.array_equal(record.answers.disagrees[:, 0], above)
    assert np.array_equal(record.answers.confidence[:, 0], np.where(above, 0.25, 0.75))
    assert np.array_equal(record.answers.rank[:, 0], np.where(y == 0, 1, 2))


def test_a_forest_with_its_own_predict_is_asked_by_it():
    model = Proud(3, random_state=0).fit(X, Y)
    assert (ask_for_both(model, X).labels == 2).all()


class Counting(TransformerMixin, BaseEstimator):
    """Counts how often it is asked."""

    calls = 0

    def fit(self, x, y=None):
        self.fitted_ = True
        return self

    def transform(self, x):
        Counting.calls += 1
        return x


def test_steps_of_a_pipeline_are_done_once():
    model = make_pipeline(Counting(), GaussianNB()).fit(X, Y)
    Counting.calls = 0
    ask_for_both(model, X)
    assert Counting.calls == 1


def test_models_without_scores_answer_labels():
    hard = VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="hard")
    for model in (hard.fit(X, Y), RidgeClassifier().fit(X, Y)):
        assert np.array_equal(ask_for_both(model, X), model.predict(X))
        assert not next(iter(st.evaluate(model, (X, Y), "linf(0.1)"))).answers.has_scores


class Odd(GaussianNB):
    """Gives `scores` as its own."""

    scores = None

    def predict_proba(self, x):
        if self.scores is None:
            raise NotImplementedError("no scores")
        return self.scores[: len(x)]


@pytest.mark.parametrize(
    "scores", [None, np.full((200, 3), np.nan), np.ones((200, 2)), np.ones(200)]
)
def test_scores_that_say_nothing_leave_the_labels(scores):
    model = Odd().fit(X, Y)
    model.scores = scores
    assert np.array_equal(ask_for_both(model, X), model.predict(X))


class Failing(GaussianNB):
    """Fails where it is asked for scores."""

    def predict_proba(self, x):
        raise RuntimeError("device lost")


def test_an_error_of_predict_proba_is_the_models():
    with pytest.raises(InputError, match="device lost"):
        st.evaluate(Failing().fit(X, Y), (X, Y), "linf(0.1)")
    assert (
        next(iter(st.evaluate(Failing().fit(X, Y), (X, Y), "linf(0.1)", record="hits"))).accuracy
        > 0.3
    )


def test_classes_that_the_data_lack_keep_their_share_of_the_scores():
    model = GaussianNB().fit(X, Y)
    some = Y < 2
    record = next(iter(st.evaluate(model, (X[some], Y[some]), "linf(0.1)")))
    scores, codes = model.predict_proba(X[some]), model.predict(X[some])
    assert np.array_equal(record.answers.predicted[:, 0], np.where(codes == 2, -1, codes))
    assert (codes == 2).any()
    assert record.answers.scores is None  # those of other classes have no place
    assert np.allclose(record.answers.confidence[:, 0], scores.max(axis=1), rtol=1e-6)
    own = scores[np.arange(len(scores)), Y[some]]
    assert np.array_equal(record.answers.rank[:, 0], 1 + (scores > own[:, None]).sum(axis=1))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # older LightGBM
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_boosters_give_scores(kind, monkeypatch):
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    known = {"xgboost": {"n_estimators": 3}, "lightgbm": {"n_estimators": 3, "verbose": -1}}
    name = {"xgboost": "XGBClassifier", "lightgbm": "LGBMClassifier"}[kind]
    model = getattr(library, name)(**known[kind]).fit(X, Y)
    assert np.array_equal(ask_for_both(model, X).labels, model.predict(X))
    with monkeypatch.context() as patch:
        deny_predict(model, patch)
        assert np.array_equal(ask_for_both(model, X).scores, model.predict_proba(X))
    record = next(iter(st.evaluate(model, (X, Y), "linf(0.1)")))
    assert np.array_equal(record.answers.predicted[:, 0], model.predict(X))
    assert np.allclose(record.answers.scores[:, 0], model.predict_proba(X), atol=1e-6)


def test_a_booster_with_an_objective_of_its_own_is_asked_by_predict(monkeypatch):
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    model = xgboost.XGBClassifier(n_estimators=3, objective="multi:softmax").fit(X, Y)
    assert np.array_equal(ask_for_both(model, X).labels, model.predict(X))
    deny_predict(model, monkeypatch)
    with pytest.raises(AssertionError, match="predict was called"):
        ask_for_both(model, X)


def test_probabilities_stay_and_other_scores_become_their_softmax():
    scores = np.array([[0.1, 0.9], [1.0, 3.0], [np.inf, 0.0], [np.inf, np.inf], [-1.0, 2.0]])
    found = as_probabilities(scores)
    assert found[0].tolist() == [0.1, 0.9]
    assert np.allclose(found[[1, 4], 1], 1 / (1 + np.exp([-2.0, -3.0])))
    assert found[2:4].tolist() == [[1, 0], [0.5, 0.5]]


def test_joined_answers_have_scores_only_if_all_parts_have():
    scored = Answer(np.array([0]), np.array([[0.9, 0.1]]), (0, 1))
    assert Answer.join([scored, scored]).scores.shape == (2, 2)
    assert Answer.join([scored, scored]).columns == (0, 1)
    assert Answer.join([scored, Answer(np.array([1]))]).scores is None
