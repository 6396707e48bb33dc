from pathlib import Path

import numpy as np
import pytest

from helpers.commands import run_command

pytestmark = pytest.mark.usefixtures("own_directory")


def test_a_requirement_is_met_not_met_or_open(capsys):
    base = ["evaluate", "--data", "bands(n=1000)", "--model", "rf", "--quiet", "--require"]
    assert run_command(capsys, *base, "mscr >= -50")[0] == 0
    code, out, _ = run_command(capsys, *base, "mscr >= 50")
    assert code == 1
    assert "not met: 0 of 1 requirement met" in out
    assert run_command(capsys, *base, "mscr >= -1")[0] == 3


def test_a_clean_accuracy_of_zero_is_said_not_hidden(capsys):
    Path("wrong.py").write_text(
        "import numpy as np\ndef answer(x):\n    return np.where(x[:, 0] > 0.5, 'no', 'yes')\n"
    )
    x = np.random.default_rng(0).uniform(size=(50, 2))
    np.savez("d.npz", x=x, y=np.where(x[:, 0] > 0.5, "yes", "no"))
    argv = ["evaluate", "--model", "wrong:answer", "--model", "1nn", "--data", "d.npz", "--quiet"]
    code, out, err = run_command(capsys, *argv, "--report", "page.html")
    assert code == 2
    assert "MSCR is undefined for wrong:answer" in err
    assert "1nn: " in out  # what the others did is not lost
    assert Path("page.html").exists()
