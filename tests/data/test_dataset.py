"""Data sets: fingerprints, splits, scales and clashes."""

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.dataset import Dataset


def dataset(n: int = 50, *, n_train: int | None = None, name: str = "data") -> Dataset:
    return make_dataset(
        np.arange(2.0 * n).reshape(n, 2), [0, 1] * (n // 2), name=name, n_train=n_train
    )


def test_what_make_dataset_codes_a_dataset_checks() -> None:
    with pytest.raises(InputError, match="y must index classes, got 0 to 1"):
        replace(dataset(), classes=("only",))
    with pytest.raises(InputError, match=r"uint8 x, .* must be \(0, 1\), got clip\[0, 255\]"):
        make_dataset(np.zeros((2, 8, 8), dtype=np.uint8), [0, 1], bounds=(0, 255))


def test_fingerprint_sees_content_and_not_the_name() -> None:
    data = dataset()
    other = data.x.copy()
    other[0, 0] = np.nextafter(other[0, 0], 1)
    assert dataset(name="other").fingerprint == data.fingerprint
    assert make_dataset(np.asfortranarray(data.x), data.y).fingerprint == data.fingerprint
    different = [
        replace(data, x=other),
        replace(data, x=data.x.astype(np.float32)),
        replace(data, x=data.x[:, :, None]),
        replace(data, y=1 - data.y),
        replace(data, classes=("0", "1")),
        replace(data, n_train=40),
    ]
    assert len({data.fingerprint, *(d.fingerprint for d in different)}) == 1 + len(different)


def test_data_can_be_pickled_whatever_was_asked_of_them() -> None:
    data = make_dataset(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])
    mean = data.columns.mean
    copy = pickle.loads(pickle.dumps(data))
    assert copy.fingerprint == data.fingerprint
    assert (copy.columns.mean == mean).all()


def test_fingerprint_and_split_are_those_of_another_process() -> None:
    code = (
        "import numpy as np; from shaketable.data.arrays import make_dataset;"
        "d = make_dataset(np.arange(100.).reshape(50, 2), [0, 1] * 25);"
        "print(d.fingerprint, *d.parts(run=2, seed=1)[1])"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    data = dataset()
    assert said == [data.fingerprint, *map(str, data.parts(run=2, seed=1)[1])]
    assert data.fingerprint == "307d19242797640bf151b2193c7a13a3"


@given(n=st.integers(10, 300), run=st.integers(0, 9), seed=st.integers(0, 9))
def test_a_random_split_is_a_partition_with_a_fifth_for_the_test(
    n: int, run: int, seed: int
) -> None:
    train, test = dataset(2 * n).parts(run=run, seed=seed)
    assert sorted([*train, *test]) == list(range(2 * n))
    assert len(test) == round(0.4 * n)


def test_splits_differ_between_runs_and_seeds_and_hit_every_row_alike() -> None:
    data = dataset()
    tests = [data.parts(run=run)[1] for run in range(500)]
    # a row is in the test part of Binomial(500, 0.2) runs: mean 100, standard deviation 8.9
    hits = np.bincount(np.concatenate(tests), minlength=data.n)
    assert np.all(np.abs(hits - 100) < 4.5 * 8.9)
    assert len({tuple(test) for test in tests}) == 500
    assert set(data.parts(seed=1)[1]) != set(data.parts(seed=2)[1])
    # not stratified: the share of a class in the test part varies as a random draw's does
    assert len({int(data.y[test].sum()) for test in tests}) > 3


def test_a_fixed_split_stays_whatever_the_run() -> None:
    train, test = dataset(n_train=40).parts(run=7, seed=3)
    assert (train.tolist(), test.tolist()) == (list(range(40)), list(range(40, 50)))


def test_a_random_test_part_needs_as_many_points_as_classes() -> None:
    with pytest.raises(InputError, match=r"as there are classes \(2\), got 1; add points"):
        dataset(4).parts()


@given(x=hnp.arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)))
def test_scaling_reaches_0_and_1_and_can_be_undone(x: np.ndarray[Any, Any]) -> None:
    data = make_dataset(x, [0, 1] * 3)
    scaled = data.scaled()
    varies = np.ptp(x, axis=0) > 0
    assert np.all(scaled.x.min(axis=0) == 0)
    assert np.array_equal(scaled.x.max(axis=0), varies.astype(float))
    assert scaled.scaling is not None
    assert np.allclose(scaled.scaling.undo(scaled.x), x, rtol=1e-12, atol=1e-9)
    assert scaled.scaled() is scaled


