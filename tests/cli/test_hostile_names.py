"""Names from files and arguments, whatever is in them, do nothing to the terminal."""

import ast
import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shaketable
from helpers.commands import run_command, run_failing, run_json

NAMES = {
    "colour": "\x1b[31mred\x1b[0m",
    "link": "\x1b]8;;http:evil\x1b\\click\x1b]8;;\x1b\\",
    "window title": "\x1b]0;owned\x07",
    "one-byte escape": "\x9b2J",
    "two lines": "first\nsecond",
    "carriage return": "good\rbad",
    "tab": "a\tb",
    "long": "x" * 10_000,
    "right to left": "\u202etxt.exe\u2066",
    "line separator": "a\u2028b",
    "markup": "[/red][bold]",
    "emoji code": ":smile:",
}


def assert_harmless(out, lines):
    """Only what shows, in as many lines as for names that are in order."""
    assert all(c.isprintable() or c == "\n" for c in out), repr(out)
    assert out.count("\n") == lines
    assert max(map(len, out.split("\n"))) <= 2000


def write_points(path, name):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((30, 2)), columns=[f"{name} 1", "2"])
    labels = np.resize([f"{name} a", f"{name} b", "c"], 30)
    table.assign(y=labels).to_csv(path, index=False, quoting=csv.QUOTE_ALL)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_class_and_column_names_are_harmless(capsys, tmp_path, name):
    write_points(tmp_path / "a.csv", name)
    code, out, err = run_command(capsys, "separation", tmp_path / "a.csv", "--label", "y")
    assert (code, err) == (0, "")
    write_points(tmp_path / "plain.csv", "plain")
    plain = run_command(capsys, "separation", tmp_path / "plain.csv", "--label", "y")[1]
    assert_harmless(out, plain.count("\n"))
    exact = run_json(capsys, "separation", tmp_path / "a.csv", "--label", "y")
    assert exact["classes"] == sorted([f"{name} a", f"{name} b", "c"])


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_of_files_and_progress_bars_are_harmless(capsys, tmp_path, name):
    name = name[:200].replace("/", "_")
    folder = tmp_path / name  # the name of a folder of images is that of the data
    folder.mkdir()
    (folder / f"{name}.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    argv = ["evaluate", "--data", folder / f"{name}.csv", "--label", "y", "--model", "1nn"]
    argv += ["--corruptions", "linf(0.1)", "--k", "1", "--store", folder / f"{name}.sqlite"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert_harmless(out, run_command(capsys, *argv, "--quiet")[1].count("\n"))
    assert all(c.isprintable() or c == "\n" for c in err), repr(err)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_tables_of_scores_are_harmless(capsys, tmp_path, name):
    path = tmp_path / "s.csv"
    scores = {"model": [f"{name} a", f"{name} b"], f"{name} 1": [0.5, 0.4], "2": [0.9, 0.8]}
    pd.DataFrame(scores).to_csv(path, index=False, quoting=csv.QUOTE_ALL)
    code, out, err = run_command(capsys, "mcv", path)
    assert (code, err) == (0, "")
    assert all(c.isprintable() or c == "\n" for c in out), repr(out)
    assert [r["label"] for r in run_json(capsys, "mcv", path)["models"]] == scores["model"]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_messages_are_harmless(capsys, tmp_path, name):
    for argv in (
        ["separation", name],
        ["separation", "iris", f"--{name}"],
        ["evaluate", "--data", "iris", "--model", name],
        ["evaluate", "--data", "iris", "--model", f"{name[:200]}.onnx"],
        ["evaluate", "--data", "iris", "--model", "1nn", "--corruptions", f"l2({name})"],
        ["corrupt", "iris", "--corruption", "l2(1)", "-o", f"{tmp_path}/{name[:200]}.txt"],
        ["score", f"{tmp_path}/{name[:200]}"],
        [name],
    ):
        assert_harmless(run_failing(capsys, *argv), 1)


def test_tracebacks_are_harmless(capsys):
    code, _, err = run_command(capsys, "separation", "\x1b[2J\nline", "--debug")
    assert code == 2
    assert err.startswith("Traceback")
    assert all(c.isprintable() or c == "\n" for c in err)


def test_long_names_keep_their_ends(capsys, tmp_path):
    path = tmp_path / "s.csv"
    names = [f"net-{'x' * 10_000}-{end}" for end in ("first", "second")]
    scores = pd.DataFrame({"model": names, "1": [0.5, 0.4], "2": [0.9, 0.8]})
    scores.to_csv(path, index=False)
    _, out, _ = run_command(capsys, "mcv", path)
    rows = [line for line in out.splitlines() if line.lstrip().startswith("net-")]
    assert len(rows) >= 2
    assert "-first " in rows[0]
    assert "-second " in rows[1]
    assert max(map(len, rows)) < 250


def test_only_the_terminal_module_prints():
    """Names are made safe in one place; a print elsewhere would go around it."""
    package = Path(shaketable.__file__).parent
    for path in package.rglob("*.py"):
        calls = (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        )
        prints = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
        place = path.relative_to(package).as_posix()
        expected = {"views/terminal.py": 1, "cli/output.py": 1}.get(place, 0)  # the latter: JSON
        assert len(prints) == expected, f"{place} prints in lines {prints}; call print_lines"
