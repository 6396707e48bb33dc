import gzip
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shaketable.arrays import join, make_dataset
from shaketable.corruptions import Bounds
from shaketable.data import Dataset
from shaketable.errors import InputError
from shaketable.files import as_dataset, load

TABLE = "width,height,kind\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n"


def dataset(n: int = 50, *, n_train: int | None = None, name: str = "data") -> Dataset:
    return make_dataset(
        np.arange(2.0 * n).reshape(n, 2), [0, 1] * (n // 2), name=name, n_train=n_train
    )


def file(folder: Path, name: str, text: str = TABLE) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, **arrays)
    return path


# --- the Dataset -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([True, False, True], (False, True)),
        ([7, -1, 7], (-1, 7)),
        (np.array([0.5, 0.25, 0.5], dtype=np.float32), (0.25, 0.5)),
        ([np.int64(3), np.int64(1), np.int64(3)], (1, 3)),
        (np.array([["b"], ["a"], ["b"]]), ("a", "b")),
        (pd.Series(["b", "a", "b"], index=[9, 8, 7]), ("a", "b")),
        (pd.Categorical(["b", "a", "b"]), ("a", "b")),
        (pd.array([2, 1, 2], dtype="Int64"), (1, 2)),
        ([1, "a", 1], (1, "a")),
    ],
)
def test_labels_of_any_type_become_codes_and_come_back(y: Any, classes: tuple[Any, ...]) -> None:
    data = make_dataset([0.0, 1.0, 2.0], y)
    assert data.classes == classes
    assert [type(c) for c in data.classes] == [type(c) for c in classes]
    assert data.labels.tolist() == np.ravel(np.asarray(y, dtype=object)).tolist()


@pytest.mark.parametrize(
    ("given_type", "kept"),
    [
        (np.float16, np.float32),
        (np.float32, np.float32),
        (">f8", np.float64),
        (np.longdouble, np.float64),
        (np.int16, np.float64),
        (bool, np.float64),
        (np.uint8, np.float64),
    ],
)
def test_numbers_keep_their_own_units(given_type: Any, kept: Any) -> None:
    data = make_dataset(np.array([[0, 1], [1, 0]]).astype(given_type), [0, 1])
    assert data.x.dtype == kept
    assert data.x.dtype.isnative
    assert data.rows(slice(None)).tolist() == [[0, 1], [1, 0]]
    assert data.bounds is None


@pytest.mark.parametrize("shape", [(2, 64), (2, 8, 8), (2, 4, 4, 3)])
def test_uint8_images_stand_for_fractions_of_255(shape: tuple[int, ...]) -> None:
    data = make_dataset(np.full(shape, 51, dtype=np.uint8), [0, 1])
    assert data.x.dtype == np.uint8
    assert data.bounds == Bounds(0, 1)
    rows = data.rows(np.array([1]))
    assert rows.dtype == np.float32
    assert np.all(rows == np.float32(0.2))
    assert (data.n, data.d, data.shape) == (2, int(np.prod(shape[1:])), shape[1:])


def test_float_images_within_the_unit_range_get_bounds_and_tables_get_none() -> None:
    x = np.linspace(0, 1, 16).reshape(2, 2, 4)
    assert make_dataset(x, [0, 1]).bounds == Bounds(0, 1)
    assert make_dataset(2 * x, [0, 1]).bounds is None
    assert make_dataset(x.reshape(2, 8), [0, 1]).bounds is None
    assert make_dataset(x, [0, 1], bounds=None).bounds is None
    assert make_dataset(x, [0, 1], bounds=(-1, 2)).bounds == Bounds(-1, 2)


