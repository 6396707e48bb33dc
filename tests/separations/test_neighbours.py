"""Searches for nearest points against all pairs, compared one by one."""

import math
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaketable.separations.search import blocks, trees
from shaketable.separations.search import search as neighbours
from shaketable.separations.search.features import sketch
from shaketable.separations.search.kernels import BOX, COARSE, FEW, LANES, limit_of

NORMS = [0.5, 1.0, 1.5, 2.0, 3.0, 50.0, math.inf]
TREE_NORMS = [1.0, 1.5, 2.0, 3.0, math.inf]
EXACT_NORMS = [1.0, 2.0, math.inf]

SIZES = [2, 3, 7, 63, 64, 65, 127, 128, 129, 200]
FEW_DIMENSIONS = [1, 2, 3, 5, 8, 16]
DIMENSIONS = [*FEW_DIMENSIONS, 17, 33, 63, 64, 65, 128, 255, 256, 257, 300]

EXACT = {
    "three values in uint8": lambda rng, shape: rng.integers(0, 3, shape, np.uint8),
    "uint8": lambda rng, shape: rng.integers(0, 256, shape, np.uint8),
    "almost equal uint8": lambda rng, shape: _almost_equal(rng, shape).astype(np.uint8),
    "three values in float32": lambda rng, shape: rng.integers(-1, 2, shape).astype(np.float32),
    "eighths": lambda rng, shape: rng.integers(-9, 9, shape) / 8,
    "a huge offset": lambda rng, shape: 1e9 + rng.integers(0, 3, shape) / 1024,
    "far clusters": lambda rng, shape: _almost_equal(rng, shape) * 2.0**-9,
}
ROUNDED = {
    "float32": lambda rng, shape: rng.standard_normal(shape, np.float32),
    "float64": lambda rng, shape: rng.standard_normal(shape),
    "a huge offset": lambda rng, shape: 1e9 + 1e-3 * rng.standard_normal(shape),
    "far clusters": lambda rng, shape: (
        rng.integers(0, 2, (shape[0], 1)) + 1e-9 * rng.standard_normal(shape)
    ),
    "fractions of 255": lambda rng, shape: rng.integers(0, 256, shape) / 255,
}
SCALES = [1e-200, 3e-162, 1e-150, 1e-45, 1e-38, 1e-22, 1e12, 1e20, 1e38, 1e150, 1e200]


def _almost_equal(rng, shape):
    return np.where(rng.random((shape[0], 1)) < 0.5, 0, 254) + (rng.random(shape) < 1 / shape[1])


def distances(x, p):
    """Distances between all rows; of floats, sums as if they were exact."""
    x = x.astype(np.int64 if x.dtype == np.uint8 else np.float64)
    result = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        gaps = np.abs(x[i] - x[i:])
        result[i, i:] = result[i:, i] = _norms(gaps, p)
    return result


def _norms(gaps, p):
    largest = gaps.max(axis=1)
    if math.isinf(p):
        return largest
    if p in (1, 2):
        if _is_whole(gaps):
            return gaps.sum(axis=1) if p == 1 else np.sqrt((gaps * gaps).sum(axis=1))
        return [math.fsum(row) if p == 1 else math.hypot(*row) for row in gaps]
    shares = gaps / np.where(largest > 0, largest, 1)[:, None]
    return largest * np.array([math.fsum(row) for row in shares**p]) ** (1 / p)


def _is_whole(values):
    return values.max() < 2**10 and np.array_equal(values * 2**12, np.floor(values * 2**12))


