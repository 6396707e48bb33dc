"""Suites of noise in one column at a time."""

import numpy as np
import pandas as pd
import pytest

from shaketable import make_dataset, per_feature
from shaketable.core.errors import InputError
from shaketable.corruptions import parse
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
    ]
    assert suite.metric == METRIC
    for name in suite.names:
        assert parse(name).spec == name


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
    assert [split_column(name)[0] for name in kept] == ['net, "income"', "member"]
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