def test_data_frames_bring_their_columns() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([1, 2], dtype="Int64")})
    data = make_dataset(frame, ["x", "y"])
    assert data.features == ("a", "b", "c")
    assert data.x.tolist() == [[1, 1, 1], [2, 0, 2]]
    assert data.x.flags.c_contiguous


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([], [], r"x must have a row and a feature at least, got shape \(0, 1\)"),
        (np.zeros((2, 0)), [0, 1], "a row and a feature at least"),
        ([1, 2, 3], [0, 1], "same length, got 3 rows and 2 labels"),
        ([1, 2], [], "same length, got 2 rows and 0 labels"),
        ([1, 2], [5, 5], "at least two classes, got only 5"),
        ([[1, 2], [3, np.nan]], [0, 1], r"finite, got nan in row 1 \(from 0\), feature 1; drop"),
        ([[-np.inf, 2], [3, np.nan]], [0, 1], r"got -inf in row 0 \(from 0\), feature 0"),
        (pd.DataFrame({"age": [1.0, None]}), [0, 1], r"got nan in row 1 \(from 0\), age"),
        (pd.DataFrame({"age": [1, 2], "town": ["x", "y"]}), [0, 1], "columns that do not: town"),
        (np.array([["1"], ["2"]]), [0, 1], r"real numbers, one point a row, got dtype <U1"),
        (np.array([[1], [None]]), [0, 1], "got dtype object"),
        (np.array([1j, 2]), [0, 1], "got dtype complex128"),
        (3.0, [0, 1], r"one point a row, got dtype float64 of shape \(\)"),
        ([[1, 2], [3]], [0, 1], "all of one shape"),
        ([1, 2], np.eye(2), r"got shape \(2, 2\); for one-hot rows give y.argmax\(axis=1\)"),
        ([1, 2], ["a", None], "label in every row, got None in row 1"),
        ([1, 2], ["a", float("nan")], "label in every row, got nan in row 1"),
        ([1, 2], np.array([np.nan, 1]), "label in every row, got nan in row 0"),
        ([1, 2], pd.array([1, None], dtype="Int64"), "label in every row, got (nan|<NA>) in row 1"),
        ([1, 2], pd.Categorical(["a", None]), "label in every row, got nan in row 1"),
        ([1, 2], [b"a", b"b"], "text, numbers or booleans, got b'a' in row 0"),
    ],
)  # fmt: skip
def test_unusable_arrays_are_refused(x: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_dataset(x, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": (0, 2)}, r"labels among classes \(0, 2\), got 1"),
        ({"n_train": 0}, "n_train must lie between 1 and 3, got 0"),
        ({"n_train": 4}, "n_train must lie between 1 and 3, got 4"),
        ({"n_train": 3}, r"at least as many points as there are classes \(2\), got 1"),
        ({"bounds": (0, 1)}, "x must lie in the bounds"),
        ({"features": ("a", "b")}, r"name every column of x, got 2 names for shape \(4, 1\)"),
    ],
)
def test_unusable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_dataset([0, 1, 2, 3], [0, 1, 0, 1], **options)


def test_what_make_dataset_codes_a_dataset_checks() -> None:
    with pytest.raises(InputError, match="y must index classes, got 0 to 1"):
        replace(dataset(), classes=("only",))
    with pytest.raises(InputError, match=r"uint8 x, .* must be \(0, 1\), got clip\[0, 255\]"):
        make_dataset(np.zeros((2, 8, 8), dtype=np.uint8), [0, 1], bounds=(0, 255))


def test_classes_may_be_given_in_the_order_of_a_models_scores() -> None:
    data = make_dataset([0, 1], ["b", "a"], classes=("b", "c", "a"))
    assert data.y.tolist() == [0, 2]


# --- fingerprint and split -------------------------------------------------------------------


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


