"""Separations against all pairs."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from shaketable.core.errors import InputError, UndefinedError
from shaketable.data.arrays import join, make_dataset
from shaketable.data.dataset import Dataset
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import separation

METRICS = {
    1.0: "cityblock",
    2.0: "euclidean",
    math.inf: "chebyshev",
    3.0: "minkowski",
    0.5: "minkowski",
}


def brute(x, y, p):
    """Distances to all opponents by scipy's cdist; inf within a class."""
    options = {"p": p} if METRICS[p] == "minkowski" else {}
    distance = cdist(x, x, METRICS[p], **options)
    distance[y[:, None] == y[None]] = np.inf
    return distance


@settings(max_examples=30, deadline=None)
@given(
    x=st.integers(2, 30).flatmap(
        lambda n: hnp.arrays(float, (n, 3), elements=st.integers(-4, 4).map(lambda v: v / 4))
    ),
    p=st.sampled_from(sorted(METRICS)),
    seed=st.integers(0, 5),
)
def test_equals_brute_force_ties_included(x, p, seed):
    y = np.random.default_rng(seed).integers(0, 3, len(x))
    y[:2] = [0, 1]
    distance = brute(x, y, p)
    if distance.min() == 0:
        with pytest.raises(UndefinedError, match="coincide"):
            separation(x, y, norm=p)
        return
    result = separation(x, y, norm=p)
    np.testing.assert_allclose(result.nearest, distance.min(axis=1), rtol=1e-14)
    assert result.two_r == result.nearest.min()
    i, j = result.pair
    assert y[i] != y[j]
    assert distance[i, j] == pytest.approx(distance.min())
    assert i == np.flatnonzero(result.nearest == result.two_r)[0]
    for a in np.unique(y):
        for b in np.unique(y):
            block = distance[np.ix_(y == a, y == b)].min()
            codes = result.classes.index(a), result.classes.index(b)
            if a == b:
                assert math.isnan(result.by_class[codes])
            else:
                assert result.by_class[codes] == pytest.approx(block)


@pytest.mark.parametrize("p", [1, 2, math.inf, 5])
def test_high_dimension_takes_another_path_to_the_same_answer(p):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 40)), np.arange(60) % 3
    METRICS.setdefault(5.0, "minkowski")
    np.testing.assert_allclose(separation(x, y, norm=p).nearest, brute(x, y, p).min(axis=1))


def test_large_p_does_not_underflow():
    x, y = np.array([[0.0, 0.0], [1e-3, 1e-3], [5.0, 5.0]]), [0, 1, 1]
    assert separation(x, y, norm=200).two_r == pytest.approx(1e-3 * 2 ** (1 / 200))


def test_minima_of_parts():
    train = ([[0.0], [10.0], [13.0]], ["a", "b", "a"])
    test = ([[1.0], [5.0], [20.0]], ["b", "a", "b"])
    result = separation(join(train, test), norm=1)
    assert result.by_part == {"train-train": 3.0, "train-test": 1.0, "test-test": 4.0}
    assert result.two_r == 1.0
    assert result.pair == (0, 3)
    one_class = join(train, ([[1.0], [2.0]], ["b", "b"]))
    assert separation(one_class).by_part["test-test"] is None


@pytest.mark.parametrize("shape", [(4, 8, 8), (4, 64)])
def test_uint8_images_count_as_fractions_of_255_and_tables_in_their_own_units(shape):
    x = np.zeros(shape, np.uint8)
    x[2:] = 54
    y = [0, 0, 1, 1]
    for images in ((x, y), ((x, y),), (make_dataset(x, y),)):
        result = separation(*images)
        assert result.two_r == 54 / 255
        assert "uint8 values count as x/255" in result.notes[0]
    table = separation(x.reshape(4, -1)[:, :63], y)
    assert table.two_r == 54
    assert not table.notes


def test_eps_min_noise_cannot_carry_a_point_over():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(80, 2)), rng.integers(0, 2, 80)
    result = separation(x, y)
    moved = x + rng.choice([-1, 1], x.shape) * result.epsilon_min * 0.999
    distance = brute(np.concatenate([x, moved]), np.concatenate([y, y]), math.inf)[80:, :80]
    assert (np.abs(moved - x).max(axis=1) < distance.min(axis=1)).all()


