"""`st.risk` and the command: closed forms, results files, interruptions, requirements."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import check_schema, run_command, run_failing
from helpers.parts import StoppedError, StoppingParts
from shaketable.core.errors import InputError
from shaketable.evaluation.store import Store
from shaketable.rare import measuring
from shaketable.rare.risk import prepare

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X @ [1.0, 0.5, 0.0] > 0, "up", "down")
MODEL = LogisticRegression(C=1e3).fit(X, Y)
WEIGHTS, BIAS = MODEL.coef_[0], MODEL.intercept_[0]
OPTIONS = {"budget": 8000, "name": "lr"}


def find_distances(x, y):
    """Signed distances of points from the wrong side."""
    return (x @ WEIGHTS + BIAS) * np.where(y == "up", 1, -1) / np.linalg.norm(WEIGHTS)


def test_gaussian_noise_agrees_with_the_closed_form():
    near = np.argsort(np.abs(find_distances(X, Y)))[10:18]
    sigma = np.abs(find_distances(X, Y))[near].mean() / 4
    data = st.make_dataset(X[near], Y[near])
    found = st.risk(MODEL, data, f"gaussian({sigma})", budget=15_000)
    truth = stats.norm.sf(find_distances(X[near], Y[near]) / sigma)
    low, high = found.risks[0].risks.limits(0.005)
    assert ((low <= truth) & (truth <= high)).all()
    assert truth.min() < 1e-5
    mean = found.risks[0].mean
    assert mean.low <= truth.mean() <= mean.high
    assert found.risks[0].highest.high >= truth.max()


def test_values_are_clipped_as_evaluate_does_it():
    """At the edge of the range, noise that would cross it cannot move a point."""
    data = st.make_dataset([[0.0, 0.5], [1.0, 0.5]], [0, 1], bounds=(0, 1))

    def model(x):
        score = 10 * (x[:, 0] - 0.5) + 5 * (x.max(axis=1) > 1)
        return np.stack([-score, score], axis=1)

    found = st.risk(model, data, "gaussian(0.2)", budget=8000).risks[0].risks
    low, high = found.limits(0.005)
    truth = stats.norm.sf(2.5)
    assert ((low <= truth) & (truth <= high)).all()


def test_of_a_frame_only_columns_that_move_are_drawn():
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "c": np.where(X[:, 1] > 0, "u", "v")})
    data = st.make_dataset(frame, Y)

    def model(frame):
        score = frame["a"].to_numpy() + 5 * (frame["c"].to_numpy() == "w")
        return np.stack([-score, score], axis=1)  # down, up

    found = st.risk(model, data, "linf(0.5)", points=4, **OPTIONS)
    a = np.where(Y == "up", X[:, 0], -X[:, 0])[found.records.rare[0].points.rows]
    truth = np.clip((0.5 - a) / 1.0, 0, 1)
    low, high = found.risks[0].risks.limits(0.005)
    assert ((low <= truth + 1e-12) & (truth - 1e-12 <= high)).all()


@pytest.mark.parametrize(
    ("model", "corruption", "why"),
    [
        (MODEL.predict, "gaussian(1)", "labels without scores"),
        (MODEL, "jitter(1)", "no noise whose law"),
    ],
)
def test_else_there_are_plain_draws_as_in_evaluate(model, corruption, why):
    data = st.make_dataset(X[:6], Y[:6])
    found = st.risk(model, data, corruption, budget=5000, name="m")
    (record,) = found.records.rare
    assert why in record.why_plain
    assert why in found.notes[-1]
    cells = st.evaluate(model, data, corruption, k=5000, name="m").select(
        corruption=record.corruption
    )
    np.testing.assert_array_equal(record.hits, 5000 - cells.cells[0].hits)


def test_models_start_from_the_same_noise_and_differ_by_their_answers():
    data = st.make_dataset(X[:4], Y[:4])
    other = LogisticRegression(C=0.01).fit(X, Y)
    found = st.risk(MODEL, data, "gaussian(0.5)", **OPTIONS)
    again = st.risk(MODEL, data, "gaussian(0.5)", **{**OPTIONS, "name": "copy"})
    assert found.records.rare[0].value.tolist() == again.records.rare[0].value.tolist()
    both = found + st.risk(other, data, "gaussian(0.5)", **{**OPTIONS, "name": "other"})
    ((corruption, difference),) = both.differences
    assert corruption == both.json()["rare_failure_differences"][0]["corruption"]
    assert corruption == "gaussian(0.5)"
    gap = both.risks[0].mean.value - both.risks[1].mean.value
    assert difference.value.value == pytest.approx(gap)


def test_after_a_crash_it_goes_on_to_the_same_numbers(monkeypatch):
    monkeypatch.setattr(measuring, "_BLOCK", 2)
    options = {"budget": 6000, "precision": None, "bounds": None, "store": None, "points": 6}

    def measure(keep):
        measurement, _ = prepare(MODEL, (X, Y), "gaussian(0.5)", **options)
        return measurement.measure(keep)

    whole, keep = measure(None), StoppingParts(2)
    with pytest.raises(StoppedError):
        measure(keep)
    keep.left = 1000
    resumed = measure(keep)
    assert resumed.key == whole.key
    assert resumed.value.tolist() == whole.value.tolist()
    assert resumed.queries.tolist() == whole.queries.tolist()


_KILLED = """
import numpy as np, sys
from sklearn.linear_model import LogisticRegression
import shaketable as st
from shaketable.rare import measuring
measuring._BLOCK = 1
data = st.load("iris")
model = LogisticRegression(max_iter=500).fit(data.x, data.labels)
st.risk(model, data, "gaussian(0.5)", points=12, budget=8000, store=sys.argv[1])
"""


def test_killed_and_run_again_it_has_the_same_numbers(tmp_path):
    stores = [str(tmp_path / name) for name in ("whole.sqlite", "killed.sqlite")]
    command = [sys.executable, "-c", _KILLED]
    subprocess.run([*command, stores[0]], check=True)
    with subprocess.Popen([*command, stores[1]]) as process:
        while not _count_parts(stores[1]) and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert 0 < _count_parts(stores[1]) < 12
    subprocess.run([*command, stores[1]], check=True)
    whole, again = (_read(path).rare[0] for path in stores)
    assert whole.key == again.key
    for name in ("value", "error", "queries", "hits"):
        assert getattr(whole, name).tolist() == getattr(again, name).tolist()


def _read(path):
    with Store(path, must_exist=True) as store:
        return store.records()


def _count_parts(path):
    import sqlite3
    from contextlib import closing

    if not os.path.exists(path):
        return 0
    with closing(sqlite3.connect(path)) as db:
        try:
            return db.execute("SELECT count(*) FROM parts").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def test_the_command_decides_and_keeps_what_check_and_report_show(capsys, own_directory):
    flags = ["--data", "iris", "--corruption", "gaussian(0.3)", "--points", "3", "--quiet"]
    flags += ["--budget", "6000", "--model", "lr=logistic", "--model", "rf"]
    out = {}
    for below, code in (("0.9", 0), ("1e-9", 1), ("0.9", 0)):
        actual, text, _ = run_command(
            capsys, "risk", *flags, "--below", below, "--store", "r.sqlite", "--json"
        )
        out[below], result = text, json.loads(text)
        check_schema("risk", result)
        assert (actual, len(result["rare_failures"])) == (code, 2)
        assert result["outcome"] == ("met" if code == 0 else "not met")
    code, text, _ = run_command(capsys, "check", "r.sqlite", "--require", "risk <= 0.9")
    assert (code, text.count(" met")) == (0, 3)
    spec = "difference(lr, rf).risk[gaussian(0.3)] <= 0.9"
    assert run_command(capsys, "check", "r.sqlite", "--require", spec)[0] == 0
    code, text, _ = run_command(capsys, "report", "r.sqlite", "-o", "page.html")
    assert "probability of a wrong answer" in text
    with open("page.html", encoding="utf-8") as page:
        assert "How rare are wrong answers under noise?" in page.read()


def test_an_interval_on_both_sides_is_inconclusive(capsys, own_directory):
    flags = ["--data", "iris", "--model", "1nn", "--points", "3", "--budget", "5000", "--quiet"]
    flags += ["--corruption", "linf(0.05)"]
    code, out, _ = run_command(capsys, "risk", *flags, "--below", "1e-6")
    assert code == 3
    assert "inconclusive" in out
    assert "--budget" in out


def test_a_dry_run_measures_nothing(capsys, own_directory):
    flags = ["--data", "iris", "--model", "1nn", "--store", "r.sqlite", "--dry-run", "--json"]
    code, out, _ = run_command(capsys, "risk", *flags)
    result = json.loads(out)
    check_schema("risk", result)
    assert (code, result["planned"][0]["points"]) == (0, 30)
    assert not os.path.exists("r.sqlite")


def test_requirements_name_what_is_missing(capsys, own_directory):
    records = st.risk(MODEL, (X[:2], Y[:2]), "gaussian(1)", **OPTIONS).records
    for text, message in (
        ("risk[l2(1)] <= 1e-6", "got none for lr"),
        ("model(x).risk <= 1e-6", "unknown model"),
        ("risk[by a=1] <= 1e-6", "leave out classes and groups"),
        ("risk <= 1%", "without a % sign"),
    ):
        with pytest.raises(InputError, match=message):
            st.check(records, text)
    flags = ["--data", "iris", "--model", "1nn", "--require", "risk[linf(0.1)] <= 1e-6"]
    assert "decide it there, with check" in run_failing(capsys, "evaluate", *flags)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 10}, "budget must be"),
        ({"below": 2}, "below must be a probability"),
        ({"precision": 3}, "precision must"),
        ({"corruption": "clean"}, "must be drawn at random"),
        ({"corruption": st.suite("pnorm")}, "must be one spec"),
    ],
)
def test_arguments_are_checked(changes, message):
    with pytest.raises(InputError, match=message):
        st.risk(MODEL, (X, Y), **{"corruption": "linf(0.1)", **changes})


def test_results_files_are_merged_with_their_probabilities(tmp_path):
    data = st.make_dataset(X[:2], Y[:2])
    for name, spec in (("a", "gaussian(1)"), ("b", "gaussian(2)")):
        st.risk(MODEL, data, spec, store=tmp_path / f"{name}.sqlite", **OPTIONS)
    from shaketable.evaluation.merging import merge_stores

    merged = merge_stores([tmp_path / "a.sqlite", tmp_path / "b.sqlite"], tmp_path / "c.sqlite")
    assert merged.others == (("rare failures", 2),)
    specs = [record.corruption for record in _read(str(tmp_path / "c.sqlite")).rare]
    assert [float(spec[9:-1]) for spec in specs] == [1, 2]