def test_fingerprint_and_split_are_those_of_another_process() -> None:
    code = (
        "import numpy as np; from shaketable.arrays import make_dataset;"
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


# --- scaling and clashes ---------------------------------------------------------------------


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


def test_a_note_says_which_feature_rules_eps_min() -> None:
    x = [[0, 0, 4], [500, 2, 4]]
    data = make_dataset(x, [0, 1], features=("mass", "age", "constant"))
    assert data.range_ratio == 250
    (note,) = data.notes()
    assert "factor 250" in note
    assert "mass spans 500, age only 2" in note
    assert "--scale" in note
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


# --- join and as_dataset ---------------------------------------------------------------------


def test_join_unites_classes_and_orders_columns() -> None:
    train = pd.DataFrame({"a": [1, 2], "b": [3, 4]}), ["x", "y"]
    test = pd.DataFrame({"b": [5, 6, 7], "a": [8, 9, 0]}), ["z", "y", "y"]
    for data in (join(train, test), join(make_dataset(*train), make_dataset(*test))):
        assert data.n_train == 2
        assert data.classes == ("x", "y", "z")
        assert data.labels.tolist() == ["x", "y", "z", "y", "y"]
        assert data.x.tolist() == [[1, 3], [2, 4], [8, 5], [9, 6], [0, 7]]
        assert data.features == ("a", "b")


def test_two_tables_are_read_alike(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,k\n0,1\n1,2\n2,NA\n3,1\n")
    test.write_text("a,k\n0.5,1\n1.5,2\n2.5,1\n")
    assert load(train, test=test, label="k").classes == ("1", "2", "NA")
    train.write_text("a,k\n0,1\n1,2\n2,3\n")
    assert load(train, test=test, label="k").classes == (1, 2, 3)
    train.write_text("a,k\n0,True\n1,False\n")
    assert load(train, label="k").classes == (False, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b;k\n1;2;x\n", "separated by commas"),
        (",a,k\n0,1,x\n1,2,y\n", "column without a name"),
        ("a,k\n1,\n2,x\n", "label in every row"),
    ],
)
def test_odd_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load(path, label="k")


def test_a_quantity_is_no_class() -> None:
    x = np.linspace(0, 1, 100)
    with pytest.raises(InputError, match="100 distinct numbers"):
        make_dataset(x, x)


def test_join_meets_pixels_and_floats_on_the_unit_scale() -> None:
    pixels = np.full((2, 2, 2), 51, dtype=np.uint8), [0, 1]
    assert join(pixels, pixels).x.dtype == np.uint8
    mixed = join(pixels, (np.full((2, 2, 2), 0.2, dtype=np.float32), [0, 1]))
    assert np.all(mixed.x == np.float32(0.2))
    assert mixed.bounds == Bounds(0, 1)


def test_parts_that_do_not_fit_are_refused() -> None:
    pair = np.zeros((2, 2)), [0, 1]
    with pytest.raises(InputError, match=r"same shape, got \(2,\) and \(3,\)"):
        join(pair, (np.zeros((2, 3)), [0, 1]))
    with pytest.raises(InputError, match="same columns, but only one of them has a, c"):
        join(
            (pd.DataFrame({"a": [1, 2], "b": [1, 2]}), [0, 1]),
            (pd.DataFrame({"c": [1, 2], "b": [1, 2]}), [0, 1]),
        )
    with pytest.raises(InputError, match="train must be neither split nor scaled"):
        join(dataset(n_train=40), dataset())
    with pytest.raises(InputError, match="test must be neither split nor scaled"):
        join(dataset(), dataset().scaled())
    with pytest.raises(InputError, match=r"same bounds, got clip\[0, 99\] and None"):
        join(replace(dataset(), bounds=Bounds(0, 99)), dataset())
    with pytest.raises(InputError, match=r"as there are classes \(2\), got 1"):
        join(pair, (np.zeros((1, 2)), [0]))


def test_as_dataset_takes_what_users_hold(tmp_path: Path) -> None:
    data = dataset()
    assert as_dataset(data) is data
    assert as_dataset((data.x, data.y), name="mine").name == "mine"
    assert as_dataset("toy1d(n=10)").n == 10
    assert as_dataset((data.x, data.y), test=data).n_train == 50
    path = npz(tmp_path, x=data.x, y=data.y)
    assert as_dataset(path).fingerprint == data.fingerprint
    assert as_dataset(str(path), test=path).n_train == 50
    with pytest.raises(InputError, match=r"data must be a Dataset, a pair \(x, y\), .* got list"):
        as_dataset([data.x, data.y])  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InputError, match="both be files or both be in memory"):
        as_dataset(path, test=data)


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", "X"])
def test_npz_files_round_trip(tmp_path: Path, letter: str) -> None:
    data = dataset()
    path = npz(tmp_path, **{letter: data.x, "y": data.y, "unrelated": np.zeros(3)})
    assert load(path).fingerprint == data.fingerprint
    assert load(str(path)).name == "data.npz"
    parts = {
        f"{letter}_train": data.x[:40], "y_train": data.labels[:40],
        f"{letter}_test": data.x[40:], "y_test": data.labels[40:],
    }  # fmt: skip
    assert load(npz(tmp_path, **parts)).fingerprint == replace(data, n_train=40).fingerprint


