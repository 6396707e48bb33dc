"""Tables fit the terminal, and a reader that stops reading stops nothing else."""

import os
import re
import subprocess
import sys

from shaketable.views.terminal import print_list, print_notes, print_table

HEADER = ["model", *(f"column {i}" for i in range(12))]
ROWS = [[f"model {j}", *(f"{10 * i + j}.00" for i in range(12))] for j in range(3)]


def test_a_table_that_is_not_for_a_terminal_is_in_one_piece(capsys):
    print_table("title", HEADER, ROWS)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == "title"
    assert re.split(r"\s{2,}", lines[1]) == HEADER
    assert [re.split(r"\s{2,}", line) for line in lines[3:]] == ROWS


def test_a_wide_table_comes_in_pieces_that_lose_nothing(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # no bold letters, and 80 columns
    print_table("title", HEADER, ROWS)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    words = re.split(r"\s{2,}", " ".join(f"  {line}  " for line in out.splitlines()))
    pieces = words.count("model")
    assert pieces > 1
    assert [w for w in words if w.startswith("column")] == HEADER[1:]
    assert all(words.count(value) == 1 for row in ROWS for value in row[1:])
    assert words.count("model 1") == pieces


def test_names_stand_above_each_other_and_notes_on_stderr(capsys):
    print_list({"a": "first", "long": "second"})
    print_notes(["look out"])
    captured = capsys.readouterr()
    assert captured.out == "a     first\nlong  second\n"
    assert captured.err == "note: look out\n"


def test_work_goes_on_when_nobody_reads(tmp_path):
    code = (
        "from shaketable.views.terminal import ignore_broken_pipe, print_table\n"
        "with ignore_broken_pipe():\n"
        "    print_table('title', ['a'] * 3, [['x' * 1000] * 3] * 100)\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
    assert (tmp_path / "done").exists()
