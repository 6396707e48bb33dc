"""A decision threshold between two classes: answers, identity, refusals, results files."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_command
from shaketable.core.errors import InputError
from shaketable.evaluation.store import Store


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(300) < 0.3, "yes", "no")
    x = rng.normal(size=(300, 2)) + (y == "yes")[:, None]
    return LogisticRegression().fit(x, y), x, y


@pytest.mark.parametrize(("label", "value"), [("yes", 0.2), ("no", 0.2), ("yes", 0.7)])
def test_the_class_is_answered_from_its_score_on(case, label, value):
    model, x, y = case
    (record,) = st.evaluate(st.adapt(model, threshold=(label, value)), (x, y), "clean")
    own = model.predict_proba(x)[:, list(model.classes_).index(label)]
    other = {"yes": "no", "no": "yes"}[label]
    expected = np.where(own >= value, label, other)
    np.testing.assert_array_equal(
        np.array(record.points.classes)[record.answers.predicted[:, 0]], expected
    )
    assert record.accuracy == pytest.approx(np.mean(expected == y))


def test_a_score_that_equals_the_threshold_is_enough():
    def scores(x):
        return np.stack([1 - x[:, 0], x[:, 0]], axis=1)

    data = [[0.25], [0.2], [0.9]], ["yes", "no", "yes"]
    (record,) = st.evaluate(st.adapt(scores, threshold=("yes", 0.25)), data, "clean")
    assert record.accuracy == 1


def test_scores_stay_as_they_are_and_disagreement_is_counted(case):
    model, x, y = case
    plain, moved = (
        st.evaluate(m, (x, y), "clean").cells[0]
        for m in (model, st.adapt(model, threshold=("yes", 0.1)))
    )
    np.testing.assert_array_equal(plain.answers.scores, moved.answers.scores)
    changed = (plain.answers.predicted != moved.answers.predicted).sum()
    assert changed > 20
    assert moved.answers.disagrees.sum() == changed


def test_models_of_other_thresholds_are_other_models(case, tmp_path):
    model, x, y = case
    store = tmp_path / "r.sqlite"
    for value in (0.2, 0.4, 0.2):
        adapted = st.adapt(model, threshold=("yes", value))
        st.evaluate(adapted, (x, y), "clean", store=store, name="m")
    with Store(store, must_exist=True) as file:
        assert len(file.everything()) == 2


def test_thresholds_without_scores_or_with_three_classes_are_refused(case):
    model, x, y = case
    with pytest.raises(InputError, match="must give scores for a threshold"):
        st.evaluate(st.adapt(lambda x: y[: len(x)], threshold=("yes", 0.3)), (x, y), "clean")
    with pytest.raises(InputError, match="'yes'"):
        st.evaluate(st.adapt(model, threshold=("yess", 0.3)), (x, y), "clean")
    three = np.array(["no", "yes", "maybe"])[np.arange(len(x)) % 3]
    with pytest.raises(InputError, match="two classes, got 3"):
        st.evaluate(st.adapt(model, threshold=("yes", 0.3)), (x, three), "clean")
    for value in (0, 1, 1.5):
        with pytest.raises(InputError, match="between 0 and 1"):
            st.adapt(model, threshold=("yes", value))


def test_the_command_keeps_the_threshold(capsys, tmp_path):
    store = tmp_path / "r.sqlite"
    argv = ["--data", "bands(n=80)", "--model", "rf", "--k", "1", "--quiet"]
    for command, extra in (("evaluate", []), ("study", ["--runs", "1", "--record", "answers"])):
        found = {}
        for value in ("0.01", "0.99"):
            own = [command, *argv, *extra, "--threshold", f"upper={value}"]
            code, _, err = run_command(
                capsys, *own, "--json", "--store", f"{store}{command}{value}"
            )
            assert code == 0, err
            with Store(f"{store}{command}{value}", must_exist=True) as file:
                cells = list(file.everything())
            answers = np.concatenate([c.answers.predicted.ravel() for c in cells])
            upper = cells[0].points.classes.index("upper")
            found[value] = np.mean(answers == upper)
        assert found["0.01"] > found["0.99"], command
    code, _, err = run_command(capsys, "rerun", f"{store}evaluate0.01", "--json", "--quiet")
    assert code == 0, err
    code, _, err = run_command(capsys, "evaluate", *argv, "--threshold", "upper")
    assert code == 2
    assert "CLASS=SCORE" in err
