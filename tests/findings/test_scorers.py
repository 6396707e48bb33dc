"""Scorers work in cross_val_score and GridSearchCV, and raise where a score has no value."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.findings.scorers import RobustScorer, ScoringError, make_scorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")
MODEL = KNeighborsClassifier(3).fit(X, Y)


def test_scores_are_those_of_evaluate():
    records = st.evaluate(MODEL, (X, Y), ["linf(eps_min)"], k=3, seed=5)
    expected = {
        "robust_accuracy": st.metrics.accuracy(records, corruption=records.cells[1].corruption),
        "mscr": st.metrics.mscr(records),
        "relative_loss": st.metrics.relative_loss(records),
    }
    for metric, estimate in expected.items():
        assert make_scorer(metric, k=3, seed=5)(MODEL, X, Y) == estimate.value
    noise = st.evaluate(MODEL, (X, Y), "l2(0.5)", k=3)
    loss = make_scorer("relative_loss", "l2(0.5)", k=3)(MODEL, X, Y)
    assert loss == st.metrics.relative_loss(noise).value < 0


def test_the_size_can_be_that_of_all_data():
    scorer = make_scorer("mscr", data=(X, Y))
    epsilon = st.separation((X, Y)).epsilon_min
    assert scorer.corruption == st.parse(f"linf({epsilon!r})").spec
    assert make_scorer("mscr").corruption == "linf(eps_min)"


@pytest.mark.parametrize("metric", ["robust_accuracy", "mscr", "relative_loss"])
def test_cross_validation_is_reproducible(metric):
    scorer = make_scorer(metric, "linf(eps_min)", data=(X, Y), k=2)
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(KNeighborsClassifier(3), X, Y, scoring=scorer, cv=folds)
    assert np.isfinite(scores).all()
    again = cross_val_score(KNeighborsClassifier(3), X, Y, scoring=scorer, cv=folds)
    assert np.array_equal(scores, again)


def test_a_search_finds_the_model_that_withstands_noise():
    rng = np.random.default_rng(1)
    signal = np.linspace(-1, 1, 80)
    frame = pd.DataFrame({"weak": 0.001 * signal, "strong": signal + 0.2 * rng.normal(size=80)})
    y = signal > 0
    tree = DecisionTreeClassifier(random_state=0, max_features=1)
    grid = {"max_depth": [1], "random_state": range(6)}
    folds = KFold(4, shuffle=True, random_state=0)
    scorer = make_scorer("robust_accuracy", "linf(0.2)", k=3)
    search = GridSearchCV(tree, grid, scoring=scorer, cv=folds).fit(frame, y)
    assert search.best_estimator_.tree_.feature[0] == 1, "clean accuracy would choose the weak one"
    clean = GridSearchCV(tree, grid, cv=folds).fit(frame, y)
    assert clean.best_estimator_.tree_.feature[0] == 0


def test_what_has_no_value_raises_and_never_becomes_nan():
    always_no = DummyClassifier(strategy="constant", constant="no")
    y = np.where(np.arange(60) % 2, "yes", "no")
    scorer = make_scorer("mscr", "linf(eps_min)")
    wrong = DummyClassifier(strategy="constant", constant="no").fit(X[:2], ["no", "yes"])
    with pytest.raises(ScoringError, match="MSCR is undefined at a clean accuracy of 0"):
        make_scorer("relative_loss", "linf(0.1)")(_Wrong().fit(X, Y), X, Y)
    assert make_scorer("robust_accuracy", "linf(0.1)")(wrong, X, Y) == np.mean(Y == "no")
    sorted_y = np.sort(y)  # folds without shuffling have one class
    with pytest.raises(ScoringError, match="mscr cannot be computed: y must hold at least two"):
        cross_val_score(always_no, X, sorted_y, scoring=scorer, cv=KFold(2))
    with pytest.raises(ScoringError, match="at least two classes"):
        GridSearchCV(always_no, {}, scoring=scorer, cv=KFold(2)).fit(X, sorted_y)


class _Wrong(KNeighborsClassifier):
    def predict(self, x):
        return np.where(super().predict(x) == "yes", "no", "yes")

    def fit(self, x, y):
        self.n_neighbors = 1
        return super().fit(x, y)


def test_a_model_that_fails_raises():
    class Broken(KNeighborsClassifier):
        def predict(self, x):
            raise RuntimeError("out of order")

    with pytest.raises(ScoringError, match="out of order"):
        make_scorer("robust_accuracy", "linf(0.1)")(Broken(3).fit(X, Y), X, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("robust",), "unknown score 'robust'"),
        (("mscr", "linf(0.1)"), "mscr is defined for noise of size eps_min"),
        (("mscr", "linf(2*eps_min)"), "mscr is defined for noise of size eps_min"),
        (("robust_accuracy", "linff(0.1)"), "unknown corruption 'linff'"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(arguments, message):
    with pytest.raises(st.InputError, match=message):
        make_scorer(*arguments)
    with pytest.raises(st.InputError, match="k must be"):
        make_scorer("mscr", k=0)


def test_a_scorer_is_public():
    assert isinstance(st.make_scorer("mscr"), RobustScorer)
    assert issubclass(st.findings.ScoringError, BaseException)
    assert not issubclass(st.findings.ScoringError, Exception)
