"""Groups of rows by the values of a column."""

import numpy as np
import pandas as pd
import pytest

from shaketable import load, make_dataset
from shaketable.core.errors import InputError
from shaketable.data.arrays import join
from shaketable.data.groupings import MAX_GROUPS, make_grouping


@pytest.mark.parametrize(
    ("values", "labels", "codes"),
    [
        (["m", "f", "m"], ("f", "m"), [1, 0, 1]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
        ([10, 9, 10], ("9", "10"), [1, 0, 1]),
        ([2019001, 2019002, 2019001], ("2019001", "2019002"), [0, 1, 0]),
        ([0.12345671, 0.12345672], ("0.12345671", "0.12345672"), [0, 1]),
        (np.array([0.1, 0.25], np.float32), ("0.1", "0.25"), [0, 1]),
        ([0.5, np.nan, 0.25], ("0.25", "0.5", "missing"), [1, 2, 0]),
        (["m", None, "f"], ("f", "m", "missing"), [1, 2, 0]),
        (pd.Series([2, None, 1], dtype="Int64"), ("1", "2", "missing"), [1, 2, 0]),
        (pd.Series([True, None], dtype="boolean"), ("True", "missing"), [0, 1]),
        (pd.Series(["b", "a", None], dtype="category"), ("a", "b", "missing"), [1, 0, 2]),
        (pd.Series([2, 10, 2], dtype="category"), ("2", "10"), [0, 1, 0]),
        (pd.to_datetime(["2024-02-01", "2023-05-06"]), ("2023-05-06", "2024-02-01"), [1, 0]),
        ([None, None], ("missing",), [0, 0]),
    ],
)
def test_every_value_is_a_group_and_missing_values_are_the_last(values, labels, codes):
    grouping = make_grouping("column", values)
    assert grouping.labels == labels
    assert grouping.codes.tolist() == codes


def test_many_numbers_are_cut_into_quarters():
    rng = np.random.default_rng(0)
    values = rng.permutation(100)
    grouping = make_grouping("age", values)
    assert grouping.labels == ("0 to 24", "25 to 49", "50 to 74", "75 to 99")
    np.testing.assert_array_equal(grouping.codes, values // 25)


def test_equal_numbers_stay_together():
    grouping = make_grouping("gain", [0.0] * 80 + [float(i) for i in range(1, 21)])
    assert grouping.labels == ("0", "1 to 20")
    assert np.bincount(grouping.codes).tolist() == [80, 20]
    top = make_grouping("gain", [20] * 80 + list(range(20)))
    assert top.labels == ("0 to 19", "20")


def test_many_dates_are_cut_into_quarters():
    grouping = make_grouping("day", pd.date_range("2024-01-01", periods=40, tz="UTC"))
    assert grouping.labels[0] == "2024-01-01 to 2024-01-10"
    assert np.bincount(grouping.codes).tolist() == [10] * 4


def test_a_column_with_too_many_texts_is_refused():
    with pytest.raises(InputError, match=f"column 'id' must have at most {MAX_GROUPS} groups"):
        make_grouping("id", [f"row {i}" for i in range(MAX_GROUPS + 1)])


def test_a_column_of_a_table_can_be_a_group_without_being_a_feature(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,sex,y\n1,2,f,no\n3,4,m,yes\n5,6,f,no\n")
    data = load(path, label="y", by="sex", non_numeric="drop")
    assert data.features == ("a", "b")
    (grouping,) = data.groupings
    assert (grouping.labels, grouping.codes.tolist()) == (("f", "m"), [0, 1, 0])
    with pytest.raises(InputError, match=r"unknown column 'sx'; did you mean 'sex'"):
        load(path, label="y", by="sx", non_numeric="drop")
    with pytest.raises(InputError, match="column 'y' holds the classes, which are always groups"):
        load(path, label="y", by=["y"], non_numeric="drop")


def test_groups_follow_their_rows():
    data = make_dataset([[0.0], [1.0], [0.0], [2.0], [3.0]], list("abbab"))
    grouped = data.grouped({"sex": list("fmfmx")}).drop_clashes()
    (grouping,) = grouped.groupings
    assert [grouping.labels[code] for code in grouping.codes] == ["m", "m", "x"]
    assert data.grouped({"sex": list("fmfmx")}).fingerprint == data.fingerprint


def test_features_are_grouped_in_their_own_units_by_name():
    frame = pd.DataFrame({"age": [30, 40, 30], "b": [0.0, 1.0, 2.0]})
    data = make_dataset(frame, [0, 1, 0]).scaled().grouped("age")
    assert data.groupings[0].labels == ("30", "40")
    assert [g.name for g in data.grouped(["b"]).groupings] == ["age", "b"]
    with pytest.raises(InputError, match="the features have no names"):
        make_dataset([[0.0], [1.0]], [0, 1]).grouped("age")


def test_one_value_per_row_is_needed():
    data = make_dataset([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="'sex' to group by must have one value per row, got 3 "):
        data.grouped({"sex": ["f", "m", "f"]})
    grouped = data.grouped({"sex": ["f", "m"]})
    with pytest.raises(InputError, match="train must be neither split nor scaled nor grouped"):
        join(grouped, data)