def test_uint8_archives_stay_uint8_only_where_they_hold_images(tmp_path: Path) -> None:
    pixels = np.arange(128, dtype=np.uint8).reshape(2, 8, 8)
    data = load(npz(tmp_path, x=pixels, y=np.array(["a", "b"])))
    assert np.array_equal(data.x, pixels)
    assert data.bounds == Bounds(0, 1)
    table = load(npz(tmp_path, x=pixels[:, 0], y=np.array(["a", "b"])))
    assert table.x.dtype == np.float64
    assert table.x.max() == 71


def test_tables_of_every_kind_give_the_same_data(tmp_path: Path) -> None:
    frame = pd.DataFrame({"width": [1, 3, 5, 7], "height": [2, 4, 6, 8], "kind": list("abab")})
    expected = make_dataset(frame[["width", "height"]], frame["kind"])
    frame.to_parquet(tmp_path / "data.parquet")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    for path in (file(tmp_path, "data.CSV"), tmp_path / "data.csv.gz", tmp_path / "data.parquet"):
        data = load(path, label="kind")
        assert data.fingerprint == expected.fingerprint
        assert data.features == ("width", "height")
        assert data.bounds is None


def test_a_second_table_is_the_test_part_with_columns_in_any_order(tmp_path: Path) -> None:
    train = file(tmp_path, "train.csv")
    test = file(tmp_path, "test.csv", "kind,height,width\nb,10,9\nc,12,11\na,14,13\n")
    data = load(train, test=test, label="kind")
    assert data.n_train == 4
    assert data.classes == ("a", "b", "c")
    assert data.x[4:].tolist() == [[9, 10], [11, 12], [13, 14]]
    with pytest.raises(InputError, match="same columns, but only one of them has depth, height"):
        load(train, test=file(tmp_path, "odd.csv", TABLE.replace("height", "depth")), label="kind")
    with pytest.raises(InputError, match=r"as there are classes \(2\), got 1"):
        load(train, test=file(tmp_path, "one.csv", "kind,height,width\nb,10,9\n"), label="kind")


def test_text_columns_are_refused_dropped_or_encoded(tmp_path: Path) -> None:
    path = file(tmp_path, "t.csv", "n,colour,ok,y\n1,red,True,0\n2,blue,False,1\n3,red,True,1\n")
    with pytest.raises(InputError, match=r"must be numeric, .*: colour; choose .*'drop' or 'oneh"):
        load(path, label="y")
    dropped = load(path, label="y", non_numeric="drop")
    assert dropped.features == ("n", "ok")
    assert dropped.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    encoded = load(path, label="y", non_numeric="onehot")
    assert encoded.features == ("n", "colour=blue", "colour=red", "ok")
    assert encoded.x.tolist() == [[1, 0, 1, 1], [2, 1, 0, 0], [3, 0, 1, 1]]
    gap = file(tmp_path, "gap.csv", "colour,y\nred,0\n,1\n")
    with pytest.raises(InputError, match=r"column 'colour' has no value in row 1 \(from 0\)"):
        load(gap, label="y", non_numeric="onehot")
    with pytest.raises(InputError, match="unknown non_numeric 'one-hot'; did you mean 'onehot'"):
        load(path, label="y", non_numeric="one-hot")  # type: ignore[arg-type]  # that is the point


