from pathlib import Path

import pytest

from helpers.commands import run_failing, run_json

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"


def test_study_files_hold_the_same_settings_and_flags_win(capsys):
    Path("my.toml").write_text(
        f'data = "{BANDS}"\nmodel = ["1nn"]\ntrain_eps = [0]\ntest_eps = [0, "eps_min"]\n'
        "runs = 3\nk = 2\njobs = 1\nquiet = true\n"
    )
    found = run_json(capsys, "study", "my.toml")
    assert found["cells"][0]["runs"] == 3
    found = run_json(capsys, "study", "my.toml", "--runs", 2, "--model", "logistic")
    assert found["cells"][0]["runs"] == 2
    assert {c["model"] for c in found["cells"]} == {"logistic"}
    Path("bad.toml").write_text('dta = "iris"')
    assert "did you mean 'data'" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text("data = ")
    assert "cannot be read" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text(f"runs = {'9' * 5000}")
    assert "cannot be read: Exceeds the limit" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text(f"runs = {'[' * 5000}")
    assert "cannot be read" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text('scale = "false"')
    assert "scale must not be 'false'" in run_failing(capsys, "study", "bad.toml")
    Path("bad.toml").write_text('runs = "many"')
    assert "--runs" in run_failing(capsys, "study", "bad.toml")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sepration", "iris"], "did you mean 'separation'"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_line_that_helps(capsys, argv, message):
    assert message in run_failing(capsys, *argv)