def test_coinciding_classes_are_named_with_the_remedy():
    x, y = [[0.0], [0.0], [1.0], [3.0]], ["a", "b", "a", "b"]
    with pytest.raises(UndefinedError, match=r"rows \(0, 1\).*Dataset.drop_clashes"):
        separation(x, y)
    data = make_dataset(x, y).drop_clashes()
    assert isinstance(data, Dataset)
    assert separation(data).two_r == 2.0


def test_clashes_are_not_to_be_left_out_if_a_class_goes_with_them():
    x = np.array([[0.0], [1.0], [0.0], [0.0]])
    with pytest.raises(UndefinedError, match="labels, as without .* class would have none$"):
        separation(x, ["a", "a", "b", "b"])
    with pytest.raises(UndefinedError, match="leave them out with Dataset.drop_clashes"):
        separation(np.vstack([x, [[5.0]]]), ["a", "a", "b", "b", "b"])


def test_below_p_1_the_balls_of_eps_min_are_still_disjoint():
    x, y = np.array([[0.0, 0.0], [1.0, 1.0]]), [0, 1]
    result = separation(x, y, norm=0.5)
    assert result.two_r == 4.0
    assert result.epsilon_min == 1.0  # (1, 0) is at distance 1 from both
    assert separation((x, y), norm=2).two_r == pytest.approx(math.sqrt(2))


def test_of_several_closest_pairs_the_first_is_named():
    x = np.array([[0.0], [5.0], [4.0], [1.0], [-1.0]])
    assert separation(x, [0, 0, 1, 1, 1]).pair == (0, 3)


@pytest.mark.parametrize("norm", ["lnf", 0, -1, "nan", None])
def test_a_bad_norm_is_refused(norm):
    with pytest.raises(InputError, match="norm must be"):
        separation([[0.0], [1.0]], [0, 1], norm=norm)


def image_like(n, d, *, seed=0):
    """uint8 points with many ties, none of which coincide."""
    x = np.random.default_rng(seed).integers(0, 4, (n, d), dtype=np.uint8)
    assert len(np.unique(x, axis=0)) == n
    return x


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_many_dimensions_give_what_all_pairs_give(p, dtype):
    x, y = image_like(150, 70).astype(dtype), np.arange(150) * 7 % 5
    distance = brute(x.astype(float), y, p) / (255 if dtype == np.uint8 else 1)
    pairs = np.argwhere(np.triu(np.isfinite(distance)))
    order = np.argsort(distance[*pairs.T], kind="stable")[:20]
    result = separation(x, y, norm=p, closest=20)
    assert np.array_equal(result.nearest, distance.min(axis=1))
    assert np.array_equal(result.opponent, distance.argmin(axis=1))
    assert np.array_equal(result.closest, pairs[order])
    assert np.array_equal(result.closest_distance, distance[*pairs[order].T])
    assert result.pair == tuple(pairs[order[0]])
    assert result.two_r == distance.min()
    for a in range(5):
        for b in range(5):
            least = distance[np.ix_(y == a, y == b)].min()
            assert np.array_equal(
                result.by_class[a, b], least if a != b else np.nan, equal_nan=True
            )


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_minima_of_parts_in_many_dimensions(p):
    x, y = image_like(150, 70), np.arange(150) * 7 % 5
    distance = brute(x.astype(float), y, p)
    result = separation(join((x[:100], y[:100]), (x[100:], y[100:])), norm=p)
    train, test = slice(100), slice(100, None)
    assert result.by_part == {
        "train-train": distance[train, train].min() / 255,
        "train-test": distance[train, test].min() / 255,
        "test-test": distance[test, test].min() / 255,
    }
    one_class = join((x[:100], y[:100]), (x[100:], np.zeros(50, int)))
    assert separation(one_class, norm=p).by_part["test-test"] is None


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_images_are_measured_in_255ths_of_their_levels(p):
    x, y = image_like(40, 64).reshape(40, 8, 8), np.arange(40) % 4
    array, data = separation(x.astype(float), y, norm=p), separation(x, y, norm=p)
    assert data.two_r == array.two_r / 255
    assert data.pair == array.pair
    for name in ("nearest", "closest_distance", "by_class"):
        ours, theirs = getattr(data, name), getattr(array, name) / 255
        assert np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("d", [3, 40])
