"""Requirements on the command line: exit codes, tables, files, and the same flags elsewhere."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from helpers.commands import check_schema, run_command, run_failing

pytestmark = pytest.mark.usefixtures("own_directory")

EVALUATE = ["evaluate", "--data", "bands(n=300)", "--model", "1nn", "--quiet", "--k", "2"]


@pytest.fixture
def store(noise_records):
    from shaketable.evaluation.store import Store

    with Store("r.sqlite") as file:
        file.add(noise_records)
        for separation in noise_records.separations:
            file.add_separation(separation)
    return "r.sqlite"


@pytest.mark.parametrize(
    ("requirements", "code", "words"),
    [
        (["accuracy >= 50"], 0, "met: 2 of 2 requirements met"),
        (["accuracy >= 50", "mscr >= 10"], 1, "2 of 4 requirements met, 2 not met"),
        (["model(svm).mscr >= -1", "mscr >= -90"], 3, "1 inconclusive"),
    ],
)
def test_the_exit_code_is_the_outcome(capsys, store, requirements, code, words):
    flags = [word for r in requirements for word in ("--require", r)]
    actual, out, err = run_command(capsys, "check", store, *flags)
    assert (actual, err) == (code, "")
    assert words in out.splitlines()[-1]
    assert all(r in out for r in requirements)
    actual, out, _ = run_command(capsys, "check", store, *flags, "--json")
    assert actual == code
    result = json.loads(out)
    check_schema("check", result)
    assert result["exit_code"] == code
    models = {"svm", "1nn"}
    assert {entry["model"] for entry in result["requirements"]} == models


def test_a_file_says_the_same_as_flags(capsys, store):
    texts = ["mscr >= -1", "difference(svm, 1nn).accuracy >= -20"]
    Path("r.toml").write_text(f"require = {json.dumps(texts)}")
    flags = [word for text in texts for word in ("--require", text)]
    by_flags = run_command(capsys, "check", store, *flags, "--confidence", 90)
    by_file = run_command(capsys, "check", store, "--require", "r.toml", "--confidence", 90)
    assert by_file == by_flags
    assert "with 90 % confidence all 3 decisions are right" in by_file[1]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "check needs --require"),
        (["--junit", "j.xml"], "check needs --require"),
        (["--require", "mscr >= x"], "must end in a number"),
        (["--require", "mscr >= 1", "--confidence", "100"], "at least 50 and below 100"),
        (["--require", "mscr >= 1", "--junit", "j.txt"], "must end in .xml"),
        (["--require", "error[sp(0.1)] <= 1"], "--corruptions 'sp(0.1)' --store r.sqlite"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, store, argv, message):
    assert message in run_failing(capsys, "check", store, *argv)


def test_score_refuses_a_limit_that_may_be_a_fraction_before_it_prints(capsys, store):
    code, out, err = run_command(capsys, "report", store, "--require", "accuracy >= 0.85")
    assert (code, out) == (2, "")  # printed all results first
    assert "'accuracy >= 85%' or 'accuracy >= 0.85%'" in err


def test_evaluate_measures_what_is_required(capsys):
    flags = ["--require", "error[l2(0.001)] <= 90", "--require", "mscr >= 90"]
    files = ["--junit", "j.xml", "--markdown", "summary"]
    code, out, err = run_command(capsys, *EVALUATE, *flags, *files, "--json")
    assert code == 1
    result = json.loads(out)
    check_schema("evaluate", result)
    assert [d["outcome"] for d in result["check"]["requirements"]] == ["met", "not met"]
    assert {c["corruption"].partition("(")[0] for m in result["models"] for c in m["cells"]} == {
        "clean",
        "l2",
        "linf",
    }
    assert "requirement mscr >= 90% not met: 1nn has " in err
    assert ElementTree.parse("j.xml").getroot().get("tests") == "2"
    assert "not met: 1 of 2" in Path("summary").read_text()


def test_min_mscr_is_a_requirement(capsys):
    code, out, _ = run_command(capsys, *EVALUATE, "--require", "mscr >= -90.5")
    assert code == 0
    (row,) = (line for line in out.splitlines() if line.strip().startswith("mscr >= -90.5%"))
    assert " 1nn " in row
    assert " met" in row


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--require", "mce_lp <= 1", "--corruptions", "linf(0.1)"], "add --suite pnorm"),
        (
            ["--require", "mscr >= -1", "--corruptions", "linf(0.1)"],
            "add --corruptions 'linf(eps_min)'",
        ),
        (["--require", "acuracy >= 1"], "did you mean 'accuracy'"),
        (
            ["--require", "accuracy >= 0.85"],
            "did you mean 'accuracy >= 85%' or 'accuracy >= 0.85%'?",
        ),
        (["--require", "none.toml"], "'none.toml' cannot be read"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_any_work(capsys, argv, message):
    assert message in run_failing(capsys, "evaluate", "--data", "none.csv", "--model", "rf", *argv)


def test_a_study_has_requirements_too(capsys):
    Path("s.toml").write_text(
        'data = "bands(n=60)"\nmodel = "1nn"\nruns = 4\nk = 2\njobs = 1\ntrain_eps = 0\n'
        'require = ["mscr >= -100", "accuracy >= 1"]\n'
    )
    code, out, err = run_command(capsys, "study", "s.toml", "--quiet", "--json")
    assert code == 0, err
    result = json.loads(out)
    check_schema("study", result)
    assert [d["runs"] for d in result["check"]["requirements"]] == [4, 4]
    assert err.count("requirement accuracy >= 1% met: 1nn has ") == 1
    message = run_failing(capsys, "study", "s.toml", "--require", "error[linf(0.3)] <= 5")
    assert "needs linf(0.3), which would not be measured; add --corruptions 'linf(0.3)'" in message
