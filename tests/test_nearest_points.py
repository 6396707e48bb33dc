import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.neighbors import KNeighborsClassifier

from shaketable.adversary.cells import Cells
from shaketable.adversary.fitted_one_nns import FittedOneNN, as_one_nn, proven_robust
from shaketable.adversary.half_spaces import least_step
from shaketable.adversary.nearest_points import OneNNExact
from shaketable.adversary.region import Region
from shaketable.adversary.searches import RandomSearch, RayBisection
from shaketable.corruptions import Bounds
from shaketable.errors import InputError
from shaketable.keys import row_keys
from shaketable.models import Classifier


def region(x, epsilon, constraint="none", bounds=None, *, p=2, dtype=np.float64):
    cells = None if constraint == "none" else Cells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], np.dtype(dtype), p, epsilon, constraint, cells, bounds)


def problem(rng, d, m=30, n=15, classes=3):
    """1-NN fitted on some points, and others that it is evaluated on."""
    z, x = rng.uniform(size=(m, d)), rng.uniform(size=(n, d))
    labels = np.r_[np.arange(classes), rng.integers(0, classes, m - classes)]
    model = KNeighborsClassifier(1).fit(z, labels)
    return x, model.predict(x), model


def classifier(model):
    """The model, whose labels are class codes."""
    return Classifier("1nn", model.predict, {code: code for code in model.classes_.tolist()}, None)


def smallest(model, place, y, rows=None):
    """Nearest wrong labels of the region's points."""
    rows = np.arange(len(place.x)) if rows is None else rows
    return OneNNExact(as_one_nn(model)).smallest(classifier(model), place, rows, y[rows])


def solved(model, place, y):
    """What the attack finds at the region's points."""
    rows, none = np.arange(len(place.x)), np.zeros(len(place.x), np.uint64)
    return OneNNExact(as_one_nn(model))(classifier(model), place, rows, y, none)


def searched(model, place, y, queries=200):
    """Whether a random search turns the region's points."""
    rows = np.arange(len(place.x))
    keys = row_keys(0, rows, np.arange(1))[:, 0]
    return RandomSearch(queries)(classifier(model), place, rows, y, keys).hit


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
    x, y, model = problem(rng, d)
    place = region(x, 5.0, constraint, bounds)
    found = smallest(model, place, y)
    there = np.flatnonzero(np.isfinite(found.distance))
    assert len(there) > 5
    assert (model.predict(found.moved[there]) != y[there]).all()
    assert place.contains(there, found.moved[there]).all()
    np.testing.assert_allclose(
        np.linalg.norm(found.moved - x, axis=1)[there], found.distance[there], rtol=1e-12
    )
    nearest = np.array([brute(model, place, y[row], row, rng) for row in range(len(x))])
    assert (nearest >= found.distance * (1 - 1e-8)).all()  # also: where none exists, none is seen
    np.testing.assert_allclose(found.least, found.distance, rtol=1e-6)
    assert (found.least <= found.distance).all()
    if d == 2:
        seen = nearest[there]
        assert np.median(seen / found.distance[there]) < 1.03


