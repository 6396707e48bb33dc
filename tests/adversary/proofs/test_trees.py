"""Distances of trees and their ensembles, against all cells of the grid of their thresholds."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.adversary.brackets import prove
from shaketable.adversary.curve import adversarial_accuracy
from shaketable.adversary.proofs.tree_models import read_trees
from shaketable.adversary.proofs.trees import TreeSearch
from shaketable.adversary.target import Target
from shaketable.core.norms import pnorm
from shaketable.data.bounds import Bounds

NORMS = [np.inf, 1.0, 2.0]


def make_xgboost(seed, **options):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(
        n_estimators=4, max_depth=3, learning_rate=0.7, random_state=seed, n_jobs=1, **options
    )


def make_lightgbm(seed, **options):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(
        n_estimators=4, num_leaves=5, learning_rate=0.7, min_child_samples=2, n_jobs=1,
        random_state=seed, verbose=-1, **options,
    )  # fmt: skip


MAKE = {
    "tree": lambda seed: DecisionTreeClassifier(max_depth=5, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(4, max_depth=4, random_state=seed),
    "extra": lambda seed: ExtraTreesClassifier(5, random_state=seed),
    "bagging": lambda seed: BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=4, max_features=2, random_state=seed
    ),
    "gradient": lambda seed: GradientBoostingClassifier(
        n_estimators=4, max_depth=2, learning_rate=0.8, random_state=seed
    ),
    "histogram": lambda seed: HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=5, learning_rate=0.8, min_samples_leaf=3, random_state=seed
    ),
    "xgboost": make_xgboost,
    "lightgbm": make_lightgbm,
}


def draw(seed, classes, n=90, d=2):
    rng = np.random.default_rng(seed)
    x = rng.random((n, d))
    y = np.floor(classes * (x.sum(axis=1) / d + 0.15 * rng.standard_normal(n)))
    return x, np.clip(y, 0, classes - 1).astype(int)


def list_thresholds(model, d):
    """Thresholds of every feature, as each library itself lists them."""
    found = [[] for _ in range(d)]
    kind = type(model).__name__
    if kind == "HistGradientBoostingClassifier":
        for nodes in (tree.nodes for step in model._predictors for tree in step):
            for node in nodes[nodes["is_leaf"] == 0]:
                found[node["feature_idx"]].append(node["num_threshold"])
    elif kind == "XGBClassifier":
        table = model.get_booster().trees_to_dataframe()
        for name, split in table.loc[table["Feature"] != "Leaf", ["Feature", "Split"]].values:
            found[int(name[1:])].append(np.float32(split))
    elif kind == "LGBMClassifier":
        table = model.booster_.trees_to_dataframe().dropna(subset="split_feature")
        for name, split in table[["split_feature", "threshold"]].values:
            found[int(name.removeprefix("Column_"))].append(split)
    else:
        members = np.ravel(getattr(model, "estimators_", [model]))
        for i, member in enumerate(members):
            own = getattr(model, "estimators_features_", [range(d)] * len(members))[i]
            tree = member.tree_
            for feature, split in zip(tree.feature, tree.threshold, strict=True):
                if feature >= 0:
                    found[own[feature]].append(split)
    return [np.unique(np.float64(each)) for each in found]


STEP = 1e-7  # wider than float32 there


def enumerate_nearest(model, x, y, norm):
    """Distance of every point to the nearest point of the grid that gets another label."""
    axes = [np.concatenate([t - STEP, t + STEP]) for t in list_thresholds(model, x.shape[1])]
    nearest = []
    for point, label in zip(x, y, strict=True):
        own = [np.append(axis, value) for axis, value in zip(axes, point, strict=True)]
        grid = np.array(list(itertools.product(*own)))
        away = pnorm(grid - point, norm)
        nearest.append(away[model.predict(grid) != label].min(initial=np.inf))
    return np.array(nearest)


def bracket(model, data, norm, reach=2.0, **changes):
    target = Target.of(model, data)
    (prover,) = target.provers
    assert isinstance(prover, TreeSearch)
    target = replace(target, provers=(replace(prover, **changes),))
    return target, prove(target, target.make_region(norm, reach, "none"))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", MAKE)
def test_distances_are_those_of_all_cells(kind, classes, seed):
    x, y = draw(seed, classes)
    model = MAKE[kind](seed).fit(x, y)
    some = np.flatnonzero(model.predict(x) == y)[:6]
    for norm in NORMS:
        _, found = bracket(model, (x[some], y[some]), norm)
        expected = enumerate_nearest(model, x[some], y[some], norm)
        np.testing.assert_allclose(found.high, expected, rtol=0, atol=4 * STEP)
        np.testing.assert_allclose(found.low, np.minimum(expected, 2), rtol=0, atol=4 * STEP)
        hit = np.isfinite(found.high)
        assert (found.low <= found.high).all()
        assert (model.predict(found.moved[hit]) != y[some][hit]).all()
        np.testing.assert_allclose(pnorm(found.moved[hit] - x[some][hit], norm), found.high[hit])


@pytest.mark.parametrize("kind", ["forest", "xgboost", "lightgbm", "histogram"])
def test_no_random_point_below_the_proven_distance_is_misclassified(kind):
    x, y = draw(3, 3, n=200, d=8)
    model = MAKE[kind](3).fit(x.astype(np.float32), y)
    some = np.flatnonzero(model.predict(x.astype(np.float32)) == y)[:20]
    for norm in NORMS:
        target, found = bracket(model, (x[some].astype(np.float32), y[some]), norm)
        assert (found.high <= found.low * (1 + 1e-6)).mean() > 0.9
        rng = np.random.default_rng(0)
        for point, label, low in zip(target.points, y[some], found.low, strict=True):
            step = rng.standard_normal((3000, 8)) * (rng.random((3000, 8)) < 0.4)
            step /= np.maximum(pnorm(step, norm), 1e-9)[:, None]
            tried = (point + 0.999 * low * step).astype(np.float32)
            inside = pnorm(tried.astype(np.float64) - point, norm) <= low
            assert inside.mean() > 0.9
            assert (model.predict(tried[inside]) == label).all()


def test_little_budget_leaves_a_bracket_of_the_exact_distance():
    x, y = draw(5, 2, n=400, d=12)
    model = RandomForestClassifier(40, random_state=0).fit(x, y)
    x, y = draw(6, 2, n=40, d=12)
    _, exact = bracket(model, (x, y), np.inf)
    _, rough = bracket(model, (x, y), np.inf, budget=20_000)
    assert (exact.high <= exact.low * (1 + 1e-6)).all()
    wide = rough.high > rough.low * (1 + 1e-6)
    assert 3 < wide.sum() < 40
    assert (rough.low <= exact.high).all()
    assert (rough.high >= exact.low).all()


def test_values_keep_their_range():
    x, y = draw(0, 2)
    model = MAKE["forest"](0).fit(x, y)
    inside = np.clip(x, 0.3, 0.7)
    data = replace(st.make_dataset(inside, model.predict(inside)), bounds=Bounds(0.3, 0.7))
    _, found = bracket(model, data, np.inf)
    grid = np.stack(np.meshgrid(*[np.linspace(0.3, 0.7, 201)] * 2), axis=-1).reshape(-1, 2)
    labels = model.predict(grid)
    for point, label, low, high in zip(
        inside, model.predict(inside), found.low, found.high, strict=True
    ):
        nearest = pnorm(grid - point, np.inf)[labels != label].min(initial=np.inf)
        assert low <= nearest
        assert high <= nearest
        assert high > nearest - 0.01 or np.isinf(nearest)
    hit = np.isfinite(found.high)
    assert ((found.moved[hit] >= 0.3) & (found.moved[hit] <= 0.7)).all()


def make_frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 40, n),
            "job": rng.choice(["nurse", "clerk", "cook"], n),
            "income": rng.normal(30, 10, n),
            "weight": rng.normal(70, 8, n),
        }
    )
    score = frame["age"] + frame["income"] + 8 * (frame["job"] == "nurse")
    return frame, np.where(score + rng.normal(0, 4, n) > 61, "yes", "no")


@pytest.mark.parametrize("kind", ["forest", "histogram", "xgboost", "lightgbm"])
def test_tables_with_steps_and_columns_that_stay(kind):
    frame, y = make_frame()
    model = make_pipeline(
        ColumnTransformer(
            [
                ("one", OneHotEncoder(), ["job"]),
                ("two", StandardScaler(), ["age", "income", "weight"]),
            ]
        ),
        MAKE[kind](0),
    )
    y = np.unique(y, return_inverse=True)[1]
    model.fit(frame, y)
    data = st.make_dataset(frame[:25], y[:25])
    data = data.touching(only=["age", "weight"], column_bounds={"age": (18, 39)}, steps={"age": 1})
    _, found = bracket(model, data, np.inf, reach=12.0)
    weights = np.arange(-12, 12.01, 0.05)
    for i in np.flatnonzero(model.predict(frame[:25]) == y[:25]):
        here, nearest = frame.iloc[i], np.inf
        ages = np.arange(max(18, here["age"] - 12), min(39, here["age"] + 12) + 1)
        tried = pd.DataFrame([here] * (len(ages) * len(weights)))
        tried["age"] = np.repeat(ages, len(weights))
        tried["weight"] = np.tile(here["weight"] + weights, len(ages))
        away = np.abs(tried[["age", "weight"]] - here[["age", "weight"]].astype(float)).max(axis=1)
        nearest = away[model.predict(tried) != y[i]].min()
        assert found.low[i] <= min(nearest, 12) + 1e-9 if np.isfinite(nearest) else True
        assert found.high[i] <= nearest + 1e-9 or np.isnan(nearest)
        assert found.low[i] >= min(found.high[i], 12) * (1 - 1e-5)
        if np.isfinite(found.high[i]):
            assert found.moved[i, 0] == round(found.moved[i, 0])


@pytest.mark.parametrize("kind", ["forest", "histogram", "xgboost", "lightgbm"])
def test_missing_values_stay_missing(kind):
    frame, y = make_frame()
    frame = frame.drop(columns="job").astype(float)
    frame.loc[::3, "income"] = np.nan
    y = np.unique(y, return_inverse=True)[1]
    model = MAKE[kind](0).fit(frame, y)
    target, found = bracket(model, st.make_dataset(frame[:40], y[:40]), np.inf, reach=30.0)
    exact = found.high <= found.low * (1 + 1e-6)
    assert (exact | (found.low >= 30)).all()
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(target.right):
        step = np.clip(found.low[i], 0, 30) * rng.uniform(-1, 1, (500, 3)) * (1 - 1e-9)
        tried = frame.iloc[[i] * 500] + step
        assert (model.predict(tried) == y[i]).all()


def test_bags_of_trees_of_one_feature():
    x, y = draw(1, 2, d=1)
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4).fit(x, y)
    target, found = bracket(model, (x[:9], y[:9]), 2)
    assert (found.high <= found.low * (1 + 1e-6))[target.right].all()


@pytest.mark.parametrize("kind", ["histogram", "lightgbm"])
def test_columns_of_coarser_numbers(kind):
    frame, y = make_frame()
    frame = frame[["age", "weight"]].astype({"age": float})
    y = np.unique(y, return_inverse=True)[1]
    frame["weight"] = frame["weight"].astype(np.float32)
    model = MAKE[kind](0).fit(frame, y)
    target, found = bracket(model, st.make_dataset(frame, y), np.inf, reach=30.0)
    trees = read_trees(model)
    cuts = trees.cut[trees.feature == 1]
    for i in np.flatnonzero(target.right):
        for way in (-1, 1):
            near = way * (cuts - frame["weight"][i])
            tried = near[(near >= found.low[i] * (1 - 1e-5)) & (near < found.low[i] + 1e-5)]
            for distance in tried - 3e-6:  # it is rounded over the cut
                if distance < found.low[i]:
                    moved = frame.iloc[[i]].copy()
                    moved["weight"] = np.float32(frame["weight"][i] + way * distance)
                    assert model.predict(moved)[0] == y[i]


def test_a_forest_is_attacked_exactly():
    x, y = draw(0, 2, n=600, d=4)
    model = RandomForestClassifier(5, random_state=0).fit(x[:300], y[:300])
    test = x[300:], y[300:]
    exact = adversarial_accuracy(model, *test, epsilon=0.1, norm=np.inf)
    searched = ["random(queries=200)", "rays(queries=1000)"]
    upper = adversarial_accuracy(model, *test, epsilon=0.1, norm=np.inf, attacks=searched)
    assert exact.proven == "exact search over the leaves of 5 trees"
    assert exact.value < upper.value - 0.02


def test_cells_are_searched_with_distances_of_balls():
    x, y = draw(2, 2, n=40)
    model = MAKE["forest"](0).fit(x, y)
    target = Target.of(model, (x, y))
    ball = prove(target, target.make_region(2, 0.3, "none"))
    cell = prove(target, target.make_region(2, 0.3, "genuine-max"))
    assert (cell.low <= cell.high).all()
    np.testing.assert_array_equal(cell.low[target.right], ball.low[target.right])
    assert (cell.high >= ball.high).all()


def test_models_that_are_not_understood_are_left_alone():
    x, y = draw(0, 2)
    model = MAKE["histogram"](0).set_params(categorical_features=[0])
    model.fit(np.column_stack([np.floor(9 * x[:, 0]) % 2, x[:, 1]]), y)
    assert read_trees(model) is None
    assert read_trees(RandomForestRegressor(2).fit(x, y)) is None
    assert read_trees(make_xgboost(0, booster="dart").fit(x, y)) is None
    assert read_trees(make_lightgbm(0, linear_tree=True).fit(x, y)) is None
    coded = pd.DataFrame({"a": pd.Categorical(np.floor(9 * x[:, 0])), "b": x[:, 1]})
    assert read_trees(make_lightgbm(0, min_data_per_group=1, cat_smooth=0).fit(coded, y)) is None

    class Contrary(DecisionTreeClassifier):
        def predict(self, x):
            return 1 - super().predict(x)

    assert read_trees(Contrary().fit(x, y)) is None


@pytest.mark.parametrize("trees", [97, 100])
def test_means_of_many_trees_are_read(trees):
    x, y = draw(0, 3)
    assert read_trees(RandomForestClassifier(trees, random_state=0).fit(x, y)) is not None
    assert read_trees(RandomForestClassifier(trees, max_depth=3).fit(x, y)) is not None


def test_trees_that_are_read_wrongly_are_no_proof(monkeypatch):
    x, y = draw(0, 2)
    model = MAKE["gradient"](0).fit(x, y)
    assert read_trees(model) is not None
    monkeypatch.setattr(model, "learning_rate", 0.81)  # what decides is kept elsewhere
    monkeypatch.setattr(model, "decision_function", lambda x: np.zeros(len(x)))
    assert read_trees(model) is None


def test_nothing_is_proven_by_trees_that_answer_otherwise():
    x, y = draw(0, 2)
    target = Target.of(MAKE["forest"](0).fit(x, y), (x, y))
    (prover,) = target.provers
    wrong = replace(prover.trees, base=np.array([0.0, 0.5]))
    region = target.make_region(np.inf, 0.1, "none")
    rows = np.arange(len(x))
    result = replace(prover, trees=wrong)(target.classifier, region, rows, target.y, target.keys)
    assert not result.low.any()
