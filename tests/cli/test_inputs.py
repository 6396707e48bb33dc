"""``--inputs``: the points that flip, of data that are given again."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.commands import run_command, run_failing, run_json
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

PRIVATE = "Rows of the data are shown here, which may be private"


@pytest.fixture(autouse=True)
def people(own_directory):
    """A table of people, some twice with different classes; every name is told from its row."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 200)
    job = np.array([f"job{i % 7}secret" for i in range(200)])
    frame = pd.DataFrame({"age": age, "job": job, "id": range(200)})
    frame["buys"] = np.where((age > 40) == (np.arange(200) % 7 < 4), "yes", "no")
    frame = pd.concat([frame, frame.iloc[:5].assign(buys="maybe")])
    frame.to_csv("people.csv", index=False)
    return frame


READING = ("--label", "buys", "--drop-clashes", "--column", "id=drop", "--points", "150")


def evaluate(capsys, *words):
    argv = ["evaluate", "--data", "people.csv", *READING, "--model", "rf", "--seed", 3, "--quiet"]
    noises = ["--corruptions", "swap(0.8)", "jitter(1)", "--k", 4, "--store", "r.sqlite"]
    code, out, err = run_command(capsys, *argv, *noises, *words)
    assert code == 0, err
    return out


def test_report_shows_rows_only_of_data_that_are_given(capsys):
    before = evaluate(capsys)
    code, plain, _ = run_command(capsys, "report", "r.sqlite", "-o", "plain.html")
    assert code == 0
    assert "secret" not in before + plain + Path("plain.html").read_text()
    argv = ["report", "r.sqlite", "--inputs", "3", "--data", "people.csv", "-o", "page.html"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    page = Path("page.html").read_text()
    assert PRIVATE in page
    assert PRIVATE.replace("Rows", "rows") in out
    assert page.count(" in the file</small>") == 2 * (3 + 2), "rows, under two corruptions"
    assert "secret → job" in page
    evaluate(capsys, "--inputs", "3", "--report", "own.html")
    section = [
        text.split('<section id="inputs"')[1].split("</section>")[0]
        for text in (page, Path("own.html").read_text())
    ]
    assert section[0] == section[1]


def test_how_data_were_read_is_known_and_flags_say_otherwise(capsys):
    evaluate(capsys)
    argv = ["report", "r.sqlite", "--inputs", "--data", "people.csv"]
    Path("copy.csv").write_bytes(Path("people.csv").read_bytes())
    assert run_command(capsys, *argv[:-1], "copy.csv")[0] == 0
    assert "from the same data only" in run_failing(capsys, *argv, "--points", "140")
    frame = pd.read_csv("people.csv")
    frame.assign(age=frame["age"] + 1).to_csv("older.csv", index=False)
    assert "from the same data only" in run_failing(capsys, *argv[:-1], "older.csv")
    assert "no_such.csv" in run_failing(capsys, *argv[:-1], "no_such.csv")


def test_inputs_need_data_and_a_number(capsys):
    evaluate(capsys)
    assert "--inputs needs --data" in run_failing(capsys, "report", "r.sqlite", "--inputs")
    assert "--data must name" in run_failing(capsys, "report", "r.sqlite", "--label", "buys")
    for words in (["report", "r.sqlite"], ["evaluate", "--model", "rf"]):
        argv = [*words, "--data", "people.csv", *READING]
        assert "at least 1, got '0'" in run_failing(capsys, *argv, "--inputs", "0")


def test_json_has_no_rows(capsys):
    evaluate(capsys)
    found = run_json(capsys, "report", "r.sqlite", "--inputs", "--data", "people.csv")
    assert "secret" not in str(found)
    assert len(found["inputs"][0]["inputs"]) <= 10


def test_modules_that_a_file_names_are_imported_only_if_trusted(capsys):
    evaluate(capsys)
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    with Store("r.sqlite", must_exist=True) as file:
        records, commands = file.everything(), file.commands()
    cells = [
        cell if cell.is_clean else replace(cell, key=f"{cell.key}x", corruption="evil:boom(1)")
        for cell in records.cells[:2]
    ]
    with Store("forged.sqlite") as file:
        file.add(cells)
        for command in commands:
            file.add_command(command)
    argv = ["report", "forged.sqlite", "--inputs", "--data", "people.csv"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert "must be trusted" in out
    assert not Path("ran").exists()
    assert run_command(capsys, *argv, "--trust")[0] == 0
    assert Path("ran").exists(), "else the flag would say nothing"
    sys.modules.pop("evil", None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "f2"], "unknown measure 'f2'; did you mean 'f1'"),
        (["--metric", "recall[si]"], "unknown class in --metric recall[si]: 'si'"),
        (["--metric", "f1", "--record", "hits"], "leave out --record hits"),
    ],
)
def test_a_wrong_metric_is_refused_before_anything_is_measured(capsys, words, message):
    argv = ["evaluate", "--data", "people.csv", *READING, "--model", "rf", "--store", "m.sqlite"]
    assert message in run_failing(capsys, *argv, "--quiet", *words)
    assert not Path("m.sqlite").exists()
