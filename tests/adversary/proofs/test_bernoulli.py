"""Distances of Bernoulli naive Bayes with a threshold: against all sets of features."""

import itertools
import math

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shaketable as st
from shaketable.adversary.brackets import prove
from shaketable.adversary.proofs.bernoulli import BernoulliDistance
from shaketable.adversary.target import Target


def make_data(d, classes, bounds=None):
    rng = np.random.default_rng(d)
    y = np.arange(50) % classes
    x = rng.uniform(size=(50, d)) * 0.7 + 0.3 * rng.integers(0, 2, (classes, d))[y]
    return st.make_dataset(x, y, bounds=bounds)


FLIPS = np.array([*itertools.product([False, True], repeat=7)])


def by_hand(model, x, label, p):
    """Least norm of the flips of any set of features that changes the answer."""
    marks = ((x > 0.5) != FLIPS).astype(float)
    wrong = model.predict(marks) != label
    return np.linalg.norm(FLIPS * np.abs(0.5 - x), p, axis=1)[wrong].min(initial=math.inf)


@pytest.mark.parametrize("bounds", [None, (0, 1)])
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("classes", [2, 3])
def test_distances_are_those_of_the_best_set_of_features(classes, p, bounds):
    data = make_data(7, classes, bounds)
    model = BernoulliNB(binarize=0.5).fit(data.x, data.y)
    target = Target.of(model, data)
    assert [type(prover) for prover in target.provers] == [BernoulliDistance]
    found = prove(target, target.make_region(p, 9.0, "none"))
    right = np.flatnonzero(target.right)
    assert len(right) > 20
    expected = np.array([by_hand(model, data.x[i], data.y[i], p) for i in right])
    none = np.isinf(expected)
    assert (found.low[right[none]] == 9).all()
    right, expected = right[~none], expected[~none]
    assert (found.low[right] <= expected * (1 + 1e-12)).all()
    assert (found.high[right] >= expected * (1 - 1e-12)).all()
    assert (target.predict(found.moved[right]) != target.y[right]).all()
    if math.isinf(p):
        np.testing.assert_allclose(found.low[right], expected, rtol=1e-9)
        np.testing.assert_allclose(found.high[right], expected, rtol=1e-9)
    else:
        assert np.median(found.low[right] / found.high[right]) > 0.5


def test_behind_scalers_and_in_many_dimensions():
    data = make_data(200, 2)
    model = make_pipeline(StandardScaler(), BernoulliNB()).fit(data.x, data.y)
    target = Target.of(model, data)
    found = prove(target, target.make_region(math.inf, 9.0, "none"))
    right = target.right
    np.testing.assert_allclose(found.low[right], found.high[right], rtol=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = data.x + found.low[:, None] * rng.choice([-1, 1], data.x.shape)
        assert (model.predict(moved)[right] == data.y[right]).all()
    column = make_pipeline(StandardScaler(), BernoulliNB()).fit(data.x, data.y)
    assert Target.of(column, data).provers[0].why.startswith("distances to the thresholds")


def test_what_is_at_the_threshold_is_not_above_it():
    x = np.array([[0.5], [0.2], [0.8], [0.9]])
    data = st.make_dataset(x, [0, 0, 1, 1])
    model = BernoulliNB(binarize=0.5).fit(x, data.y)
    target = Target.of(model, data)
    found = prove(target, target.make_region(2.0, 1.0, "none"))
    assert target.right.all()
    assert found.low[0] == 0
    assert 0 < found.high[0] < 1e-9
    np.testing.assert_allclose(found.low[1:], [0.3, 0.3, 0.4], rtol=1e-9)
    np.testing.assert_allclose(found.high[1:], [0.3, 0.3, 0.4], rtol=1e-9)
