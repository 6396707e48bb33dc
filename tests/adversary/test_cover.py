import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from shaketable.adversary.attacks.cover import Cover, find_free_arcs, has_room
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.core.norms import pnorm
from shaketable.data.bounds import Bounds
from shaketable.data.builtin import toy1d
from shaketable.models.classifier import Classifier

NORMS = [1, 2, math.inf]
NO_KEYS = np.zeros(0, np.uint64)


def classifier(answer):
    return Classifier("made", answer, {0: 0, 1: 1}, None)


def region(x, p, epsilon, constraint="none", bounds=None):
    cells = None if constraint == "none" else VoronoiCells.of(x, p, epsilon, dtype=np.float64)
    return Region(x, x.shape[1:], np.dtype(np.float64), p, epsilon, constraint, cells, bounds)


def asked_points(cover, place, row):
    """All points that the cover asks about for one row."""
    seen = []

    def answer(points):
        seen.append(points)
        return np.zeros(len(points), np.int64)

    found = cover(classifier(answer), place, np.array([row]), np.array([0]), NO_KEYS)
    assert not found.hit.any()
    points = np.concatenate([place.x[:0], *seen])
    assert len(points) == found.queries
    return points


def points_of(place, row, rng, n=5000):
    """Random points of a row's region, by rejection; many of them near its end."""
    size = rng.uniform(size=(n, 1)) ** 0.3
    if place.constraint == "genuine-exact":
        size = np.ones((n, 1))
    angle = rng.uniform(0, 2 * np.pi, n)
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    moved = place.x[row] + place.epsilon * size * unit / pnorm(unit, place.p)[:, None]
    return moved[place.contains(np.full(n, row), moved)]


@pytest.mark.parametrize("bounds", [None, Bounds(0, 1)])
@pytest.mark.parametrize("constraint", ["none", "genuine-max", "genuine-exact"])
@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_every_point_of_the_region_is_near_an_asked_one(p, constraint, bounds):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(12, 2))
    x[1] = x[0] + [1e-3, 2e-3]  # cells that are narrow far away from their points
    x[2] = x[0] - [1e-3, 2.1e-3]
    x[3] = [0, x[3, 1]]
    x[4] = [1, 0]
    resolution = 0.1
    for row in (0, 3, 4, 7):
        place = region(x, p, 0.4, constraint, bounds)
        asked = asked_points(Cover(resolution), place, row)
        held = points_of(place, row, rng)
        assert (len(held) > 0) == (len(asked) > 0)
        if constraint == "genuine-max" and p != 2:  # only where the surroundings belong to it
            angle = np.linspace(0, 2 * np.pi, 32, endpoint=False)
            around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            around *= resolution * 0.4 / pnorm(around, p)[:, None]
            near = (held[:, None] + around).reshape(-1, 2)
            wide = region(x, p, 1.0, constraint, bounds)
            belongs = wide.contains(np.full(len(near), row), near).reshape(len(held), -1)
            held = held[belongs.all(axis=1)]
        if len(held):
            distance, _ = cKDTree(asked).query(held, p=p)
            assert distance.max() <= resolution * 0.4 * (1 + 1e-6)
            if constraint != "genuine-exact" or len(held) > 100:  # not a very short arc
                assert distance.max() > resolution * 0.4 * 0.05


@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_rays_and_rings_are_as_close_as_it_says(p):
    place = region(np.zeros((1, 2)), p, 2.0)
    asked = asked_points(Cover(0.1), place, 0)
    radius, angle = pnorm(asked, p), np.arctan2(asked[:, 1], asked[:, 0])
    rings = np.unique(radius.round(9))
    np.testing.assert_allclose(rings, np.linspace(0, 2, 11), atol=1e-9)
    outer = asked[np.isclose(radius, 2.0)]
    outer = outer[np.argsort(np.arctan2(outer[:, 1], outer[:, 0]))]
    gaps = pnorm(np.diff(outer, axis=0, append=outer[:1]), p)
    assert 0.9 * 0.1 < gaps.max() <= 0.1 * (1 + 1e-6)  # half the resolution, times epsilon
    for ring in rings[1:]:
        on_ring = np.unique(angle[np.isclose(radius, ring)].round(9))
        assert len(on_ring) == len(outer)


@pytest.mark.parametrize("bounds", [None, Bounds(-0.5, 0.45)])
@pytest.mark.parametrize("turn", [0.1, 0.77, 1.9])
def test_cells_in_l2_that_are_narrower_than_rays_are_apart_are_covered(turn, bounds):
    across = np.array([np.cos(turn), np.sin(turn)])
    along = np.array([-across[1], across[0]])
    # a strip of width 0.001, and a wedge that ends far out
    for others in ([1e-3, 0], [-1e-3, 0]), ([1e-3, 2e-5], [-1e-3, 3e-5]):
        x = np.array([[0.0, 0.0], *(a * across + b * along for a, b in others)])
        place = region(x, 2, 1.0, "genuine-max", bounds)
        asked = asked_points(Cover(0.1), place, 0)
        held = np.linspace(-1, 1, 2001)[:, None] * along
        held = held[place.contains(np.zeros(2001, np.int64), held)]
        assert len(held) > 400
        distance, _ = cKDTree(asked).query(held)
        assert distance.max() <= 0.1


