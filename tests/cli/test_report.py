from pathlib import Path

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"


def test_evaluate_compares_models_and_scores_again(capsys):
    argv = [
        "evaluate",
        "--model",
        "rf",
        "--model",
        "1nn",
        "--data",
        BANDS,
        "--store",
        "r.sqlite",
        "--corruptions",
        "linf(eps_min)",
        "linf(0.05)",
        "--quiet",
    ]
    found = run_json(capsys, *argv)
    assert [m["model"] for m in found["models"]] == ["rf", "1nn"]
    assert len(found["models"][0]["cells"]) == 3
    (difference,) = found["mscr_differences"]
    gap = found["models"][0]["mscr"]["mean"] - found["models"][1]["mscr"]["mean"]
    assert difference["mean"] == pytest.approx(gap)
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "linf(eps_min)" in out
    assert "probability of a wrong answer" in out
    assert run_command(capsys, "report", "r.sqlite")[1] == out
    assert run_json(capsys, "report", "r.sqlite")["models"] == found["models"]


def test_results_that_exist_are_read_with_either_kind_of_intervals(capsys):
    for store, model in (("a.sqlite", "rf"), ("b.sqlite", "svm")):
        argv = ["evaluate", "--data", BANDS, "--model", f"net={model}", "--store", store, "--quiet"]
        measured = run_json(capsys, *argv, "--intervals", "standard")
    assert run_json(capsys, "report", "b.sqlite", "--intervals", "standard") == {
        key: value for key, value in measured.items() if key != "eps_min_deviations"
    } | {"notes": []}
    require = ["--require", "mscr >= -1"]
    for reader in (
        ["report", "b.sqlite", "--json"],
        ["check", "b.sqlite", "--json", *require],
        ["compare", "a.sqlite", "b.sqlite", "--json"],
        ["export", "b.sqlite", "--to", "card"],
    ):
        own, named, standard = (
            run_command(capsys, *reader, *chosen)[1]
            for chosen in ([], ["--intervals", "own"], ["--intervals", "standard"])
        )
        assert own == named != standard


def test_a_shared_store_keeps_data_apart(capsys):
    base = ["--model", "1nn", "--quiet", "--store", "r.sqlite"]
    eps_min = {}
    for name in ("wine", "iris"):
        eps_min[name] = run_json(capsys, "separation", name)["epsilon_min"]
        found = run_json(capsys, "evaluate", "--data", name, *base)
        assert found["models"][0]["eps_min"] == eps_min[name]
        found = run_json(capsys, "study", "--data", name, *base, "--runs", 2, "--jobs", 1)
        assert (found["data"], found["eps_min"]) == (name, eps_min[name])
    code, out, err = run_command(capsys, "report", "r.sqlite")
    assert code == 0, err
    assert all(f"{name}: " in out for name in eps_min)


def test_an_unfinished_suite_is_reported(capsys):
    data = st.load("digits")
    records = st.evaluate(lambda x: np.zeros(len(x), int), data, st.suite("ice"), name="zeros")
    with Store("s.sqlite") as store:
        for suite in records.suites:
            store.add_suite(suite)
        store.add(cell for cell in records if not cell.corruption.startswith("l50"))
    code, _, err = run_command(capsys, "report", "s.sqlite")
    assert code == 0
    assert "suite ice is not finished, 5 of 6" in err


def test_results_files_that_cannot_be_used_are_named(capsys):
    Path("junk.sqlite").write_text("junk " * 500)
    assert "junk.sqlite" in run_failing(capsys, "report", "junk.sqlite")
    argv = ["evaluate", "--model", "1nn", "--data", BANDS, "--quiet", "--store"]
    assert "junk.sqlite" in run_failing(capsys, *argv, "junk.sqlite")
    assert "folder" in run_failing(capsys, *argv, "no/such/r.sqlite")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["report", "."], "is a folder"),
        (["report", "none.sqlite"], "does not exist"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
