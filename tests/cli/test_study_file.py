import json
import re
import tomllib
from pathlib import Path

import pytest

from helpers.commands import check_schema, run_command, run_failing, run_json
from shaketable.cli.study_file import STARTING, write_study_file
from shaketable.core.options import list_options, read_settings
from shaketable.evaluation.evaluate_options import StudyOptions
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"
SMALL = ["--data", "bands(n=60)", "--runs", 2, "--k", 2, "--store", "my results.sqlite"]


def test_study_files_hold_the_same_settings_and_flags_win(capsys):
    Path("my.toml").write_text(
        f'data = "{BANDS}"\nmodel = ["1nn"]\ntrain = ["clean", "linf(0.01)"]\n'
        'corruptions = "linf(0.1)"\nruns = 3\nk = 2\njobs = 1\nquiet = true\n'
    )
    found = run_json(capsys, "study", "my.toml")
    assert {c["model"] for c in found["models"]} == {"1nn(clean)", "1nn(linf(0.01))"}
    found = run_json(
        capsys, "study", "my.toml", "--runs", 2, "--model", "logistic", "--train", "clean"
    )
    assert {c["model"] for c in found["models"]} == {"logistic(clean)"}
    assert {c["runs"] for c in found["models"]} == {2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('dta = "iris"', r"unknown key in study file 'bad.toml': 'dta'; did you mean 'data'"),
        ("train-eps = [0]", "'train-eps'; did you mean 'train_eps'"),
        ("data = ", "cannot be read: Invalid value"),
        (f"runs = {'9' * 5000}", "cannot be read: Exceeds the limit"),
        (f"runs = {'[' * 5000}", "cannot be read"),
        ("runs = 1\nk = 2\nruns = 2\n", "'bad.toml': runs is given twice; leave one out"),
        ("runs = 1\nruns = 2", "'bad.toml': runs is given twice; leave one out"),
        ("k = 1\nk = [\n1,\n]\nruns = 2", "'bad.toml': k is given twice; leave one out"),
        ("[study]\nruns = 2", "runs must not be in a table, got [study]; remove the line [study]"),
        ("[studies]\nrun = 2", "unknown key in study file 'bad.toml': 'studies'"),
        ("[runs]\nx = 2", "runs must be a whole number, got {x = 2}"),
        ("runs = true", "runs must be a whole number, got true"),
        ("runs = 1.5", "runs must be a whole number, got 1.5"),
        ('runs = "many"', 'runs must be a whole number, got "many"'),
        ('scale = "false"', 'scale must be true or false, got "false"'),
        ("scale = 1", "scale must be true or false, got 1"),
        ("data = [1]", "data must be a text or a number, got [1]"),
        ("model = [1]", "model must be a text or a list of texts, got [1]"),
        ("train_eps = [[0]]", "train_eps must be a list of texts or numbers, got [[0]]"),
        (
            'train_eps = [0, "eps"]',
            'train_eps = [0, "eps"]: must be numbers, or multiples of eps_min',
        ),
        ("column = [1]", 'column must be a table of texts, such as {age = "0:120"}, or a list'),
        ('column = {age = "0-9"}', "unknown word for column 'age': '0-9'"),
        ('grid = [["sp(0.1)"], 3]', "grid must be a list of texts, the levels of every factor"),
        ('bounds = "clp"', "bounds = \"clp\": unknown bounds 'clp'; did you mean 'clip'"),
        ("trust = true", "trust cannot be given by a file; add --trust"),
        ("dry_run = true", "unknown key in study file 'bad.toml': 'dry_run'"),
    ],
)
def test_errors_name_the_key_the_rule_and_the_value(capsys, text, message):
    Path("bad.toml").write_text(text)
    assert message in run_failing(capsys, "study", "bad.toml")


def test_a_new_file_explains_every_flag_and_every_line_can_be_used():
    write_study_file("new.toml", {})
    text = Path("new.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == STARTING
    lines = {line.split(" = ")[0]: line for line in re.findall(r"^#(\w+ = .*)$", text, re.M)}
    options = list_options(StudyOptions)
    assert {*lines, *STARTING} == {key for key, option in options.items() if option.in_files}
    for key, line in lines.items():
        value = read_settings(StudyOptions, tomllib.loads(line), where=line)[key]
        assert value is not None, line
        assert value is not False, line
        assert value != (), line
    for part in text.split("\n\n")[1:]:
        comment = part.splitlines()[0]
        assert re.match(r"# \S", comment), "every key has an explanation"
    assert max(map(len, text.splitlines())) <= 100
    assert "--train" not in text, "it has keys, not flags"


def test_a_new_file_runs_and_its_results_can_be_made_again(capsys):
    code, out, _ = run_command(capsys, "study", "init", "my.toml", *SMALL)
    assert (code, out.count("\n")) == (0, 1)
    assert "exists already" in run_failing(capsys, "study", "init", "my.toml")
    assert run_command(capsys, "study", "my.toml", "--jobs", 1, "--quiet")[0] == 0
    with Store("my results.sqlite", must_exist=True) as store:
        (command,) = store.commands()
        cells = len(store.keys())
    expected = {key: x for key, x in STARTING.items() if key not in ("store", "train_eps")}
    assert command.settings == {**expected, "data": "bands(n=60)", "runs": 2, "k": 2}
    again = run_json(capsys, "rerun", "my results.sqlite", "--jobs", 1, "--quiet")
    assert (again["agrees"], again["cells"]) == (True, cells)
    code, out, _ = run_command(capsys, "study", "my.toml", "--dry-run", "--quiet")
    assert code == 0
    assert f"\nmy results.sqlite has {cells} of the cells; left: 0 trainings\n" in out


def test_a_new_file_leaves_out_what_other_flags_replace():
    given = {"train": ["clean"], "network": "mlp"}
    write_study_file("new.toml", given)
    settings = tomllib.loads(Path("new.toml").read_text(encoding="utf-8"))
    assert {"train_eps", "model"}.isdisjoint(settings)
    assert given.items() <= settings.items()


def test_a_new_file_has_all_that_flags_say(capsys):
    argv = ["--report", "r.html", "--jobs", 1, "--quiet", "--norm", 2]
    assert run_command(capsys, "study", "init", "new.toml", *argv)[0] == 0
    settings = tomllib.loads(Path("new.toml").read_text(encoding="utf-8"))
    wanted = {"report": "r.html", "jobs": 1, "quiet": True, "norm": "2"}
    assert settings == {**STARTING, **wanted}


def test_a_dry_run_stores_nothing(capsys):
    argv = ["study", "--model", "1nn", *SMALL, "--jobs", 1, "--quiet", "--dry-run"]
    code, out, err = run_command(capsys, *argv, "--json")
    assert code == 0, err
    found = json.loads(out)
    check_schema("study-dry-run", found)
    assert not Path("my results.sqlite").exists()
    assert (found["trainings"], found["cells"], found["known_cells"]) == (4, 8, 0)
    code, out, _ = run_command(capsys, *argv)
    assert "trainings: 4 on bands(n=60) (1 model x 2 training noises x 2 runs)" in out
    assert "cells: 8 (2 per training: clean points and 1 test noise)\n" in out
    assert run_command(capsys, "list", "schema", "study-dry-run")[0] == 0
    assert "no JSON of 'report-dry-run'" in run_failing(capsys, "list", "schema", "report-dry-run")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["study", "a.toml", "b.toml"], "unexpected argument 'b.toml'"),
        (["study", "init", "no/such/folder.toml"], "cannot be written: No such file"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    Path("a.toml").write_text('data = "iris"\n')
    assert message in run_failing(capsys, *argv)
