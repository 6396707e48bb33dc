"""Limits and choices of columns, against what brute force says."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.frames import make_people
from shaketable import make_dataset
from shaketable.data.frames.columns import make_typo
from shaketable.data.frames.schema import find_strata, read_frame, schema_of_array

LIMITS = [(0, 35, 10), (-3, 4.5, 0.5), (0.25, 1, 0.25), (-1, 1, 0), (-math.inf, 7, 2), (2, 9, 3)]


def limit(x, low, high, step):
    """Schema of one column with these limits."""
    schema = schema_of_array(np.zeros((1, 1)), ["a"])
    start = low if math.isfinite(low) else 0.0
    return schema.with_limits(
        np.array([[start]]),
        {"a": (low, high)},
        {"a": step} if step else {},
    ).enforce(x)


@pytest.mark.parametrize(("low", "high", "step"), LIMITS)
def test_values_are_the_nearest_on_the_grid_within_the_bounds(low, high, step):
    rng, least = np.random.default_rng(0), max(low, -20)
    x = np.append(rng.uniform(least - 3, high + step / 2, 500), [high, least])
    x = x[x < high + step / 2 - 1e-9] if step else np.append(x, [high + 9, low - 9])
    found = limit(x[:, None], low, high, step)[:, 0]
    assert found.min() >= low
    assert found.max() <= high
    if not step:
        np.testing.assert_array_equal(found, np.clip(x, low, high))
        return
    first = low if math.isfinite(low) else 0.0
    steps = (found - first) / step
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)
    grid = first + step * np.arange(-100, 101)
    grid = grid[(grid >= low) & (grid <= high + 1e-9)]
    np.testing.assert_allclose(np.abs(found - x), np.abs(x[:, None] - grid).min(axis=1), atol=1e-9)


def test_columns_without_limits_and_missing_values_stay_as_they_are():
    x = np.array([[0.3, 7.7, np.nan], [2.2, -5.0, 1.4]], np.float32)
    schema = schema_of_array(x, ["a", "b", "c"])
    assert schema.enforce(x) is x
    limited = schema.with_limits(
        np.array([[0.0, 0, np.nan], [2, 0, 1]]), {"a": (0, 2)}, {"a": 1, "c": 1}
    )
    found = limited.enforce(x)
    np.testing.assert_array_equal(found, np.array([[0, 7.7, np.nan], [2, -5, 1]], np.float32))
    assert found.dtype == np.float32


def test_limits_are_scaled_with_the_data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"n": np.arange(-3, 37, 2), "w": list("ab") * 10, "m": rng.random(20)})
    raw = make_dataset(frame, np.arange(20) % 2)
    raw = raw.touching(steps={"n": 2}, column_bounds={"n": (-3, 41), "m": (-1, 2)})
    data = raw.scaled()
    moved = data.x + rng.uniform(-0.2, 0.02, data.x.shape) * [1, 0, 1]
    expected = raw.table.enforce(data.scaling.undo(moved))
    np.testing.assert_allclose(data.scaling.undo(data.table.enforce(moved)), expected, atol=1e-9)


CHOICES = {
    "nothing": ({}, "age income job size member since weight", "age income weight"),
    "only": ({"only": ["age", "job"]}, "age job", "age"),
    "a date": ({"only": ["since", "age"]}, "age since", "age since"),
    "keep": ({"keep": ["age", "size"]}, "income job member since weight", "income weight"),
    "both": ({"only": ["age", "job"], "keep": "size"}, "age job", "age"),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_say_what_may_change_and_what_noise_moves(choice):
    options, touched, moved = CHOICES[choice]
    table = make_dataset(*make_people(30)).touching(**options).table
    assert [c.name for c in table.columns if c.touched] == touched.split()
    assert [c.name for c in table.columns if c.moved] == moved.split()
    np.testing.assert_array_equal(table.moved, [c.moved for c in table.columns])


def test_everything_that_decides_about_a_column_is_in_the_fingerprint():
    frame, y = make_people(40)
    frame = frame.assign(age=frame["age"] // 2 * 2)
    base = make_dataset(frame, y)
    renamed = make_dataset(frame.rename(columns={"age": "years"}), y)
    later = make_dataset(frame.assign(since=frame["since"] + pd.Timedelta("1D")), y)
    order = frame["size"].cat.reorder_categories(["m", "s", "l", "xl"])
    labelled = make_dataset(frame.assign(size=frame["size"].cat.rename_categories({"s": "S"})), y)
    others = [
        renamed,
        later,
        labelled,
        make_dataset(frame.assign(size=order), y),
        make_dataset(frame.assign(member=frame["member"].astype(str)), y),
        base.touching(only=["age", "income"]),
        base.touching(only=["age", "income", "weight"]),
        base.touching(keep="age"),
        base.touching(keep="job"),
        base.touching(others="gower"),
        base.touching(steps={"age": 1}),
        base.touching(steps={"age": 2}),
        base.touching(column_bounds={"age": (0, 100)}),
        base.touching(column_bounds={"age": (0, 101)}),
        base.touching(column_bounds={"age": (-1, 100)}),
        base.touching(column_bounds={"weight": (0, 100)}),
    ]
    prints = [base.fingerprint, *(data.fingerprint for data in others)]
    assert len(set(prints)) == len(prints)
    assert make_dataset(frame.copy(), y).touching(others="agree").fingerprint == prints[0]


def test_strata_are_the_rows_that_agree_in_all_that_is_held():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (60, 4)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    free = np.array([True, False, True, False])

    def agree(a, b, gapped):
        held = all(
            p == q or (math.isnan(p) and math.isnan(q))
            for p, q in zip(a[~free], b[~free], strict=True)
        )
        return held and (np.isnan(a[gapped]) == np.isnan(b[gapped])).all()

    for gapped in (None, np.array([True, False, False, False]), np.zeros(4, bool)):
        strata = find_strata(x, free, gapped)
        where = free if gapped is None else gapped
        for i in range(60):
            expected = [agree(x[i], x[j], where) for j in range(60)]
            assert (strata == strata[i]).tolist() == expected


def test_places_beyond_the_values_are_typos_of_them():
    frame = pd.DataFrame({"t": ["nurse", "chef", "nurse"], "c": pd.Categorical(["a", "b", "a"])})
    schema, x = read_frame(frame)
    x[:, 0] += [2 * 5, 2 * 7, 0]  # variants 5 and 7 of two values
    x[0, 1] = 2  # beyond the categories
    shown = schema.decode(x)
    assert shown["t"].tolist() == [make_typo("nurse", 5), make_typo("chef", 7), "nurse"]
    assert shown["c"].isna().tolist() == [True, False, False]
    x[1, 0] = np.nan
    assert schema.decode(x)["t"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("names", "group"),
    [
        (["c_red", "c_blue"], "c"),
        (["red", "blue"], "red|blue"),
        (["town=Ulm", "town=Bonn"], "town"),
        (["ab1", "ab2"], "ab"),
    ],
)
def test_groups_of_columns_are_named_by_what_they_share(names, group):
    frame = pd.DataFrame(np.eye(2, 3)[[0, 1, 0]], columns=[*names, "n"])
    data = make_dataset(frame, [0, 1, 0]).touching(one_hot=[names])
    assert data.features == (group, "n")
    assert data.table.columns[0].values == tuple(names)
    np.testing.assert_array_equal(np.asarray(data.decode(data.x)), frame.to_numpy())


def test_only_frames_and_groups_of_columns_are_decoded():
    x = np.eye(3)
    assert not schema_of_array(x, None).decodes
    assert not make_dataset(x, [0, 1, 0]).touching(keep="0").table.decodes
    assert make_dataset(x, [0, 1, 0]).touching(one_hot=[("0", "1")]).table.decodes
    assert make_dataset(*make_people(20)).table.decodes


def test_names_of_features_are_kept_as_they_were_given():
    for names in (["a", "b"], ("a", "b"), np.array(["a", "b"]), iter("ab")):
        assert make_dataset(np.eye(2), [0, 1], features=names).features == ("a", "b")