@st.composite
def questions(draw, kinds, dimensions):
    """Points, their groups, and what to ask about them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from(SIZES)), draw(st.sampled_from(dimensions))
    x = kinds[draw(st.sampled_from(sorted(kinds)))](rng, (n, d))
    group = rng.integers(0, draw(st.integers(2, 6)), n)
    group[rng.integers(0, n)] = group.max() + 1  # a group of one point
    if draw(st.booleans()):
        x[:, rng.random(d) < 0.5] = x[0, 0]
    if draw(st.booleans()):
        x[group == group[0]] = x[0]
    asked = {
        "of": rng.random(n) < draw(st.sampled_from([0.1, 1])),
        "cell": group // draw(st.sampled_from([1, 2])),
        "part": rng.integers(0, 2, n),
        "top": draw(st.sampled_from([1, 4, 50_000 if n <= 65 else 50])),
    }
    return x, group, {name: asked[name] for name in asked if draw(st.booleans())}


@contextmanager
def block_of(size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_BLOCK", size)
        yield


def check(found, x, group, p, asked, *, rtol):
    """Compare an answer with all pairs; with no tolerance every tie must be broken as it should."""
    between = distances(x, p)
    between[group[:, None] == group] = np.inf
    n = len(x)

    def same(ours, true):
        np.testing.assert_allclose(found.distance(ours), true, rtol=rtol, atol=0)

    if "of" in asked:
        rows = np.flatnonzero(asked["of"])
        same(found.near[rows], between[rows].min(axis=1))
        assert (found.near[~asked["of"]] == -1).all()
        who = found.who[rows]
        np.testing.assert_allclose(between[rows, who], between[rows].min(axis=1), rtol, 0)
        if not rtol:
            np.testing.assert_array_equal(who, between[rows].argmin(axis=1))
    i, j = np.triu_indices(n, 1)
    pairs = between[i, j]
    if "cell" in asked:
        cell = asked["cell"]
        cells = np.full((cell.max() + 1,) * 2, np.inf)
        np.minimum.at(cells, (np.minimum(cell[i], cell[j]), np.maximum(cell[i], cell[j])), pairs)
        same(np.triu(found.cells), np.triu(cells))
    if "part" in asked:
        parts = np.full(3, np.inf)
        np.minimum.at(parts, asked["part"][i] + asked["part"][j], pairs)
        same(found.parts, parts)
    if "top" in asked:
        order = np.lexsort((j, i, pairs))[: min(asked["top"], np.isfinite(pairs).sum())]
        same(found.top, pairs[order])
        a, b = found.top_rows.T
        np.testing.assert_allclose(between[a, b], pairs[order], rtol, 0)
        assert (a < b).all()
        assert len({*zip(a, b, strict=True)}) == len(order)
        if not rtol:
            np.testing.assert_array_equal(found.top_rows, np.column_stack([i, j])[order])


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(question=questions(EXACT, DIMENSIONS), block=st.sampled_from([64, 128, 4096]))
def test_blocks_are_exact_ties_included(p, question, block):
    x, group, asked = question
    with block_of(block):
        check(blocks.search(x, group, p, **asked), x, group, p, asked, rtol=0)


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(question=questions(EXACT, FEW_DIMENSIONS))
def test_trees_are_exact_ties_included(p, question):
    x, group, asked = question
    check(trees.search(x, group, p, **asked), x, group, p, asked, rtol=0)


@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(question=questions(ROUNDED | EXACT, DIMENSIONS), block=st.sampled_from([64, 4096]))
def test_blocks_are_right_up_to_rounding(p, question, block):
    x, group, asked = question
    with block_of(block):
        check(blocks.search(x, group, p, **asked), x, group, p, asked, rtol=rounding(p))


@pytest.mark.parametrize("p", TREE_NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(question=questions(ROUNDED | EXACT, FEW_DIMENSIONS))
def test_trees_are_right_up_to_rounding(p, question):
    x, group, asked = question
    check(trees.search(x, group, p, **asked), x, group, p, asked, rtol=rounding(p))


def rounding(p):
    return {math.inf: 0, 1: 2e-15, 2: 2e-15}.get(p, 1e-13)


@pytest.mark.parametrize("d", [2, 16, 17, 70])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("p", NORMS)
def test_no_scale_is_too_large_or_too_small(p, scale, d):
    rng = np.random.default_rng(0)
    x, group = scale * rng.standard_normal((70, d)), np.arange(70) % 3
    asked = {"of": np.ones(70, bool), "cell": group, "top": 3}
    for search in (neighbours.search, blocks.search):
        check(search(x, group, p, **asked), x, group, p, asked, rtol=rounding(p))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("p", [*NORMS, 2.5, 7.0])
def test_a_single_gap_is_the_distance_in_every_norm(p, dtype):
    x, group = np.zeros((256, 20), dtype), np.minimum(np.arange(256), 1)
    x[:, 3] = np.arange(256)
    found = blocks.search(x, group, p, of=group == 1)
    np.testing.assert_array_equal(found.distance(found.near[1:]), np.arange(1, 256))
    rows = blocks.pairs_within(x, group, p, found.near)
    assert sorted(rows.tolist()) == [[0, row] for row in range(1, 256)]


@pytest.mark.parametrize("search", [trees.search, blocks.search])
def test_a_single_group_has_no_opponents(search):
    x, group = np.zeros((3, 2)), np.zeros(3, np.int64)
    asked = {"of": np.ones(3, bool), "part": np.array([0, 0, 1]), "top": 2}
    found = search(x, group, 2.0, **asked)
    assert np.isinf(found.near).all()
    assert np.isinf(found.parts).all()
    assert len(found.top) == len(found.top_rows) == 0


def test_fractions_of_255_tie_where_their_float64_gaps_do():
    pixels = np.random.default_rng(0).integers(0, 256, (200, 300))
    x, group = pixels / 255, np.arange(200) % 2
    between = np.abs(x[:, None] - x).max(axis=2)
    between[group[:, None] == group] = np.inf
    found = blocks.search(x, group, math.inf, of=np.ones(200, bool), top=100)
    np.testing.assert_array_equal(found.near, between.min(axis=1))
    np.testing.assert_array_equal(found.who, between.argmin(axis=1))
    pairs = np.argwhere(np.triu(np.isfinite(between)))
    order = np.argsort(between[*pairs.T], kind="stable")[:100]
    np.testing.assert_array_equal(found.top_rows, pairs[order])
    whole = blocks.search(pixels.astype(np.uint8), group, math.inf, of=np.ones(200, bool))
    assert (found.who != whole.who).any()


@st.composite
def radii(draw, search, kinds, dimensions, p):
    x, group, _ = draw(questions(kinds, dimensions))
    near = search(x, group, p, of=np.ones(len(x), bool)).near
    factor = draw(st.sampled_from([0.0, 1.0, 2.0, 1e6]))
    keep = np.random.default_rng(draw(st.integers(0, 99))).random(len(x)) < 0.6
    return x, group, np.where(keep, near * factor, -1.0)


def check_pairs(rows, x, group, p, radius, *, squared):
    measure = distances(x, p)
    if squared:
        measure = np.rint(measure**2)
    near = measure <= np.maximum(radius[:, None], radius)
    true = np.argwhere(near & (group[:, None] < group))
    np.testing.assert_array_equal(rows[np.lexsort(rows.T[::-1])], true)


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data(), block=st.sampled_from([64, 4096]))
def test_blocks_find_all_pairs_within_radii(p, data, block):
    with block_of(block):
        x, group, radius = data.draw(radii(blocks.search, EXACT, DIMENSIONS, p))
        rows = blocks.pairs_within(x, group, p, radius)
    check_pairs(rows, x, group, p, radius, squared=p == 2 and x.dtype == np.uint8)


@pytest.mark.parametrize("p", EXACT_NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_trees_find_all_pairs_within_radii(p, data):
    x, group, radius = data.draw(radii(trees.search, EXACT, FEW_DIMENSIONS, p))
    check_pairs(trees.pairs_within(x, group, p, radius), x, group, p, radius, squared=False)


@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(question=questions(EXACT | ROUNDED, DIMENSIONS))
def test_the_nearest_points_are_among_those_within_their_distance(p, question):
    x, group, _ = question
    found = blocks.search(x, group, p, of=group == 0)
    asked = np.flatnonzero(group == 0)
    rows = {(int(i), int(j)) for i, j in blocks.pairs_within(x, group, p, found.near)}
    assert rows >= {(int(i), int(found.who[i])) for i in asked}
    between = distances(x, p)
    near = found.distance(np.maximum(found.near, 0)) * (1 + rounding(p))
    assert all(between[i, j] <= near[i] for i, j in rows)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_a_search_that_runs_out_of_room_goes_on(p, monkeypatch):
    monkeypatch.setattr(blocks, "_ROOM", 2 * LANES * LANES)
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 3, (330, 20)).astype(np.uint8), rng.integers(0, 3, 330)
    rows = blocks.pairs_within(x, group, p, np.full(330, 1e6))
    assert len(rows) > 4 * blocks._ROOM
    check_pairs(rows, x, group, p, np.full(330, 1e6), squared=p == 2)


def answers(x, group, p, **asked):
    found = blocks.search(x, group, p, **asked)
    pairs = blocks.pairs_within(x, group, p, found.near)
    pairs = pairs[np.lexsort(pairs.T)]
    return found.near, found.who, found.cells, found.parts, found.top, found.top_rows, pairs


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_every_backend_gives_the_same(p, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 64)
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 3, (300, 40)).astype(np.uint8), rng.integers(0, 4, 300)
    part = rng.integers(0, 2, 300)
    asked = {"of": np.ones(300, bool), "cell": group, "part": part, "top": 20}
    plain = answers(x, group, p, **asked)
    for backend, n_jobs in (("loky", 2), ("threading", 1)):
        with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
            for ours, theirs in zip(plain, answers(x, group, p, **asked), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_processes_can_share_many_cells():
    rng = np.random.default_rng(0)
    x, group = rng.integers(0, 256, (800, 20)).astype(np.uint8), np.arange(800) // 2
    plain = blocks.search(x, group, 2.0, cell=group)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        np.testing.assert_array_equal(blocks.search(x, group, 2.0, cell=group).cells, plain.cells)


@pytest.mark.parametrize("finest", [False, True])
@pytest.mark.parametrize("p", NORMS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(question=questions(ROUNDED | EXACT, [1, 3, 8, 31, 40, 130, 300, 600]))
def test_features_never_exceed_the_distance(p, finest, question):
    x, group, _ = question
    check_features(x, group, p, finest=finest)


@pytest.mark.parametrize("noise", [1e-6, 1e-7, 1e-8, 1e-12])
@pytest.mark.parametrize("d", [1, 3, 20, 100])
@pytest.mark.parametrize("p", NORMS)
def test_features_allow_for_their_rounding(p, d, noise):
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (100, d)) * (rng.random((100, 1)) < 0.1) + rng.random(d)
    x += noise * rng.standard_normal((100, d))
    check_features(x, np.arange(100) % 2, p, finest=False)


def check_features(x, group, p, *, finest):
    """Compare every set of features of all pairs with the limit that their distance sets."""
    points = sketch(x, p, group, group, group % 2, finest=finest)
    units = points.units
    coarse, fine = points.coarse, points.fine.reshape(len(x), -1)
    box, few, more = np.split(coarse, [BOX, BOX + FEW], axis=1)
    assert more.shape[1] == COARSE
    for tile in range(len(points.tiles)):
        at = slice(tile * LANES, (tile + 1) * LANES)
        np.testing.assert_array_equal(points.tiles[tile].T[: len(coarse[at])], coarse[at])
        np.testing.assert_array_equal(points.low[:, tile], box[at].min(axis=0))
        np.testing.assert_array_equal(points.high[:, tile], box[at].max(axis=0))
    measure = distances(x[points.rows], p)
    if units.squared:
        measure = np.rint(measure**2)
    for i in range(len(x)):
        limits = np.array([limit_of(value, units) for value in measure[i]]).astype(coarse.dtype)
        for features in (box, few, more):
            assert (_bounds(features, i, units.bound) <= limits).all()
        most = limits.astype(np.float32) * np.float32(units.fine_scale)
        assert (_bounds(fine, i, units.bound) <= most + np.float32(units.fine_slack)).all()


def _bounds(features, i, bound):
    gaps = np.abs(features.astype(np.float32) - features[i].astype(np.float32))
    if math.isinf(bound):
        return gaps.max(axis=1)
    return (gaps if bound == 1 else gaps * gaps).sum(axis=1)
