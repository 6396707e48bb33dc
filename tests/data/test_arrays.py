from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest

from shaketable.core.errors import InputError
from shaketable.corruptions.corrupt import corrupt
from shaketable.data.arrays import join, make_dataset
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset
from shaketable.data.files import load


def dataset(n: int = 50, *, n_train: int | None = None, name: str = "data") -> Dataset:
    return make_dataset(
        np.arange(2.0 * n).reshape(n, 2), [0, 1] * (n // 2), name=name, n_train=n_train
    )


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


def test_names_of_columns_are_plain_text() -> None:
    data = make_dataset([[1.0, 2.0], [3.0, 4.0]], [0, 1], features=tuple(np.array(["a", "b"])))
    assert [type(name) for name in data.features or ()] == [str, str]  # messages show repr


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([], [], r"x must have at least one row and one feature, got shape \(0, 1\)"),
        (np.zeros((2, 0)), [0, 1], "at least one row and one feature"),
        ([1, 2, 3], [0, 1], "same length, got 3 rows and 2 labels"),
        ([1, 2], [], "same length, got 2 rows and 0 labels"),
        ([1, 2], [5, 5], "at least two classes, got only 5"),
        (
            np.full((2, 2, 2), np.nan),
            [0, 1],
            r"finite, got nan in row 0 \(from 0\), feature 0; drop",
        ),
        ([[-np.inf, 2], [3, np.nan]], [0, 1], r"got -inf in row 0 \(from 0\), feature 0"),
        (pd.DataFrame({"age": [1.0, np.inf]}), [0, 1], r"got inf in row 1 \(from 0\), age"),
        (np.array([["1"], ["2"]]), [0, 1], r"real numbers, one point per row, got dtype <U1"),
        (np.array([[1], [None]]), [0, 1], "got dtype object"),
        (np.array([1j, 2]), [0, 1], "got dtype complex128"),
        (3.0, [0, 1], r"one point per row, got dtype float64 of shape \(\)"),
        ([[1, 2], [3]], [0, 1], "all of one shape"),
        (
            [1, 2],
            np.eye(2),
            r"exactly one 1 in every row; for one-hot rows give y.argmax\(axis=1\)",
        ),
        ([1, 2], ["a", None], "got none in 1 row of 2, first in row 1"),
        ([1, 2], ["a", float("nan")], "got none in 1 row of 2, first in row 1"),
        (
            [1, 2],
            np.array([np.nan, 1]),
            "got none in 1 row of 2, first in row 0",
        ),
        (
            [1, 2],
            pd.array([1, None], dtype="Int64"),
            "got none in 1 row of 2, first in row 1",
        ),
        (
            [1, 2],
            pd.Categorical(["a", None]),
            "got none in 1 row of 2, first in row 1",
        ),
        ([1, 2], [b"a", b"b"], "text, numbers or booleans, got b'a' in row 0"),
    ],
)
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


@pytest.mark.parametrize("use", [make_dataset, lambda x, _: corrupt(x, "linf(1)"), join])
def test_frames_of_other_libraries_are_refused(use: Any) -> None:
    table = pyarrow.table({"a": [1, 2]})
    first, second = ((table, [0, 1]), (table, [0, 1])) if use is join else (table, [0, 1])
    with pytest.raises(InputError, match=r"got Table of pyarrow; .*x.to_pandas\(\)"):
        use(first, second)


def test_classes_may_be_given_in_the_order_of_a_models_scores() -> None:
    data = make_dataset([0, 1], ["b", "a"], classes=("b", "c", "a"))
    assert data.y.tolist() == [0, 2]


def test_join_unites_classes_and_orders_columns() -> None:
    train = pd.DataFrame({"a": [1, 2], "b": [3, 4]}), ["x", "y"]
    test = pd.DataFrame({"b": [5, 6, 7], "a": [8, 9, 0]}), ["z", "y", "y"]
    for data in (join(train, test), join(make_dataset(*train), make_dataset(*test))):
        assert data.n_train == 2
        assert data.classes == ("x", "y", "z")
        assert data.labels.tolist() == ["x", "y", "z", "y", "y"]
        assert data.x.tolist() == [[1, 3], [2, 4], [8, 5], [9, 6], [0, 7]]
        assert data.features == ("a", "b")


def test_join_orders_the_named_columns_of_arrays() -> None:
    train = make_dataset(np.array([[1.0, 3], [2, 4]]), [0, 1], features=("a", "b"))
    test = make_dataset(np.array([[5.0, 8], [6, 9]]), [0, 1], features=("b", "a"))
    assert join(train, test).x.tolist() == [[1, 3], [2, 4], [8, 5], [9, 6]]
    with pytest.raises(InputError, match="but train lacks c and test lacks a$"):
        join(train, replace(test, features=("b", "c")))


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
    with pytest.raises(InputError, match="but train lacks c and test lacks a$"):
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


def test_labels_that_differ_by_a_nul_at_their_end_do_not_become_one_class() -> None:
    assert make_dataset([0, 1], ["a", "a\0b"]).labels.tolist() == ["a", "a\0b"]
    with pytest.raises(InputError, match=r"must not end in a NUL .*'a\\x00'; rename that class"):
        make_dataset([0, 1], ["a", "a\0"])
    with pytest.raises(InputError, match="must not end in a NUL"):
        make_dataset([0, 1], ["a", "b"], classes=("a", "b", "b\0"))


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [(0, 1, Bounds(0, 1)), (0.2, 0.7, Bounds(0, 1)), (-0.01, 1, None), (0, 1.01, None)],
)
def test_only_images_from_0_to_1_have_that_range(low, high, bounds):
    x = np.linspace(low, high, 2 * 64).reshape(2, 8, 8)
    assert make_dataset(x, [0, 1]).bounds == bounds
    assert make_dataset(x.reshape(2, 64), [0, 1]).bounds is None


@pytest.mark.parametrize("kind", ["array", "tensor", "frame", "nullable frame", "list"])
@pytest.mark.parametrize(("value", "dtype"), [(2**53 + 1, "i8"), (-(2**60), "i8"), (2**63, "u8")])
def test_integers_that_floats_cannot_tell_apart_are_refused(value, dtype, kind):
    def form(x: np.ndarray) -> Any:
        if kind == "tensor":
            if value >= 2**63:
                pytest.skip("has no such numbers")
            return pytest.importorskip("torch").from_numpy(x.astype("i8"))
        if kind == "list":
            return x.tolist()
        if "frame" not in kind:
            return x
        frame = pd.DataFrame({"a": x[:, 0], "big": x[:, 1]})
        return frame.convert_dtypes() if kind == "nullable frame" else frame

    x = np.array([[1, value], [1, value - 1]], dtype)  # equal as float64
    with pytest.raises(InputError, match=rf"at most 2\*\*53 in size, got .*{str(value)[:-1]}"):
        make_dataset(form(x), [0, 1])
    if "frame" in kind:
        with pytest.raises(InputError, match="column big of x must hold integers"):
            make_dataset(form(x), [0, 1])
    x[:, 1] = [2**53, 2**53 - 1]
    assert not make_dataset(form(x), [0, 1]).clashes()


def test_a_file_with_such_integers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,y\n{2**53 + 1},a\n{2**53},b\n")
    with pytest.raises(InputError, match="column id of x must hold integers of at most"):
        load(tmp_path / "a.csv", label="y")
