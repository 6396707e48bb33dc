import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.neighbors import KNeighborsClassifier

from shaketable.adversary.cells import Cells
from shaketable.adversary.nearest_points import (
    FittedOneNN,
    OneNNExact,
    as_one_nn,
    least_step,
    proven_robust,
)
from shaketable.adversary.region import Region
from shaketable.adversary.searches import RandomSearch, RayBisection
from shaketable.arrays import make_dataset
from shaketable.corruptions import Bounds
from shaketable.errors import InputError
from shaketable.keys import row_keys
from shaketable.models import as_classifier


def region(x, epsilon, constraint="none", bounds=None, *, p=2, dtype=np.float64):
    cells = None if constraint == "none" else Cells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], np.dtype(dtype), p, epsilon, constraint, cells, bounds)


def problem(rng, d, m=30, n=15, classes=3):
    """1-NN fitted on some points, and others that it is evaluated on."""
    z, x = rng.uniform(size=(m, d)), rng.uniform(size=(n, d))
    labels = np.r_[np.arange(classes), rng.integers(0, classes, m - classes)]
    model = KNeighborsClassifier(1).fit(z, labels)
    data = make_dataset(np.concatenate([x, z]), np.concatenate([model.predict(x), labels]))
    return OneNNExact(as_classifier(model, data), z), x, data.y[:n], model


def brute(model, place, label, row, rng):
    """Least distance of a wrong label among many points about x, most of them near."""
    n = 40000
    step = rng.normal(size=(n, place.x.shape[1]))
    step *= (rng.uniform(size=n) * 1.2 / np.linalg.norm(step, axis=1))[:, None]
    moved = place.x[row] + step
    inside = place.contains(np.full(n, row), moved)
    wrong = inside & (model.predict(moved) != label)
    return np.linalg.norm(step[wrong], axis=1).min(initial=math.inf)


@pytest.mark.parametrize("bounds", [None, Bounds(0, 1)])
@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_point_is_nearer_and_the_nearest_is_wrong(d, constraint, bounds):
    rng = np.random.default_rng(d)
    exact, x, y, model = problem(rng, d)
    place = region(x, 5.0, constraint, bounds)
    found = exact.smallest(place, np.arange(len(x)), y)
    there = np.flatnonzero(np.isfinite(found.distance))
    assert len(there) > 5
    assert (model.predict(found.moved[there]) != y[there]).all()
    assert place.contains(there, found.moved[there]).all()
    np.testing.assert_allclose(
        np.linalg.norm(found.moved - x, axis=1)[there], found.distance[there], rtol=1e-12
    )
    nearest = np.array([brute(model, place, y[row], row, rng) for row in range(len(x))])
    assert (nearest >= found.distance * (1 - 1e-8)).all()  # also: where none exists, none is seen
    if d == 2:
        seen = nearest[there]
        assert np.median(seen / found.distance[there]) < 1.03


def test_on_a_line_it_is_the_nearest_midpoint():
    z, labels = np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 0])
    model = KNeighborsClassifier(1).fit(z, labels)
    x = np.array([[0.5], [1.5], [5.5], [4.2]])
    y = np.array([0, 0, 0, 1])
    exact = OneNNExact(as_classifier(model, make_dataset(z, labels)), z)
    found = exact.smallest(region(x, 1.0), np.arange(4), y)
    np.testing.assert_allclose(found.distance, [2.0, 1.0, 0.5, 0.8], rtol=1e-9)
    # with cells of the evaluated points, 0.5 | 1.0 | 1.5 … 2.85 … 4.2 | 4.85 | 5.5
    found = exact.smallest(region(x, 1.0, "genuine-max"), np.arange(4), y)
    np.testing.assert_allclose(found.distance, [math.inf, 1.0, 0.5, math.inf], rtol=1e-9)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_searches_never_beat_it(constraint):
    rng = np.random.default_rng(0)
    exact, x, y, _ = problem(rng, 5, m=60, n=40)
    place = region(x, 5.0, constraint)
    rows, keys = np.arange(40), row_keys(0, np.arange(40), np.arange(1))[:, 0]
    distance = exact.smallest(place, rows, y).distance
    ratio = []
    for attack in (RandomSearch(400), RayBisection(1000)):
        found = attack(exact.model, place, rows, y, keys)
        away = np.linalg.norm(found.moved - x, axis=1)[found.hit]
        assert found.hit.mean() > 0.3
        ratio.append(away / distance[found.hit])
        assert (ratio[-1] >= 1 - 1e-8).all()
    assert np.median(ratio[1]) < 1.15


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_one_distance_tells_the_hits_of_every_epsilon(constraint, dtype):
    exact, x, y, _ = problem(np.random.default_rng(1), 4)
    x = x.astype(np.float32).astype(np.float64)
    y[0] = (y[0] + 1) % 3
    rows, none = np.arange(len(x)), np.zeros(len(x), np.uint64)
    distance = exact.smallest(region(x, 1.0, constraint, dtype=dtype), rows, y).distance
    assert distance[0] == 0
    for epsilon in (0.0, 0.05, 0.15, 0.3, 1.0):
        place = region(x, epsilon, constraint, dtype=dtype)
        found = exact(exact.model, place, rows, y, none)
        np.testing.assert_array_equal(found.hit, distance <= epsilon)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_nothing_is_there_on_its_own_points(seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 6)
    x = rng.normal(size=(20, d)) if seed % 2 else rng.integers(0, 4, (20, d)).astype(float)
    x = np.unique(x, axis=0)
    y = np.arange(len(x)) % 3 % 2
    model = KNeighborsClassifier(1).fit(x, y)
    exact = OneNNExact(as_classifier(model, make_dataset(x, y)), x)
    rows = np.arange(len(x))
    place = region(x, 3.0, "genuine-max")
    assert proven_robust(as_one_nn(model), place)
    assert np.isinf(exact.smallest(place, rows, y).distance).all()
    free = exact.smallest(region(x, 3.0), rows, y).distance
    pairs = np.linalg.norm(x[:, None] - x, axis=2)
    pairs[y[:, None] == y] = math.inf
    assert (free >= pairs.min(axis=1) / 2 * (1 - 1e-9)).all()
    closest = pairs.min(axis=1) == pairs.min()  # halfway between them no third one is nearer
    np.testing.assert_allclose(free.min(), pairs.min() / 2, rtol=1e-6)
    assert closest.any()


