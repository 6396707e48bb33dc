"""An audit names what eps_min depends on, by the rows of the source."""

import numpy as np
import pytest

from shaketable import InputError, make_dataset, separation
from shaketable.data.dataset import Dataset
from shaketable.separations.audit import audit
from shaketable.separations.one_nn import one_nn
from shaketable.separations.separation import rank_class_pairs
from shaketable.separations.view import describe_one_nn


def line(x: list[float], y: str, n_train: int | None = None) -> Dataset:
    return make_dataset(x, list(y), name="line", n_train=n_train)


def test_pairs_come_in_order_with_what_is_left_without_them() -> None:
    data = line([0, 1, 4, 9], "abab")
    report = audit(separation(data), data)
    assert [p.rows for p in report.pairs] == [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert [p.classes for p in report.pairs[:2]] == [("a", "b"), ("b", "a")]
    assert [p.epsilon_min_without for p in report.pairs] == [1.5, 2.5, 4.5, None]
    assert [p.distance for p in audit(separation(data), data, closest=2).pairs] == [1, 3]


def test_a_mislabelled_point_stands_out() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[30:] += 20
    y = np.repeat(["near", "far"], 30)
    y[7] = "far"
    data = make_dataset(x, y, name="two clouds")
    report = audit(separation(data), data)
    assert report.frequent == [(7, "far", 10)]
    assert "row 7 ('far') is in 10 of these 10 pairs" in report.outliers[0]


def test_opponents_that_coincide_count_once() -> None:
    data = line([0, 1, 1, 1, 1, 9, 12], "abbbbab")
    report = audit(separation(data, closest=4), data)
    assert {p.rows[0] for p in report.pairs} == {0}
    assert report.frequent == []


def test_duplicates_are_counted_within_and_across_parts() -> None:
    x = [0.0, 5, 0, 5, 7, 7, 9, 0]
    data = line(x, "ababbbaa")
    report = audit(separation(data), data).duplicates
    assert (report.groups, report.points, report.across) == (3, 7, None)
    assert report.first == [[0, 2, 7], [1, 3], [4, 5]]
    split = line(x, "ababbbaa", n_train=5)
    report = audit(separation(split), split).duplicates
    assert (report.groups, report.across) == (3, 2)
    assert "rows 0, 2 and 7; rows 1 and 3" in str(report)
    assert "training and the test part: 2 groups" in str(report)


def test_what_was_left_out_is_named_by_source_row() -> None:
    before = line([0, 0, 3, 5, 5, 9], "ababba")
    data = before.drop_clashes()
    report = audit(separation(data), data, before=before)
    assert report.clashes == [((0, "a"), (1, "b"))]
    assert "2 points were left out" in report.left_out
    assert report.pairs[0].rows == (2, 3)
    assert report.duplicates.first == [[3, 4]]
    assert audit(separation(data), data).left_out == ""


def test_data_of_another_separation_are_refused() -> None:
    data = line([0, 1, 4], "aba")
    with pytest.raises(InputError, match="those of the separation"):
        audit(separation(data), line([0, 1], "ab"))


def test_class_pairs_that_are_not_known_are_none() -> None:
    assert rank_class_pairs(["a", "b"], None) == []


def test_one_nn_sentence_has_ranges_only_where_there_are_ties() -> None:
    train = [0.0, 2.0, 9.0], ["a", "b", "b"]
    tied = one_nn(train, ([1.0, 8.0], ["a", "b"]))
    assert "50.00% to 100.00% of 2 test points" in describe_one_nn(tied)
    plain = one_nn(train, ([0.5, 8.0], ["a", "b"]))
    assert describe_one_nn(plain).startswith("100.00% of 2 test points")
