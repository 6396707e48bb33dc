import json
import tomllib
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import check_schema, run_command, run_failing, run_json
from shaketable.core.versions import list_installed_versions
from shaketable.evaluation.records import FailureRecord
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

NAME = "one\u202e \U0001f40d"
STUDY = ["study", "--data", "my.csv", "--label", "y", "--model", f"{NAME}=1nn", "--runs", 2]
STUDY += ["--k", 2]
STUDY += ["--train", "clean", "--train", "linf(0.1)", "--jobs", 1, "--quiet", "--store", "s.sqlite"]
RERUN = ["rerun", "s.sqlite", "--jobs", 1, "--quiet"]
UNSEEDED = """
import os
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

class Unseeded(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.limit_ = os.urandom(1)[0] / 256 + os.urandom(1)[0] / 2**16
        return self

    def predict(self, x):
        return self.classes_[(np.asarray(x)[:, 0] > self.limit_).astype(int)]

model = Unseeded()
"""


def write_csv(seed=0):
    x = np.random.default_rng(seed).uniform(size=(60, 2))
    lines = [f"{a:.3f},{b:.3f},{'no' if a < 0.5 else 'yes'}" for a, b in x]
    Path("my.csv").write_text("\n".join(["a,b,y", *lines]))


@pytest.fixture
def made(own_directory, capsys):
    """A study on a file, and what its results file says of it."""
    write_csv()
    assert run_command(capsys, *STUDY)[0] == 0
    return Path("s.sqlite").read_bytes()


def test_a_device_is_for_the_networks_of_a_file(capsys, made):
    assert run_json(capsys, *RERUN, "--cells", 1, "--device", "cpu")["agrees"]


def test_a_study_can_be_made_again_and_in_parts(capsys, made):
    found = run_json(capsys, *RERUN, "-o", "again.sqlite")
    assert (found["agrees"], found["identical"], found["cells"]) == (True, True, 8)
    assert found["commands"][0]["settings"]["train"] == ["clean", "linf(0.1)"]
    with Store("again.sqlite", must_exist=True) as store:
        assert len(store.keys()) == 8
    part = run_json(capsys, *RERUN, "--cells", 1)
    assert (part["agrees"], part["sampled"], part["cells"]) == (True, True, 2), "one training"
    assert Path("s.sqlite").read_bytes() == made
    assert "exists already" in run_failing(capsys, *RERUN, "-o", "again.sqlite")
    assert "cells must be a whole number" in run_failing(capsys, *RERUN, "--cells", 0)


def test_data_that_are_others_or_gone_are_named_before_any_work(capsys, made):
    write_csv(seed=1)
    assert "was made with other data: the fingerprint of my.csv" in run_failing(capsys, *RERUN)
    write_csv()
    Path("my.csv").rename("there.csv")
    message = run_failing(capsys, *RERUN)
    assert "'s.sqlite' cannot be made again: file 'my.csv' does not exist" in message
    assert run_json(capsys, *RERUN, "--data", "there.csv")["identical"]


def test_how_it_was_made_is_shown_as_a_study_file(capsys, made):
    code, out, _ = run_command(capsys, *RERUN, "--show")
    assert code == 0
    assert "# fingerprint of the data: " in out
    assert tomllib.loads(out)["model"] == [f"{NAME}=1nn"]
    assert "\u202e" not in out, "what does not show is written out"
    Path("shown.toml").write_text(out, encoding="utf-8")
    argv = ["study", "shown.toml", "--store", "s.sqlite", "--jobs", 1, "--quiet"]
    assert run_command(capsys, *argv)[0] == 0
    with Store("s.sqlite", must_exist=True) as store:
        assert len(store.keys()) == 8, "it is the same study"


def test_results_that_differ_have_exit_code_1(capsys):
    Path("unseeded.py").write_text(UNSEEDED)
    argv = ["study", "--data", "bands(n=100)", "--model", "unseeded:model", "--model", "1nn"]
    argv += ["--runs", 3, "--k", 1, "--jobs", 1, "--quiet", "--store", "s.sqlite"]
    assert run_command(capsys, *argv)[0] == 0
    assert "model 'unseeded:model' must be trusted: a file" in run_failing(capsys, *RERUN)
    code, out, _ = run_command(capsys, *RERUN, "--trust", "--json")
    found = json.loads(out)
    check_schema("rerun", found)
    assert (code, found["agrees"]) == (1, False)
    assert {change["model"] for change in found["changes"]} == {"unseeded:model"}
    assert run_command(capsys, *RERUN, "--trust", "--cells", 24)[0] == 1
    code, out, _ = run_command(capsys, *RERUN, "--trust")
    assert code == 1
    assert "s.sqlite does not agree: 24 cells were made again" in out