def test_clashing_training_points_have_the_label_that_the_model_gives():
    z, labels = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 0.0]]), np.array([0, 1, 0])
    model = KNeighborsClassifier(1).fit(z, labels)
    exact = OneNNExact(as_classifier(model, make_dataset(z, labels)), z)
    found = exact.smallest(region(z[:1], 1.0), np.array([0]), np.array([0]))
    expected = 1.0 if model.predict(z[1:2])[0] == 1 else math.inf
    assert found.distance[0] == pytest.approx(expected, rel=1e-9)


def by_nnls(normals, offsets):
    """Least distance programming by Lawson & Hanson (1974), chapter 23."""
    system = np.vstack([-normals.T, -offsets])
    target = np.r_[np.zeros(normals.shape[1]), 1.0]
    residual = system @ nnls(system, target)[0] - target
    return None if np.linalg.norm(residual) < 1e-7 else -residual[:-1] / residual[-1]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_least_steps_equal_those_of_an_independent_method(seed):
    rng = np.random.default_rng(seed)
    d, m = rng.integers(1, 7), rng.integers(1, 25)
    normals = rng.normal(size=(m, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.normal(size=m) if seed % 2 else normals @ rng.normal(size=d) + rng.uniform(size=m)

    def outside(step):
        excess = normals @ step - offsets
        return float(excess.max()), normals[excess.argmax()]

    expected, step = by_nnls(normals, offsets), least_step(outside, d, math.inf)
    assert (step is None) == (expected is None)
    if step is not None:
        np.testing.assert_allclose(step, expected, atol=1e-6)
        size = np.linalg.norm(step)
        assert least_step(outside, d, 1.01 * size + 1e-9) is not None
        assert size < 1e-9 or least_step(outside, d, 0.99 * size) is None


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
    found = as_one_nn(model)
    assert (found and found.p) == p
    if found is not None:
        np.testing.assert_array_equal(found.points, x)
    assert as_one_nn(model.predict) is None


def test_columns_come_in_the_order_of_the_data():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [5.0, 6.0]})
    model = KNeighborsClassifier(1).fit(frame, [0, 1])
    assert as_one_nn(model, features=("b", "a")).points.tolist() == [[5, 0], [6, 1]]
    assert as_one_nn(model).points.tolist() == [[0, 5], [1, 6]]


def test_theorem_2_needs_the_same_points_and_norm():
    x = np.array([[0.0, -0.0], [1.0, 2.0], [3.0, 1.0]])
    own = region(x, 0.1, "genuine-max")
    assert "Theorem 2" in proven_robust(FittedOneNN(x[::-1], 2), own)
    assert "Theorem 2" in proven_robust(FittedOneNN(x[[0, 0, 1, 2]], 2), own)
    assert proven_robust(FittedOneNN(x, 2), region(x, 0.1, "genuine-exact"))
    assert not proven_robust(FittedOneNN(x[:2], 2), own)
    assert not proven_robust(FittedOneNN(np.vstack([x, x[:1] + 9]), 2), own)
    assert not proven_robust(FittedOneNN(x, 1), own)
    assert not proven_robust(FittedOneNN(x, 2), region(x, 0.1))
    assert not proven_robust(None, own)


def test_only_l2_and_convex_regions_are_exact():
    exact, x, y, _ = problem(np.random.default_rng(0), 2)
    for place in (region(x, 0.1, p=1), region(x, 0.1, "genuine-exact")):
        with pytest.raises(InputError, match="exact distances of 1-NN need norm 2"):
            exact.smallest(place, np.arange(3), y[:3])
