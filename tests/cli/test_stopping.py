import json

import pytest

from helpers.commands import check_schema, run_command, run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

EVALUATE = ["evaluate", "--data", "bands(n=4000)", "--model", "1nn", "--k", 2, "--quiet"]


def test_points_are_taken_until_intervals_are_narrow(capsys):
    found = run_json(capsys, *EVALUATE, "--precision", 3)
    (model,) = found["models"]
    assert 100 < model["n"] < 800
    assert all(c["high"] - c["low"] <= 6 for c in model["cells"])
    assert found["stopping"][0]["size"] == model["n"]
    _, _, messages = run_command(capsys, *EVALUATE, "--precision", 0.1)
    assert "± 0.1 percentage points are not reached with all points" in messages


def test_points_are_taken_until_requirements_are_decided(capsys):
    found = run_json(capsys, *EVALUATE, "--require", "mscr >= -30", "--stop-early")
    assert found["check"]["outcome"] == "met"
    assert found["models"][0]["n"] == 100


def test_a_study_adds_runs(capsys):
    argv = ["study", "--data", "bands(n=200)", "--model", "1nn", "--train-eps", 0, "--k", 1]
    argv += ["--jobs", 1, "--quiet", "--precision", "5 of mscr"]
    found = run_json(capsys, *argv)
    (mscr,) = found["mscr"]
    assert mscr["high"] - mscr["low"] <= 10
    assert found["stopping"][0] | {"unit": "runs", "size": mscr["runs"]} == found["stopping"][0]
    _, _, messages = run_command(capsys, *argv, "--runs", 3)
    assert "± 5 percentage points are not reached with all runs" in messages


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--precision", "mscr"], "must be POINTS or 'POINTS of METRIC'"),
        (["--stop-early"], "--stop-early needs what is to be decided"),
        (["--stop-early", "--precision", 1], "not allowed with argument"),
        (
            ["--precision", "1 of mce", "--corruptions", "linf(0.1)"],
            "'1 of mce'\" needs common-19, which would not be measured; add --suite",
        ),
        (["--precision", -1], "half_width must be above 0 percentage points, such as 0.5, got -1"),
        (["--precision", 1, "--k", "few"], "must be a whole number, several, or auto, got 'few'"),
        (["--k", "auto"], "add --precision"),
        (
            ["--model", "rf", "--stop-early", "--require", "difference(rf, 1nn).accuracy >= 0"],
            "is about two",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(capsys, flags, message):
    given = EVALUATE[: EVALUATE.index("--k")] if "--k" in flags else EVALUATE
    assert message in run_failing(capsys, *given, *flags)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--k", "auto"], "must be a number, as models are trained with so many noisy copies"),
        (["--precision", "1 of mce"], "add --suite common-19"),
        (["--precision", "1 of difference(rf, 1nn).mscr"], "unknown model"),
    ],
)
def test_flags_of_a_study_that_do_not_go_together_are_refused(capsys, flags, message):
    argv = ["study", "--data", "bands(n=200)", "--model", "1nn", "--quiet", *flags]
    assert message in run_failing(capsys, *argv)


def test_a_rule_on_the_command_line_takes_the_runs_of_the_file_at_most(capsys):
    run_command(capsys, "study", "init", "--data", "bands(n=200)", "--model", "1nn")
    argv = ["study", "study.toml", "--precision", 5, "--k", "1,2", "--dry-run", "--quiet"]
    found = json.loads(run_command(capsys, *argv, "--json")[1])
    check_schema("study-dry-run", found)
    assert (found["runs"], found["runs_at_most"], found["k"]) == (3, True, [1, 2])
    assert {s["k"] for s in found["samples"]} == {1, 2}
    assert found["trainings"] == 2 * 2 * 3
    _, out, _ = run_command(capsys, *argv)
    assert "trainings: at most 12 on" in out
    assert "x at most 3 runs x 2 numbers of noisy copies)" in out
    assert "linf(0.0" in out
    assert ", k = 2" in out


def test_auto_draws_are_the_same_for_all_models(capsys):
    argv = [*EVALUATE[:4], "1nn", "--model", "rf", "--fit", "--precision", 9, "--k", "auto"]
    found = run_json(capsys, *argv, "--corruptions", "linf(0.05)", "--quiet")
    noisy = [c for model in found["models"] for c in model["cells"] if c["corruption"] != "clean"]
    assert len(noisy) == 2
    assert len({c["k"] for c in noisy}) == 1


def test_training_noise_on_the_command_line_replaces_that_of_the_file(capsys):
    run_command(capsys, "study", "init", "--data", "bands(n=60)", "--model", "1nn")
    argv = ["study", "study.toml", "--train", "linf(0.02)", "--dry-run", "--quiet", "--json"]
    found = json.loads(run_command(capsys, *argv)[1])
    assert [s["train"] for s in found["samples"]] == ["linf(0.02)"]
