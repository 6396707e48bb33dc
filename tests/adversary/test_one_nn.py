"""Fitted 1-NN classifiers: what counts as one, and where Theorem 2 holds of it."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from helpers.regions import make_region
from shaketable.adversary.one_nn import FittedOneNN, extract_one_nn, prove_robust


@pytest.mark.parametrize(
    ("options", "p"),
    [
        ({}, 2),
        ({"p": 1}, 1),
        ({"p": math.inf}, math.inf),
        ({"p": 3}, 3),
        ({"metric": "l2", "weights": "distance"}, 2),
        ({"metric": "cityblock", "algorithm": "brute"}, 1),
        ({"metric": "chebyshev"}, math.inf),
        ({"n_neighbors": 3}, None),
        ({"metric": "cosine"}, None),
        ({"metric": "minkowski", "metric_params": {"w": np.ones(2)}}, None),
        ({"weights": np.ones_like}, None),
    ],
)
def test_a_fitted_1nn_is_recognised(options, p):
    x = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 7.0], [3.0, 3.0]])
    model = KNeighborsClassifier(**{"n_neighbors": 1, **options}).fit(x, [0, 1, 0, 1])
    found = extract_one_nn(model)
    assert (found and found.p) == p
    if found is not None:
        np.testing.assert_array_equal(found.points, x)
        np.testing.assert_array_equal(found.labels, [0, 1, 0, 1])
    assert extract_one_nn(model.predict) is None


def test_columns_come_in_the_order_of_the_data():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [5.0, 6.0]})
    model = KNeighborsClassifier(1).fit(frame, [0, 1])
    assert extract_one_nn(model, features=("b", "a")).points.tolist() == [[5, 0], [6, 1]]
    assert extract_one_nn(model).points.tolist() == [[0, 5], [1, 6]]
    assert extract_one_nn(model, features=("b", "c")) is None
    assert extract_one_nn(model, features=("b", "a", "c")) is None
    unnamed = KNeighborsClassifier(1).fit(frame.to_numpy(), [0, 1])
    assert extract_one_nn(unnamed, features=("b", "a")).points.tolist() == [[0, 5], [1, 6]]
    twice = KNeighborsClassifier(1).fit(frame.to_numpy(), [[0, 1], [1, 0]])
    assert extract_one_nn(twice) is None


@pytest.mark.parametrize(
    ("options", "expanded"),
    [
        ({}, False),
        ({"algorithm": "brute"}, True),
        ({"algorithm": "brute", "metric": "sqeuclidean"}, True),
        ({"algorithm": "brute", "p": 1}, False),
        ({"algorithm": "ball_tree", "p": 1}, True),
    ],
)
def test_how_distances_are_computed_is_known(options, expanded):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(40, 3))
    one_nn = extract_one_nn(KNeighborsClassifier(1, **options).fit(x, np.arange(40) % 2))
    assert one_nn.expanded == expanded
    assert (one_nn.bound_error(1e3) > 1e-9) == expanded


def labelled(x, p=2):
    return FittedOneNN(x, np.arange(len(x)) % 2, p)


def test_theorem_2_needs_the_same_points_and_norm():
    x = np.array([[0.0, -0.0], [1.0, 2.0], [3.0, 1.0]])
    own = make_region(x, 0.1, "genuine-max")
    assert "Theorem 2" in prove_robust(labelled(x[::-1]), own)
    assert "Theorem 2" in prove_robust(labelled(x[[0, 1, 0, 2]]), own)
    assert prove_robust(labelled(x), make_region(x, 0.1, "genuine-exact"))
    assert not prove_robust(labelled(x[:2]), own)
    assert not prove_robust(labelled(np.vstack([x, x[:1] + 9])), own)
    assert not prove_robust(labelled(x, 1), own)
    assert not prove_robust(labelled(x), make_region(x, 0.1))
    assert not prove_robust(None, own)


def test_theorem_2_needs_powers_that_are_numbers():
    rng = np.random.default_rng(0)
    x, y = 0.01 * rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    for p, holds in ((3, True), (200, False)):
        model = KNeighborsClassifier(1, p=p).fit(x, y)
        place = make_region(x, 0.003, "genuine-max", p=p)
        assert bool(prove_robust(extract_one_nn(model), place)) == holds
        assert (model.predict(x) == y).all() == holds
    large = make_region(100 * x, 100.0, "genuine-max", p=200)
    assert not prove_robust(extract_one_nn(KNeighborsClassifier(1, p=200).fit(100 * x, y)), large)


def test_theorem_2_says_where_differences_are_rounded_to_float32():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(60, 20)), rng.integers(0, 2, 60)
    for dtype, aside in ((np.float64, False), (np.float32, True)):
        given = x.astype(dtype)
        one_nn = extract_one_nn(KNeighborsClassifier(1, p=1).fit(given, y))
        place = make_region(given.astype(float), 1.0, "genuine-max", p=1, dtype=dtype)
        assert ("rounding aside" in prove_robust(one_nn, place)) == aside
