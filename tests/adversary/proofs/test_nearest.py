"""Brackets of 1-NN classifiers in other norms than L2: closed form, dense searches, exact cases."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import run_json
from shaketable.adversary.attacks.one_nn_exact import OneNNExact
from shaketable.adversary.brackets import prove
from shaketable.adversary.proofs.nearest import NearestBrackets
from shaketable.adversary.target import Target


def make_target(d, *, metric=2, m=60, n=25, bounds=None, single=False):
    rng = np.random.default_rng(d)
    dtype = np.float32 if single else np.float64
    z, x = rng.uniform(size=(m, d)).astype(dtype), rng.uniform(size=(n, d)).astype(dtype)
    labels = np.r_[0, 1, 2, (z[3:].sum(axis=1) > d / 2).astype(int)]
    name = "chebyshev" if math.isinf(metric) else "minkowski"
    model = KNeighborsClassifier(1, p=metric if metric < 9 else 2, metric=name).fit(z, labels)
    return Target.of(model, st.make_dataset(x, model.predict(x), bounds=bounds))


def surround(target, region, sizes, rng, count=2000):
    """Points of the region at distances of up to `sizes`, (n, count, d)."""
    step = rng.uniform(-1, 1, (len(region.x), count, region.x.shape[1]))
    step *= rng.uniform(size=step.shape) < 0.6
    step /= np.maximum(np.linalg.norm(step, region.p, axis=2, keepdims=True), 1e-9)
    step *= sizes[:, None, None] * rng.uniform(size=(*step.shape[:2], 1)) ** 0.3
    moved = region.x[:, None] + step
    return moved if region.bounds is None else moved.clip(0, 1)


def test_nothing_is_proven_where_columns_are_rounded():
    rng = np.random.default_rng(0)
    x, y = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"]), np.arange(20) % 2
    for types, proven in (({}, True), ({"a": np.float32}, False)):
        frame = x.astype(types)
        model = KNeighborsClassifier(1).fit(frame, y)
        assert bool(Target.of(model, st.make_dataset(frame, y)).provers) == proven
    whole = x.assign(a=np.arange(20))
    model = KNeighborsClassifier(1).fit(whole, y)
    assert Target.of(model, st.make_dataset(whole, y)).provers


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, math.inf])
@pytest.mark.parametrize("d", [1, 2, 10, 200])
def test_between_two_points_it_is_the_distance_to_the_half_space(d, p):
    rng = np.random.default_rng(d)
    z, x = rng.uniform(size=(2, d)), rng.uniform(size=(20, d))
    model = KNeighborsClassifier(1).fit(z, [0, 1])
    target = Target.of(model, st.make_dataset(x, model.predict(x)))
    if len(target.data.classes) < 2:
        pytest.skip("all points are of one class")
    found = prove(target, target.make_region(p, 1e4, "none"))
    normal, q = z[1] - z[0], math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
    offset = (z[1] @ z[1] - z[0] @ z[0]) / 2
    expected = np.abs(x @ normal - offset) / np.linalg.norm(normal, q)
    np.testing.assert_allclose(found.low, expected, rtol=1e-5)
    if p in (1, math.inf):
        np.testing.assert_allclose(found.high, expected, rtol=1e-5)
    assert (found.low <= found.high).all()


@pytest.mark.parametrize("bounds", [None, (0, 1)])
@pytest.mark.parametrize("p", [1.0, math.inf, 2.5, 2.0])
@pytest.mark.parametrize("metric", [2, 1, math.inf])
def test_no_point_is_nearer_than_the_lower_bound(metric, p, bounds):
    target = make_target(3, metric=metric, bounds=bounds)
    region = target.make_region(p, 5.0, "none")
    found = prove(target, region)
    names = [prover.spec for prover in target.provers if prover.suits(region)]
    assert names == (["1nn-exact"] if p == metric == 2 else ["1nn-brackets"])
    assert np.isfinite(found.high).all()
    assert (found.low <= found.high).all()
    moved = surround(target, region, found.low, np.random.default_rng(0))
    labels = target.predict(moved.reshape(-1, 3)).reshape(moved.shape[:2])
    assert (labels == target.y[:, None]).all()
    assert (target.predict(found.moved) != target.y).all()
    if metric == 2 and p in (1, math.inf):
        np.testing.assert_allclose(found.low, found.high, rtol=1e-5)
    else:
        assert np.median(found.low / found.high) > 0.2


def test_in_l2_only_euclidean_classifiers_are_solved():
    for metric in (1, math.inf):
        target = make_target(2, metric=metric)
        assert not any(isinstance(prover, OneNNExact) for prover in target.provers)


def test_what_needs_more_than_the_first_right_points():
    target = make_target(2, m=600, n=30)
    for p in (1.0, math.inf):
        found = prove(target, target.make_region(p, 5.0, "none"))
        assert (found.low <= found.high).all()
        assert (found.low > found.high * (1 - 1e-5)).mean() > 0.9  # the others need more programs


def test_models_in_float32_and_far_from_the_origin():
    target = make_target(4, single=True)
    found = prove(target, target.make_region(math.inf, 5.0, "none"))
    np.testing.assert_allclose(found.low, found.high, rtol=1e-3)
    rng = np.random.default_rng(0)
    z, x = 1e7 + rng.uniform(size=(40, 2)), 1e7 + rng.uniform(size=(20, 2))
    model = KNeighborsClassifier(1, algorithm="brute").fit(z, np.arange(40) % 2)
    target = Target.of(model, st.make_dataset(x, model.predict(x)))
    region = target.make_region(math.inf, 5.0, "none")
    found = prove(target, region)  # its products cannot tell most points apart
    assert (found.low < 0.2).all()
    assert (found.low[target.right] <= found.high[target.right]).all()


def test_in_cells_and_within_epsilon():
    target = make_target(2)
    region = target.make_region(math.inf, 0.05, "genuine-max")
    found = prove(target, region)
    hit = np.isfinite(found.high)
    assert region.contains(np.flatnonzero(hit), found.moved[hit]).all()
    ball = prove(target, target.make_region(math.inf, 0.05, "none"))
    assert (found.low >= ball.low).all()
    assert (ball.low == 0.05).any()
    assert (ball.low[ball.high < 0.04] < 0.04).all()


def test_classes_without_any_training_points():
    z = np.arange(6.0)[:, None]
    model = KNeighborsClassifier(1).fit(z, ["a", "a", "a", "b", "b", "b"])
    data = st.make_dataset(np.array([[0.2], [4.2]]), np.array(["a", "b"]))
    target = Target.of(model, data)
    rows, none = np.arange(2), np.zeros(2, np.uint64)
    brackets = NearestBrackets(target.one_nn)
    region = target.make_region(1.0, 9.0, "none")
    result = brackets(target.classifier, region, rows, np.array([0, 5]), none)
    assert result.low[0] == pytest.approx(2.3)
    assert result.low[1] == 0
    one = KNeighborsClassifier(1).fit(z, ["a"] * 6)
    proof = prove(Target.of(one, data), region)
    assert proof.low.tolist() == [9, 0]


def test_the_command_proves_accuracies_in_the_maximum_norm(capsys):
    options = ("--data", "iris", "--norm", "inf", "--eps", "0.1,0.4")
    result = run_json(capsys, "adversary", "--model", "1nn", *options)
    for point in result["curves"][0]["points"]:
        assert point["proven"] == "half-spaces between the training points of 1-NN"
