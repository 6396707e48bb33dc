"""Faults of text and categories: how often they happen, and what they leave alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.frames import make_people
from shaketable import make_dataset
from shaketable.core.errors import InputError
from shaketable.corruptions import corrupt, parse
from shaketable.evaluation.copies import corrupted

FRAME, Y = make_people()
DATA = make_dataset(FRAME, Y)
NUMBERS, REST = ["age", "income", "weight"], ["job", "size", "member", "since"]


def show(spec, data=DATA, **options):
    return data.decode(corrupted(data, spec, **options).x)


@pytest.mark.parametrize(
    "spec", ["linf(3)", "l2(1, surface)", "gaussian(1)", "jitter(1)", "scaling(2)", "l0.5(9)"]
)
def test_noise_changes_numbers_alone_and_leaves_gaps(spec):
    noisy = show(spec)
    pd.testing.assert_frame_equal(noisy[REST], FRAME[REST])
    assert (noisy["income"].isna() == FRAME["income"].isna()).all()
    assert (noisy["age"] != FRAME["age"]).all()


def test_swaps_draw_another_value_by_its_frequency():
    x = np.repeat([0.0, 1, 2, 3], [4000, 3000, 2000, 1000])[:, None]
    swapped = corrupt(x, "swap(0.5)", rng=1)[:, 0]
    changed = swapped != x[:, 0]
    assert stats.binomtest(int(changed.sum()), len(x), 0.5).pvalue > 0.001
    for old, others in {0: [3000, 2000, 1000], 3: [4000, 3000, 2000]}.items():
        counts = np.bincount(swapped[changed & (x[:, 0] == old)].astype(int), minlength=4)
        assert counts[old] == 0
        expected = np.array(others) / sum(others) * counts.sum()
        assert stats.chisquare(np.delete(counts, old), expected).pvalue > 0.001


def test_swaps_change_categories_to_values_of_the_column():
    swapped = show("swap(1)")
    for name in ("job", "size", "member"):
        there = FRAME[name].notna()
        assert (swapped[name][there].astype(object) != FRAME[name][there].astype(object)).all()
        assert set(swapped[name].dropna()) <= set(FRAME[name].dropna())
    pd.testing.assert_frame_equal(swapped[[*NUMBERS, "since"]], FRAME[[*NUMBERS, "since"]])
    assert (swapped["job"].isna() == FRAME["job"].isna()).all()
    assert set(show("swap(1, only=since)")["since"]) <= set(FRAME["since"])


def test_typos_change_text_and_are_missing_in_categories():
    odd = show("typo(0.5)")
    there = FRAME["job"].notna()
    changed = (odd["job"] != FRAME["job"]) & there
    assert 0.3 < changed[there].mean() < 0.7
    assert not set(odd["job"][changed]) & set(FRAME["job"])
    assert 0.3 < odd["size"].isna().mean() < 0.7
    pd.testing.assert_frame_equal(odd[[*NUMBERS, "member"]], FRAME[[*NUMBERS, "member"]])


def test_missing_values_are_real_in_frames():
    odd = show("missing(0.5)")
    assert (odd.isna().mean() > 0.3).all()
    there = odd["job"].notna()
    assert (odd["job"][there] == FRAME["job"][there]).all()
    filled = show("missing(0.5, mean)")
    assert (filled.isna() == FRAME.isna()).all(axis=None)
    assert set(filled["job"].dropna()) == set(FRAME["job"].dropna())
    plain = np.arange(20.0).reshape(10, 2)
    assert np.isnan(corrupt(plain, "missing(0.5, empty)", rng=0)).any()
    assert not np.isnan(corrupt(plain, "missing(0.5)", rng=0)).any()


@pytest.mark.parametrize("kind", ["swap", "typo", "missing"])
def test_a_larger_share_contains_a_smaller_one(kind):
    few, many = (corrupted(DATA, f"{kind}({s})", draws="ladder").x for s in (0.2, 0.6))
    changed = few.astype(str) != DATA.x.astype(str)
    assert changed.any()
    assert (few.astype(str)[changed] == many.astype(str)[changed]).all()


def test_one_hot_groups_stay_valid():
    x = np.eye(3)[np.arange(60) % 3]
    data = make_dataset(np.hstack([x, np.arange(60.0)[:, None]]), np.arange(60) % 2)
    data = data.touching(one_hot=[("0", "1", "2")])
    for spec in ("swap(0.5)", "linf(1)", "swap(0.5) + jitter(1)"):
        noisy = data.decode(corrupted(data, spec).x)
        assert (np.sort(noisy[:, :3], axis=1) == [0, 0, 1]).all()
        assert (noisy != data.decode(data.x)).any()


def test_kept_columns_bounds_and_steps():
    data = DATA.touching(keep=["job", "weight"], column_bounds={"age": (18, 90)}, steps={"age": 1})
    for spec in ("linf(50)", "swap(1)", "typo(1) + jitter(9)", "missing(0.9)"):
        noisy = show(spec, data)
        pd.testing.assert_frame_equal(noisy[["job", "weight"]], FRAME[["job", "weight"]])
    noisy = show("linf(50)", data)
    assert noisy["age"].dtype == FRAME["age"].dtype
    assert (noisy["age"].min(), noisy["age"].max()) == (18, 90)
    only = show("linf(1)", DATA.touching(only=["since", "job"]))
    pd.testing.assert_frame_equal(only.drop(columns="since"), FRAME.drop(columns="since"))
    assert ((only["since"] - FRAME["since"]).abs() <= pd.Timedelta("1D")).all()
    assert (only["since"] != FRAME["since"]).any()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("linf(1, only=job)", "numbers, dates, but column 'job' holds text"),
        ("typo(0.1, only=age)", "text, categories, but column 'age' holds numbers"),
        ("swap(0.1, only=size)", "column 'size', which is kept as it is"),
        ("swap(2)", "lie in"),
        ("missing(0.1, median)", "unknown fill of missing 'median'"),
    ],
)
def test_messages(spec, message):
    with pytest.raises(InputError, match=message):
        show(spec, DATA.touching(keep="size"))


def test_data_without_suitable_columns_are_refused():
    with pytest.raises(InputError, match="is for tables with text"):
        corrupt(np.zeros((2, 2)), "typo(0.1)")
    for spec in ("swap(0.1)", "typo(0.1)"):
        with pytest.raises(InputError, match=r"is for tables, got points of shape \(8, 8\); leave"):
            corrupt(np.zeros((5, 8, 8)), spec)
    with pytest.raises(InputError, match="got a data frame with others; use corrupted"):
        corrupt(FRAME, "typo(0.1)")
    with pytest.raises(InputError, match="have none that may change"):
        show("swap(0.1)", DATA.touching(only="age"))
    with pytest.raises(InputError, match="must be known first"):
        parse("swap(0.1)")(np.zeros((2, 2)), np.arange(2, dtype=np.uint64))


def test_a_range_of_values_is_that_of_numbers():
    frame = pd.DataFrame({"share": np.linspace(0, 1, 30), "word": list("abcdef") * 5})
    data = make_dataset(frame, np.arange(30) % 2)
    for spec in ("missing(0.3)", "swap(0.3)", "linf(1)"):
        noisy = show(spec, data, bounds=(0, 1))
        assert noisy["share"].dropna().between(0, 1).all()
        assert set(noisy["word"].dropna()) == set("abcdef")
    with pytest.raises(InputError, match="must lie in the bounds"):
        show("linf(1)", data, bounds=(0, 0.5))