def test_images_are_scaled_pixel_by_pixel_and_lose_their_bounds() -> None:
    x = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
    data = make_dataset(x, [0, 1]).scaled()
    assert data.x.tolist() == [np.zeros((8, 8)).tolist(), np.ones((8, 8)).tolist()]
    assert data.bounds is None
    assert data.scaling is not None
    assert np.allclose(data.scaling.undo(data.x), x / 255)


def test_a_note_says_how_much_ranges_differ_and_claims_nothing_about_eps_min() -> None:
    x = [[0, 0, 4], [500, 2, 4]]
    data = make_dataset(x, [0, 1], features=("mass", "age", "constant"))
    assert data.range_ratio == 250
    (note,) = data.notes()
    assert "factor of 250" in note
    assert "eps_min" not in note
    assert "mass spans 500, age only 2" in note
    assert ".scaled() scales every feature" in note
    assert data.scaled().notes() == []
    assert make_dataset([[0, 0], [100, 1]], [0, 1]).notes() == []
    assert make_dataset(np.reshape(x, (2, 3, 1)), [0, 1]).notes() == []
    assert make_dataset([[1, 1], [1, 1]], [0, 1]).range_ratio == 1


@given(
    x=hnp.arrays(np.float64, (12, 2), elements=st.sampled_from([0.0, -0.0, 1.0])),
    y=hnp.arrays(np.int64, 12, elements=st.integers(0, 2)),
    pixels=st.booleans(),
)
def test_clashes_are_those_of_all_pairs(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], pixels: bool
) -> None:
    y[:2] = 0, 1
    data = make_dataset(x[:, :, None].astype(np.uint8) if pixels else x, y)
    equal = (x[:, None] == x[None]).all(axis=2) & (y[:, None] != y[None])
    pairs = data.clashes()
    assert pairs == sorted(set(pairs))
    assert all(i < j and equal[i, j] for i, j in pairs)
    assert {row for pair in pairs for row in pair} == set(np.flatnonzero(equal.any(axis=1)))
    left = ~equal.any(axis=1)
    if len(set(y[left])) > 1:
        assert np.array_equal(data.drop_clashes().x, data.x[left])
        assert np.array_equal(data.drop_clashes().labels, y[left])
        assert data.drop_clashes().clashes() == []


def test_dropping_clashes_keeps_the_split_in_place() -> None:
    data = make_dataset([0, 1, 2, 3, 0, 5, 6], list("abaabab"), n_train=4)
    assert data.clashes() == [(0, 4)]
    kept = data.drop_clashes()
    assert kept.x.ravel().tolist() == [1, 2, 3, 5, 6]
    assert kept.n_train == 3
    assert dataset().drop_clashes().n == 50
    with pytest.raises(InputError, match="leaves no points of 'data'"):
        make_dataset([0, 0], [0, 1]).drop_clashes()


def test_statistics_of_columns_are_those_of_the_training_part():
    x = np.arange(24.0).reshape(8, 3) ** 2
    data = make_dataset(x, np.arange(8) % 2, n_train=5)
    np.testing.assert_allclose(data.columns.mean, x[:5].mean(axis=0))
    np.testing.assert_allclose(data.columns.spread, x[:5].std(axis=0))
    whole = make_dataset(x, np.arange(8) % 2)
    np.testing.assert_allclose(whole.columns.mean, x.mean(axis=0))


def test_rows_are_those_of_the_source_after_several_clean_ups():
    x = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 4.0])[:, None]
    data = make_dataset(x, [0, 1, 0, 1, 0, 1, 1])
    once = data.drop_clashes()
    assert [once.source_row(i) for i in range(once.n)] == [2, 3, 6]
    # with other values two of these clash as well
    x, y = np.array([[5.0], [4.0], [5.0], [6.0]]), np.array([0, 1, 1, 0])
    left = replace(once, x=x, y=y, kept=np.array([2, 3, 6, 9])).drop_clashes()
    assert [left.source_row(i) for i in range(left.n)] == [3, 9]