def test_on_a_line_it_is_the_nearest_midpoint():
    z, labels = np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 0])
    model = KNeighborsClassifier(1).fit(z, labels)
    x = np.array([[0.5], [1.5], [5.5], [4.2]])
    y = np.array([0, 0, 0, 1])
    found = smallest(model, region(x, 4.0), y)
    np.testing.assert_allclose(found.distance, [2.0, 1.0, 0.5, 0.8], rtol=1e-9)
    # with cells of the evaluated points, 0.5 | 1.0 | 1.5 … 2.85 … 4.2 | 4.85 | 5.5
    found = smallest(model, region(x, 4.0, "genuine-max"), y)
    np.testing.assert_allclose(found.distance, [math.inf, 1.0, 0.5, math.inf], rtol=1e-9)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_searches_never_beat_it(constraint):
    rng = np.random.default_rng(0)
    x, y, model = problem(rng, 5, m=60, n=40)
    place = region(x, 5.0, constraint)
    rows, keys = np.arange(40), row_keys(0, np.arange(40), np.arange(1))[:, 0]
    distance = smallest(model, place, y).distance
    ratio = []
    for attack in (RandomSearch(400), RayBisection(1000)):
        found = attack(classifier(model), place, rows, y, keys)
        away = np.linalg.norm(found.moved - x, axis=1)[found.hit]
        assert found.hit.mean() > 0.3
        ratio.append(away / distance[found.hit])
        assert (ratio[-1] >= 1 - 1e-8).all()
    assert np.median(ratio[1]) < 1.15


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_one_distance_tells_the_hits_of_every_epsilon(constraint, dtype):
    x, y, model = problem(np.random.default_rng(1), 4)
    x = x.astype(np.float32).astype(np.float64)
    y[0] = (y[0] + 1) % 3
    distance = smallest(model, region(x, 1.0, constraint, dtype=dtype), y).distance
    assert distance[0] == 0
    for epsilon in (0.0, 0.05, 0.15, 0.3, 1.0):
        found = solved(model, region(x, epsilon, constraint, dtype=dtype), y)
        np.testing.assert_array_equal(found.hit, distance <= epsilon)
        assert found.proven.all()
        assert found.queries <= 3 * len(x)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_nothing_is_there_on_its_own_points(seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 6)
    x = rng.normal(size=(20, d)) if seed % 2 else rng.integers(0, 4, (20, d)).astype(float)
    x = np.unique(x, axis=0)
    y = np.arange(len(x)) % 3 % 2
    model = KNeighborsClassifier(1).fit(x, y)
    place = region(x, 30.0, "genuine-max")
    assert proven_robust(as_one_nn(model), place)
    assert np.isinf(smallest(model, place, y).least).all()
    free = smallest(model, region(x, 30.0), y).distance
    pairs = np.linalg.norm(x[:, None] - x, axis=2)
    pairs[y[:, None] == y] = math.inf
    assert (free >= pairs.min(axis=1) / 2 * (1 - 1e-9)).all()
    closest = pairs.min(axis=1) == pairs.min()  # halfway between them no third one is nearer
    np.testing.assert_allclose(free.min(), pairs.min() / 2, rtol=1e-6)
    assert closest.any()


def test_clashing_training_points_are_no_1nn_to_prove_things_about():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = (x[:, 0] > 0).astype(int)
    model = KNeighborsClassifier(1).fit(np.vstack([x, x]), np.append(y, 1 - y))
    place = region(x, 0.3, "genuine-max")
    assert as_one_nn(model) is None
    assert (searched(model, place, y) & (model.predict(x) == y)).any()  # what a proof would deny
    model.fit(np.vstack([x, -0.0 * x[:1], 0.0 * x[:1]]), np.append(y, [0, 1]))
    assert as_one_nn(model) is None
    model.fit(np.vstack([x, x]), np.append(y, y))
    assert proven_robust(as_one_nn(model), place)


def distance_squared(x, wrong, right, own):
    """Of x to where a wrong point is nearer than all right ones, x nearer than others: exactly.

    Where it is attained, some half-spaces' edges hold the point, the nearest of where they meet.
    """
    rational = np.vectorize(Fraction, otypes=[object])
    x, wrong, right, own = (rational(part) for part in (x, wrong, right, own))
    pairs = [(wrong - x, t - x) for t in right] + [(0 * x, t - x) for t in own]
    spaces = [(t - z, (t @ t - z @ z) / 2) for z, t in pairs]
    best = math.inf
    for k in range(len(x) + 1):
        for some in itertools.combinations(spaces, k):
            weight = _solution([[a @ b for b, _ in some] for a, _ in some], [b for _, b in some])
            if weight is None:
                continue
            step = sum((w * a for w, (a, _) in zip(weight, some, strict=True)), 0 * x)
            if step @ step < best and all(a @ step <= b for a, b in spaces):
                best = step @ step
    return best


