import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from shaketable.arrays import join, make_dataset
from shaketable.data import Dataset
from shaketable.errors import InputError, UndefinedError
from shaketable.separations import separation

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


@settings(max_examples=60, deadline=None)
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
    found = separation(x, y, norm=p)
    np.testing.assert_allclose(found.nearest, distance.min(axis=1), rtol=1e-14)
    assert found.two_r == found.nearest.min()
    i, j = found.pair
    assert y[i] != y[j]
    assert distance[i, j] == pytest.approx(distance.min())
    assert i == np.flatnonzero(found.nearest == found.two_r)[0]
    for a in np.unique(y):
        for b in np.unique(y):
            block = distance[np.ix_(y == a, y == b)].min()
            codes = found.classes.index(a), found.classes.index(b)
            if a == b:
                assert math.isnan(found.by_class[codes])
            else:
                assert found.by_class[codes] == pytest.approx(block)


@pytest.mark.parametrize("p", [1, 2, math.inf, 5])
def test_high_dimension_takes_another_path_to_the_same_answer(p):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 40)), np.arange(60) % 3
    METRICS.setdefault(5.0, "minkowski")
    np.testing.assert_allclose(separation(x, y, norm=p).nearest, brute(x, y, p).min(axis=1))


def test_large_p_does_not_underflow():
    x, y = np.array([[0.0, 0.0], [1e-3, 1e-3], [5.0, 5.0]]), [0, 1, 1]
    assert separation(x, y, norm=200).two_r == pytest.approx(1e-3 * 2 ** (1 / 200))


def test_parts_are_told_apart():
    train = ([[0.0], [10.0], [13.0]], ["a", "b", "a"])
    test = ([[1.0], [5.0], [20.0]], ["b", "a", "b"])
    found = separation(join(train, test), norm=1)
    assert found.by_part == {"train-train": 3.0, "train-test": 1.0, "test-test": 4.0}
    assert found.two_r == 1.0
    assert found.pair == (0, 3)
    one_class = join(train, ([[1.0], [2.0]], ["b", "b"]))
    assert separation(one_class).by_part["test-test"] is None


def test_uint8_datasets_count_as_fractions_of_255_and_arrays_in_their_own_units():
    x = np.zeros((4, 8, 8), np.uint8)
    x[2:] = 54
    y = [0, 0, 1, 1]
    assert separation(x, y).two_r == 54
    assert separation(make_dataset(x, y)).two_r == 54 / 255


def test_eps_min_noise_cannot_carry_a_point_over():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(80, 2)), rng.integers(0, 2, 80)
    found = separation(x, y)
    moved = x + rng.choice([-1, 1], x.shape) * found.epsilon_min * 0.999
    distance = brute(np.concatenate([x, moved]), np.concatenate([y, y]), math.inf)[80:, :80]
    assert (np.abs(moved - x).max(axis=1) < distance.min(axis=1)).all()


def test_coinciding_classes_are_named_with_the_remedy():
    x, y = [[0.0], [0.0], [1.0]], ["a", "b", "a"]
    with pytest.raises(UndefinedError, match=r"rows \(0, 1\).*--drop-clashes"):
        separation(x, y)
    data = make_dataset([[0.0], [0.0], [1.0], [3.0]], ["a", "b", "a", "b"]).drop_clashes()
    assert isinstance(data, Dataset)
    assert separation(data).two_r == 2.0


def test_below_p_1_the_balls_of_eps_min_are_still_disjoint():
    x, y = np.array([[0.0, 0.0], [1.0, 1.0]]), [0, 1]
    found = separation(x, y, norm=0.5)
    assert found.two_r == 4.0
    assert found.epsilon_min == 1.0  # (1, 0) is at distance 1 from both
    assert separation((x, y), norm=2).two_r == pytest.approx(math.sqrt(2))


def test_of_several_closest_pairs_the_first_is_named():
    x = np.array([[0.0], [5.0], [4.0], [1.0], [-1.0]])
    assert separation(x, [0, 0, 1, 1, 1]).pair == (0, 3)


@pytest.mark.parametrize("norm", ["lnf", 0, -1, "nan", None])
def test_a_bad_norm_is_refused(norm):
    with pytest.raises(InputError, match="norm must be"):
        separation([[0.0], [1.0]], [0, 1], norm=norm)
