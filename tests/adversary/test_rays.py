import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaketable.adversary.attacks import registry as attacks
from shaketable.adversary.attacks.directions import find_steepest_steps
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.data.bounds import Bounds
from shaketable.models.classifier import Classifier

NORMS = [1, 2, math.inf]


def classifier(answer, classes=2):
    return Classifier("made", answer, {code: code for code in range(classes)}, None)


def region(x, p, epsilon, constraint="none", *, bounds=None, dtype=np.float64):
    cells = None if constraint == "none" else VoronoiCells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], np.dtype(dtype), p, epsilon, constraint, cells, bounds)


def keys(n, seed=0):
    return row_keys(seed, np.arange(n), np.arange(1))[:, 0]


def one_nn(x, y, p):
    def answer(points):
        gaps = points.astype(np.float64)[:, None] - x
        far = pnorm(gaps.reshape(-1, x.shape[1]), p).reshape(len(points), len(x))
        return y[far.argmin(axis=1)]

    return classifier(answer, classes=int(y.max()) + 1)


def plane(rng, d, p):
    """Classifier of a half-space, points, and their distances from the boundary in the norm."""
    dual = {1: math.inf, 2: 2, math.inf: 1}[p]
    normal = rng.normal(size=d)
    normal /= pnorm(normal[None], dual)[0]
    x = rng.normal(size=(24, d))
    return classifier(lambda v: (v @ normal > 0).astype(np.int64)), x, np.abs(x @ normal)


@pytest.mark.parametrize("constraint", ["genuine-max", "genuine-exact"])
@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(0.01, 30))
def test_nothing_is_found_against_1nn_on_its_own_points(p, constraint, seed, size):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(3, 25), rng.integers(1, 5)
    x = rng.normal(size=(n, d))
    if seed % 2:  # many points equally far
        x = np.unique(rng.integers(0, 4, (n, d)), axis=0).astype(float)
    y = rng.integers(0, 3, len(x))
    y[0] = 0
    y[1:2] = 1
    place = region(x, p, size, constraint)
    rows = np.arange(len(x))
    for attack in (RandomSearch(150), RayBisection(150)):
        found = attack(one_nn(x, y, p), place, rows, y, keys(len(x)))
        assert not found.hit.any()
    free = region(x, p, 60.0)
    for attack in (RandomSearch(150), RayBisection(150)):  # they are not blind
        found = attack(one_nn(x, y, p), free, rows, y, keys(len(x)))
        assert found.hit.all()


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("d", [2, 5])
def test_rays_come_close_to_the_distance_of_a_plane_and_never_below(p, d):
    model, x, distance = plane(np.random.default_rng(d), d, p)
    y = model(x)
    found = RayBisection(2000)(model, region(x, p, 100.0), np.arange(len(x)), y, keys(len(x)))
    away = pnorm(found.moved - x, p)
    assert found.hit.all()
    assert (away >= distance * (1 - 1e-9)).all()
    assert np.median(away / distance) < 1.01
    assert (away <= distance * 1.05).all()


@pytest.mark.parametrize(
    ("d", "queries", "p", "beyond"),
    [(8, 600, 2, 0.032), (8, 600, math.inf, 0.100), (8, 600, 1, 0.092), (3, 300, 2, 0.060)],
)
def test_rays_are_no_weaker_than_they_were(d, queries, p, beyond):
    """Mean of the logarithms of the distance found over the true one, as measured once."""
    model, x, distance = plane(np.random.default_rng(0), d, p)
    attack = RayBisection(queries)
    found = attack(model, region(x, p, 1000.0), np.arange(len(x)), model(x), keys(len(x)))
    excess = math.expm1(np.log(pnorm(found.moved - x, p) / distance).mean())
    assert excess < 1.04 * beyond
    assert 0.85 * queries < found.queries / len(x) <= queries


@pytest.mark.parametrize("attack", [RandomSearch(1000), RayBisection(1000)])
@pytest.mark.parametrize("p", NORMS)
def test_hits_are_where_a_boundary_is_within_epsilon(attack, p):
    model, x, distance = plane(np.random.default_rng(1), 3, p)
    epsilon = float(np.median(distance))
    found = attack(model, region(x, p, epsilon), np.arange(len(x)), model(x), keys(len(x)))
    assert not found.hit[distance > epsilon * (1 + 1e-6)].any()
    assert found.hit[distance < epsilon * 0.95].all()


def test_rays_come_close_to_the_distance_of_a_circle():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    x = x[np.abs(pnorm(x, 2) - 0.7) > 0.05][:60]
    model = classifier(lambda v: (pnorm(v, 2) < 0.7).astype(np.int64))
    found = RayBisection()(model, region(x, 2, 2.0), np.arange(60), model(x), keys(60))
    truth = np.abs(pnorm(x, 2) - 0.7)
    away = pnorm(found.moved - x, 2)
    assert (away >= truth * (1 - 1e-9)).all()
    assert (away <= 1.03 * truth + 1e-3).all()


