"""The search among leaves against enumeration, for all kinds of trees that can be read."""

import math
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from helpers.regions import make_region
from shaketable.adversary.attacks.leaves import Leaves
from shaketable.adversary.attacks.thresholds import read_thresholds
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier

SMALL = {"max_depth": 3, "random_state": 0}


def make_data(classes=2, d=3):
    x, y = make_classification(
        300, d, n_informative=d, n_redundant=0, n_classes=classes, n_clusters_per_class=1,
        random_state=1,
    )  # fmt: skip
    return make_dataset(x, y)


def fit(estimator, data):
    return as_classifier(estimator.fit(data.x[100:], data.y[100:]), data)


def enumerate_worst(model, x, y, *, epsilon, p, thresholds):
    """Whether any box between thresholds that touches the ball is misclassified, per point."""
    lost = np.zeros(len(x), bool)
    for i, point in enumerate(x):
        values = []
        for column, cuts in enumerate(thresholds):
            near = cuts[np.abs(cuts - point[column]) < epsilon]
            beyond = np.where(near < point[column], near - 2e-6, near + 2e-6)
            values.append(np.r_[point[column], beyond])
        grid = np.array(list(product(*values)))
        inside = pnorm(grid - point, p) <= epsilon
        lost[i] = (model(grid[inside]) != y[i]).any()
    return lost


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_it_finds_what_an_enumeration_finds(p, classes):
    data = make_data(classes)
    model = fit(RandomForestClassifier(5, max_depth=4, random_state=0), data)
    thresholds = read_thresholds(model, 3)
    rows, epsilon = np.arange(60), 0.35
    y, x = data.y[:60], data.x[:60]
    worst = enumerate_worst(model, x, y, epsilon=epsilon, p=p, thresholds=thresholds)
    keys = row_keys(0, rows, np.arange(1))[:, 0]
    found = Leaves(1000)(model, make_region(x, epsilon, p=p), rows, y, keys)
    assert 10 < worst.sum() < 55
    assert not (found.hit & ~worst).any()
    assert (worst & ~found.hit).sum() <= 1


ESTIMATORS = {
    "tree": DecisionTreeClassifier(**SMALL),
    "extra": ExtraTreesClassifier(3, **SMALL),
    "boosting": GradientBoostingClassifier(n_estimators=3, **SMALL),
    "histograms": HistGradientBoostingClassifier(max_iter=3, **SMALL),
    "scaled": make_pipeline(
        StandardScaler(), MinMaxScaler((-1, 1)), DecisionTreeClassifier(**SMALL)
    ),
}


def make_booster(kind):
    library = pytest.importorskip(kind)
    if kind == "xgboost":
        return library.XGBClassifier(n_estimators=3, max_depth=3)
    return library.LGBMClassifier(n_estimators=3, max_depth=3, verbose=-1)


@pytest.mark.parametrize("kind", [*ESTIMATORS, "xgboost", "lightgbm"])
def test_answers_change_only_at_the_thresholds_that_are_read(kind):
    data = make_data()
    estimator = ESTIMATORS[kind] if kind in ESTIMATORS else make_booster(kind)
    model = fit(estimator, data)
    thresholds = read_thresholds(model, 3)
    assert sum(map(len, thresholds)) >= 3
    x = data.x[:1]
    for column, cuts in enumerate(thresholds):
        line = np.linspace(data.x[:, column].min() - 1, data.x[:, column].max() + 1, 4001)
        points = np.repeat(x, len(line), axis=0)
        points[:, column] = line
        scores = model.start(points, scored=True)().scores[:, 0]
        steps = np.flatnonzero(np.abs(np.diff(scores)) > 1e-6)
        for place in steps:
            assert ((cuts >= line[place] - 1e-5) & (cuts <= line[place + 1] + 1e-5)).any()


def test_other_models_are_refused():
    data = make_data()
    for estimator in (
        LogisticRegression(),
        make_pipeline(QuantileTransformer(n_quantiles=10), DecisionTreeClassifier(**SMALL)),
    ):
        model = fit(estimator, data)
        assert read_thresholds(model, 3) is None
        with pytest.raises(InputError, match="must be made of trees whose thresholds can be read"):
            Leaves()(model, make_region(data.x, 0.1), np.arange(1), data.y[:1], np.zeros(1, "u8"))
