"""Names from files and arguments, whatever is in them, do nothing to the terminal."""

import ast
import csv
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

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
    if name.isprintable() and len(name) < 80:
        assert f"{name} a" in out, "neither markup nor codes of emoji mean anything"
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
    code, out, err = run_command(capsys, "figure", "mcv", path)
    assert (code, err) == (0, "")
    assert all(c.isprintable() or c == "\n" for c in out), repr(out)
    assert [r["label"] for r in run_json(capsys, "figure", "mcv", path)["models"]] == scores[
        "model"
    ]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_messages_are_harmless(capsys, tmp_path, name):
    for argv in (
        ["separation", name],
        ["separation", "iris", f"--{name}"],
        ["evaluate", "--data", "iris", "--model", name],
        ["evaluate", "--data", "iris", "--model", f"{name[:200]}.onnx"],
        ["evaluate", "--data", "iris", "--model", "1nn", "--corruptions", f"l2({name})"],
        ["corrupt", "iris", "--corruption", "l2(1)", "-o", f"{tmp_path}/{name[:200]}.txt"],
        ["report", f"{tmp_path}/{name[:200]}"],
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
    _, out, _ = run_command(capsys, "figure", "mcv", path)
    rows = [line for line in out.splitlines() if line.lstrip().startswith("net-")]
    assert len(rows) >= 2
    assert "-first " in rows[0]
    assert "-second " in rows[1]
    assert max(map(len, rows)) < 250


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".html", ".json"])
def test_charts_hold_names_of_any_kind(capsys, tmp_path, ending):
    names = [name for key, name in NAMES.items() if key != "long"]
    scores = pd.DataFrame({"model": names, "1": 0.5, "2": np.linspace(0.6, 0.9, len(names))})
    scores.to_csv(tmp_path / "s.csv", index=False, quoting=csv.QUOTE_ALL)
    code, _, err = run_command(
        capsys, "figure", "mcv", tmp_path / "s.csv", "-o", tmp_path / f"m{ending}"
    )
    assert code == 0, err
    if ending in (".svg", ".html", ".json"):
        content = (tmp_path / f"m{ending}").read_text(encoding="utf-8")
        assert "\x1b" not in content
        assert "\u202e" not in content


