"""Boosters of XGBoost and LightGBM, against what their libraries predict."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shaketable as st
from helpers.commands import run_json
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.classifier import as_classifier
from shaketable.models.loading import load_model

pytestmark = pytest.mark.usefixtures("own_directory")
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(size=120).round(1),
        "town": pd.Categorical(RNG.choice(["Bonn", "Kiel", "Ulm"], 120)),
        "income": np.where(RNG.uniform(size=120) < 0.2, np.nan, RNG.normal(size=120)),
    }
)
CODES = ((FRAME["age"] > 0).astype(int) + (FRAME["town"] == "Ulm")).to_numpy()
TEXTS = np.array(["low", "mid", "top"])[CODES]
NUMBERS = FRAME[["age", "income"]]


@pytest.fixture(scope="module")
def xgboost():
    return pytest.importorskip("xgboost", reason="xgboost is not installed")


@pytest.fixture(scope="module")
def lightgbm():
    return pytest.importorskip("lightgbm", reason="lightgbm is not installed")


def train_xgboost(xgboost, frame, codes, objective="multi:softprob", rounds=3):
    classes = {"num_class": 3} if objective.startswith("multi") else {}
    matrix = xgboost.DMatrix(frame, codes, enable_categorical=True)
    return xgboost.train({"objective": objective, "nthread": 1, **classes}, matrix, rounds)


def train_lightgbm(lightgbm, frame, codes, objective="multiclass"):
    classes = {"num_class": 3} if objective == "multiclass" else {}
    options = {"objective": objective, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    return lightgbm.train({**options, **classes}, lightgbm.Dataset(frame, codes), 3)


def predict(model, data):
    """Labels that the model gives all points."""
    return np.array(data.classes)[as_classifier(model, data)(data.rows(np.arange(data.n)))]


@pytest.mark.parametrize(
    "objective",
    ["multi:softprob", "multi:softmax", "binary:logistic", "binary:logitraw", "binary:hinge"],
)
def test_a_booster_of_xgboost_answers_as_its_library_does(xgboost, objective):
    binary = objective.startswith("binary")
    codes = CODES.clip(max=1) if binary else CODES
    data = make_dataset(FRAME, np.array(["low", "mid", "top"])[codes])
    booster = train_xgboost(xgboost, FRAME, codes, objective)
    answer = booster.predict(xgboost.DMatrix(FRAME, enable_categorical=True))
    if objective == "multi:softprob":
        answer = answer.argmax(axis=1)
    elif objective in ("binary:logistic", "binary:logitraw"):
        answer = answer > (0.5 if objective == "binary:logistic" else 0)
    expected = np.array(["low", "mid", "top"])[answer.astype(int)]
    assert predict(booster, data).tolist() == expected.tolist()
    identities = {as_classifier(booster, data).identity}
    for file in ("m.ubj", "m.json"):
        booster.save_model(file)
        model = as_classifier(load_model(file)[0], data)
        assert model.name == file
        identities.add(model.identity)
        assert predict(load_model(file)[0], data).tolist() == expected.tolist()
    assert len(identities) == 1, "the same model, in whatever form"
    other = train_xgboost(xgboost, FRAME, codes, objective, rounds=4)
    assert as_classifier(other, data).identity not in identities


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:logitraw"])
@pytest.mark.parametrize("swapped", [False, True])
def test_margins_however_small_decide_for_either_class(xgboost, objective, swapped):
    codes = CODES.clip(max=1) ^ int(swapped)
    middle = 0.5 if objective == "binary:logistic" else 0.0
    options = {"objective": objective, "nthread": 1, "eta": 0.01, "base_score": middle}
    matrix = xgboost.DMatrix(NUMBERS, codes)
    booster = xgboost.train(options, matrix, 1)
    answer = booster.predict(matrix) - middle
    assert 0 < np.abs(answer).max() < 0.02
    data = make_dataset(NUMBERS, codes)
    assert 0 < (answer > 0).mean() < 1
    assert predict(booster, data).tolist() == (answer > 0).astype(int).tolist()


@pytest.mark.parametrize("objective", ["multiclass", "binary"])
def test_a_booster_of_lightgbm_answers_as_its_library_does(lightgbm, objective):
    codes = CODES.clip(max=1) if objective == "binary" else CODES
    data = make_dataset(FRAME, np.array(["low", "mid", "top"])[codes])
    booster = train_lightgbm(lightgbm, FRAME, codes, objective)
    answer = booster.predict(FRAME)
    answer = answer > 0.5 if objective == "binary" else answer.argmax(axis=1)
    expected = np.array(["low", "mid", "top"])[answer.astype(int)]
    assert predict(booster, data).tolist() == expected.tolist()
    booster.save_model("m.txt")
    model = load_model("m.txt")[0]
    assert predict(model, data).tolist() == expected.tolist()
    assert as_classifier(model, data).identity == as_classifier(booster, data).identity


def test_boosters_of_arrays_and_of_numbers_take_both(xgboost, lightgbm):
    for frame, fitted_on in ((NUMBERS, NUMBERS.to_numpy()), (NUMBERS, NUMBERS)):
        data = make_dataset(frame, TEXTS)
        booster = train_xgboost(xgboost, fitted_on, CODES)
        expected = booster.predict(xgboost.DMatrix(fitted_on)).argmax(axis=1)
        assert predict(booster, data).tolist() == np.array(data.classes)[expected].tolist()
        booster = train_lightgbm(lightgbm, fitted_on, CODES)
        expected = booster.predict(fitted_on).argmax(axis=1)
        assert predict(booster, data).tolist() == np.array(data.classes)[expected].tolist()


def test_wrappers_are_estimators_that_take_the_frame(xgboost, lightgbm):
    data = make_dataset(FRAME, TEXTS)
    options = {"n_estimators": 3, "n_jobs": 1}
    integers = xgboost.XGBClassifier(**options, enable_categorical=True).fit(FRAME, CODES)
    with pytest.raises(InputError, match=r"got 0; the data's are 'low', 'mid', 'top'; .*classes="):
        predict(integers, data)
    declared = st.adapt(integers, classes=["low", "mid", "top"])
    assert (predict(declared, data) == TEXTS).mean() == integers.score(FRAME, CODES)
    texts = lightgbm.LGBMClassifier(**options, verbose=-1).fit(FRAME, TEXTS)
    assert (predict(texts, data) == TEXTS).mean() == texts.score(FRAME, TEXTS)
    array = lightgbm.LGBMClassifier(**options, verbose=-1).fit(NUMBERS.to_numpy(), TEXTS)
    numbers = make_dataset(NUMBERS, TEXTS)
    assert predict(array, numbers).tolist() == array.predict(NUMBERS.to_numpy()).tolist()


def test_categories_reach_boosters_unchanged_under_noise(xgboost):
    data = make_dataset(FRAME, TEXTS)
    seen = []

    class Watching(xgboost.XGBClassifier):
        def predict(self, frame):
            seen.append(frame)
            return super().predict(frame)

    model = Watching(n_estimators=2, n_jobs=1, enable_categorical=True).fit(FRAME, CODES)
    st.evaluate(st.adapt(model, classes=["low", "mid", "top"]), data, "linf(0.5)", k=1)
    assert len(seen) == 2
    pd.testing.assert_series_equal(seen[1]["town"], FRAME["town"])
    assert not seen[1]["age"].equals(FRAME["age"])


def test_a_booster_that_is_no_classifier_is_refused(xgboost, lightgbm):
    for booster in (
        train_xgboost(xgboost, NUMBERS, CODES, "reg:squarederror"),
        train_lightgbm(lightgbm, NUMBERS, CODES, "regression"),
    ):
        with pytest.raises(InputError, match="must be a classifier, got a booster with objective"):
            as_classifier(booster, make_dataset(NUMBERS, TEXTS))


def test_the_command_line_takes_files_of_both(capsys, xgboost, lightgbm):
    train_xgboost(xgboost, NUMBERS, CODES).save_model("x.ubj")
    train_lightgbm(lightgbm, NUMBERS, CODES).save_model("l.txt")
    NUMBERS.assign(y=TEXTS).to_csv("d.csv", index=False)
    flags = ("--data", "d.csv", "--label", "y", "--classes", "low,mid,top", "--quiet", "--k", "1")
    models = ("--model", "x=x.ubj", "--model", "l=l.txt", "--corruptions", "linf(0.1)")
    found = run_json(capsys, "evaluate", *flags, *models)
    assert [m["model"] for m in found["models"]] == ["x", "l"]
    assert all(m["cells"][0]["mean"] > 50 for m in found["models"])


def write_lightgbm(**changes):
    """Write a model of one tree with one split, at 0.5 of the second of two features."""
    facts = {
        "Tree": "0",
        "num_leaves": "2",
        "num_cat": "0",
        "split_feature": "1",
        "split_gain": "1",
        "threshold": "0.5",
        "decision_type": "2",
        "left_child": "-1",
        "right_child": "-2",
        "leaf_value": "-3 3",
        "leaf_weight": "1 1",
        "leaf_count": "1 1",
        "internal_value": "0",
        "internal_weight": "2",
        "internal_count": "2",
        "is_linear": "0",
        "shrinkage": "1",
    }
    tree = "".join(f"{name}={value}\n" for name, value in {**facts, **changes}.items()) + "\n\n"
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        "max_feature_idx=1\nobjective=binary sigmoid:1\nfeature_names=age income\n"
        f"feature_infos=[0:1] [0:1]\ntree_sizes={len(tree)}\n\n"
    )
    text = head + tree + "end of trees\n\nparameters:\n\nend of parameters\n"
    Path("m.txt").write_text(text)
    return text


def test_a_model_of_one_tree_is_read(lightgbm):
    write_lightgbm()
    scores = load_model("m.txt")[0].predict(np.array([[0.9, 0.4], [0.1, 0.6]]))
    np.testing.assert_allclose(scores[:, 1], 1 / (1 + np.exp([3, -3])))


@pytest.mark.parametrize(
    "changes",
    [
        {"left_child": "0"},  # leads back to itself
        {"right_child": "-30000000"},
        {"num_leaves": "3"},
        {"num_cat": "1"},
        {"shrinkage": "x"},
    ],
)
def test_a_damaged_file_of_lightgbm_is_refused(lightgbm, changes):
    write_lightgbm(**changes)  # the library would end the program, some only when it is asked
    with pytest.raises(InputError, match="'m.txt' is damaged, or no model of its kind: .*; save"):
        load_model("m.txt")


def test_a_field_that_only_later_versions_of_lightgbm_know_does_no_harm(lightgbm):
    write_lightgbm()
    expected = load_model("m.txt")[0].predict(np.eye(2))
    write_lightgbm(leaf_colour="1 2")
    assert load_model("m.txt")[0].predict(np.eye(2)).tolist() == expected.tolist()


def test_a_file_of_lightgbm_that_is_cut_off_is_refused(lightgbm):
    text = write_lightgbm() + "\npandas_categorical:[[1, 2]]\n"
    for length in (len(text) // 3, len(text) - 40, len(text) - 20):
        Path("m.txt").write_text(text[:length])
        with pytest.raises(InputError, match=r"'m.txt' (is damaged|must be a whole model)"):
            load_model("m.txt")


def test_other_files_of_these_endings_are_refused(xgboost):
    Path("m.json").write_text("{}")
    with pytest.raises(InputError, match="must hold a model of XGBoost, saved as JSON"):
        load_model("m.json")
    Path("m.ubj").write_bytes(bytes(range(50)))
    with pytest.raises(InputError, match="'m.ubj' is damaged, or no model of its kind"):
        load_model("m.ubj")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_children", 10**6),
        ("right_children", 0),  # back to the root: no end
        ("split_indices", 10**9),
        ("split_type", None),
    ],
)
def test_a_damaged_tree_of_xgboost_is_refused(xgboost, field, value):
    train_xgboost(xgboost, NUMBERS, CODES).save_model("m.json")
    model = json.loads(Path("m.json").read_text())
    values = model["learner"]["gradient_booster"]["model"]["trees"][1][field]
    if value is None:
        values.append(0)
    else:
        values[0] = value  # the library would end the program, some only when it is asked
    Path("m.json").write_text(json.dumps(model))
    with pytest.raises(InputError, match="'m.json' is damaged, or no model of its kind"):
        load_model("m.json")


def test_a_file_of_xgboost_that_is_cut_off_is_refused(xgboost):
    train_xgboost(xgboost, NUMBERS, CODES, rounds=1).save_model("m.ubj")
    content = Path("m.ubj").read_bytes()
    for length in (len(content) // 2, len(content) - 9):
        Path("m.ubj").write_bytes(content[:length])
        with pytest.raises(InputError, match="'m.ubj' is damaged"):
            load_model("m.ubj")


@pytest.mark.parametrize(
    "kind",
    [{}, {"booster": "dart"}, {"booster": "gblinear"}, {"multi_strategy": "multi_output_tree"}],
)
def test_every_kind_of_booster_passes(xgboost, kind):
    options = {"objective": "multi:softprob", "num_class": 3, "nthread": 1, **kind}
    matrix = xgboost.DMatrix(NUMBERS.fillna(0), CODES)
    xgboost.train(options, matrix, 2).save_model("m.ubj")
    load_model("m.ubj")


def test_a_file_is_tried_once(xgboost, monkeypatch):
    train_xgboost(xgboost, NUMBERS, CODES).save_model("m.ubj")
    load_model("m.ubj")
    monkeypatch.setattr(subprocess, "run", None)
    Path("m.ubj").rename("n.ubj")
    assert load_model("n.ubj")[0].name == "n.ubj"
