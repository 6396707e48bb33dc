"""Data frames as numbers and back: every value and every type comes back."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.frames import make_people
from shaketable import load, make_dataset
from shaketable.core.errors import InputError, speak_of_flags
from shaketable.data.arrays import join
from shaketable.data.facts import describe_data
from shaketable.data.frames.columns import VARIANTS, make_typo
from shaketable.data.frames.schema import read_frame
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


def test_dates_count_from_the_first_and_durations_from_0():
    days = np.array([3, 1.5, math.nan, 4])
    frame = pd.DataFrame(
        {
            "span": pd.to_timedelta(days, unit="D"),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "none": pd.Series([pd.NaT] * 4, dtype="datetime64[ns]"),
        }
    )
    data = make_dataset(frame, [0, 1, 0, 1])
    expected = np.column_stack([days, days - 1.5, np.full(4, math.nan)])
    np.testing.assert_array_equal(data.x, expected)


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


def test_whole_numbers_are_floats_wherever_noise_comes_late():
    schema, x = read_frame(pd.DataFrame({"a": range(200), "b": range(200)}))
    x[150, 0] += 0.5
    shown = schema.decode(x)
    assert shown.dtypes.astype(str).tolist() == ["float64", "int64"]
    assert shown["a"][150] == 150.5


def test_plain_numbers_are_no_table_and_keep_their_fingerprint():
    x, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    frame = pd.DataFrame(x.astype(int), columns=["a", "b"])
    data, same = make_dataset(frame, y), make_dataset(x, y)
    assert data.table is None
    assert data.fingerprint == same.fingerprint == "df3f099573da0ba3b34eb8cb459019b9"
    assert make_dataset(frame.assign(a=[np.nan, 1, 2, 3]), y).table is not None


@pytest.mark.parametrize(
    ("choice", "fingerprint"),
    [
        ({"keep": "a"}, "223f4963157453c5f25d420625ee2b11"),
        ({"steps": {"a": 2}, "column_bounds": {"a": (0, 9)}}, "6d954f654132f9ee27be14abc03b1f18"),
        ({"one_hot": [["c", "d"]]}, "706dc91292b35983789e5281b5aae226"),
        ({"only": ["a", "c", "d"], "others": "gower"}, "33d588a2dbff1a2c5290a20603f369d2"),
    ],
)
def test_a_frame_of_numbers_with_chosen_columns_has_the_fingerprint_of_an_array(
    choice, fingerprint
):
    x = np.array([[0.0, 1, 0], [2, 0, 1], [4, 0, 0], [6, 1, 0]])
    frame = pd.DataFrame(x.astype(int), columns=list("acd"))
    data = make_dataset(frame, [0, 1, 0, 1]).touching(**choice)
    array = make_dataset(x, [0, 1, 0, 1], features=tuple("acd")).touching(**choice)
    assert data.fingerprint == array.fingerprint == fingerprint
    pd.testing.assert_frame_equal(data.decode(data.x), frame)


def test_a_frame_of_numbers_is_a_frame():
    frame = pd.DataFrame({"n": np.arange(6), 1: np.linspace(0, 1, 6, dtype=np.float32)})
    y = [0, 1] * 3
    data = make_dataset(frame, y)
    pd.testing.assert_frame_equal(data.decode(data.x), frame)
    shown = data.decode(data.x)
    shown.loc[0, "n"] = 99
    assert data.x[0, 0] == 0
    moved = data.decode(data.x + 0.25)
    assert moved.dtypes.astype(str).tolist() == ["float64", "float32"]
    joined = join((frame[:4], y[:4]), make_dataset(frame[4:], y[4:]))
    pd.testing.assert_frame_equal(joined.decode(joined.x), frame)
    half = join((frame[:4], y[:4]), (frame[4:].to_numpy(), y[4:]))
    assert isinstance(half.decode(half.x), np.ndarray)
    named = make_dataset(frame, y, features=("a", "b"))
    assert list(named.decode(named.x)) == list(named.touching(keep="b").features) == ["a", "b"]


def test_gaps_make_a_frame_of_numbers_a_table(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40)})
    data = make_dataset(frame, [0, 1] * 20)
    holes = corrupted(data, "missing(0.3)")
    assert data.table is None
    assert holes.table is not None
    assert 5 < np.isnan(holes.x).sum() < 45
    again = load(write_dataset(tmp_path / "a.csv", holes, label="y"), label="y")
    np.testing.assert_array_equal(again.x, holes.x)
    whole = np.load(write_dataset(tmp_path / "a.npz", data))
    np.testing.assert_array_equal(whole["x"], frame)


TEXT = gaps(["nurse", "chef"] * 6, object)
DAYS = pd.Series(pd.date_range("2020-01-01", periods=N, freq="31h17min"))
SAME = {
    "text": [gaps(["nurse", "chef"] * 6, kind) for kind in (object, "str", "string[python]")],
    "arrow text": [gaps(["nurse", "chef"] * 6, kind) for kind in (object, "string[pyarrow]")],
    "category": [
        TEXT.astype(pd.CategoricalDtype(pd.Index(["chef", "nurse"], dtype=kind)))
        for kind in (object, "str", "string[python]")
    ],
    "whole": [COLUMNS["Int64"], COLUMNS["Int64"].astype("int64[pyarrow]")],
    "number": [COLUMNS["Float64"].astype(kind) for kind in ("float64", "Float64")],
    "boolean": [COLUMNS["bool"], COLUMNS["bool"].astype("boolean")],
    "date": [DAYS.astype(f"datetime64[{unit}]") for unit in ("ns", "us", "s")],
    "zone": [DAYS.dt.tz_localize("UTC").astype(f"datetime64[{u}, UTC]") for u in ("ns", "us")],
    "span": [pd.to_timedelta(np.arange(N) * 977, "s").astype(f"m8[{u}]") for u in ("ns", "ms")],
}


@pytest.mark.parametrize("kind", SAME)
def test_content_decides_not_the_type_that_holds_it(kind):
    if "arrow" in "".join(str(series.dtype) for series in SAME[kind]):
        pytest.importorskip("pyarrow", reason="pyarrow is an optional package")
    other = pd.Series(["x", "y", "x"] * 4)
    data = [make_dataset(pd.DataFrame({"a": s, "b": other}), CODES) for s in SAME[kind]]
    types = {getattr(s.dtype, "categories", s).dtype for s in SAME[kind]}
    assert len(set(map(repr, types))) > 1
    assert len({d.fingerprint for d in data}) == 1
    noisy = [corrupted(d, "missing(0.4)").x for d in data]
    np.testing.assert_array_equal(noisy[0], noisy[-1])


def test_contents_that_differ_have_other_fingerprints():
    zones = ["UTC", "Europe/Berlin"]
    days = [DAYS, DAYS + pd.Timedelta("1s"), *(DAYS.dt.tz_localize(zone) for zone in zones)]
    columns = [*days, TEXT, TEXT.replace("chef", "cook"), TEXT.astype("category")]
    columns += [COLUMNS["float32"], COLUMNS["float32"].astype(float), COLUMNS["bool"]]
    frames = [pd.DataFrame({"a": column, "b": list("xyx") * 4}) for column in columns]
    assert len({make_dataset(frame, CODES).fingerprint for frame in frames}) == len(columns)


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


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "step", "ends"),
    [
        (0, 35, 10, (0, 30)),
        (0, 79.5, 1, (0, 79)),
        (0, 80, 10, (0, 80)),
        (-5, 44, 7, (-5, 44)),
        (-math.inf, 35, 10, (-math.inf, 30)),
        (0.1, 0.7, 0.1, (0.1, 0.7)),
    ],
)
def test_values_are_clipped_to_the_first_and_last_step(low, high, step, ends, scaled):
    start = low if math.isfinite(low) else 0
    values = start + step * np.arange(4)
    frame = pd.DataFrame({"a": np.repeat(values, 10), "b": list("xy") * 20})
    data = make_dataset(frame, [0, 0, 1, 1] * 10)
    data = data.touching(column_bounds={"a": (low, high)}, steps={"a": step})
    data = data.scaled() if scaled else data
    far = corrupted(data, "linf(999, only=a)", bounds=None).x
    shown = (data.table.raw or data.table).decode(data.scaling.undo(far) if scaled else far)
    steps = (shown["a"] - start) / step
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)
    assert shown["a"].dtype == frame["a"].dtype
    assert shown["a"].max() == pytest.approx(ends[1])
    if math.isfinite(ends[0]):
        assert shown["a"].min() == pytest.approx(ends[0])


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
    apart = make_dataset(x[1:], [0, 1], features=("r", "n", "b", "m")).touching(
        one_hot=[("r", "b")]
    )
    assert apart.schema.flat_names == ("r", "n", "b", "m")
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


def test_a_column_that_numbers_the_rows_is_noted_and_other_whole_numbers_are_not():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"job": ["a", "b"] * 15, "age": rng.integers(0, 90, 30)})
    y = [0, 1, 1] * 10
    assert not any("number the rows" in note for note in make_dataset(frame, y).notes())
    numbered = make_dataset(frame.assign(**{"Unnamed: 0": rng.permutation(30) + 1}), y)
    for data in (numbered, numbered.scaled()):
        (note,) = [note for note in data.notes() if "number the rows" in note]
        assert note.startswith("'Unnamed: 0' seems")
        assert ".drop(columns='Unnamed: 0')" in note
        with speak_of_flags():
            assert any("--column 'Unnamed: 0=drop' leaves it out" in note for note in data.notes())


def test_the_note_on_whole_numbers_names_the_step_in_the_words_of_its_reader():
    frame = pd.DataFrame({"my age": [1, 2, 3], "n": [4, 5, 6], "job": ["a", "b", "c"]})
    data = make_dataset(frame, [0, 1, 0])
    assert data.notes()[-1].endswith("in 'my age', n; steps={'my age': 1} keeps them whole")
    with speak_of_flags():
        assert data.notes()[-1].endswith("; --column 'my age=step 1' keeps them whole")