def test_options_of_load_drop_clashes_first_and_scale_then(tmp_path: Path) -> None:
    path = file(tmp_path, "t.csv", "a,y\n0,0\n2,0\n4,1\n9,0\n9,1\n")
    data = load(path, label="y", drop_clashes=True, scale=True)
    assert data.x.ravel().tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "a,kind\n", "holds no rows"),
        ("a.csv", "a,kind\n1,x\n2,y,z\n", "cannot be read: .*Expected 2 fields in line 3, saw 3"),
        ("a.csv", "a,kind\n1,x,3\n2,y,3\n", "cannot be read: Length of header"),
        ("a.csv", "a,kind\n1,x\n,y\n", r"finite, got nan in row 1 \(from 0\), a"),
        ("a.csv", "a,kind\n1,x\n2,\n", "label in every row, got nan in row 1"),
        ("a.csv", "kind\nx\ny\n", r"a row and a feature at least, got shape \(2, 0\)"),
        ("a.csv", "a,kindred\n1,x\n2,y\n", "unknown label column 'kind'; did you mean 'kindred'"),
        ("a.csv.gz", "no gzip at all", "cannot be read"),
        ("a.parquet", "no parquet at all", "cannot be read: .*[Pp]arquet"),
        ("a.txt", "1 2 3", r"must end in one of .npz, .csv, .csv.gz, .parquet"),
    ],
)
def test_damaged_or_odd_tables_are_refused_in_one_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(file(tmp_path, name, text), label="kind")
    assert "\n" not in str(caught.value)


def test_truncated_and_undecodable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode() * 1000)[:-20])
    with pytest.raises(InputError, match=r"a\.csv\.gz' cannot be read"):
        load(path, label="kind")
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,kind\n1,a\n2,b\n".encode("latin-1"))
    with pytest.raises(InputError, match="cannot be read: 'utf-8' codec"):
        load(path, label="kind")
    whole = npz(tmp_path, x=np.zeros((100, 2)), y=np.arange(100) % 2).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-50])
    with pytest.raises(InputError, match="cannot be read: File is not a zip file"):
        load(tmp_path / "cut.npz")
    (tmp_path / "bad.npz").write_bytes(whole[:300] + b"damage" + whole[306:])
    with pytest.raises(InputError, match="cannot be read: Bad CRC-32"):
        load(tmp_path / "bad.npz")
    with pytest.raises(InputError, match="cannot be read: File is not a zip file"):
        load(file(tmp_path, "text.npz"))


def test_forbidden_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pd, "read_csv", forbid)
    with pytest.raises(InputError, match=r"cannot be read: .*Permission denied"):
        load(file(tmp_path, "a.csv"), label="kind")


def test_archives_without_the_right_arrays_are_refused(tmp_path: Path) -> None:
    x, y = np.arange(8.0), np.arange(8) % 2
    with pytest.raises(InputError, match=r"must hold x and y, or .* holds: data, target"):
        load(npz(tmp_path, data=x, target=y))
    with pytest.raises(InputError, match="holds: nothing"):
        load(npz(tmp_path))
    with pytest.raises(InputError, match=r"it holds Python objects; .* y.astype\(str\)"):
        load(npz(tmp_path, x=x, y=y.astype(object)))
    split = npz(tmp_path, x_train=x, y_train=y, x_test=x, y_test=y)
    with pytest.raises(InputError, match="has a test part already"):
        load(split, test=split)
    with pytest.raises(InputError, match=r"label and tables do not go with the .npz file"):
        load(split, label="y")
    with pytest.raises(InputError, match=r"label and tables do not go with the .npz file"):
        load(split, test=file(tmp_path, "a.csv"))


def test_sources_that_are_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*gone.csv' does not exist"):
        load(tmp_path / "gone.csv", label="y")
    with pytest.raises(InputError, match="is a directory; give one file"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"this is neither: .* 'brands'; did you mean 'bands'"):
        load("brands(n=3)")
    with pytest.raises(InputError, match=r"label must name .*; its columns: width, height, kind"):
        load(file(tmp_path, "a.csv"))
    with pytest.raises(InputError, match="label and test are for files"):
        load("iris", label="species")


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'shaketable\[parquet\]'"):
        load(file(tmp_path, "a.parquet"), label="kind")
