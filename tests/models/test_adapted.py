"""Classes of a model that are declared: integers for text, scores in another order."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_failing, run_json
from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.adapted import adapt
from shaketable.models.classifier import as_classifier

X = np.linspace(0, 1, 30)[:, None]
CODES = (X[:, 0] * 3).astype(int).clip(max=2)
DATA = make_dataset(X, np.array(["low", "mid", "top"])[CODES])


def labels(x):
    return (x[:, 0] * 3).astype(int).clip(max=2)


def scores(x):
    """Classes in the order top, none, low, mid."""
    return np.eye(4)[np.array([2, 3, 0])[labels(x)]]


def accuracy(model, data=DATA):
    return float((as_classifier(model, data)(data.x) == data.y).mean())


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (labels, ["low", "mid", "top"]),
        (labels, ("low", "mid", "top", "unseen")),
        (labels, {0: "low", 1: "mid", 2: "top"}),
        (lambda x: labels(x).astype(float), ["low", "mid", "top"]),
        (lambda x: np.array(["a", "b", "c"])[labels(x)], {"a": "low", "b": "mid", "c": "top"}),
        (lambda x: DATA.labels[(x[:, 0] * 29).round().astype(int)], ["low", "mid", "top"]),
        (scores, ["top", "none", "low", "mid"]),
    ],
)
def test_declared_classes_are_those_of_the_data(model, classes):
    assert accuracy(adapt(model, classes=classes)) == 1


def test_a_class_that_the_data_lack_is_wrong_not_an_error():
    model = adapt(lambda x: np.full(len(x), 1), classes=["top", "none", "low", "mid"])
    assert as_classifier(model, DATA)(X).tolist() == [-1] * len(X)


def test_numbers_that_both_have_mean_what_was_declared():
    data = make_dataset(X, CODES + 1)  # labels 1, 2, 3 where the model says 0, 1, 2
    assert accuracy(adapt(labels, classes=[1, 2, 3]), data) == 1
    assert accuracy(adapt(labels, classes=["1", "2", "3"]), data) == 1, (
        "as the command line has them"
    )


def test_a_module_has_its_scores_put_into_the_order_of_the_data():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Scores(torch.nn.Module):
        def forward(self, x):
            return torch.tensor(scores(x.numpy()))

    model = as_classifier(adapt(Scores(), classes=["top", "none", "low", "mid"]), DATA)
    assert (model(X) == DATA.y).all()
    assert model.answer(X).argmax(axis=1).tolist() == DATA.y.tolist()


def test_a_model_is_trained_on_its_own_labels():
    class Picky(LogisticRegression):
        def fit(self, x, y):
            assert set(y.tolist()) <= {0, 1, 2}, "integers, as XGBoost wants them"
            return super().fit(x, y)

    model = adapt(Picky(C=1e4), classes=["low", "mid", "top"])
    fitted = st.evaluate(model, DATA, "clean", refit=True)
    assert fitted.models == ["Picky"]
    assert fitted.cells[0].accuracy > 0.8
    assert len(st.study(DATA, model, runs=1, n_jobs=1)) == 4


def test_what_is_declared_is_part_of_the_identity():
    model = LogisticRegression().fit(X, CODES)
    declared = [["low", "mid", "top"], ["low", "top", "mid"]]
    adapted = [adapt(model, classes=classes) for classes in declared]
    adapted.append(adapt(model, classes=declared[0], preprocess=st.models.Preprocess(scale=2)))
    found = [as_classifier(each, DATA).identity for each in (*adapted, adapted[0])]
    assert found[0] == found[3]
    assert len({*found}) == 3
    assert None not in found


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["low", "mid"], "must name all classes of the data, got low, mid without 'top'"),
        (["low", "mid", "mid"], "classes must differ"),
        ("low", "classes must be two labels or more"),
        (["low"], "classes must be two labels or more"),
    ],
)
def test_classes_that_cannot_be_are_refused(classes, message):
    with pytest.raises(InputError, match=message):
        as_classifier(adapt(labels, classes=classes), DATA)


@pytest.mark.usefixtures("own_directory")
def test_the_command_line_declares_classes_and_preprocessing(capsys):
    with open("mine.py", "w") as file:
        file.write("def answer(x):\n    return (x[:, 0] > 1).astype(int) + 5\n")
    np.savez("d.npz", x=X, y=np.where(X[:, 0] > 0.5, "yes", "no"))
    command = ("evaluate", "--data", "d.npz", "--model", "mine:answer", "--quiet", "--k", "1")
    assert "say so in their order (--classes)" in run_failing(capsys, *command)
    ready = ("--classes", "5=no,6=yes", "--preprocess", "scale=4", "mean=1")
    found = run_json(capsys, *command, *ready)
    assert found["models"][0]["cells"][0]["mean"] == 100
    assert "did you mean 'scale'" in run_failing(capsys, *command, "--preprocess", "scal=4")
