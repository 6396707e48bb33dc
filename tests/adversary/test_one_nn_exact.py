import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from helpers.regions import make_region
from shaketable.adversary.attacks.one_nn_exact import OneNNExact
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.one_nn import extract_one_nn, prove_robust
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.data.bounds import Bounds
from shaketable.models.classifier import Classifier


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
    return OneNNExact(extract_one_nn(model)).find_smallest(classifier(model), place, rows, y[rows])


def solve(model, place, y):
    """What the attack finds at the region's points."""
    rows, none = np.arange(len(place.x)), np.zeros(len(place.x), np.uint64)
    return OneNNExact(extract_one_nn(model))(classifier(model), place, rows, y, none)


def search(model, place, y, queries=100):
    """Whether a random search finds misclassified points in the regions."""
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
    place = make_region(x, 5.0, constraint, bounds)
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
    found = smallest(model, make_region(x, 4.0), y)
    np.testing.assert_allclose(found.distance, [2.0, 1.0, 0.5, 0.8], rtol=1e-9)
    # with cells of the evaluated points, 0.5 | 1.0 | 1.5 … 2.85 … 4.2 | 4.85 | 5.5
    found = smallest(model, make_region(x, 4.0, "genuine-max"), y)
    np.testing.assert_allclose(found.distance, [math.inf, 1.0, 0.5, math.inf], rtol=1e-9)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_searches_never_beat_it(constraint):
    rng = np.random.default_rng(0)
    x, y, model = problem(rng, 5, m=60, n=40)
    place = make_region(x, 5.0, constraint)
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
    distance = smallest(model, make_region(x, 1.0, constraint, dtype=dtype), y).distance
    assert distance[0] == 0
    for epsilon in (0.0, 0.05, 0.15, 0.3, 1.0):
        found = solve(model, make_region(x, epsilon, constraint, dtype=dtype), y)
        np.testing.assert_array_equal(found.hit, distance <= epsilon)
        assert found.settles(epsilon).all()
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
    place = make_region(x, 30.0, "genuine-max")
    assert prove_robust(extract_one_nn(model), place)
    assert np.isinf(smallest(model, place, y).least).all()
    free = smallest(model, make_region(x, 30.0), y).distance
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
    place = make_region(x, 0.3, "genuine-max")
    assert extract_one_nn(model) is None
    assert (search(model, place, y) & (model.predict(x) == y)).any()  # what a proof would deny
    model.fit(np.vstack([x, -0.0 * x[:1], 0.0 * x[:1]]), np.append(y, [0, 1]))
    assert extract_one_nn(model) is None
    model.fit(np.vstack([x, x]), np.append(y, y))
    assert prove_robust(extract_one_nn(model), place)


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


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 4),
    constraint=st.sampled_from(["none", "genuine-max"]),
)
def test_what_is_proven_is_so_in_exact_arithmetic(seed, d, constraint):
    rng = np.random.default_rng(seed)
    z, labels, x, model, y = thin(rng, d)
    true = np.array(
        [
            min(
                distance_squared(
                    x[i],
                    w,
                    z[labels == y[i]],
                    np.delete(x, i, axis=0) if constraint == "genuine-max" else x[:0],
                )
                for w in z[labels != y[i]]
            )
            for i in range(3)
        ]
    )
    roots = np.sqrt(true[true < 100].astype(float))
    for epsilon in (*rng.uniform(0.1, 3, size=2), *roots, *roots * (1 - 1e-9)):
        found = solve(model, make_region(x, float(epsilon), constraint), y)
        beyond = true > Fraction(float(epsilon)) ** 2
        assert beyond[found.settles(epsilon) & ~found.hit].all()
        assert (model.predict(found.moved) != y)[found.hit].all()
    far = smallest(model, make_region(x, 10.0, constraint), y)
    root = np.sqrt(true.astype(float))
    assert (far.distance >= far.least * (1 - 1e-9)).all()
    assert (far.least <= root * (1 + 1e-9))[root < 10].all()


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_few_thin_cells_stay_undecided(constraint):
    rng = np.random.default_rng(0)
    proven = []
    for trial in range(60):
        *_, x, model, y = thin(rng, 1 + trial % 5)
        epsilon = rng.uniform(0.1, 3)
        found = solve(model, make_region(x, epsilon, constraint), y)
        proven += found.settles(epsilon).tolist()
    assert np.mean(proven) > 0.99


