"""Suites of noise in one column at a time."""

import numpy as np
import pandas as pd
import pytest

from shaketable import make_dataset
from shaketable.core.errors import InputError
from shaketable.corruptions import parse, per_feature
from shaketable.corruptions.suites.per_feature import METRIC, split_column

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50, 60],
        'net, "income"': [1.0, 2.0, np.nan, 4.0],
        "job": ["a", "b", None, "a"],
        "member": [True, False, True, True],
        "since": pd.date_range("2024-01-01", periods=4),
    }
)
Y = [0, 1, 0, 1]


def test_every_column_gets_the_noise_that_suits_it():
    suite = per_feature(make_dataset(FRAME, Y))
    assert [split_column(name) for name in suite.names] == [
        ("age", "jitter(0.5)"),
        ('net, "income"', "jitter(0.5)"),
        ("job", "swap(0.1)"),
        ("member", "swap(0.1)"),
        ("since", "jitter(0.5)"),
    ]
    assert suite.metric == METRIC
    for name in suite.names:
        assert parse(name).spec == name


ROWS = 600
RNG = np.random.default_rng(0)
STEPPED = {
    "flag": RNG.integers(0, 2, ROWS),
    "other flag": RNG.choice([-0.7, 1.4], ROWS),
    "rare flag": np.arange(ROWS) == 7,
    "rating": RNG.integers(1, 6, ROWS),
    "ten": np.arange(ROWS) % 10,
    "seldom": np.where(np.arange(ROWS) < ROWS - 11, 0, np.arange(ROWS) - ROWS + 12),
    "gaps": np.where(np.arange(ROWS) % 3, np.arange(ROWS) % 2, np.nan),
    "days": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 3, ROWS), "D"),
}
SMOOTH = {
    "eleven": np.arange(ROWS) % 11,
    "age": RNG.integers(18, 80, ROWS),
    "income": RNG.lognormal(size=ROWS),
    "constant": np.ones(ROWS),
    "empty": np.full(ROWS, np.nan),
    "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 999, ROWS), "h"),
}


@pytest.mark.parametrize("scaled", [False, True])
def test_numbers_and_dates_of_few_values_are_swapped(scaled):
    frame = pd.DataFrame(STEPPED | SMOOTH)
    for x in (frame, frame.drop(columns=["since", "days"]).to_numpy(float)):
        data = make_dataset(x, np.arange(ROWS) % 2)
        data = data.scaled() if scaled else data
        found = dict(split_column(name) for name in per_feature(data).names)
        places = list(data.features or frame.drop(columns=["since", "days"]))
        noises = dict(zip(places, found.values(), strict=True))
        for name, noise in noises.items():
            assert noise == ("swap(0.1)" if name in STEPPED else "jitter(0.5)"), name


def test_few_rows_do_not_make_few_values():
    x = np.array([[1.0, 0], [2, 0], [3, 1], [4, 1], [5, 0], [6, 0]])
    noises = [split_column(name)[1] for name in per_feature(make_dataset(x, [0, 1] * 3)).names]
    assert noises == ["jitter(0.5)", "swap(0.1)"]


def test_noise_that_is_named_replaces_the_default():
    data = make_dataset(FRAME, Y)
    names = per_feature(data, "jitter(1)", "swap(0.3)").names
    assert names[:2] == ('jitter(1, only="age")', 'swap(0.3, only="age")')
    assert [split_column(name)[0] for name in names].count("job") == 1
    plain = per_feature(make_dataset(np.zeros((4, 2)), Y), "linf(0.1)")
    assert plain.names == ('linf(0.1, only="0")', 'linf(0.1, only="1")')


def test_columns_that_must_not_change_are_left_out():
    data = make_dataset(FRAME, Y)
    kept = per_feature(data.touching(keep=["age", "job"])).names
    assert [split_column(name)[0] for name in kept] == ['net, "income"', "member", "since"]
    dates = per_feature(data.touching(only="since"), "jitter(0.5)").names
    assert dates == ('jitter(0.5, only="since")',)


def test_what_cannot_be_done_is_refused():
    data = make_dataset(FRAME, Y)
    with pytest.raises(InputError, match="one corruption without only=, got 'jitter"):
        per_feature(data, "jitter(0.5, only=age)")
    with pytest.raises(InputError, match="one corruption without only=, got 'jitter"):
        per_feature(data, "jitter(0.5) + swap(0.1)")
    with pytest.raises(InputError, match=r"is for tables, got points of shape \(2, 2\)"):
        per_feature(make_dataset(np.zeros((4, 2, 2)), Y))
    with pytest.raises(InputError, match=r"no feature of 'data' can be changed by typo\(0.1\)"):
        per_feature(make_dataset(FRAME[["age"]], Y), "typo(0.1)")
