"""Distances to the nearest failure: bounds, quantiles, and what follows from them."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import run_json
from shaketable import InputError, UndefinedError
from shaketable.adversary.distances import Distances
from shaketable.adversary.worst_case import worst_case

X = np.array([[0.1], [0.2], [0.35], [0.6], [0.8], [0.9]])
Y = X[:, 0] > 0.5


def step(x):
    return x[:, 0] > 0.5


def test_distances_of_a_step_are_those_to_the_step():
    found = st.distance(step, (X, Y), name="step")
    np.testing.assert_allclose(found.high, np.abs(X[:, 0] - 0.5), rtol=1e-3)
    assert (found.high >= np.abs(X[:, 0] - 0.5) * (1 - 1e-12)).all()
    assert (found.low == 0).all()
    assert found.exact == 0
    assert "no distance is proven" in repr(found)


@pytest.mark.parametrize("constraint", ["none", "genuine-max"])
def test_one_nn_is_known_exactly(constraint):
    rng = np.random.default_rng(0)
    x, test = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    y, labels = x[:, 0] > 0, test[:, 0] > 0
    model = KNeighborsClassifier(1).fit(x, y)
    found = st.distance(model, (test, labels), constraint=constraint)
    wrong = model.predict(test) != labels
    np.testing.assert_array_equal(found.high == 0, wrong)
    known = np.isfinite(found.high)
    np.testing.assert_allclose(found.low[known], found.high[known], rtol=1e-3)
    assert found.exact >= 0.9 * known.sum()
    sizes = [0.05, 0.2, 0.5]
    each = worst_case(model, (test, labels), sizes, constraints=constraint)
    for a in each.curves[0]:
        low, high = found.accuracy(a.epsilon)
        assert low.value <= a.value <= high.value
        assert high.value - low.value <= 0.05


def test_quantiles_have_the_coverage_of_order_statistics():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(400):
        values = rng.exponential(size=50)
        between = Distances(values, values, reach=10.0).quantile(0.25)
        inside.append(between.low <= stats.expon.ppf(0.25) <= between.high)
    assert np.mean(inside) > 0.94
    few = Distances(np.ones(3), np.ones(3), reach=2.0).quantile(0.05)
    assert (few.low, few.proven.value) == (0.0, 1.0)


def test_what_was_not_found_is_said():
    found = Distances(np.array([0.0, 1.0, 5.0]), np.array([0.0, 1.0, np.inf]), reach=3.0)
    assert found.mean.found is None
    assert found.mean.proven.value == pytest.approx(4 / 3)
    assert math.isinf(found.mean.high)
    assert found.quantile(0.95).found is None
    assert found.json()["quantiles"][-1]["high"] is None
    at, proven, high = found.curve()
    assert (at.tolist(), proven.tolist(), high.tolist()) == (
        [0.0, 1.0],
        pytest.approx([2 / 3, 1 / 3]),
        pytest.approx([2 / 3, 1 / 3]),
    )
    low, upper = found.accuracy(2.0)
    assert (low.value, upper.value) == pytest.approx((1 / 3, 1 / 3))
    with pytest.raises(UndefinedError, match="at most 3, up to which was searched, got 4"):
        found.accuracy(4.0)


def test_genuine_exact_has_no_distances():
    with pytest.raises(InputError, match="epsilons must be given with genuine-exact"):
        worst_case(step, (X, Y), None, constraints="genuine-exact")


def test_the_command_measures_distances_and_keeps_them(tmp_path, capsys):
    store = tmp_path / "results.sqlite"
    command = ["adversary", "--model", "1nn", "--data", "bands", "--points", "30", "--quiet"]
    printed = run_json(capsys, *command, "--store", str(store))
    (distances,) = printed["distances"]
    assert (distances["model"], distances["n"], distances["exact"]) == ("1nn", 30, 30)
    assert distances["mean"]["proven"] == pytest.approx(distances["mean"]["found"], rel=1e-3)
    assert run_json(capsys, *command, "--store", str(store)) == printed
    (kept,) = run_json(capsys, "report", str(store))["worst_cases"]
    assert kept["distances"] == printed["distances"]
    assert json.dumps(kept["curves"]) == json.dumps(printed["curves"])