def test_points_are_left_out_on_request_and_nothing_else_changes(d):
    x, y = np.random.default_rng(0).normal(size=(90, d)), np.arange(90) % 3
    full, brief = separation(x, y), separation(x, y, points=False)
    assert brief.nearest is brief.opponent is None
    assert (brief.two_r, brief.pair) == (full.two_r, full.pair)
    assert np.array_equal(brief.closest, full.closest)
    assert np.array_equal(brief.by_class, full.by_class, equal_nan=True)


@pytest.mark.parametrize("d", [1, 20])
def test_closest_lists_as_many_pairs_as_there_are(d):
    x, y = np.repeat(np.array([[0.0], [1.0], [4.0], [9.0]]), d, axis=1), list("abab")
    result = separation(x, y, closest=3)
    assert result.closest.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert result.closest_distance.tolist() == [1, 3, 5]
    assert [result.epsilon_min_without(m) for m in (-1, 0, 1, 2, 3)] == [None, 0.5, 1.5, 2.5, None]
    assert separation(x, y, closest=99).closest_distance.tolist() == [1, 3, 5, 9]
    assert separation(x, y, norm=0.5).epsilon_min_without(0) == d**2 / 4
    with pytest.raises(InputError, match="closest must be"):
        separation(x, y, closest=0)


@pytest.mark.parametrize("d", [1, 20])
def test_minima_by_class_end_at_1000_classes(d):
    x = np.random.default_rng(0).permutation(1001).astype(float).repeat(d).reshape(1001, d)
    y = [str(row) for row in range(1001)]
    result = separation(x, y)
    assert result.by_class is None
    assert result.two_r == 1
    at_most = separation(x[:1000], y[:1000])
    assert at_most.by_class.shape == (1000, 1000)
    assert np.nanmin(at_most.by_class) == at_most.two_r


@pytest.mark.skipif(
    "SHAKETABLE_CIFAR10" not in os.environ,
    reason="SHAKETABLE_CIFAR10 must name a .npz of CIFAR-10; minutes",
)
def test_cifar10_has_the_separation_and_the_1_nn_accuracy_on_record():
    with np.load(os.environ["SHAKETABLE_CIFAR10"]) as file:
        train, test = ((file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test"))
    data = join(train, test)
    result = separation(data, points=False)
    assert result.two_r == 54 / 255
    assert result.by_part == {
        "train-train": 54 / 255,
        "train-test": 56 / 255,
        "test-test": 69 / 255,
    }
    assert one_nn(data, norm=2).accuracy == (0.3539, 0.3539)
    whole = one_nn(data, norm="inf")
    assert whole.accuracy == (0.1634, 0.2824)
    assert whole.majority_accuracy == (0.1730, 0.2510)
    rounded = one_nn((train[0] / 255, train[1]), (test[0] / 255, test[1]), norm="inf")
    assert rounded.accuracy == (0.1722, 0.2427)
    assert rounded.majority_accuracy == (0.1773, 0.2242)


def test_values_beyond_float64_are_an_error_not_a_crash():
    x = np.array([[-1.7e308] * 20, [1.7e308] * 20] * 10)
    with pytest.raises(UndefinedError, match="beyond the range"):
        separation(x, [0, 1] * 10, norm=1)


def test_tiny_values_beside_large_ones_keep_their_nearest_opponents():
    x = np.random.default_rng(0).random((100, 3)) * 1e-160
    x[0] = 1.0
    y = np.arange(100) % 2
    small = x[1:] * 1e160
    distance = np.sqrt(np.square(small[:, None] - small).sum(axis=2))
    distance[y[1:, None] == y[1:]] = np.inf
    result = separation(x, y, norm=2)
    np.testing.assert_allclose(result.nearest[1:] * 1e160, distance.min(axis=1), rtol=1e-12)
