"""Worst cases in tables: only columns of numbers move, and all others are held."""

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.frames import make_people, make_pipeline_for_people
from shaketable.adversary.target import Target
from shaketable.adversary.worst_case import worst_case
from shaketable.core.errors import InputError
from shaketable.views.blocks import Table

FRAME, Y = make_people(120)
FRAME = FRAME.drop(columns="since")
DATA = st.make_dataset(FRAME, Y)
MOVED = ["age", "income", "weight"]


def threshold(frame):
    old = frame["age"] + 20 * (frame["job"] == "nurse") > 55
    return np.where(old, "yes", "no")


@pytest.fixture(scope="module")
def found():
    data = DATA.touching(only=["age", "income"], column_bounds={"age": (18, 90)}, steps={"age": 1})
    return worst_case(threshold, data, [3.4], norm="inf", random=2)


def test_the_accuracy_is_that_of_the_worst_age(found):
    accuracy = found.curves[0].accuracies[0]
    score = FRAME["age"] + 20 * (FRAME["job"] == "nurse") - 55
    right = threshold(FRAME) == Y
    # whole steps of at most 3, and no age below 18
    lowest = np.maximum(FRAME["age"] - 3, 18) + 20 * (FRAME["job"] == "nurse") - 55
    crosses = np.where(score > 0, lowest <= 0, score + 3 > 0)
    np.testing.assert_array_equal(accuracy.withstood, right & ~crosses)


def test_examples_hold_all_other_columns(found):
    examples = found.curves[0].accuracies[0].examples
    shown, own = DATA.decode(examples.moved), FRAME.iloc[examples.rows].reset_index(drop=True)
    assert len(shown) > 5
    held = ["job", "size", "member", "weight"]
    assert shown[held].equals(own[held])
    assert shown["age"].dtype == own["age"].dtype
    assert (shown["income"].isna() == own["income"].isna()).all()
    assert (threshold(shown) != threshold(own)).all()
    assert (examples.distances(DATA, np.inf) <= 3.4 + 1e-6).all()


def test_pipelines_are_attacked_and_examples_are_shown(tmp_path):
    model = make_pipeline_for_people()
    model.set_params(columntransformer__numbers="passthrough")
    model.fit(FRAME, Y)
    worst = worst_case(model, DATA, [1.0], points=40, attacks="random(queries=20)")
    assert worst.curves[0].accuracies[0].value < worst.curves[0].clean
    assert worst.eps_min is None or worst.eps_min > 0
    tables = (b for b in worst.blocks() if isinstance(b, Table) and "rows counted" in b.title)
    changes = [row[-1] for row in next(tables).rows]
    assert all(part.split(":")[0] in MOVED for text in changes for part in text.split("; "))
    with pytest.raises(InputError, match="examples of a data frame are no plain numbers"):
        worst.save_examples(tmp_path / "e.npz")


def test_cells_are_those_of_points_that_agree():
    x = np.array([0, 1, 1.5, 4, 5, 6, 0.5, 3, 4.2, 8])
    kind = np.array(list("aaaaaabbbb"))
    y = (x > 3.4).astype(int)
    data = st.make_dataset(pd.DataFrame({"x": x, "kind": kind}), y)

    def above(frame):
        return (frame["x"] > 2.4).astype(int)

    worst = worst_case(above, data, [2.0], constraints="genuine-max")
    found = worst.curves[0].accuracies[0].withstood
    for i in range(len(x)):
        others = x[(kind == kind[i]) & (x != x[i])]
        low = max([x[i] - 2, *((others[others < x[i]] + x[i]) / 2)])
        high = min([x[i] + 2, *((others[others > x[i]] + x[i]) / 2)])
        wrong = high > 2.4 if y[i] == 0 else low < 2.4
        assert found[i] == (above(data.decode(data.x))[i] == y[i] and not wrong), i
    with pytest.raises(InputError, match="use random or rays"):
        worst_case(above, data, [2.0], constraints="genuine-max", attacks="cover")


def test_cells_count_other_columns_by_gowers_distance():
    frame = pd.DataFrame({"x": [0.0, 1.0, 10.0], "kind": ["a", "b", "a"]})
    data = st.make_dataset(frame, [0, 1, 1]).touching(others="gower")
    target = Target.of(lambda f: (f["x"] > 5).astype(int), data)
    region = target.make_region(1.0, 9.0, "genuine-max")
    # the point at 1 is one farther away, as its kind differs: the border is at (0 + 1 + 1) / 2
    moved = np.array([[0.95], [1.05]])
    assert region.contains(np.array([0, 0]), moved).tolist() == [True, False]


def test_tables_of_which_all_points_agree_have_the_cells_of_plain_numbers():
    x = np.column_stack([np.arange(20.0), np.ones(20)])
    data = st.make_dataset(x, np.arange(20) // 10).touching(keep="1")
    plain = st.make_dataset(x[:, :1], np.arange(20) // 10)
    for kind in ("none", "genuine-max"):
        first, second = (
            worst_case(lambda x: (x[:, 0] > 9.2).astype(int), d, [0.4], constraints=kind)
            for d in (data, plain)
        )
        a, b = (worst.curves[0].accuracies[0].withstood for worst in (first, second))
        np.testing.assert_array_equal(a, b)