def _solution(matrix, target):
    """Of a system of rational equations; None if it has none or many."""
    rows = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in set(range(len(rows))) - {i}:
            rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def thin(rng, d):
    """Points of different labels that nearly coincide, so that cells are thin; and others."""
    z = rng.normal(size=(3, d))
    gap = 10 ** rng.uniform(-7, -3, size=(3, 1)) * rng.choice([-1, 1], size=(3, d))
    z = np.vstack([z, z + gap, z[:1] + gap[:1] * (1 + 10 ** rng.uniform(-4, 0))])
    labels = np.array([0, 0, 1, 1, 1, 0, 0])
    x = rng.normal(size=(3, d))
    model = KNeighborsClassifier(1).fit(z, labels)
    return z, labels, x, model, model.predict(x)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 5),
    constraint=st.sampled_from(["none", "genuine-max"]),
)
def test_what_is_proven_is_so_in_exact_arithmetic(seed, d, constraint):
    rng = np.random.default_rng(seed)
    z, labels, x, model, y = thin(rng, d)
    true = np.array([
        min(distance_squared(x[i], w, z[labels == y[i]],
                             np.delete(x, i, axis=0) if constraint == "genuine-max" else x[:0])
            for w in z[labels != y[i]])
        for i in range(3)
    ])  # fmt: skip
    roots = np.sqrt(true[true < 100].astype(float))
    for epsilon in (*rng.uniform(0.1, 3, size=2), *roots, *roots * (1 - 1e-9)):
        found = solved(model, region(x, float(epsilon), constraint), y)
        beyond = true > Fraction(float(epsilon)) ** 2
        assert beyond[found.proven & ~found.hit].all()
        assert (model.predict(found.moved) != y)[found.hit].all()
    far = smallest(model, region(x, 10.0, constraint), y)
    root = np.sqrt(true.astype(float))
    assert (far.distance >= far.least * (1 - 1e-9)).all()
    assert (far.least <= root * (1 + 1e-9))[root < 10].all()


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_few_thin_cells_stay_undecided(constraint):
    rng = np.random.default_rng(0)
    proven = []
    for trial in range(200):
        *_, x, model, y = thin(rng, 1 + trial % 5)
        found = solved(model, region(x, rng.uniform(0.1, 3), constraint), y)
        proven += found.proven.tolist()
    assert np.mean(proven) > 0.99


def test_thin_cells_are_found():
    z, labels = np.array([[1.0], [1 + 3e-5], [1 + 3e-5 + 1e-6], [2.0]]), [1, 0, 1, 0]
    model = KNeighborsClassifier(1).fit(z, labels)
    found = solved(model, region(np.array([[0.0], [5.0]]), 1.2), np.array([1, 0]))
    np.testing.assert_array_equal(found.hit, [True, False])
    assert found.proven.all()
    assert model.predict(found.moved[:1]) == 0


