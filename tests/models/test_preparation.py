"""Built-in models bring the preparation of tables with text, dates and gaps."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from shaketable.adversary.one_nn import extract_one_nn
from shaketable.cli.main import main
from shaketable.models.adapted import note_preparation
from shaketable.models.builtin import BUILTIN, builtin
from shaketable.models.fitting import clone_seeded
from shaketable.models.preparation import as_numbers, as_texts

RNG = np.random.default_rng(0)
N = 60


def make_frame(n=N):
    """Numbers with gaps, text with gaps, categories, booleans with gaps and dates."""
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "age": np.where(np.arange(n) % 7 == 3, np.nan, 30 + 10 * y + RNG.normal(0, 3, n)),
            "job": np.where(RNG.random(n) < 0.8, y, 1 - y).astype(object),
            "size": pd.Categorical(["s", "m", "l"] * (n // 3)),
            "owner": pd.array([True, False, None] * (n // 3), dtype="boolean"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, n), "D"),
        }
    )
    frame["job"] = frame["job"].map({0: "clerk", 1: "cook"}).where(np.arange(n) % 9 != 4)
    return frame, np.where(y, "yes", "no")


def write(tmp_path, frame, y, name="people.csv"):
    path = tmp_path / name
    frame.assign(label=y).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize("model", BUILTIN)
def test_every_built_in_model_takes_text_dates_and_gaps_under_every_fault(model, tmp_path, capsys):
    path = write(tmp_path, *make_frame())
    faults = ["linf(0.5)", "jitter(0.5)", "swap(0.2)", "typo(0.3)", "missing(0.3)"]
    command = ["evaluate", "--model", model, "--data", path, "--label", "label", "--k", "2"]
    command += [
        "--column",
        "since=date",
        "--column",
        "size=category",
        "--quiet",
        "--json",
        "--corruptions",
    ]
    assert main([*command, *faults]) == 0
    printed = json.loads(capsys.readouterr().out)
    (note,) = (note for note in printed["notes"] if "as preparation, " in note)
    how = "numbers in alphabetical order" if model == "rf" else "0/1 columns"
    gaps = "stay missing" if model == "rf" else "become the median"
    assert note.startswith(f"{model}: as preparation, text becomes {how}")
    assert f"dates become days; missing numbers {gaps}" in note
    assert note.endswith("numbers are standardised") == (model != "rf")


def test_the_preparation_is_the_usual_one():
    frame, y = make_frame()
    data = st.make_dataset(frame, y)
    ours = builtin("logistic", data).fit(frame, y)

    numbers = frame[["age", "owner", "since"]].copy()
    numbers["owner"] = numbers["owner"].astype("Float64")
    numbers["since"] = (numbers["since"] - pd.Timestamp("2000-01-01")).dt.days
    numbers = numbers.astype(float)
    numbers = numbers.fillna(numbers.median())
    numbers = (numbers - numbers.mean()) / numbers.std(ddof=0)
    texts = pd.get_dummies(frame[["job", "size"]], dummy_na=True).astype(float)
    texts = texts.loc[:, texts.any()]
    theirs = LogisticRegression(max_iter=1000).fit(np.hstack([numbers, texts]), y)
    np.testing.assert_allclose(
        ours.predict_proba(frame), theirs.predict_proba(np.hstack([numbers, texts])), atol=1e-6
    )


@pytest.mark.parametrize("model", BUILTIN)
def test_plain_numbers_are_not_prepared(model, tmp_path):
    x, y = RNG.normal(size=(40, 3)), np.arange(40) % 2
    path = write(tmp_path, pd.DataFrame(x, columns=list("abc")), y)
    for data in (st.make_dataset(x, y), st.make_dataset(x, y).touching(keep="0")):
        assert repr(builtin(model, data)) == repr(builtin(model))
    table = st.load(path, label="label")
    points = table.decode(table.x)
    given = clone_seeded(builtin(model, table), 1).fit(points[:30], y[:30])
    bare = clone_seeded(builtin(model), 1).fit(x[:30], y[:30])
    assert (given.predict(points) == bare.predict(x)).all()
    assert note_preparation(given, table) == []


def test_a_gap_changes_neither_seeds_nor_other_features():
    y = np.arange(40) % 2
    filled = RNG.normal(size=(40, 3)) + 4 * y[:, None]
    gapped = filled.copy()
    gapped[0, 0] = np.nan
    filled[0, 0] = np.median(filled[1:, 0])
    runs = [
        st.study((x, y), "mlp", train_eps=[0], test_eps=[2], runs=1, n_jobs=1, seed=3)
        for x in (filled, gapped)
    ]
    assert any("missing numbers become the median" in note for note in runs[1].notes)
    assert not any("prepares" in note for note in runs[0].notes)
    models = [
        clone_seeded(builtin("mlp", st.make_dataset(x, y)), 5).fit(x, y) for x in (filled, gapped)
    ]
    np.testing.assert_allclose(*(model.predict_proba(filled) for model in models), rtol=1e-6)


def test_a_forest_takes_gaps_in_numbers_as_it_is():
    x, y = RNG.normal(size=(20, 2)), np.arange(20) % 2
    x[3, 1] = np.nan
    data = st.make_dataset(x, y)
    assert repr(builtin("rf", data)) == repr(builtin("rf"))
    assert builtin("rf", data).fit(data.x, y).predict(data.x).shape == (20,)


def test_only_beside_text_are_numbers_of_nearest_neighbours_standardised():
    frame, y = make_frame()
    numbers = frame[["age"]]
    alone = builtin("1nn", st.make_dataset(numbers, y)).fit(numbers, y)
    filled = numbers.fillna(numbers.median())
    raw = KNeighborsClassifier(1).fit(filled.to_numpy(), y)
    points = pd.DataFrame({"age": np.linspace(20, 60, 50)})
    assert (alone.predict(points) == raw.predict(points.to_numpy())).all()
    assert "standardised" not in alone.describe_preparation(st.make_dataset(numbers, y))
    both = frame[["age", "size"]].assign(age=1000 * frame["age"].fillna(0))
    in_other_units = both.assign(age=both["age"] / 1e6)
    answers = [
        builtin("1nn", st.make_dataset(each, y)).fit(each[:40], y[:40]).predict(each[40:])
        for each in (both, in_other_units)
    ]
    assert (answers[0] == answers[1]).all()


@pytest.mark.parametrize("model", ["rf", "logistic"])
def test_values_that_training_has_not_seen_are_answered(model):
    frame, y = make_frame()
    fitted = builtin(model, st.make_dataset(frame, y)).fit(frame, y)
    odd = frame.assign(
        job="astronaut",
        size=pd.Categorical([None] * N, categories=["s", "m", "l"]),
        owner=pd.array([None] * N, dtype="boolean"),
        since=pd.Series([pd.NaT] * N, dtype=frame["since"].dtype),
        age=np.nan,
    )
    assert set(fitted.predict(odd)) <= {"yes", "no"}
    assert len(set(map(tuple, fitted.predict_proba(odd)))) == 1  # nothing tells rows apart


def test_noise_in_text_reaches_the_model():
    y = np.array(["no", "yes"] * 20)
    frame = pd.DataFrame({"job": np.where(y == "yes", "cook", "clerk"), "age": np.arange(40.0)})
    records = st.study((frame, y), "logistic", train_eps=[0], corruptions=["swap(1)"], runs=1, k=2)
    clean, swapped = (record.accuracy for record in records)
    assert clean == 1
    assert swapped == 0


def test_a_table_of_text_alone_and_one_of_gaps_alone():
    y = np.array(["no", "yes"] * 10)
    text = pd.DataFrame({"job": np.where(y == "yes", "cook", "clerk"), "town": ["a", "b"] * 10})
    empty = pd.DataFrame({"age": [np.nan] * 20, "job": text["job"]})
    for frame in (text, empty):
        for model in ("rf", "svm"):
            data = st.make_dataset(frame, y)
            assert (builtin(model, data).fit(frame, y).predict(frame) == y).all()


def test_a_hardened_model_is_saved_with_its_preparation(tmp_path, capsys):
    path = write(tmp_path, *make_frame())
    flags = ["--data", path, "--label", "label", "--scale", "--quiet"]
    saved = str(tmp_path / "model.joblib")
    command = ["harden", *flags, "--model", "logistic", "--noise", "linf(0.1)", "--runs", "1"]
    command += ["--search-runs", "1", "--k", "2", "--target", "linf(0.1)", "--jobs", "1"]
    assert main([*command, "-o", saved]) == 0
    assert "logistic: as preparation, text becomes 0/1" in capsys.readouterr().err
    raw = pd.read_csv(path).drop(columns="label")
    answers = joblib.load(saved).predict(raw)
    assert np.mean(answers == make_frame()[1]) > 0.7
    evaluate = ["evaluate", "--model", saved, "--trust", "--json", "--corruptions", "typo(0.5)"]
    assert main([*evaluate, *flags]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert any("as preparation, " in note for note in printed["notes"])
    assert printed["models"][0]["cells"][0]["mean"] == pytest.approx(
        100 * np.mean(answers == pd.read_csv(path)["label"])
    )


def test_worst_cases_are_searched_through_the_preparation():
    frame, y = make_frame()
    data = st.make_dataset(frame, y)
    model = builtin("logistic", data).fit(frame, y)
    worst = st.worst_case(model, data, [0.0, 20.0], norm="inf", points=3, attacks=["random(10)"])
    assert worst.curves[0].accuracies[1].value < worst.curves[0].accuracies[0].value
    assert any("as preparation, " in note for note in worst.notes)


def test_numbers_and_text_are_read_whatever_their_type():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "flag": [True, False],
            "day": pd.to_datetime(["1970-01-02", None], utc=True),
            "span": pd.to_timedelta(["36h", None]),
        }
    )
    np.testing.assert_array_equal(as_numbers(frame), [[1, 1, 1, 1.5], [np.nan, 0, np.nan, np.nan]])
    texts = pd.DataFrame(
        {
            "text": pd.array(["a", None], dtype="string"),
            "mixed": pd.Series([1, None], dtype=object),
            "number": pd.Categorical([7, None], categories=[7, 8]),
        }
    )
    assert as_texts(texts)[0].tolist() == ["a", "1", "7"]
    assert as_texts(texts)[1].tolist() == ["", "", ""]


def test_models_of_users_are_told_what_they_lack():
    frame, y = make_frame()
    with pytest.raises(st.InputError, match="text, dates or gaps, which a pipeline can prepare"):
        st.evaluate(LogisticRegression(), (frame, y), "linf(0.1)", refit=True)


def test_gaps_in_booleans_are_said_and_a_complete_table_has_nothing_to_say():
    y = ["no", "yes"] * 3
    flags = pd.DataFrame({"flag": pd.array([True, None, False] * 2, dtype="boolean")})
    data = st.make_dataset(flags, y)
    words = "missing numbers become the median; numbers are standardised"
    assert builtin("svm", data).describe_preparation(data) == words
    whole = st.make_dataset(flags.fillna(False).astype(bool), y)
    assert builtin("svm", whole).describe_preparation(whole) == ""


def test_labels_that_are_no_text_name_columns_by_their_places():
    y = np.array(["no", "yes"] * 10)
    frame = pd.DataFrame({7: np.where(y == "yes", "cook", "clerk"), 3: np.arange(20.0)})
    frame.loc[4, 3] = np.nan
    model = builtin("svm", st.make_dataset(frame, y)).fit(frame, y)
    assert (model.predict(frame) == y).all()


def test_nearest_neighbours_behind_filled_gaps_are_still_exact():
    x = RNG.normal(size=(12, 2))
    frame = pd.DataFrame(x, columns=["b", "a"])
    frame.loc[3, "a"] = np.nan
    y = np.arange(12) % 2
    model = builtin("1nn", st.make_dataset(frame, y)).fit(frame, y)
    found = extract_one_nn(model, features=["a", "b"])
    filled = frame.fillna({"a": frame["a"].median()})
    np.testing.assert_array_equal(found.points, filled[["a", "b"]])
    beside_text = frame.assign(job=list("xy") * 6)
    model = builtin("1nn", st.make_dataset(beside_text, y)).fit(beside_text, y)
    assert extract_one_nn(model, features=["a", "b"]) is None


def test_models_that_prepare_a_table_alike_share_a_note(tmp_path, capsys):
    path = write(tmp_path, *make_frame())
    alike = ["logistic", "svm", "1nn"]
    flags = [flag for model in (*alike, "rf") for flag in ("--model", model)]
    flags += ["--data", path, "--label", "label", "--json", "--quiet"]
    faults = ["--corruptions", "swap(0.1)"]
    study = ["--train", "clean", "--runs", "1", "--jobs", "1"]
    attack = ["--eps", "0.1", "--points", "2", "--attack", "random(10)"]
    for command, more in ("evaluate", faults), ("study", [*faults, *study]), ("adversary", attack):
        assert main([command, *flags, *more]) == 0
        notes = [n for n in json.loads(capsys.readouterr().out)["notes"] if "preparation" in n]
        assert [note.partition(": as")[0] for note in notes] == ["logistic, svm, 1nn", "rf"]


def test_models_of_others_may_have_the_same_name():
    class PreparedModel:
        def predict(self, x):
            return np.zeros(len(x), int)

    data = st.make_dataset([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert len(st.evaluate(PreparedModel(), data, ["linf(0.1)"], k=1)) == 2
