from pathlib import Path

import pytest

from helpers.commands import run_command

pytestmark = pytest.mark.usefixtures("own_directory")


def test_demo_does_the_main_job(capsys):
    code, out, err = run_command(capsys, "demo")
    assert code == 0, err
    assert Path("shaketable-demo/demo.sqlite").stat().st_size > 0
    assert Path("shaketable-demo/demo.html").stat().st_size > 0
    assert "rf" in out
    assert "1nn" in out
    assert "shaketable evaluate --model rf --data mydata.csv" in out
