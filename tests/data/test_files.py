import gzip
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset, load

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
        ("a.txt", "1 2 3", r"must end in one of .npz, .npy, .csv, .csv.gz, .parquet"),
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
    with pytest.raises(InputError, match=r"label and tables do not go with the file"):
        load(split, label="y")
    with pytest.raises(InputError, match=r"label and tables do not go with the file"):
        load(split, test=file(tmp_path, "a.csv"))


def test_sources_that_are_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*gone.csv' does not exist"):
        load(tmp_path / "gone.csv", label="y")
    with pytest.raises(InputError, match="must hold one subfolder per class with images"):
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
