"""`evaluate --features --by`: which model is better, and on which feature each is fragile."""

from pathlib import Path

import joblib
import pytest

from helpers.commands import run_failing, run_json
from helpers.frames import make_people, make_pipeline_for_people

N = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table with text and missing values, and models that were fitted on a part of it."""
    xgboost = pytest.importorskip("xgboost", reason="needs XGBoost")
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM")
    if not hasattr(xgboost.Booster, "get_categories"):
        pytest.skip("this XGBoost does not take text as categories")
    folder = tmp_path_factory.mktemp("people")
    frame, y = make_people(2 * N)
    frame = frame.drop(columns="since")
    frame["town"] = ["Ulm", "Bonn", None] * (2 * N // 3)
    table = frame.assign(buys=y)
    table[:N].to_csv(folder / "train.csv", index=False)
    table[N:].to_csv(folder / "test.csv", index=False)
    x = frame[:N].drop(columns="town").astype({"job": "category"})
    models = {
        "pipeline": (make_pipeline_for_people(), y[:N]),
        "xgb": (
            xgboost.XGBClassifier(n_estimators=9, enable_categorical=True),
            (y[:N] == "yes") * 1,
        ),
        "lgbm": (lightgbm.LGBMClassifier(n_estimators=9, verbose=-1), y[:N]),
    }
    for name, (model, labels) in models.items():
        joblib.dump(model.fit(x, labels), folder / f"{name}.joblib")
    return folder


def list_arguments(folder: Path) -> list[str]:
    names = ("pipeline", "xgb", "lgbm")
    return [
        "evaluate",
        *("--data", str(folder / "train.csv"), "--test", str(folder / "test.csv")),
        *("--label", "buys", "--trust", "--classes", "0=no,1=yes", "--quiet"),
        *(word for name in names for word in ("--model", f"{name}={folder / name}.joblib")),
    ]


def test_one_command_names_the_fragile_feature_of_every_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, y = make_people(2 * N)
    x = frame[N:].drop(columns="since").astype({"job": "category"})
    flags = ["--column", "town=drop", "--by", "town", "--by", "job", "--features", "--k", "3"]
    found = run_json(capsys, *list_arguments(folder), *flags)
    ranked = [(entry["model"], entry["noise"]) for entry in found["feature_losses"]]
    names = ["pipeline", "xgb", "lgbm"]
    assert ranked == [(m, noise) for noise in ("jitter(0.5)", "swap(0.1)") for m in names]
    for entry in found["feature_losses"]:
        model = joblib.load(folder / f"{entry['model']}.joblib")
        truth = (y[N:] == "yes") * 1 if entry["model"] == "xgb" else y[N:]
        accuracy = 100 * (model.predict(x) == truth).mean()
        assert entry["clean"]["mean"] == pytest.approx(accuracy), "as scikit-learn has it"
        moved = entry["noise"] == "jitter(0.5)"
        expected = {"age", "income", "weight"} if moved else {"job", "size", "member"}
        assert {f["feature"] for f in entry["features"]} == expected
        if moved:
            assert entry["features"][0]["feature"] == "age"
            assert entry["most_fragile"] in (["age"], [])
    assert any(entry["most_fragile"] for entry in found["feature_losses"])
    pairs = {(d["first"], d["second"]) for d in found["mean_accuracy_differences"]}
    assert pairs == {("pipeline", "xgb"), ("pipeline", "lgbm"), ("xgb", "lgbm")}
    assert [e["by"] for e in found["groups"][::6]] == ["town", "job", "class"]
    groups = {e["by"]: {g["group"] for g in e["groups"]} for e in found["groups"]}
    assert groups["town"] == {"Ulm", "Bonn", "missing"}
    assert groups["job"] == {"clerk", "nurse", "chef", "missing"}


def test_a_column_that_the_model_does_not_know_must_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = run_failing(capsys, *list_arguments(folder))
    assert "the model lacks town; leave them out of the data (--column NAME=drop)" in message
    message = run_failing(capsys, *list_arguments(folder), "--column", "twon=drop")
    assert "unknown column 'twon'; did you mean 'town'?" in message
