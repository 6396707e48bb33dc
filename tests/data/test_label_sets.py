"""Several labels per point: sets of them are classes, in arrays and in tables."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from shaketable.core.errors import InputError, UndefinedError
from shaketable.data.arrays import join
from shaketable.data.label_sets import LabelSets


@pytest.fixture
def points():
    rng = np.random.default_rng(5)
    return rng.normal(size=(50, 3)), rng.integers(0, 2, (50, 4))


def test_classes_are_the_sets_that_occur(points):
    x, y = points
    data = st.make_dataset(x, y)
    assert data.label_names == ("0", "1", "2", "3")
    assert len(data.classes) == len(np.unique(y, axis=0))
    np.testing.assert_array_equal(data.label_sets.indicate(data.y), y)
    np.testing.assert_array_equal(data.label_sets.encode(y), data.y)
    for kind in (y.astype(bool), y.astype(float), y.tolist(), y.astype(object)):
        assert st.make_dataset(x, kind).fingerprint == data.fingerprint
    named = st.make_dataset(x, pd.DataFrame(y, columns=list("abcd")))
    assert named.label_names == tuple("abcd")
    i = int(np.flatnonzero((y == [1, 0, 1, 0]).all(axis=1))[0])
    assert named.labels[i] == "a + c"
    np.testing.assert_array_equal(named.label_sets.indicate(named.y), y)


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_opponents_differ_in_any_label(points, p):
    x, y = points
    found = st.separation(x, y, norm=p)
    pairs = {
        (i, j): np.linalg.norm(x[i] - x[j], p)
        for i, j in itertools.combinations(range(50), 2)
        if set(np.flatnonzero(y[i])) != set(np.flatnonzero(y[j]))
    }
    assert found.two_r == pytest.approx(min(pairs.values()), rel=1e-12)
    assert found.pair == min(pairs, key=pairs.get)
    for i in range(50):
        mine = [d for pair, d in pairs.items() if i in pair]
        assert found.nearest[i] == pytest.approx(min(mine), rel=1e-12)


def test_equal_points_with_other_labels_clash(points):
    x, y = points
    x[7], y[7], y[3] = x[3], [1, 1, 0, 0], [1, 0, 0, 0]
    x[9], y[9] = x[8], y[8]
    with pytest.raises(UndefinedError, match=r"rows \(3, 7\);"):
        st.separation(x, y)
    left = st.make_dataset(x, y).drop_clashes()
    assert set(range(50)) - set(left.kept.tolist()) == {3, 7}
    assert st.separation(left).two_r > 0


def test_sets_stay_with_samples_parts_and_joined_data(points):
    x, y = points
    data = st.make_dataset(x, y)
    for other in (data.sample(30), data.scaled(), data.drop_clashes()):
        expected = y if other.kept is None else y[other.kept]
        np.testing.assert_array_equal(other.label_sets.indicate(other.y), expected)
    whole = join((x[:30], y[:30]), (x[30:], y[30:]))
    np.testing.assert_array_equal(whole.label_sets.indicate(whole.y), y)
    again = join(st.make_dataset(x[:30], y[:30]), st.make_dataset(x[30:], y[30:]))
    assert again.fingerprint == whole.fingerprint
    with pytest.raises(InputError, match="same labels"):
        join((x[:30], y[:30]), (x[30:], y[30:, :3]))
    with pytest.raises(InputError, match="same labels"):
        join((x[:30], y[:30]), (x[30:], y[30:, 0]))


def test_many_rare_sets_are_no_reason_to_refuse_a_small_test_part():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.integers(0, 2, (60, 6))
    train, test = st.make_dataset(x, y).parts()
    assert len(np.unique(y, axis=0)) > 30
    assert (len(train), len(test)) == (48, 12)


def test_results_say_that_accuracy_is_exact_match(points):
    note = "an answer is right if all of them are (exact-match accuracy)"
    assert any(note in n for n in st.make_dataset(*points).notes())
    records = st.evaluate(lambda x: np.ones((len(x), 4)), points, "linf(0.1)")
    assert any(note in n for n in records.notes)


def test_one_hot_rows_are_no_sets_unless_named():
    eye = np.eye(3)[[0, 1, 2, 0]]
    with pytest.raises(InputError, match=r"give y.argmax\(axis=1\)"):
        st.make_dataset(np.arange(4), eye)
    with pytest.raises(InputError, match=r"give y.argmax\(axis=1\)"):
        join((np.arange(4), eye), (np.arange(4), eye))
    assert join((np.arange(4), eye), (np.arange(4), 1 - eye)).label_names == ("0", "1", "2")
    named = st.make_dataset(np.arange(4), eye, label_names=("a", "b", "c"))
    assert named.labels.tolist() == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("y", "names", "message"),
    [
        ([[0, 2], [1, 1]], None, "must hold 0 and 1, one column per label"),
        ([[0.0, np.nan], [1, 1]], None, "must hold 0 and 1, one column per label"),
        ([["a", "b"], ["a", "c"]], None, "must hold 0 and 1, one column per label"),
        ([[0, 1], [1, 1]], ["a"], "label_names must name every column"),
        ([[0, 1], [1, 1]], ["a", "a"], "names of labels must differ"),
        ([[0, 1], [1, 1]], ["a", "b + c"], "must not hold ' + '"),
        ([[0, 1], [1, 1]], ["a", "no label"], "must not be empty or 'no label'"),
        (["a", "a + d"], ["a", "b"], "must be made of a, b, got 'd'"),
    ],
)
def test_what_is_no_set_is_refused(y, names, message):
    with pytest.raises(InputError, match=re.escape(message)):
        st.make_dataset([[1.0], [2.0]], y, label_names=names)


def test_sets_without_labels_are_a_class():
    sets = LabelSets.of(("a", "b"), ("a", "a + b", "no label"))
    assert sets.members.tolist() == [[True, False], [True, True], [False, False]]
    assert sets.encode(np.array([[0, 0], [0, 1]])).tolist() == [2, -1]


def test_tables_hold_labels_in_columns_or_in_one(points, tmp_path):
    x, y = points
    names = ["sea", "sun", "far, off", "NA"]
    expected = st.make_dataset(pd.DataFrame(x, columns=list("uvw")), pd.DataFrame(y, columns=names))
    frame = pd.DataFrame(x, columns=list("uvw"))
    pd.concat([frame, pd.DataFrame(y, columns=names)], axis=1).to_csv(
        tmp_path / "a.csv", index=False
    )
    for label in (names, r"sea,sun,far\, off,NA"):
        data = st.load(tmp_path / "a.csv", label=label)
        assert (data.fingerprint, data.label_names) == (expected.fingerprint, tuple(names))
        assert data.features == ("u", "v", "w")
    tags = [" ;".join(n for n, there in zip(names, row, strict=True) if there) for row in y]
    frame.assign(tags=tags).to_csv(tmp_path / "b.csv", index=False)
    data = st.load(tmp_path / "b.csv", label="tags", label_separator=";")
    assert data.label_names == tuple(sorted(names))
    order = [data.label_names.index(name) for name in names]
    np.testing.assert_array_equal(data.label_sets.indicate(data.y)[:, order], y)
    gaps = frame.assign(tags=pd.Series(tags).mask(pd.Series(tags) == ""))
    gaps.to_parquet(tmp_path / "b.parquet")
    again = st.load(tmp_path / "b.parquet", label="tags", label_separator=";")
    assert again.fingerprint == data.fingerprint
    frame.assign(tags=1.5).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match="must be text, got 1.5"):
        st.load(tmp_path / "c.parquet", label="tags", label_separator=";")
    whole = st.load(tmp_path / "a.csv", test=tmp_path / "a.csv", label=names)
    assert (whole.n, whole.n_train) == (100, 50)


def test_errors_about_columns_of_labels_name_them(points, tmp_path):
    x, y = points
    path = tmp_path / "a.csv"
    frame = pd.DataFrame(x, columns=list("uvw")).assign(sea=y[:, 0], sun=y[:, 1] * 2)
    frame.to_csv(path, index=False)
    for options, message in [
        ({"label": "sea,sun"}, "column 'sun' must hold 0 and 1, as one of several labels, got 2"),
        ({"label": "sea,moon"}, "unknown label column 'moon'"),
        ({"label": "sea,sun", "label_separator": ";"}, "label_separator is for labels in one"),
        ({"label_separator": ";"}, "label_separator needs label"),
        ({"label": "sea", "label_separator": ""}, "label_separator must be a text"),
        ({"label": "sea,sun", "drop": "sun"}, "column 'sun' holds the classes"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            st.load(path, **options)
    with pytest.raises(InputError, match="label"):
        st.load("iris", label="a", label_separator=";")


def test_arrays_in_files_hold_sets(points, tmp_path):
    x, y = points
    np.savez(tmp_path / "a.npz", x=x, y=y)
    assert st.load(tmp_path / "a.npz").fingerprint == st.make_dataset(x, y).fingerprint
