"""The 1-NN classifier against all pairs, ties included."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shaketable
from shaketable.core.errors import InputError
from shaketable.data.arrays import join, make_dataset
from shaketable.separations.one_nn import one_nn

CLASSES = np.array(["ape", "bee", "cat"])
DTYPES = {"uint8": np.uint8, "float32": np.float32, "float64": np.float64}


def between(test, train, p):
    """Distances from test to training points, of small whole numbers and so exact."""
    gaps = np.abs(test[:, None].astype(np.int64) - train)
    if math.isinf(p):
        return gaps.max(axis=2)
    return np.sqrt((gaps**2).sum(axis=2)) if p == 2 else gaps.sum(axis=2)


def expected(distance, train_labels, test_labels):
    """Rows of all nearest neighbours, and both ranges of accuracy, point by point."""
    nearest, plain, majority = [], [], []
    for row, label in zip(distance, test_labels, strict=True):
        rows = [j for j, value in enumerate(row) if value == min(row)]
        names = [train_labels[j] for j in rows]
        most = max(names.count(name) for name in names)
        winners = {name for name in names if names.count(name) == most}
        nearest.append(rows)
        plain.append((len(rows) == 1 and names[0] == label, len(rows) > 1 or names[0] == label))
        majority.append((winners == {label}, len(winners) > 1 or winners == {label}))
    return nearest, np.mean(plain, axis=0), np.mean(majority, axis=0)


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), d=st.sampled_from([1, 3, 16, 17, 64, 100, 257]))
def test_equals_all_pairs_ties_included(p, dtype, seed, d):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(4, 130), rng.integers(4, 70)
    x, test_x = (rng.integers(0, 3, (k, d)).astype(DTYPES[dtype]) for k in (n, m))
    y, test_y = (CLASSES[np.r_[0, 1, 2, rng.integers(0, 3, k - 3)]] for k in (n, m))
    result = one_nn((x, y), (test_x, test_y), norm=p)
    distance = between(test_x, x, p)
    nearest, accuracy, majority = expected(distance, y, test_y)
    unit = 255 if dtype == "uint8" and d >= 64 else 1  # images count as x/255
    np.testing.assert_array_equal(result.distance, distance.min(axis=1) / unit)
    assert [result.neighbours(i).tolist() for i in range(m)] == nearest
    assert len(result.pairs) == sum(map(len, nearest))
    assert result.accuracy == pytest.approx(tuple(accuracy), abs=1e-15)
    assert result.majority_accuracy == pytest.approx(tuple(majority), abs=1e-15)
    np.testing.assert_array_equal(result.test, n + np.arange(m))
    votes = [[int((y[rows] == name).sum()) for name in CLASSES] for rows in nearest]
    assert result.neighbour_count.tolist() == [len(rows) for rows in nearest]
    assert result.winner_count.tolist() == [row.count(max(row)) for row in votes]
    assert result.labels.tolist() == CLASSES[np.argmax(votes, axis=1)].tolist()


def test_an_accuracy_is_a_range_where_points_tie():
    train = np.array([[0.0], [2.0], [2.0], [10.0], [20.0]]), list("abbaa")
    test = np.array([[1.0], [2.0], [9.0], [15.0]]), list("abba")
    result = shaketable.one_nn(train, test, norm=1)
    assert [result.neighbours(i).tolist() for i in range(4)] == [[0, 1, 2], [1, 2], [3], [3, 4]]
    assert result.labels.tolist() == ["b", "b", "a", "a"]
    assert result.accuracy == (0.0, 0.75)
    assert result.majority_accuracy == (0.5, 0.5)
    tied = one_nn((np.array([[0.0], [2.0]]), ["a", "b"]), (np.array([[1.0], [3.0]]), ["b", "b"]))
    assert tied.majority_accuracy == (0.5, 1.0)
    assert tied.labels.tolist() == ["a", "b"]


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("d", [3, 40])
def test_one_dataset_is_split_as_its_parts_are(p, d):
    rng = np.random.default_rng(d)
    x, y = rng.integers(0, 3, (120, d)).astype(float), np.arange(120) % 3
    data = make_dataset(x, y)
    result = one_nn(data, norm=p, seed=5)
    train, test = data.parts(seed=5)
    nearest, accuracy, majority = expected(between(x[test], x[train], p), y[train], y[test])
    np.testing.assert_array_equal(result.test, test)
    np.testing.assert_array_equal(result.y, y[test])
    rows = [sorted(train[near].tolist()) for near in nearest]
    assert [result.neighbours(i).tolist() for i in range(len(test))] == rows
    assert result.accuracy == pytest.approx(tuple(accuracy), abs=1e-15)
    assert result.majority_accuracy == pytest.approx(tuple(majority), abs=1e-15)
    assert set(one_nn(data, norm=p, seed=6).test) != set(test)


def test_both_forms_of_a_fixed_split_agree():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (60, 8, 8), dtype=np.uint8), np.arange(60) % 3
    parts = (x[:40], y[:40]), (x[40:], y[40:])
    datasets = (make_dataset(*part) for part in parts)
    arrays = one_nn(*parts)
    for result in (one_nn(*datasets), one_nn(join(*parts))):
        np.testing.assert_array_equal(result.distance, arrays.distance)
        np.testing.assert_array_equal(result.test, np.arange(40, 60))
        np.testing.assert_array_equal(result.winner, arrays.winner)
    alone, whole = one_nn((x, y), seed=3), one_nn(make_dataset(x, y), seed=3)
    np.testing.assert_array_equal(alone.test, whole.test)
    np.testing.assert_array_equal(alone.winner, whole.winner)


def test_pixels_count_as_fractions_of_255_in_arrays_and_datasets():
    x = np.zeros((2, 8, 8), np.uint8)
    x[1] = 200
    test = np.full((2, 8, 8), 51, np.uint8)
    for norm, distance in ((1, 64 * 0.2), (2, 8 * 0.2), ("inf", 0.2)):
        parts = (x, ["a", "b"]), (test, ["a", "b"])
        for result in (one_nn(*parts, norm=norm), one_nn(join(*parts), norm=norm)):
            assert result.distance.tolist() == pytest.approx([distance] * 2, rel=1e-15)
            assert "uint8 values count as x/255" in result.notes[0]


@pytest.mark.parametrize("norm", ["lnf", 0, -1, "nan", None])
def test_a_bad_norm_is_refused(norm):
    train = [[0.0], [1.0]], [0, 1]
    with pytest.raises(InputError, match="norm must be"):
        one_nn(train, train, norm=norm)
