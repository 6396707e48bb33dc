"""Data frames as numbers and back: every value and every type comes back."""

import numpy as np
import pandas as pd
import pytest

from helpers.frames import make_people
from shaketable import load, make_dataset
from shaketable.core.errors import InputError
from shaketable.data.arrays import join
from shaketable.data.facts import describe_data
from shaketable.data.frames.schema import read_frame
from shaketable.data.frames.typos import VARIANTS, make_typo
from shaketable.data.writing import write_dataset
from shaketable.evaluation.copies import corrupted

N = 12
CODES = np.arange(N) % 2


def gaps(values, dtype):
    return pd.Series([None if i % 5 == 0 else v for i, v in enumerate(values)], dtype=dtype)


COLUMNS = {
    "int64": pd.Series(range(N)),
    "uint8": pd.Series(range(N), dtype="uint8"),
    "Int64": gaps(range(N), "Int64"),
    "float32": pd.Series(np.linspace(0, 1, N), dtype="float32"),
    "Float64": gaps(np.linspace(0, 1, N), "Float64"),
    "bool": pd.Series(CODES, dtype=bool),
    "boolean": gaps(CODES == 1, "boolean"),
    "str": gaps(["a", "b"] * 6, "str"),
    "string": gaps(["a", "b"] * 6, "string"),
    "None": gaps(["a", "b"] * 6, object),
    "mixed": pd.Series([1, "a", True, 2.5] * 3, dtype=object),
    "category": gaps(["a", "b"] * 6, pd.CategoricalDtype(["b", "a", "c"], ordered=True)),
    "numbers": gaps([10, 20] * 6, pd.CategoricalDtype([20, 10])),
    "date": gaps(pd.date_range("2020-01-01", periods=N, freq="h"), "datetime64[ns]"),
    "zone": pd.Series(pd.date_range("2020-03-28", periods=N, freq="6h", tz="Europe/Berlin")),
    "span": pd.Series(pd.to_timedelta(np.arange(N), "min")),
    "period": pd.Series(pd.period_range("2020-01", periods=N, freq="M")),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_comes_back_with_its_type(kind):
    frame = pd.DataFrame({kind: COLUMNS[kind]})
    schema, x = read_frame(frame)
    assert x.dtype == np.float64
    pd.testing.assert_frame_equal(schema.decode(x), frame)


def test_arrow_columns_come_back():
    pytest.importorskip("pyarrow", reason="pyarrow is an optional package")
    names = {"Int64": "int64", "Float64": "double", "string": "string", "boolean": "bool"}
    frame = pd.DataFrame(
        {k: COLUMNS[k].astype(object).astype(f"{v}[pyarrow]") for k, v in names.items()}
    )
    frame["date"] = COLUMNS["date"].astype("timestamp[us][pyarrow]")
    schema, x = read_frame(frame)
    pd.testing.assert_frame_equal(schema.decode(x), frame)
    assert schema.decode(x + 0.5)["Int64"].dtype == "double[pyarrow]"


def test_whole_numbers_and_booleans_become_floats_where_they_must():
    schema, x = read_frame(pd.DataFrame({k: COLUMNS[k] for k in ("int64", "Int64", "bool")}))
    noisy = schema.decode(x + np.array([0.5, 0.5, 0]))
    assert noisy.dtypes.astype(str).tolist() == ["float64", "Float64", "bool"]
    x[0] = np.nan
    assert schema.decode(x).dtypes.astype(str).tolist() == ["float64", "Int64", "float64"]


def test_plain_numbers_are_no_table_and_keep_their_fingerprint():
    x, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    frame = pd.DataFrame(x.astype(int), columns=["a", "b"])
    data, same = make_dataset(frame, y), make_dataset(x, y)
    assert data.table is None
    assert data.fingerprint == same.fingerprint == "df3f099573da0ba3b34eb8cb459019b9"


def test_fingerprints_tell_values_and_choices_apart():
    frame, y = make_people(20)
    other = frame.replace({"job": {"chef": "cook"}})
    data = [make_dataset(frame, y), make_dataset(other, y)]
    data += [data[0].touching(keep="age"), data[0].touching(steps={"age": 1})]
    assert len({d.fingerprint for d in data}) == 4
    assert data[0].fingerprint == make_dataset(frame.copy(), y).fingerprint


def test_train_and_test_frames_are_joined_with_the_types_of_train():
    frame, y = make_people(60)
    test = frame[40:].assign(size=frame["size"][40:].astype(str))
    data = join((frame[:40], y[:40]), (test[list(reversed(frame.columns))], y[40:]))
    pd.testing.assert_frame_equal(data.decode(data.x), frame)
    assert data.n_train == 40
    with pytest.raises(InputError, match="must hold categories of train, got 'huge'"):
        join((frame[:40], y[:40]), (test.assign(size="huge"), y[40:]))
    with pytest.raises(InputError, match="both be data frames"):
        join((frame[:40], y[:40]), (np.zeros((20, 7)), y[40:]))


def test_scaled_frames_keep_what_is_no_number():
    frame, y = make_people()
    data = make_dataset(frame, y).scaled()
    shown = data.decode(data.x)
    for name in ("job", "size", "member", "since"):
        pd.testing.assert_series_equal(shown[name], frame[name])
    for name in ("age", "income", "weight"):
        assert (shown[name].min(), shown[name].max()) == (0, 1)
    raw = data.table.raw.decode(data.scaling.undo(data.x))
    np.testing.assert_allclose(raw["age"], frame["age"])
    assert (raw["income"].isna() == frame["income"].isna()).all()


def test_whole_numbers_survive_scaling_and_steps_stay_whole():
    frame = pd.DataFrame({"n": np.arange(-3, 40, 3), "word": list("abc") * 5, "gap": np.nan})
    data = make_dataset(frame, np.arange(15) % 2).touching(steps={"n": 3}).scaled()
    for x in (data.x, corrupted(data, "linf(0.5)").x):
        back = data.table.raw.decode(data.scaling.undo(x))
        assert back["n"].dtype == frame["n"].dtype
        assert (back["n"] % 3 == 0).all()
    pd.testing.assert_frame_equal(data.table.raw.decode(data.scaling.undo(data.x)), frame)


def test_missing_values_are_equal_among_each_other():
    data = make_dataset(np.array([[1, np.nan], [1, np.nan], [1, 2.0]]), [0, 1, 1])
    assert data.clashes() == [(0, 1)]


def test_one_hot_columns_come_back_as_they_were():
    x = np.array([[1.0, 0, 1, 5], [0, 1, 0, 6], [0, 0, 1, 7]])
    frame = pd.DataFrame(x, columns=["c_red", "c_blue", "flag", "n"]).astype({"c_red": bool})
    data = make_dataset(frame, [0, 1, 0]).touching(one_hot="c_")
    assert data.features == ("c", "flag", "n")
    np.testing.assert_array_equal(data.x[:, 0], [0, 1, np.nan])
    pd.testing.assert_frame_equal(data.decode(data.x), frame)
    plain = make_dataset(x, [0, 1, 0]).touching(one_hot=[("0", "1")])
    np.testing.assert_array_equal(plain.decode(plain.x), x)
    with pytest.raises(InputError, match="at most one 1 per row"):
        make_dataset(x, [0, 1, 0]).touching(one_hot=[("0", "2")])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"only": "agee"}, "did you mean 'age'"),
        ({"only": "age", "keep": "age"}, "in only and in keep"),
        ({"keep": ["age", "income", "job", "size", "member", "since", "weight"]}, "at least one"),
        ({"column_bounds": {"age": (30, 40)}}, "column 'age' must keep its bounds"),
        ({"column_bounds": {"age": (3, 2)}}, "low < high"),
        ({"steps": {"income": 1}}, "column 'income' must keep its bounds and steps"),
        ({"steps": {"job": 1}}, "for numbers, but column 'job' holds text"),
        ({"steps": {"age": 0}}, "must be positive"),
        ({"one_hot": [["age"]]}, "two or more columns"),
        ({"one_hot": "jo"}, "two or more columns, each once"),
        ({"others": "gowers"}, "did you mean 'gower'"),
    ],
)
def test_choices_that_do_not_fit_are_refused(choice, message):
    with pytest.raises(InputError, match=message):
        make_dataset(*make_people(50)).touching(**choice)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2, 3]] * 4, columns=["b", "a", "a"]), "'a' twice"),
        (pd.DataFrame({"a": [[1], [2], [3], [4]]}), "got list; encode or drop it"),
        (pd.DataFrame({"a": [1.0, np.inf, 2, 3], "b": list("abcd")}), "got inf in row 1"),
    ],
)
def test_frames_that_cannot_be_used_are_refused(frame, message):
    with pytest.raises(InputError, match=message):
        make_dataset(frame, [0, 1, 0, 1])


