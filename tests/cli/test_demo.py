import shlex
from pathlib import Path

import pytest

from helpers.commands import run_command
from shaketable.data.files import load

pytestmark = pytest.mark.usefixtures("own_directory")


def test_demo_prints_verdicts_first_and_a_command_that_works(capsys):
    code, out, err = run_command(capsys, "demo", "--out", "my demo")
    assert code == 0, err
    assert Path("my demo/demo.sqlite").stat().st_size > 0
    assert Path("my demo/demo.html").stat().st_size > 0
    assert out.index("loses accuracy") < out.index("rf: MSCR -0.") < out.index("demo.html")
    assert len(out.splitlines()) < 35
    assert load("my demo/people.csv", label="repaid").fingerprint == load("people").fingerprint

    (line,) = (line for line in out.splitlines() if line.startswith("  shaketable "))
    code, out, err = run_command(capsys, *shlex.split(line)[1:])
    assert code == 0, err
    assert "people.csv" in out
    assert Path("report.html").stat().st_size > 0
