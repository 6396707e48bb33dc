"""Tables: CSV and parquet files become the same data, and odd ones are refused in one line."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet as pq
import pytest

from helpers.tables import TABLE, write_table
from shaketable.core.errors import InputError
from shaketable.data.arrays import join, make_dataset
from shaketable.data.files import load
from shaketable.evaluation.copies import corrupted


def test_two_tables_are_read_alike(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,k\n0,1\n1,2\n2,NA\n3,1\n")
    test.write_text("a,k\n0.5,1\n1.5,2\n2.5,1\n")
    assert load(train, test=test, label="k").classes == ("1", "2", "NA")
    assert load(train, test=test, label="k").name == "test.csv (training part train.csv)"
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


def test_tables_of_every_kind_give_the_same_data(tmp_path: Path) -> None:
    frame = pd.DataFrame({"width": [1, 3, 5, 7], "height": [2, 4, 6, 8], "kind": list("abab")})
    expected = make_dataset(frame[["width", "height"]], frame["kind"])
    frame.to_parquet(tmp_path / "data.parquet")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    for path in (
        write_table(tmp_path, "data.CSV"),
        tmp_path / "data.csv.gz",
        tmp_path / "data.parquet",
    ):
        data = load(path, label="kind")
        assert data.fingerprint == expected.fingerprint
        assert data.features == ("width", "height")
        assert data.bounds is None


def test_a_second_table_is_the_test_part_with_columns_in_any_order(tmp_path: Path) -> None:
    train = write_table(tmp_path, "train.csv")
    test = write_table(tmp_path, "test.csv", "kind,height,width\nb,10,9\nc,12,11\na,14,13\n")
    data = load(train, test=test, label="kind")
    assert data.n_train == 4
    assert data.classes == ("a", "b", "c")
    assert data.x[4:].tolist() == [[9, 10], [11, 12], [13, 14]]
    with pytest.raises(InputError, match="but train lacks depth and test lacks height$"):
        load(
            train,
            test=write_table(tmp_path, "odd.csv", TABLE.replace("height", "depth")),
            label="kind",
        )
    with pytest.raises(InputError, match=r"as there are classes \(2\), got 1"):
        load(
            train,
            test=write_table(tmp_path, "one.csv", "kind,height,width\nb,10,9\n"),
            label="kind",
        )


def test_text_columns_are_refused_dropped_or_encoded(tmp_path: Path) -> None:
    path = write_table(
        tmp_path, "t.csv", "n,colour,ok,y\n1,red,True,0\n2,blue,False,1\n3,red,True,1\n"
    )
    with pytest.raises(InputError, match=r"must be numeric, .*: colour; choose .*'drop' or 'oneh"):
        load(path, label="y", non_numeric="error")
    dropped = load(path, label="y", non_numeric="drop")
    assert dropped.features == ("n", "ok")
    assert dropped.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    encoded = load(path, label="y", non_numeric="onehot")
    assert encoded.features == ("n", "colour=blue", "colour=red", "ok")
    assert encoded.x.tolist() == [[1, 0, 1, 1], [2, 1, 0, 0], [3, 0, 1, 1]]
    gap = write_table(tmp_path, "gap.csv", "colour,y\nred,0\n,1\n")
    with pytest.raises(InputError, match=r"column 'colour' has no value in row 1 \(from 0\)"):
        load(gap, label="y", non_numeric="onehot")
    with pytest.raises(InputError, match="unknown non_numeric 'one-hot'; did you mean 'onehot'"):
        load(path, label="y", non_numeric="one-hot")  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "a,kind\n", "holds no rows"),
        ("a.csv", "a,kind\n1,x\n2,y,z\n", "cannot be read: .*Expected 2 fields in line 3, saw 3"),
        ("a.csv", "a,kind\n1,x,3\n2,y,3\n", "cannot be read: Length of header"),
        ("a.csv", "a,kind\n1,x\ninf,y\n", r"finite, got inf in row 1 \(from 0\), a"),
        (
            "a.csv",
            "a,kind\n1,x\n2,\n",
            "got none in 1 row of 2, first in row 1",
        ),
        ("a.csv", "kind\nx\ny\n", r"at least one row and one feature, got shape \(2, 0\)"),
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
        load(write_table(tmp_path, name, text), label="kind")
    assert "\n" not in str(caught.value)


def test_forbidden_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pd, "read_csv", forbid)
    with pytest.raises(InputError, match=r"cannot be read: .*Permission denied"):
        load(write_table(tmp_path, "a.csv"), label="kind")


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'shaketable\[parquet\]'"):
        load(write_table(tmp_path, "a.parquet"), label="kind")


def test_what_is_wrong_with_a_parquet_file_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [b"\xff", b"\xfe"], "y": [0, 1]}).to_parquet(path)
    with pytest.raises(InputError, match=r"column 'a' must hold text, got bytes in row 0"):
        load(path, label="y", non_numeric="onehot")
    table = pyarrow.table({"a": [1.0, 2.0], "y": [0, 1]})
    for about in ("{", "{}", "[1]"):
        pq.write_table(table.replace_schema_metadata({"pandas": about}), path)
        with pytest.raises(InputError, match=r"a\.parquet' cannot be read: \S"):
            load(path, label="y")


def write_shop(path: Path) -> Path:
    rows = ["day,zip,kind,when,y", "2024-02-29,007,a,2024-01-01T10:00+01:00,TRUE"]
    rows += ["2023-01-01,012,b,2024-06-01T10:00+02:00,FALSE", ",012,a,,FALSE"]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_columns_have_the_types_that_are_declared(tmp_path: Path) -> None:
    path = write_shop(tmp_path / "shop.csv")
    types = {"day": "date", "zip": "text", "kind": "category", "when": "date"}
    data = load(path, label="y", types=types, by="day")
    frame = data.decode(data.x)
    day = pd.Series(pd.to_datetime(["2024-02-29", "2023-01-01", None]))
    pd.testing.assert_series_equal(frame["day"], day, check_names=False, check_dtype=False)
    assert frame["zip"].tolist() == ["007", "012", "012"]
    assert frame["kind"].dtype == pd.CategoricalDtype(["a", "b"])
    assert frame["when"][0] == pd.Timestamp("2024-01-01 09:00", tz="UTC")
    assert data.groupings[0].labels[0] == "2023-01-01"
    by_default = load(path, label="y")
    assert by_default.decode(by_default.x)["zip"].tolist() == [7, 12, 12]


def test_noise_moves_declared_dates_by_days(tmp_path: Path) -> None:
    data = load(write_shop(tmp_path / "shop.csv"), label="y", types={"day": "date"})
    moved = corrupted(data, "linf(30, only=day)")
    days = (moved.decode(moved.x)["day"] - data.decode(data.x)["day"]).dt.total_seconds() / 86400
    assert 0 < days.abs().max() <= 30
    assert days.isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"day": "dates"}, "unknown type of a column 'dates'; did you mean 'date'"),
        ({"days": "date"}, "unknown column 'days'; did you mean 'day'"),
        ({"y": "text"}, "column 'y' holds the classes"),
        ({"kind": "date"}, "column 'kind' must hold dates of one format, such as 2024-12-31"),
        ({"zip": "date"}, "column 'zip' must hold dates, such as 2024-12-31, got"),
    ],
)
def test_types_that_columns_cannot_have_are_refused(
    tmp_path: Path, types: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load(write_shop(tmp_path / "shop.csv"), label="y", types=types)


def test_numbers_are_the_floats_nearest_to_their_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-8, 9, 500)
    rows = "\n".join(f"{value!r},{i % 2}" for i, value in enumerate(values.tolist()))
    path = write_table(tmp_path, "a.csv", f"a,y\n{rows}\n")
    np.testing.assert_array_equal(load(path, label="y").x[:, 0], values)


def test_types_are_for_tables() -> None:
    with pytest.raises(InputError, match="columns with a type are those of CSV and parquet files"):
        load("iris", types={"a": "text"})


def test_labels_and_missing_values_are_those_that_pandas_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\nn/a,TRUE\n1,false\n-nan,True\n")
    data = load(path, label="y")
    assert data.classes == (False, True)
    assert np.isnan(data.x[:, 0]).tolist() == [True, False, True]
    assert np.array_equal(pd.read_csv(path)["a"].isna(), np.isnan(data.x[:, 0]))


def test_missing_labels_are_counted_and_their_column_is_named(tmp_path: Path) -> None:
    path = write_table(tmp_path, "gaps.csv", "width,my kind\n1,a\n2,\n3,b\n4,\n")
    message = (
        "^column 'my kind' must have a label in every row, got none in 2 rows of 4, first in row 1 "
        r"\(from 0\); leave these rows out, or label them$"
    )
    with pytest.raises(InputError, match=message):
        load(path, label="my kind")
    with pytest.raises(InputError, match="its columns: width, 'my kind'$"):
        load(path)
    with pytest.raises(InputError, match="Known: 'my kind', width$"):
        load(path, label="height")


def test_frames_that_differ_in_columns_say_which_one_lacks_which() -> None:
    first = pd.DataFrame({"a": ["x", "y"], "job title": [1, 2]}), [0, 1]
    second = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), [0, 1]
    with pytest.raises(InputError, match="but train lacks b and test lacks 'job title'$"):
        join(first, second)