def test_typos_are_short_slips_that_differ_from_the_text():
    for text in ("nurse", "aa", "A", "9", "über uns", ""):
        typos = [make_typo(text, v) for v in range(1, VARIANTS + 1)]
        assert text not in typos
        assert "" not in typos
        assert all(abs(len(t) - len(text)) <= 1 for t in typos)
    assert len({make_typo("nurse", v) for v in range(1, VARIANTS + 1)}) > 15
    assert make_typo(3, 1) == 3


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_frames_are_written_and_read(tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is an optional package")
    frame, y = make_people(30)
    data = make_dataset(frame, y)
    path = write_dataset(tmp_path / f"a{ending}", data.scaled(), label="risk")
    again = load(path, label="risk")
    shown = again.decode(again.x)
    assert again.labels.tolist() == y.tolist()
    assert shown["job"].isna().tolist() == frame["job"].isna().tolist()
    np.testing.assert_allclose(shown["age"], frame["age"])
    if ending == ".parquet":
        assert shown["size"].dtype == frame["size"].dtype
        assert (shown["since"] == frame["since"]).all()
    with pytest.raises(InputError, match="a frame of several kinds"):
        write_dataset(tmp_path / "a.npz", data)
    assert describe_data(data)["Columns that noise changes"] == "age, income, weight"