def test_labels_are_those_of_the_fit_where_the_model_is_asked_in_float32():
    z, labels = np.array([[0.0], [1.0], [1 + 1e-9], [3.0]]), [0, 0, 1, 0]
    model = KNeighborsClassifier(1).fit(z, labels)
    place = region(np.array([[0.5]]), 1.0, dtype=np.float32)
    found = solved(model, place, np.array([0]))
    assert found.hit.all()
    assert found.moved[0, 0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
def test_what_is_proven_of_products_withstands_a_search(offset, constraint):
    # |a|^2 - 2ab + |b|^2 is off by about 1e-15 |a|^2
    rng = np.random.default_rng(0)
    z, x = (offset + rng.normal(size=(n, 20)) for n in (80, 40))
    model = KNeighborsClassifier(1).fit(z, (z[:, 0] > offset).astype(int))
    assert as_one_nn(model).expanded
    y = model.predict(x)
    place = region(x, 1.0, constraint)
    found, seen = solved(model, place, y), searched(model, place, y)
    assert (model.predict(found.moved[found.hit]) != y[found.hit]).all()
    assert not (seen & found.proven & ~found.hit).any()
    assert found.hit.mean() > 0.4
    if offset < 1e5:
        assert found.proven.all()
        assert seen.sum() < found.hit.sum()
    if offset == 1e8:
        assert seen.all()
        assert not found.proven.all()


@pytest.mark.parametrize(("offset", "holds"), [(0.0, True), (1e3, False), (1e6, False)])
def test_theorem_2_needs_distances_that_tell_cells_apart(offset, holds):
    rng = np.random.default_rng(0)
    x = offset + rng.normal(size=(100, 20))
    y = rng.integers(0, 2, 100)
    model = KNeighborsClassifier(1).fit(x, y)
    place = region(x, 20.0, "genuine-max")
    assert bool(proven_robust(as_one_nn(model), place)) == holds
    assert searched(model, place, y).any() == (not holds)
    assert not solved(model, place, y).proven.all() or holds
    tree = KNeighborsClassifier(1, algorithm="kd_tree").fit(x, y)
    assert proven_robust(as_one_nn(tree), place)


def test_some_of_its_own_points_leave_nothing_undecided():
    # edges of the cells of points that are evaluated and trained on are edges of the labels too
    rng = np.random.default_rng(1)
    for d in (1, 2, 20):
        x = rng.normal(size=(60, d))
        y = rng.integers(0, 2, 60)
        model = KNeighborsClassifier(1).fit(x, y)
        some = x[:20]
        for epsilon in (1.0, 10.0, 1e4):
            found = solved(model, region(some, epsilon, "genuine-max"), y[:20])
            assert found.proven.all()
            assert found.hit.any() or d > 2


def test_any_epsilon_and_no_rows_will_do():
    x, y, model = problem(np.random.default_rng(3), 2)
    for constraint in ("none", "genuine-max"):
        found = solved(model, region(x, 1e300, constraint), y)
        assert (model.predict(found.moved[found.hit]) != y[found.hit]).all()
        assert found.hit.mean() > 0.5
        nothing = smallest(model, region(x, 1.0, constraint), y, rows=np.arange(0))
        assert (nothing.distance.shape, nothing.queries) == ((0,), 0)


def by_nnls(normals, offsets):
    """Least distance programming by Lawson & Hanson (1974), chapter 23."""
    system = np.vstack([-normals.T, -offsets])
    target = np.r_[np.zeros(normals.shape[1]), 1.0]
    residual = system @ nnls(system, target)[0] - target
    return None if np.linalg.norm(residual) < 1e-7 else -residual[:-1] / residual[-1]


def outside_of(normals, offsets):
    """The half-space that a step violates most."""

    def outside(step):
        excess = normals @ step - offsets
        i = excess.argmax()
        return float(excess[i]), normals[i], float(offsets[i])

    return outside


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_least_steps_equal_those_of_an_independent_method(seed):
    rng = np.random.default_rng(seed)
    d, m = rng.integers(1, 7), rng.integers(1, 25)
    normals = rng.normal(size=(m, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = rng.normal(size=m) if seed % 2 else normals @ rng.normal(size=d) + rng.uniform(size=m)
    outside = outside_of(normals, offsets)
    expected, step = by_nnls(normals, offsets), least_step(outside, d, 1e5)
    assert (step is None) == (expected is None)
    if step is not None:
        np.testing.assert_allclose(step, expected, atol=1e-6)
        size = np.linalg.norm(step)
        assert least_step(outside, d, 1.01 * size + 1e-9) is not None
        assert size < 1e-9 or least_step(outside, d, 0.99 * size) is None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 6),
    angle=st.floats(-9, -1).map(lambda power: 10**power),
    wall=st.sampled_from(["none", "before", "behind"]),
)
def test_a_thin_wedge_is_nearest_at_its_apex(seed, d, angle, wall):
    rng = np.random.default_rng(seed)
    axis, side = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    away = rng.uniform(0.5, 2)
    normals = [sign * math.cos(angle) * side - math.sin(angle) * axis for sign in (-1, 1)]
    offsets = [-away * math.sin(angle)] * 2
    if wall != "none":
        normals.append(axis)
        gap = 10 ** rng.uniform(-5, -1)
        offsets.append(away + gap * (1 if wall == "behind" else -1))
    outside = outside_of(np.array(normals), np.array(offsets))
    for radius in (0.5 * away, 1.5 * away, 100.0):
        step = least_step(outside, d, radius)
        if wall == "before" or radius < away:
            assert step is None or angle < 1e-6
        else:
            np.testing.assert_allclose(step, away * axis, atol=1e-14 / angle + 1e-11)


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
        np.testing.assert_array_equal(found.labels, [0, 1, 0, 1])
    assert as_one_nn(model.predict) is None


def test_columns_come_in_the_order_of_the_data():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [5.0, 6.0]})
    model = KNeighborsClassifier(1).fit(frame, [0, 1])
    assert as_one_nn(model, features=("b", "a")).points.tolist() == [[5, 0], [6, 1]]
    assert as_one_nn(model).points.tolist() == [[0, 5], [1, 6]]
    assert as_one_nn(model, features=("b", "c")) is None
    assert as_one_nn(model, features=("b", "a", "c")) is None
    unnamed = KNeighborsClassifier(1).fit(frame.to_numpy(), [0, 1])
    assert as_one_nn(unnamed, features=("b", "a")).points.tolist() == [[0, 5], [1, 6]]
    twice = KNeighborsClassifier(1).fit(frame.to_numpy(), [[0, 1], [1, 0]])
    assert as_one_nn(twice) is None


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
    one_nn = as_one_nn(KNeighborsClassifier(1, **options).fit(x, np.arange(40) % 2))
    assert one_nn.expanded == expanded
    assert (one_nn.error(1e3) > 1e-9) == expanded