def test_with_other_versions_all_is_made_again_and_they_are_named(capsys, made, monkeypatch):
    versions = {**list_installed_versions(), "numpy": "9.9"}
    home = "shaketable.evaluation.command_records.list_installed_versions"
    monkeypatch.setattr(home, lambda: versions)
    found = run_json(capsys, *RERUN)
    assert found["identical"]
    assert found["versions"] == {"numpy": {"then": np.__version__, "now": "9.9"}}
    assert "cells must be left out, as numpy was" in run_failing(capsys, *RERUN, "--cells", 1)


def save_model(neighbours):
    data = st.load("bands(n=80)")
    joblib.dump(KNeighborsClassifier(neighbours).fit(data.x, data.labels), "m.joblib")


def test_an_evaluation_can_be_made_again(capsys):
    save_model(1)
    argv = ["evaluate", "--data", "bands(n=80)", "--model", "m=m.joblib", "--model", "rf", "--k", 2]
    argv += ["--corruptions", "linf(0.02)", "l2(0.1)", "--trust", "--quiet", "--store", "s.sqlite"]
    assert run_command(capsys, *argv)[0] == 0
    found = run_json(capsys, *RERUN, "--trust")
    assert (found["identical"], found["cells"]) == (True, 6)
    part = run_json(capsys, *RERUN, "--trust", "--cells", 2)
    assert (part["identical"], part["cells"]) == (True, 2)
    assert "add --trust" in run_failing(capsys, *RERUN)
    save_model(3)
    assert "was made with another model m: its content" in run_failing(capsys, *RERUN, "--trust")


def test_what_was_given_in_python_is_asked_for_and_compared():
    x = np.random.default_rng(0).uniform(size=(40, 2))
    data, model = (x, (x[:, 0] > 0.5).astype(int)), KNeighborsClassifier(1)
    st.study(data, model, k=1, runs=2, store="s.sqlite")
    for given, message in (
        (
            {},
            r"does not hold data, which came from Python .*; pass shaketable.rerun\(store, data=…",
        ),
        ({"data": data}, r"does not hold models, which came from Python \(KNeighborsClassifier\("),
        ({"data": (x + 1, data[1]), "models": model}, "made with other data"),
        ({"data": data, "models": KNeighborsClassifier(3)}, "another model KNeighborsClassifier"),
    ):
        with pytest.raises(st.InputError, match=message):
            st.rerun("s.sqlite", **given)
    result = st.rerun("s.sqlite", data=data, models=model, n_jobs=1)
    assert result.identical
    assert result.cells == 8


def test_cells_of_unknown_commands_are_counted(capsys, made):
    x, y = np.random.default_rng(0).uniform(size=(2, 20))
    st.evaluate(lambda x: x[:, 0] > 0.5, (x[:, None], y > 0.5), "linf(0.1)", store="s.sqlite")
    code, out, _ = run_command(capsys, *RERUN)
    assert code == 0
    assert "s.sqlite agrees: 8 cells were made again" in out
    assert "2 more cells in the file cannot be made again" in out


def test_a_file_that_does_not_say_how_it_was_made_is_refused(capsys):
    x = np.linspace(0, 1, 20)[:, None]
    st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "linf(0.1)", store="s.sqlite")
    assert "must say how it was made" in run_failing(capsys, *RERUN)


def test_what_failed_then_is_named(capsys, made):
    with Store("s.sqlite") as store:
        fingerprint = store.records().cells[0].fingerprint
        store.add_failure(FailureRecord("k", fingerprint, "run 7: out of memory", "2026"))
    assert run_json(capsys, *RERUN)["failures_then"] == ["run 7: out of memory"]
    _, out, _ = run_command(capsys, *RERUN)
    assert "not compared: what failed then, 1 in the file, the first with: run 7: out of" in out


def test_a_file_without_cells_says_who_writes_them(capsys, own_directory):
    with Store("parts.sqlite") as store:
        store.add_part("attack", b"half of it")
    for argv in (["rerun", "parts.sqlite"], ["report", "parts.sqlite"]):
        assert "write cells, adversary, risk and separation do" in run_failing(capsys, *argv)
