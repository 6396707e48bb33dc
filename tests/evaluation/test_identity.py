"""Which options decide a cell: each has to be named here, so that a new one is thought about.

What decides gives every cell another key; what does not leaves all keys as they are. And whatever
the keys are, two cells with the same one must have the same counts.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.study import study
from shaketable.findings.stopping.numbers import Precision

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(60, 2))
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0.5).astype(int)
DATA = make_dataset(X, Y, bounds=(-1, 2), name="blobs")


def fit(neighbours):
    return KNeighborsClassifier(neighbours).fit(X[:40], Y[:40])


EVALUATE = {
    "model": fit(1),
    "data": DATA,
    "corruptions": ["linf(0.3)", "l2(0.3)", "linf(0.2)"],
    "k": 3,
    "seed": 0,
}
EVALUATE_DECIDES = {
    "model": fit(3),
    "data": make_dataset(X, 1 - Y, bounds=(-1, 2)),
    "corruptions": ["linf(0.25)"],
    "k": 4,
    "seed": 1,
    "bounds": (0, 1),
    "draws": "ladder",
    "model_id": "another",
    "refit": True,
    "until": Precision(1.0),
}
EVALUATE_LEAVES = {
    "name": "other",
    "by": {"side": np.arange(60) % 2},
    "progress": True,
    "record": "hits",
}
EVALUATE_OTHERS = {"store", "device_noise", "unscale"}
"""The results file itself; what needs a torch module or scaled data has tests of its own."""

STUDY = {
    "data": DATA,
    "models": {"tree": DecisionTreeClassifier(max_depth=3)},
    "train_eps": [0, 0.3],
    "test_eps": [0.2],
    "k": 2,
    "runs": 2,
    "n_jobs": 1,
}
STUDY_DECIDES = {
    "data": make_dataset(X, 1 - Y, bounds=(-1, 2)),
    "models": {"tree": DecisionTreeClassifier(max_depth=2)},
    "k": 3,
    "seed": 1,
    "draws": "shared",
    "bounds": (0, 1),
    "until": Precision(1.0),
}
STUDY_SIZES = {
    "norm": 2,
    "train_eps": [0.25],
    "test_eps": [0.15],
    "train": ["clean", "linf(0.1)"],
    "corruptions": ["l1(0.3)"],
    "runs": 3,
}
"""Options that say which cells there are: they may add cells, and leave others as they are."""
STUDY_LEAVES = {"trust": True, "progress": True, "record": "answers"}
STUDY_OTHERS = {"store", "keep_models", "n_jobs"}
"""Workers change nothing: see test_study.py."""


def table(records):
    return {cell.key: cell.hits.tolist() for cell in records}


def check_reuse(measure, base, changed, store):
    """Counts of a changed call are its own, also beside those of the first call."""
    first, alone = table(measure(**base)), table(measure(**base | changed))
    measure(**base, store=store)
    assert table(measure(**base | changed, store=store)) == alone
    assert all(first[key] == alone[key] for key in first.keys() & alone.keys())
    return first, alone


def test_every_option_is_classified():
    assert set(inspect.signature(evaluate).parameters) == {
        *EVALUATE_DECIDES,
        *EVALUATE_LEAVES,
        *EVALUATE_OTHERS,
    }
    assert set(inspect.signature(study).parameters) == {
        *STUDY_DECIDES,
        *STUDY_SIZES,
        *STUDY_LEAVES,
        *STUDY_OTHERS,
    }


@pytest.mark.parametrize("option", EVALUATE_DECIDES)
def test_what_decides_an_evaluation_makes_other_cells(option, tmp_path):
    changed = {option: EVALUATE_DECIDES[option]}
    first, alone = check_reuse(evaluate, EVALUATE, changed, tmp_path / "s.sqlite")
    clean = evaluate(**EVALUATE).cells[0].key
    kept = {clean} if option in ("corruptions", "k", "bounds", "draws") else set()
    assert first.keys() & alone.keys() == kept


@pytest.mark.parametrize("option", EVALUATE_LEAVES)
def test_what_does_not_decide_an_evaluation_leaves_its_cells(option, capsys):
    changed = {option: EVALUATE_LEAVES[option]}
    assert table(evaluate(**EVALUATE | changed)) == table(evaluate(**EVALUATE))


def test_features_in_other_units_make_other_cells(tmp_path):
    scaled = make_dataset(3 * X + 1, Y).scaled()
    base = EVALUATE | {"data": scaled}
    first, alone = check_reuse(evaluate, base, {"unscale": True}, tmp_path / "s.sqlite")
    assert not first.keys() & alone.keys()


def test_names_of_columns_that_a_model_goes_by_make_other_cells(tmp_path):
    # a frame of plain numbers has the fingerprint of their array, and a model may choose by name
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = DecisionTreeClassifier(random_state=0).fit(frame[["b", "a"]], Y)
    by_name = {"model": lambda x: np.asarray(x["a"] > 0.5).astype(int), "model_id": "a > 0.5"}
    other = frame.rename(columns={"a": "b", "b": "a"})
    for given in ({"model": fitted}, by_name):
        counts = []
        for x in (frame, other, frame) if given is by_name else (X, frame, X):
            cells = evaluate(**given, data=(x, Y), corruptions="linf(0.1)", store=tmp_path / "r")
            counts.append([cell.hits.sum() for cell in cells])
        assert counts[0] == counts[2]
        assert counts[0] != counts[1]  # were those of the first, from the store
    in_order = DecisionTreeClassifier(random_state=0).fit(frame, Y)
    keys = [
        [c.key for c in evaluate(in_order, (x, Y), "linf(0.1)", name="tree")] for x in (X, frame)
    ]
    assert keys[0] == keys[1]


def test_names_of_columns_make_other_cells_of_a_study(tmp_path):
    model = make_pipeline(make_column_transformer(("passthrough", ["a"])), KNeighborsClassifier(1))
    frame = pd.DataFrame(X, columns=["a", "b"])
    accuracies = [
        [cell.accuracy for cell in study((x, Y), model, runs=1, k=1, store=tmp_path / "s")]
        for x in (frame, frame.rename(columns={"a": "b", "b": "a"}))
    ]
    assert accuracies[0] != accuracies[1]  # were those of the first, from the store


def test_noise_of_a_device_makes_other_cells(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    base = EVALUATE | {"model": torch.nn.Linear(2, 2), "data": make_dataset(X.astype("f4"), Y)}
    first, alone = check_reuse(evaluate, base, {"device_noise": True}, tmp_path / "s.sqlite")
    assert len(first.keys() & alone.keys()) == 1, "on clean points"


@pytest.mark.parametrize("option", STUDY_DECIDES)
def test_what_decides_the_models_of_a_study_makes_other_cells(option, tmp_path):
    changed = {option: STUDY_DECIDES[option]}
    first, alone = check_reuse(study, STUDY, changed, tmp_path / "s.sqlite")
    assert not first.keys() & alone.keys()  # those on clean points too: the models are others


@pytest.mark.parametrize("option", STUDY_SIZES)
def test_what_says_which_cells_there_are_leaves_the_others(option, tmp_path):
    changed = {option: STUDY_SIZES[option]}
    first, alone = check_reuse(study, STUDY, changed, tmp_path / "s.sqlite")
    assert alone.keys() - first.keys()
    clean = {c.key for c in study(**STUDY) if (c.train, c.corruption) == ("clean", "clean")}
    assert option == "train_eps" or clean <= alone.keys()


@pytest.mark.parametrize("option", STUDY_LEAVES)
def test_what_does_not_decide_a_study_leaves_its_cells(option, capsys):
    changed = {option: STUDY_LEAVES[option]}
    assert table(study(**STUDY | changed)) == table(study(**STUDY))