def labelled(x, p=2):
    return FittedOneNN(x, np.arange(len(x)) % 2, p)


def test_theorem_2_needs_the_same_points_and_norm():
    x = np.array([[0.0, -0.0], [1.0, 2.0], [3.0, 1.0]])
    own = region(x, 0.1, "genuine-max")
    assert "Theorem 2" in proven_robust(labelled(x[::-1]), own)
    assert "Theorem 2" in proven_robust(labelled(x[[0, 1, 0, 2]]), own)
    assert proven_robust(labelled(x), region(x, 0.1, "genuine-exact"))
    assert not proven_robust(labelled(x[:2]), own)
    assert not proven_robust(labelled(np.vstack([x, x[:1] + 9])), own)
    assert not proven_robust(labelled(x, 1), own)
    assert not proven_robust(labelled(x), region(x, 0.1))
    assert not proven_robust(None, own)


def test_theorem_2_needs_powers_that_are_numbers():
    rng = np.random.default_rng(0)
    x, y = 0.01 * rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    for p, holds in ((3, True), (200, False)):
        model = KNeighborsClassifier(1, p=p).fit(x, y)
        place = region(x, 0.003, "genuine-max", p=p)
        assert bool(proven_robust(as_one_nn(model), place)) == holds
        assert (model.predict(x) == y).all() == holds
    large = region(100 * x, 100.0, "genuine-max", p=200)
    assert not proven_robust(as_one_nn(KNeighborsClassifier(1, p=200).fit(100 * x, y)), large)


def test_theorem_2_says_where_differences_are_rounded_to_float32():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(60, 20)), rng.integers(0, 2, 60)
    for dtype, aside in ((np.float64, False), (np.float32, True)):
        given = x.astype(dtype)
        one_nn = as_one_nn(KNeighborsClassifier(1, p=1).fit(given, y))
        place = region(given.astype(float), 1.0, "genuine-max", p=1, dtype=dtype)
        assert ("rounding aside" in proven_robust(one_nn, place)) == aside


def test_only_l2_and_convex_regions_are_exact():
    x, y, model = problem(np.random.default_rng(0), 2)
    for place in (region(x, 0.1, p=1), region(x, 0.1, "genuine-exact")):
        with pytest.raises(InputError, match="exact distances of 1-NN need norm 2"):
            smallest(model, place, y)