def test_pages_show_names_of_any_kind_and_run_none(capsys, tmp_path):
    name = "<b>\x1b[31m\u202e\x00\ud800</script>"
    x = np.random.default_rng(0).random((20, 2))
    np.savez(tmp_path / "a.npz", x=x, y=np.resize([f"{name}a", "b"], 20))
    argv = ["separation", tmp_path / "a.npz", "--report", tmp_path / "p.html"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert r"&lt;b&gt;\x1b[31m\u202e\x00\ud800&lt;/script&gt;a" in page
    assert not {"\x1b", "\u202e", "\x00"} & set(page)
    assert r"<b>\x1b[31m\u202e\x00\ud800</script>a" in out


NOT_UTF8 = os.fsdecode(b"caf\xe9")  # Latin-1


def make_folder(tmp_path):
    """Folder of images with names that are not UTF-8."""
    folder = tmp_path / NOT_UTF8
    try:
        (folder / NOT_UTF8).mkdir(parents=True)
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    (folder / "plain").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        name = f"{NOT_UTF8}{i}.png"
        Image.fromarray(image).save(folder / (NOT_UTF8 if i % 2 else "plain") / name)
    return folder


def test_file_names_that_are_not_utf8_are_names_like_others(capsys, tmp_path):
    folder = make_folder(tmp_path)
    found = run_json(capsys, "separation", folder, "--report", tmp_path / f"{NOT_UTF8}.html")
    assert set(found["classes"]) == {NOT_UTF8, "plain"}  # JSON is exact
    argv = ["evaluate", "--data", folder, "--model", "1nn", "--fit", "--k", "1"]
    argv += ["--corruptions", "linf(0.1)", "--store", tmp_path / f"{NOT_UTF8}.sqlite"]
    code, out, err = run_command(capsys, *argv, "--report", tmp_path / "r.html")
    assert code == 0, err
    assert r"caf\udce9: 4 test points" in out
    assert r"caf\udce9" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert run_command(capsys, "report", tmp_path / f"{NOT_UTF8}.sqlite")[1] == out
    assert_harmless(run_failing(capsys, "separation", f"{folder}.npz"), 1)


def test_copies_of_folders_keep_names_that_are_not_utf8(capsys, tmp_path):
    folder, copy = make_folder(tmp_path), tmp_path / "copy"
    argv = ["corrupt", folder, "--grid", "sp(0.1)", "rotation(30)", "-o", copy, "--quiet"]
    code, _, err = run_command(capsys, *argv)
    assert code == 0, err
    place = next(path for path in copy.iterdir() if path.is_dir())
    assert {path.name for path in place.iterdir()} == {NOT_UTF8, "plain"}
    lines = (copy / f"{place.name}.sha256").read_bytes().splitlines()
    files = {path.relative_to(place) for path in place.rglob("*.png")}
    assert {Path(os.fsdecode(line.split(b"  ", 1)[1])) for line in lines} == files


def test_models_in_files_that_are_not_utf8_can_be_evaluated_and_stored(capsys, tmp_path):
    import joblib
    from sklearn.neighbors import KNeighborsClassifier

    x, y = np.random.default_rng(0).random((20, 2)), np.resize(["a", "b"], 20)
    np.savez(tmp_path / f"{NOT_UTF8}.npz", x=x, y=y)
    path = tmp_path / f"{NOT_UTF8}.joblib"
    try:
        joblib.dump(KNeighborsClassifier(1).fit(x, y), path)
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    argv = ["evaluate", "--data", tmp_path / f"{NOT_UTF8}.npz", "--model", path, "--k", "1"]
    argv.append("--trust")
    argv += ["--corruptions", "linf(0.01)", "--store", tmp_path / "s.sqlite"]
    code, out, err = run_command(capsys, *argv)
    assert code == 0, err
    assert run_command(capsys, "report", tmp_path / "s.sqlite")[1] == out
    err = run_failing(capsys, *argv[:-4], "--corruptions", f"fog(3, published={NOT_UTF8})")
    assert "UTF-8" in err


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_labels_that_are_not_text_are_not_written_to_tables(capsys, tmp_path, ending):
    np.savez(tmp_path / "a.npz", x=np.arange(10.0), y=np.resize(["a", "\ud800"], 10))
    argv = ["corrupt", tmp_path / "a.npz", "--corruption", "linf(0.1)", "-o"]
    assert "must be text in UTF-8" in run_failing(capsys, *argv, tmp_path / f"b{ending}")
    assert run_command(capsys, *argv, tmp_path / "b.npz")[0] == 0
    with np.load(tmp_path / "b.npz") as copy:
        assert set(copy["y"].tolist()) == {"a", "\ud800"}


def test_labels_in_tables_that_differ_by_a_nul_at_their_end_are_refused(capsys, tmp_path):
    labels = np.array(["a", "a\0"] * 5, dtype=object)
    pd.DataFrame({"x": np.arange(10.0), "y": labels}).to_parquet(tmp_path / "a.parquet")
    err = run_failing(capsys, "separation", tmp_path / "a.parquet", "--label", "y")
    assert r"must not end in a NUL character, which arrays of text drop, got 'a\x00'" in err


def test_warnings_of_libraries_are_notes_of_one_line(capsys, own_directory):
    Path("warner.py").write_text(
        "import warnings\n"
        "def model(x):\n"
        "    warnings.warn('not\\nquite \\x1b[31mright', UserWarning)\n"
        "    return x[:, 0] > 0.5\n"
    )
    np.savez("a.npz", x=np.random.default_rng(0).random((20, 2)), y=np.resize([True, False], 20))
    argv = ["evaluate", "--data", "a.npz", "--model", "warner:model", "--corruptions", "linf(0.1)"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run_command(capsys, *argv, "--k", "1", "--quiet")
    assert code == 0
    assert r"note: UserWarning: not quite \x1b[31mright" in err.splitlines()


def test_only_the_terminal_module_prints():
    """Names are made safe in one place; a print elsewhere would go around it."""
    package = Path(shaketable.__file__).parent
    for path in package.rglob("*.py"):
        calls = (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        )
        prints = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
        place = path.relative_to(package).as_posix()
        # text and other formats; JSON
        expected = {"views/terminal.py": 2, "cli/output.py": 1}.get(place, 0)
        assert len(prints) == expected, f"{place} prints in lines {prints}; call print_lines"