def test_thin_cells_are_found():
    z, labels = np.array([[1.0], [1 + 3e-5], [1 + 3e-5 + 1e-6], [2.0]]), [1, 0, 1, 0]
    model = KNeighborsClassifier(1).fit(z, labels)
    found = solve(model, make_region(np.array([[0.0], [5.0]]), 1.2), np.array([1, 0]))
    np.testing.assert_array_equal(found.hit, [True, False])
    assert found.settles(1.2).all()
    assert model.predict(found.moved[:1]) == 0


def test_labels_are_those_of_the_fit_where_the_model_is_asked_in_float32():
    z, labels = np.array([[0.0], [1.0], [1 + 1e-9], [3.0]]), [0, 0, 1, 0]
    model = KNeighborsClassifier(1).fit(z, labels)
    place = make_region(np.array([[0.5]]), 1.0, dtype=np.float32)
    found = solve(model, place, np.array([0]))
    assert found.hit.all()
    assert found.moved[0, 0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
def test_what_is_proven_of_products_withstands_a_search(offset, constraint):
    # |a|^2 - 2ab + |b|^2 is off by about 1e-15 |a|^2
    rng = np.random.default_rng(0)
    z, x = (offset + rng.normal(size=(n, 20)) for n in (80, 40))
    model = KNeighborsClassifier(1).fit(z, (z[:, 0] > offset).astype(int))
    assert extract_one_nn(model).expanded
    y = model.predict(x)
    place = make_region(x, 1.0, constraint)
    found, seen = solve(model, place, y), search(model, place, y)
    if offset < 1e8:  # beyond, answers depend on which points are asked together
        assert (model.predict(found.moved[found.hit]) != y[found.hit]).all()
    settled = found.settles(place.epsilon)
    assert not (seen & settled & ~found.hit).any()
    assert found.hit.mean() > 0.4
    if offset < 1e5:
        assert settled.all()
        assert seen.sum() < found.hit.sum()
    if offset == 1e8:
        assert seen.all()
        assert not settled.all()


@pytest.mark.parametrize(("offset", "holds"), [(0.0, True), (1e3, False), (1e6, False)])
def test_theorem_2_needs_distances_that_tell_cells_apart(offset, holds):
    rng = np.random.default_rng(0)
    x = offset + rng.normal(size=(40, 20))
    y = rng.integers(0, 2, 40)
    model = KNeighborsClassifier(1).fit(x, y)
    place = make_region(x, 20.0, "genuine-max")
    assert bool(prove_robust(extract_one_nn(model), place)) == holds
    assert search(model, place, y).any() == (not holds)
    assert solve(model, place, y).settles(place.epsilon).all() == holds
    tree = KNeighborsClassifier(1, algorithm="kd_tree").fit(x, y)
    assert prove_robust(extract_one_nn(tree), place)


def test_some_of_its_own_points_leave_nothing_undecided():
    # edges of the cells of points that are evaluated and trained on are edges of the labels too
    rng = np.random.default_rng(1)
    for d in (1, 2, 20):
        x = rng.normal(size=(60, d))
        y = rng.integers(0, 2, 60)
        model = KNeighborsClassifier(1).fit(x, y)
        some = x[:20]
        for epsilon in (1.0, 10.0, 1e4):
            found = solve(model, make_region(some, epsilon, "genuine-max"), y[:20])
            assert found.settles(epsilon).all()
            assert found.hit.any() == (d <= 2 or epsilon > 1)


def test_any_epsilon_and_no_rows_will_do():
    x, y, model = problem(np.random.default_rng(3), 2)
    for constraint in ("none", "genuine-max"):
        found = solve(model, make_region(x, 1e300, constraint), y)
        assert (model.predict(found.moved[found.hit]) != y[found.hit]).all()
        assert found.hit.mean() > 0.5
        nothing = smallest(model, make_region(x, 1.0, constraint), y, rows=np.arange(0))
        assert (nothing.distance.shape, nothing.queries) == ((0,), 0)


def test_only_l2_and_convex_regions_are_exact():
    x, y, model = problem(np.random.default_rng(0), 2)
    for place in (make_region(x, 0.1, p=1), make_region(x, 0.1, "genuine-exact")):
        with pytest.raises(InputError, match="exact distances of 1-NN need norm 2"):
            smallest(model, place, y)