def test_corners_of_cells_at_walls_are_covered():
    gap = 1e-3
    across = np.array([4 * gap, 1]) / np.hypot(4 * gap, 1)
    first = np.array([0.5, gap])
    x = np.array([first, first + 2 * gap / np.hypot(4 * gap, 1) * across, [3.0, 3.0]])
    place = region(x, 2, 1.0, "genuine-max", Bounds(0, 5))  # a wedge between a cell and a wall
    asked = asked_points(Cover(0.05), place, 0)
    held = np.stack([np.linspace(0.5, 1.5, 2001), np.full(2001, 1e-6)], axis=1)
    held = held[place.contains(np.zeros(2001, np.int64), held)]
    assert held[:, 0].max() > 0.7
    distance, _ = cKDTree(asked).query(held)
    assert distance.max() <= 0.05


def test_ends_and_corners_are_asked_about():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    asked = asked_points(Cover(0.1), region(x, 2, 2.0, "genuine-max"), 0)
    assert np.abs(asked - [0.5, 0.5]).max(axis=1).min() < 1e-6  # the cell's corner
    assert np.isclose(asked[:, 0].max(), 0.5)
    for p, corner in ((1, [0, -2]), (math.inf, [-2, 2])):
        asked = asked_points(Cover(0.1), region(x[:1], p, 2.0), 0)
        assert np.abs(asked - corner).max(axis=1).min() < 1e-12
    asked = asked_points(Cover(0.1), region(x[:1], 2, 2.0, bounds=Bounds(-0.3, 0.4)), 0)
    assert np.abs(asked - [-0.3, 0.4]).max(axis=1).min() < 1e-12


@pytest.mark.parametrize("p", NORMS)
def test_on_a_line_two_points_are_all_of_the_exact_norm(p):
    x = np.array([[0.0], [1.0], [5.0]])
    place = region(x, p, 1.0, "genuine-exact")
    assert asked_points(Cover(), place, 0).tolist() == [[-1.0]]
    assert sorted(asked_points(Cover(), place, 2).ravel()) == [4.0, 6.0]
    assert has_room(place, np.arange(3)).tolist() == [True, True, True]
    assert has_room(region(x, p, 2.0, "genuine-exact"), np.arange(3)).tolist() == [
        True,
        False,
        True,
    ]
    narrow = region(x, p, 2.0, "genuine-exact", Bounds(0, 5))
    assert has_room(narrow, np.arange(3)).tolist() == [False, False, False]
    inside = asked_points(Cover(0.01), region(x, p, 1.0, "genuine-max"), 0).ravel()
    assert inside.min() == -1
    assert inside.max() == pytest.approx(0.5)
    assert np.diff(np.sort(inside)).max() <= 0.01 + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "left", "accuracies"),
    [
        (0.3, [0, 99, 100, 199], [0.75, 1, 1]),
        (0.9, [0, 99, 100, 199], [0.75, 1, 1]),
        (1.7, [0, 199], [1, 1, 1]),
        (2.5, [0, 199], [1, 0.5, 1]),
    ],
)
def test_the_toy_example_on_a_finite_sample(epsilon, left, accuracies):
    data = toy1d(200)
    f1, f2, f3 = (
        classifier(lambda v: (v[:, 0] >= 1).astype(np.int64)),
        classifier(lambda v: ((v[:, 0] < -4) | (v[:, 0] >= 0)).astype(np.int64)),
        classifier(lambda v: (v[:, 0] >= 0).astype(np.int64)),
    )
    place = region(data.x, 2, epsilon, "genuine-exact")
    rows = np.flatnonzero(has_room(place, np.arange(200)))
    assert rows.tolist() == left
    found = [Cover()(model, place, rows, data.y[rows], NO_KEYS) for model in (f1, f2, f3)]
    assert [1 - one.hit.mean() for one in found] == accuracies


def brute_remaining(place, n=8000):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    unit /= pnorm(unit, place.p)[:, None]
    rows = np.arange(len(place.x))
    return np.array(
        [place.contains(np.full(n, row), place.x[row] + place.epsilon * unit).any() for row in rows]
    )


@pytest.mark.parametrize("p", [1, 1.5, 2, 5, math.inf])
@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_that_remain_in_the_plane_equal_brute_force(p, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 60)
    x = rng.uniform(size=(n, 2)) if seed % 2 else rng.integers(0, 8, (n, 2)) / 8
    bounds = Bounds(-0.03, 1.01) if seed % 3 else None
    place = region(x, p, 10 ** rng.uniform(-2, 0), "genuine-exact", bounds)
    exact, brute = has_room(place, np.arange(n)), brute_remaining(place)
    assert (exact | ~brute).all()  # what is seen exists
    # an arc may be narrower than a step of the brute force: then the exact one shows a point
    for row in np.flatnonzero(exact & ~brute):
        _, begin, end = find_free_arcs(place, np.array([row]))
        assert (end - begin).max() < 1e-3


