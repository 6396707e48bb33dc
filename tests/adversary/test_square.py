"""Search by scores finds the worst case where it is known, and spends what it states."""

import math

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from helpers.regions import make_region
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.registry import measure_margins
from shaketable.adversary.attacks.square import Square, _arrange
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.models.answers import Answer
from shaketable.models.classifier import Classifier, as_classifier


def make_keys(n):
    return row_keys(0, np.arange(n), np.arange(1))[:, 0]


def make_linear(w, asked=None):
    """Two classes, apart at a plane through 0, as scores."""

    def answer(x):
        x = x.reshape(len(x), -1)
        if asked is not None:
            asked.append(x)
        return np.stack([-x @ w, x @ w], axis=1)

    return Classifier("linear", answer, {0: 0, 1: 1}, None)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("d", [4, 40])
def test_linear_models_fall_where_the_closed_form_says(p, d):
    rng = np.random.default_rng(d)
    w, x = rng.normal(size=d), rng.normal(size=(80, d))
    margin = np.abs(x @ w) / np.linalg.norm(w, {1.0: np.inf, 2.0: 2, np.inf: 1}[p])
    epsilon = float(np.median(margin))
    y, rows = (x @ w > 0).astype(int), np.arange(80)
    found = Square(1000)(make_linear(w), make_region(x, epsilon, p=p), rows, y, make_keys(80))
    assert not (found.hit & (margin > epsilon)).any()
    assert found.hit[margin < 0.97 * epsilon].all()
    assert (pnorm(found.moved - x, p) <= epsilon * (1 + 1e-6)).all()
    if d == 40:
        blind = RandomSearch(1000)(
            make_linear(w), make_region(x, epsilon, p=p), rows, y, make_keys(80)
        )
        assert blind.hit.sum() < found.hit.sum()


def test_models_without_probabilities_are_climbed_by_their_decision_function():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 40))
    svm = LinearSVC().fit(x, x @ rng.normal(size=40) > 0)
    distance = np.abs(svm.decision_function(x)) / np.abs(svm.coef_).sum()
    epsilon, y = float(np.median(distance)), svm.predict(x)
    for model in (svm, make_pipeline("passthrough", svm)):
        classifier = as_classifier(model, make_dataset(x, y))
        region = make_region(x, epsilon, p=math.inf)
        found = Square(1000)(classifier, region, np.arange(80), y.astype(int), make_keys(80))
        assert found.hit[distance < 0.95 * epsilon].all()
        assert not found.hit[distance > epsilon * (1 + 1e-6)].any()


def test_it_spends_its_budget_where_nothing_is_found_and_a_row_depends_on_its_key_alone():
    asked, w = [], np.ones(5)
    x = np.random.default_rng(0).normal(size=(6, 5)) + 9
    model, region, keys = make_linear(w, asked), make_region(x, 0.1), make_keys(6)
    found = Square(77)(model, region, np.arange(6), np.ones(6, int), keys)
    assert found.queries == sum(map(len, asked)) == 6 * 77 + 6  # all are labelled once in addition
    some = np.array([4, 1])
    few = Square(77)(model, region, some, np.ones(2, int), keys[some])
    np.testing.assert_array_equal(few.moved, found.moved[some])


@pytest.mark.parametrize("shape", [(6, 6, 3), (3, 6, 6), (6, 6)])
@pytest.mark.parametrize("p", [2.0, math.inf])
def test_images_change_by_windows(shape, p):
    d, asked = math.prod(shape), []
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=d), rng.uniform(size=(30, d))
    region = make_region(x, 0.05 if p > 2 else 0.5, p=p, bounds=Bounds(0, 1))
    region = type(region)(**{**vars(region), "shape": shape})
    found = Square(300)(
        make_linear(w, asked), region, np.arange(30), (x @ w > 0) * 1, make_keys(30)
    )
    assert found.hit.sum() > 5
    layout = _arrange(region)
    assert layout is not None
    assert (layout.height, layout.width) == (6, 6)
    assert layout.channels == (3 if len(shape) == 3 else 1)
    every = np.concatenate(asked)
    assert ((every >= 0) & (every <= 1)).all()


def test_margins_are_those_of_logarithms_where_scores_are_probabilities():
    scores = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]])
    margin = measure_margins(Answer(np.zeros(2, int), scores, (0, 1, 2)), np.array([0, 0]), "m")
    np.testing.assert_allclose(margin[0], np.log(0.2 / 0.7))
    assert margin[1] > 100
    logits = Answer(np.zeros(1, int), np.array([[3.0, 1.0, -np.inf]]), (2, 0, 1))
    assert measure_margins(logits, np.array([2]), "m") == -2
    with pytest.raises(InputError, match="model m must give scores .* use random or rays"):
        measure_margins(Answer(np.zeros(1, int)), np.array([0]), "m")