@pytest.mark.parametrize("constraint", ["none", "genuine-max", "genuine-exact"])
@pytest.mark.parametrize(
    "attack", [RandomSearch(150), RayBisection(150), RayBisection(150, "first")]
)
def test_a_row_depends_on_its_key_alone(attack, constraint, monkeypatch):
    model, x, distance = plane(np.random.default_rng(2), 4, 2)
    y, key = model(x), keys(len(x))
    place = region(x, 2, float(np.median(distance)), constraint)
    whole = attack(model, place, np.arange(len(x)), y, key)
    assert 0 < whole.hit.sum() < len(x)
    some = np.array([21, 4, 17, 5])
    monkeypatch.setattr(attacks, "BATCH_VALUES", 250)
    part = attack(model, place, some, y[some], key[some])
    np.testing.assert_array_equal(part.hit, whole.hit[some])
    np.testing.assert_array_equal(part.moved[part.hit], whole.moved[some][part.hit])
    other = attack(model, place, some, y[some], keys(len(x), seed=1)[some])
    assert not np.array_equal(other.moved, part.moved)


@pytest.mark.parametrize("constraint", ["none", "genuine-max", "genuine-exact"])
@pytest.mark.parametrize("p", [*NORMS, 3])
@pytest.mark.parametrize("attack", [RandomSearch(100), RayBisection(100)])
def test_what_is_found_is_a_wrong_label_in_the_region(attack, p, constraint):
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(40, 3)).astype(np.float32).astype(np.float64)
    x[:14, 0] = 0  # at the edge of the range
    model = classifier(lambda v: (v[:, 0] + 0.3 * v[:, 1] > 0.4).astype(np.int64))
    y, asked = model(x), []
    bounds = Bounds(0, 1)
    dtype = np.float64 if constraint == "genuine-exact" else np.float32
    place = region(x, p, 0.2, constraint, bounds=bounds, dtype=dtype)

    def answer(points):
        asked.append(points)
        return model(points)

    found = attack(classifier(answer), place, np.arange(40), y, keys(40))
    assert found.hit.any()
    given_points = found.moved.astype(dtype)[found.hit]
    rows = np.flatnonzero(found.hit)
    assert (model(given_points) != y[rows]).all()
    assert ((given_points >= 0) & (given_points <= 1)).all()
    away = pnorm(given_points - x[rows], p)
    assert (away <= 0.2 * (1 + 1e-6)).all()
    if constraint == "genuine-exact":
        assert (away >= 0.2 * (1 - 1e-6)).all()
    if constraint != "none":
        gaps = pnorm((given_points[:, None] - x).reshape(-1, 3), p).reshape(len(rows), 40)
        assert (gaps.argmin(axis=1) == rows).all()
    assert sum(map(len, asked)) == found.queries <= 40 * 100 + 40
    assert {points.dtype for points in asked} == {np.dtype(dtype)}


def test_a_wrong_label_at_the_point_itself_is_found_at_once():
    x = np.array([[0.0], [1.0], [2.0]])
    model = classifier(lambda v: np.zeros(len(v), np.int64))
    for attack in (RandomSearch(100), RayBisection(100)):
        found = attack(model, region(x, 2, 0.0), np.arange(3), np.array([0, 1, 0]), keys(3))
        assert found.hit.tolist() == [False, True, False]
        np.testing.assert_array_equal(found.moved[1], x[1])


def test_a_search_for_the_first_hit_asks_less():
    model, x, _ = plane(np.random.default_rng(4), 5, 2)
    place, rows, y = region(x, 2, 3.0), np.arange(len(x)), model(x)
    closest, first = (
        RayBisection(1000, aim)(model, place, rows, y, keys(24)) for aim in ("closest", "first")
    )
    assert closest.hit.all()
    assert first.hit.all()
    assert 2 * first.queries < closest.queries
    assert RayBisection(1000, "first").spec == "rays(queries=1000, aim=first)"


@pytest.mark.parametrize("p", NORMS)
def test_steps_on_the_surface_reach_it_within_the_range(p):
    rng = np.random.default_rng(5)
    x = rng.choice([0.0, 0.02, 0.5, 1.0], size=(200, 6))
    place = region(x, p, 0.3, "genuine-exact", bounds=Bounds(0, 1))
    moved = place.project(np.arange(200), x + rng.normal(size=x.shape))
    assert ((moved >= 0) & (moved <= 1)).all()
    # only steps that point out of the range all over cannot: 2**-6 of them, and few of the others
    reached = np.abs(pnorm(moved - x, p) - 0.3) < 1e-7 * 0.3
    assert reached.mean() > 0.9


@pytest.mark.parametrize("p", [1, 1.5, 2, 4, math.inf])
def test_steepest_steps_attain_the_dual_norm(p):
    slope = np.random.default_rng(6).normal(size=(50, 7))
    step = find_steepest_steps(slope, p)
    dual = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
    gain = (slope * step).sum(axis=1) / pnorm(step, p)
    np.testing.assert_allclose(gain, pnorm(slope, dual), rtol=1e-12)


def test_budgets_are_whole_numbers():
    with pytest.raises(InputError, match="queries must be a whole number of at least 1"):
        RandomSearch(0)
    with pytest.raises(InputError, match="queries must be a whole number of at least"):
        RayBisection(10)
