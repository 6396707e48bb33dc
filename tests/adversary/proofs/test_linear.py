"""Distances of linear models: against closed forms and dense searches, and with the command."""

import math
import time
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import shaketable as st
from helpers.commands import run_json
from helpers.frames import make_people
from shaketable.adversary.brackets import prove
from shaketable.adversary.proofs.linear import LinearDistance
from shaketable.adversary.target import Target
from shaketable.data.bounds import Bounds
from shaketable.models.adapted import adapt
from shaketable.models.builtin import builtin

FAR = 1e6


def make_data(d, classes, n=60, seed=0, low=0.0):
    """Clusters of points, one per class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    x = rng.uniform(size=(classes, d))[y] + rng.uniform(-0.5, 0.5, (n, d))
    return st.make_dataset(np.maximum(x, low), y)


def bracket(model, data, p, *, reach=FAR, **options):
    """Brackets of all points, and which of them are labelled correctly."""
    target = Target.of(model, data, **options)
    assert [type(prover) for prover in target.provers] == [LinearDistance]
    brackets = prove(target, target.make_region(p, reach, "none"))
    assert (target.predict(data_points(target, brackets)) != target.y).all()
    return brackets, target.right


def data_points(target, brackets):
    """What was found, as the model takes it."""
    region = target.make_region(2, FAR, "none")
    found = np.isfinite(brackets.high)
    points = region.cast_for_model(np.arange(len(found)), brackets.moved)
    if not found.all():
        pytest.skip("callers expect a failure around every point")
    return points


def by_hand(model, x, p):
    """The textbook formula: distance to the nearest hyperplane between the answer and a class."""
    q = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
    weights, offsets = model.coef_, model.intercept_
    if len(weights) == 1:
        return np.abs(x @ weights[0] + offsets) / np.linalg.norm(weights[0], q)
    scores = x @ weights.T + offsets
    best = scores.argmax(axis=1)
    gaps = scores.max(axis=1, keepdims=True) - scores
    sizes = np.linalg.norm(weights[best][:, None] - weights[None], q, axis=2)
    with np.errstate(invalid="ignore"):
        return np.nanmin(gaps / sizes, axis=1)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf, 3.0])
@pytest.mark.parametrize(("d", "classes"), [(2, 2), (2, 3), (20, 10), (300, 4), (1000, 2)])
def test_distances_are_those_of_the_textbook(d, classes, p):
    data = make_data(d, classes)
    model = LogisticRegression(max_iter=50).fit(data.x, data.y)
    found, right = bracket(model, data, p)
    expected = by_hand(model, data.x, p)[right]
    assert right.sum() > 20
    np.testing.assert_allclose(found.low[right], expected, rtol=1e-9)
    np.testing.assert_allclose(found.high[right], expected, rtol=1e-9)
    assert (found.low <= found.high).all()
    assert (found.low[right] < expected).all()


MODELS = [
    LogisticRegression(),
    LogisticRegressionCV(Cs=2, cv=2),
    LinearSVC(),
    SGDClassifier(random_state=0),
    Perceptron(),
    RidgeClassifier(),
    RidgeClassifierCV(),
    LinearDiscriminantAnalysis(),
    MultinomialNB(),
    ComplementNB(),
    BernoulliNB(binarize=None),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler((-1, 3)), RobustScaler(), LinearSVC()),
    make_pipeline(MaxAbsScaler(), VarianceThreshold(0.02), LinearDiscriminantAnalysis()),
    make_pipeline(StandardScaler(with_mean=False), SVC(kernel="linear")),
]


def fit(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of future defaults and of convergence
        return model.fit(data.x, data.y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_no_point_is_nearer_and_the_nearest_is_wrong(model, p, classes):
    if "SVC(kernel" in str(model) and classes == 3:
        pytest.skip("it votes among pairs of classes")
    data = make_data(2, classes, 40, low=0.01)
    model = fit(model, data)
    found, right = bracket(model, data, p)
    assert right.sum() > 8
    np.testing.assert_allclose(found.low[right], found.high[right], rtol=1e-7)
    # many points of the balls, on their surfaces and inside
    rng = np.random.default_rng(0)
    step = rng.uniform(-1, 1, (40, 500, 2))
    step /= np.linalg.norm(step, p, axis=2, keepdims=True)
    moved = data.x[:, None] + found.low[:, None, None] * step
    answers = model.predict(moved.reshape(-1, 2)).reshape(40, 500)
    assert (answers[right] == data.y[right, None]).all()


def test_models_of_other_forms_have_no_proof():
    data = make_data(2, 3)
    for model in (
        GaussianNB(),
        SVC(kernel="linear"),
        make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    ):
        assert Target.of(fit(model, data), data).provers == ()
    assert Target.of(lambda x: (x[:, 0] > 0).astype(int), make_data(2, 2)).provers == ()


class Odd(LogisticRegression):
    """A model that only looks linear."""

    def predict(self, x):
        return 1 - super().predict(x)


def test_subclasses_are_not_trusted():
    data = make_data(2, 2)
    assert Target.of(Odd().fit(data.x, data.y), data).provers == ()


@pytest.mark.parametrize("p", [1.0, math.inf])
@pytest.mark.parametrize("classes", [2, 4])
def test_in_bounds_distances_are_those_of_linear_programs(p, classes):
    d = 5
    data = make_data(d, classes, 24)
    x = data.x.clip(0, 1)
    data = st.make_dataset(x, data.y, bounds=(0, 1))
    model = LogisticRegression(C=30).fit(x, data.y)
    target = Target.of(model, data)
    found = prove(target, target.make_region(p, FAR, "none"))
    weights, offsets = model.coef_, model.intercept_
    if classes == 2:
        weights, offsets = np.vstack([0 * weights, weights]), np.append(0, offsets)
    unit, one = np.eye(d), np.ones((d, 1))
    for i in np.flatnonzero(target.right):
        best = math.inf
        for j in set(range(classes)) - {data.y[i]}:
            w = weights[j] - weights[data.y[i]]
            need = -(w @ x[i] + offsets[j] - offsets[data.y[i]])
            if p == 1:  # steps up and down
                cost, rows = np.ones(2 * d), np.append(-w, w)[None]
                box = [*((0, 1 - v) for v in x[i]), *((0, v) for v in x[i])]
                program = linprog(cost, rows, [-need], bounds=box)
            else:
                rows = np.vstack(
                    [np.append(-w, 0), np.hstack([unit, -one]), np.hstack([-unit, -one])]
                )
                box = [*((-v, 1 - v) for v in x[i]), (0, None)]
                program = linprog(
                    np.append(np.zeros(d), 1), rows, [-need] + [0] * (2 * d), bounds=box
                )
            best = min(best, program.fun if program.status == 0 else math.inf)
        if math.isinf(best):
            assert found.low[i] == FAR
            assert math.isinf(found.high[i])
        else:
            assert found.low[i] == pytest.approx(best, rel=1e-8)
            assert found.high[i] == pytest.approx(best, rel=1e-8)
    assert (found.moved >= 0).all()
    assert (found.moved <= 1).all()


def test_frames_with_text_and_gaps():
    frame, y = make_people(150)
    data = st.make_dataset(frame, y)
    model = builtin("logistic", data)
    target = Target.of(model, data, refit=True)
    region = target.make_region(1.0, FAR, "none")
    found = prove(target, region)
    right = target.right
    gaps = region.held.find_gaps(np.arange(len(region.x)))
    assert gaps[right].any()
    np.testing.assert_array_equal(found.moved[gaps], region.x[gaps])
    np.testing.assert_allclose(found.low[right], found.high[right], rtol=1e-4)  # one is float32
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(right).repeat(50)
    step = rng.normal(size=(len(rows), 3)) * [1.0, 5.0, 0.05]
    step /= np.abs(step).sum(axis=1, keepdims=True)
    moved = region.x[rows] + found.low[rows, None] * step
    assert (target.predict(region.cast_for_model(rows, moved)) == target.y[rows]).all()


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_columns_that_change_in_steps(p):
    frame, y = make_people(150)
    frame = frame.drop(columns="since")
    data = st.make_dataset(frame, y).touching(
        only=["age", "income"], column_bounds={"age": (18, 90)}, steps={"age": 1}
    )
    target = Target.of(builtin("logistic", data), data, refit=True)
    region = target.make_region(p, 12.0, "none")
    found = prove(target, region)
    age = np.arange(-14, 15)
    for i in np.flatnonzero(target.right):
        step = np.stack(np.meshgrid(age, np.linspace(-13, 13, 131)), axis=-1).reshape(-1, 2)
        moved = region.cast_for_model(np.full(len(step), i), region.x[i] + step)
        wrong = target.predict(moved) != target.y[i]
        away = np.linalg.norm(region.extract(moved) - region.x[i], p, axis=1)
        nearest = away[wrong].min(initial=math.inf)
        assert min(found.low[i], 12.0) <= nearest * (1 + 1e-9)
        if math.isinf(p):
            assert found.high[i] <= max(nearest, 0) * (1 + 1e-5) or nearest > 12
            assert found.low[i] > min(nearest, 12) - 1.01


def test_scaled_data_and_models_of_raw_units():
    data = st.load("iris")
    scaled = data.scaled()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.x, data.labels)
    found, right = bracket(model, scaled, math.inf, unscale=True)
    # the same model, told in scaled units
    weights = model[-1].coef_ / model[0].scale_ * scaled.scaling.span
    inner = LogisticRegression().fit(scaled.x, data.labels)
    inner.coef_ = weights
    inner.intercept_ = model.decision_function(scaled.scaling.low[None])[0]
    np.testing.assert_allclose(found.low[right], by_hand(inner, scaled.x, np.inf)[right], rtol=1e-8)


def test_columns_in_another_order_are_those_of_the_fit():
    import pandas as pd

    iris = st.load("iris")
    frame = pd.DataFrame(iris.x, columns=[f"f{i}" for i in range(4)])
    model = LogisticRegression(max_iter=500).fit(frame[["f2", "f0", "f3", "f1"]], iris.labels)
    found, right = bracket(model, st.make_dataset(frame, iris.labels), 1.0)
    inner = LogisticRegression(max_iter=500).fit(iris.x, iris.labels)
    inner.coef_, inner.intercept_ = model.coef_[:, [1, 3, 0, 2]], model.intercept_
    np.testing.assert_allclose(found.low[right], by_hand(inner, iris.x, 1.0)[right], rtol=1e-9)


def test_images_of_uint8():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (40, 5, 5, 1), dtype=np.uint8)
    y = (x[:, 2, 2, 0] > 128).astype(int)
    data = st.make_dataset(x, y)
    flat = data.rows(slice(None)).reshape(40, -1)
    model = LogisticRegression(C=100).fit(flat, y)
    target = Target.of(model, data)
    found = prove(target, target.make_region(math.inf, 0.4, "none"))
    settled = target.right & (found.low < 0.4)
    assert settled.sum() > 10
    np.testing.assert_allclose(found.low[settled], found.high[settled], rtol=1e-3)


def test_thresholds_move_the_boundary():
    data = make_data(3, 2)
    model = LogisticRegression().fit(data.x, data.y)
    for label, level in (("1", 0.8), ("0", 0.7)):
        found, right = bracket(adapt(model, threshold=(label, level)), data, 2.0)
        odds = math.log(level / (1 - level)) * (1 if label == "1" else -1)
        expected = np.abs(model.decision_function(data.x) - odds) / np.linalg.norm(model.coef_)
        np.testing.assert_allclose(found.low[right], expected[right], rtol=1e-8)
    declared = adapt(fit(RidgeClassifier(), data), threshold=("1", 0.6))
    with pytest.raises(st.InputError, match="threshold"):
        Target.of(declared, data).codes  # noqa: B018  (it asks the model)
    svm = adapt(LogisticRegression().fit(data.x, data.y), classes=["b", "a"])
    renamed = st.make_dataset(data.x, np.array(["b", "a"])[data.y])
    found, right = bracket(svm, renamed, 2.0)
    np.testing.assert_allclose(found.low[right], by_hand(model, data.x, 2.0)[right], rtol=1e-8)


def test_inside_voronoi_cells_bounds_of_the_ball_hold():
    data = make_data(2, 2, 40)
    model = LogisticRegression().fit(data.x, data.y)
    target = Target.of(model, data)
    region = target.make_region(2.0, 2.0, "genuine-max")
    found, ball = (prove(target, r) for r in (region, target.make_region(2.0, 2.0, "none")))
    hit = np.flatnonzero(target.right & np.isfinite(found.high))
    assert 0 < len(hit) < target.right.sum()
    assert region.contains(hit, found.moved[hit]).all()
    assert (found.low >= ball.low).all()
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(target.right):
        moved = data.x[i] + rng.uniform(-2, 2, (4000, 2))
        inside = region.contains(np.full(4000, i), moved)
        wrong = moved[inside & (model.predict(moved) != data.y[i])]
        assert np.linalg.norm(wrong - data.x[i], axis=1).min(initial=9.0) >= found.low[i]


def test_the_command_proves_the_accuracy_of_the_built_in_model(capsys):
    options = ("--data", "iris", "--norm", "inf", "--eps", "0.1,0.4")
    result = run_json(capsys, "adversary", "--model", "logistic", *options)
    points = result["curves"][0]["points"]
    assert [point["epsilon"] for point in points] == [0.1, 0.4]
    assert all(point["proven"] == "closed form for a linear model" for point in points)


def test_a_thousand_dimensions_take_little_time():
    data = make_data(1000, 10, 100)
    model = RidgeClassifier().fit(data.x, data.y)
    target = Target.of(model, data)
    region = target.make_region(2.0, FAR, "none")
    prove(target, region)
    start = time.process_time()
    prove(target, region)
    assert (time.process_time() - start) / 100 < 0.1  # 0.001 s here


def test_bounds_are_kept_by_what_is_found():
    data = st.make_dataset(np.array([[0.2], [0.9]]), [0, 1], bounds=Bounds(0, 1))
    model = LogisticRegression(C=100).fit(data.x, data.y)
    model.intercept_ = -model.coef_[0] * 1.2  # the boundary is out of reach
    target = Target.of(model, data)
    found = prove(target, target.make_region(2.0, 50.0, "none"))
    assert found.low[0] == 50
    assert found.high.tolist() == [math.inf, 0]
