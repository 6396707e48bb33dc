import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.core.errors import StoreError
from shaketable.core.versions import list_installed_versions
from shaketable.data.bounds import Bounds
from shaketable.evaluation.command_records import describe_call, find_changes
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.merging import merge_stores
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import study

X = np.random.default_rng(0).uniform(size=(40, 2))
Y = np.where(X[:, 0] > 0.5, "right", "left")
OPTIONS = {"train_eps": [0], "test_eps": [0.1], "k": 1, "runs": 2}


def read_commands(path):
    with Store(path, must_exist=True) as store:
        return store.commands()


def describe(arguments):
    """What is kept of a call of `study`."""
    options = {key: x for key, x in arguments.items() if key not in ("data", "models")}
    given = {"data": "iris", "models": "1nn"} | arguments
    return describe_call(given["data"], given["models"], StudyOptions(**options))


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ({"data": "iris", "models": "rf"}, {"data": "iris", "model": ["rf"]}),
        ({"models": {"a": "rf", "b": "1nn"}}, {"model": ["a=rf", "b=1nn"]}),
        ({"models": ["rf", "m.joblib"]}, {"model": ["rf", "m.joblib"]}),
        ({"k": None, "runs": np.int64(3), "norm": 2.0}, {"runs": 3, "norm": 2.0}),
        ({"train_eps": np.array([0, 0.5])}, {"train_eps": [0.0, 0.5]}),
        ({"test_eps": (0, "eps_min")}, {"test_eps": [0, "eps_min"]}),
        ({"bounds": None}, {"bounds": "none"}),
        ({"bounds": (0, 1)}, {"bounds": [0, 1]}),
        ({"bounds": Bounds(0, 2, "truncate")}, {"bounds": "truncate(0, 2)"}),
        ({"bounds": "declared", "train": None}, {}),
        ({"corruptions": st.corruptions.Jitter(0.2)}, {"corruptions": ["jitter(0.2)"]}),
        (
            {"corruptions": ["l2(1)", st.suite("pnorm"), st.suite("mscr")]},
            {"corruptions": ["l2(1)"], "suite": ["pnorm", "mscr"]},
        ),
    ],
)
def test_arguments_are_written_down_as_settings(arguments, settings):
    assert describe(arguments) == ({"data": "iris", "model": ["1nn"]} | settings, {})


@pytest.mark.parametrize(
    ("arguments", "lacks"),
    [
        ({"data": (X, Y)}, {"data": "a data set in memory"}),
        (
            {"models": DecisionTreeClassifier(max_depth=3)},
            {"model": "DecisionTreeClassifier(max_depth=3)"},
        ),
        ({"models": {"a:b": "rf"}}, {"model": "{'a:b': 'rf'}"}),
        ({"corruptions": st.grid(["sp(0.1)"], ["rotation(30)"])}, {"corruptions": "Suite("}),
        ({"train_eps": iter([0.5])}, {"train_eps": "<list_iterator"}),
    ],
)
def test_what_cannot_be_written_down_is_described(arguments, lacks):
    settings, described = describe(arguments)
    assert settings.keys() <= {"data", "model"}
    ((key, text),) = lacks.items()
    assert described.keys() == {key}
    assert described[key].startswith(text)


def test_a_results_file_keeps_commands_and_each_once(tmp_path):
    path = tmp_path / "s.sqlite"
    for runs in (1, 1, 2):
        study((X, Y), {"tree": "1nn"}, store=path, **{**OPTIONS, "runs": runs})
    first, second = read_commands(path)
    assert (first.settings["runs"], second.settings["runs"]) == (1, 2)
    assert first.command == "study"
    assert first.lacks == {"data": "a data set in memory"}
    assert first.fingerprint == st.make_dataset(X, Y).fingerprint
    assert first.versions == list_installed_versions()
    assert first.models.keys() == {"tree"}
    with Store(path) as store:
        assert {cell.recipe for cell in store.records()} == {*first.recipes}


def test_commands_that_were_changed_are_damage(tmp_path):
    path = tmp_path / "s.sqlite"
    study((X, Y), "1nn", store=path, **OPTIONS)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE commands SET seed = 1")
    with pytest.raises(StoreError, match="row 1 of table commands was changed"):
        Store(path)
    with pytest.raises(StoreError, match="row 1 of table commands was changed"):
        read_commands(path)


def test_merged_files_keep_the_commands_of_all(tmp_path):
    paths = [tmp_path / f"{seed}.sqlite" for seed in (0, 1)]
    for seed, path in enumerate(paths):
        study((X, Y), "1nn", store=path, seed=seed, **OPTIONS)
    merge_stores(paths, tmp_path / "both.sqlite")
    assert [c.seed for c in read_commands(tmp_path / "both.sqlite")] == [0, 1]


def test_versions_that_differ_are_found():
    now = list_installed_versions()
    assert find_changes(now) == {}
    then = {**now, "numpy": "1.0", "gone": "3"}
    assert find_changes(then) == {"numpy": ("1.0", now["numpy"]), "gone": ("3", "none")}
    assert find_changes({}) == {}, "what is new now had no effect then"


def test_the_id_says_what_a_command_was(tmp_path):
    path = tmp_path / "s.sqlite"
    study((X, Y), "1nn", store=path, **OPTIONS)
    (command,) = read_commands(path)
    with Store(path) as store:
        store.add_command(replace(command, created="later"))
        store.add_command(replace(command, id="other"))
        kept = store.commands()
    assert [c.created for c in kept] == [command.created] * 2