def test_arcs_in_l2_follow_from_two_points():
    # neighbours at distance 1 to the left and right take 120 degrees each of a circle of radius 1
    x = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    place = region(x, 2, 1.0, "genuine-exact")
    _, begin, end = find_free_arcs(place, np.array([0]))
    np.testing.assert_allclose(np.rad2deg(end - begin), [60, 60], rtol=1e-9)
    np.testing.assert_allclose(np.sort(np.rad2deg((begin + end) / 2) % 360), [90, 270], rtol=1e-9)


@pytest.mark.parametrize("bounds", [None, Bounds(0, 1)])
def test_bisected_arcs_equal_those_of_the_formula(bounds):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(40, 2))
    rows = np.arange(40)
    formula = find_free_arcs(region(x, 2, 0.1, "genuine-exact", bounds), rows)
    bisected = find_free_arcs(region(x, 2 + 1e-13, 0.1, "genuine-exact", bounds), rows)
    assert len(formula.owner) > 10
    np.testing.assert_array_equal(formula.owner, bisected.owner)
    np.testing.assert_allclose(formula.begin, bisected.begin, atol=1e-8)
    np.testing.assert_allclose(formula.end, bisected.end, atol=1e-8)


def test_points_that_coincide_share_their_region():
    x = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    for p in NORMS:
        assert has_room(region(x, p, 1.0, "genuine-exact"), np.arange(3)).all()
        asked = asked_points(Cover(0.2), region(x, p, 1.0, "genuine-max"), 0)
        assert len(asked) > 30


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
@pytest.mark.parametrize("p", NORMS)
def test_covers_and_searches_find_the_same(p, constraint):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (60, 2))
    half_plane = classifier(lambda v: (v[:, 0] + 0.5 * v[:, 1] > 0.1).astype(np.int64))
    disc = classifier(lambda v: (pnorm(v, 2) < 0.7).astype(np.int64))
    rows, keys = np.arange(60), row_keys(0, np.arange(60), np.arange(1))[:, 0]
    for model in (half_plane, disc):
        y, place = model(x), region(x, p, 0.1, constraint)
        cover = Cover(0.04)(model, place, rows, y, NO_KEYS)
        rays = RayBisection(500)(model, place, rows, y, keys)
        random = RandomSearch(500)(model, place, rows, y, keys)
        assert 0 < cover.hit.sum() < 60
        assert (cover.hit & ~rays.hit).sum() <= 1  # a boundary that ends just inside
        assert (cover.hit & ~random.hit).sum() <= 1
        assert (~cover.hit & (rays.hit | random.hit)).sum() <= 1
        both = cover.hit & rays.hit
        near, ring = (pnorm(found.moved - x, p)[both] for found in (rays, cover))
        assert (ring <= near + 0.1 * 0.04 * 1.5).all()  # the first ring with a wrong label


def test_hits_of_a_cover_are_where_the_boundary_is_within_epsilon():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (300, 2))
    model = classifier(lambda v: (pnorm(v, 2) < 0.7).astype(np.int64))
    distance = np.abs(pnorm(x, 2) - 0.7)
    found = Cover(0.05)(model, region(x, 2, 0.2), np.arange(300), model(x), NO_KEYS)
    assert not found.hit[distance > 0.2 * (1 + 1e-6)].any()
    assert found.hit[distance < 0.2 * 0.95].all()
    away = pnorm(found.moved - x, 2)[found.hit]
    assert (away <= distance[found.hit] + 2 * 0.05 * 0.2).all()


def test_few_dimensions_and_a_norm_are_needed():
    with pytest.raises(InputError, match="covers are for 1 or 2 dimensions, got 3"):
        has_room(region(np.zeros((2, 3)), 2, 1.0), np.arange(2))
    with pytest.raises(InputError, match="covers need a norm"):
        Cover()(classifier(None), region(np.zeros((2, 2)), 0.5, 1.0), np.arange(2), None, NO_KEYS)
    with pytest.raises(InputError, match="resolution must lie in"):
        Cover(0)


@pytest.mark.parametrize("constraint", ["none", "genuine-max", "genuine-exact"])
@pytest.mark.parametrize("d", [1, 2])
def test_epsilon_0_asks_about_the_points_themselves(constraint, d):
    x = np.arange(3.0 * d).reshape(3, d)
    model = classifier(lambda v: np.zeros(len(v), np.int64))
    place = region(x, 2, 0.0, constraint)
    found = Cover()(model, place, np.arange(3), np.array([0, 1, 0]), NO_KEYS)
    assert found.hit.tolist() == [False, True, False]
    assert has_room(place, np.arange(3)).all()


def test_how_closely_it_looks_is_reported():
    x = np.array([[0.0, 0.0], [1.0, 0.0]])
    cover = Cover(0.1)
    assert cover.covers(region(x, 2, 1.0, "genuine-max")).endswith("of a queried point")
    assert cover.covers(region(x, 1, 1.0)).endswith("of a queried point")
    assert cover.covers(region(x, 1, 1.0, "genuine-max")).endswith("narrower than that")
