import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.commands import run_command, run_failing, run_json
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

BANDS = "bands(n=300)"


def test_a_traceback_only_with_debug(capsys):
    Path("broken.py").write_text("def answer(x):\n    raise RuntimeError('out of\\nluck')\n")
    argv = ["evaluate", "--model", "broken:answer", "--data", BANDS, "--quiet"]
    err = run_failing(capsys, *argv)
    assert "model broken:answer failed: RuntimeError: out of luck; correct it; --debug" in err
    code, _, err = run_command(capsys, *argv, "--debug")
    assert code == 2
    assert "Traceback" in err


def count_cells(path):
    try:
        with Store(path, must_exist=True) as store:
            return len(store.keys())
    except (OSError, ValueError):
        return -1


PATIENT = """
import time
from pathlib import Path
from sklearn.neighbors import KNeighborsClassifier

class Patient(KNeighborsClassifier):
    def fit(self, x, y):
        with open("trained", "a") as file:
            file.write("x")
        while len(Path("trained").read_text()) > 8 and not Path("go").exists():
            time.sleep(0.01)
        return super().fit(x, y)

model = Patient(1)
"""


@pytest.mark.parametrize("cells", [0, 6], ids=["while workers start", "in the middle"])
def test_interrupted_says_what_is_kept_and_goes_on(capsys, tmp_path, cells):
    Path("patient.py").write_text(PATIENT)  # however busy the machine is, it is not done before
    argv = ["study", "--data", "bands(n=60)", "--model", "patient:model", "--runs", "8"]
    argv += ["--k", "1", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shaketable", *argv, "--jobs", "2", "--store", "s.sqlite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
        # a shell that runs the tests in the background has it ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    while process.poll() is None and count_cells(tmp_path / "s.sqlite") < cells:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 130, err
    assert "s.sqlite, run the same command to go on" in err
    assert "Traceback" not in err
    assert cells <= count_cells(tmp_path / "s.sqlite") < 32
    Path("go").touch()
    if cells:
        argv += ["--jobs", "1"]
        assert run_json(capsys, *argv, "--store", "s.sqlite") == run_json(capsys, *argv)
    sys.modules.pop("patient", None)


@pytest.mark.usefixtures("heeded_interrupts")
def test_an_interrupt_stays_one_whatever_is_made_of_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("eager.py").write_text(
        "import os, signal\n"
        "def predict(x):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        while True: pass\n"
        "    except KeyboardInterrupt:\n"
        "        raise RuntimeError('a worker was lost')\n"
    )
    argv = ["evaluate", "--data", "bands(n=60)", "--model", "eager:predict"]
    assert "interrupted" in run_failing(capsys, *argv, "--quiet", code=130)


HEAVY = ("numpy", "numba", "altair", "torch", "sklearn", "scipy", "pandas", "joblib", "rich")


def modules_after(*argv):
    """Names of all modules that a command imports."""
    code = (
        "import sys\n"
        "from shaketable.cli.main import main\n"
        f"try:\n    main({list(argv)!r})\nexcept SystemExit:\n    pass\n"
        "print('\\n', *sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return out.stdout.splitlines()[-1].split()


def test_help_is_quick():
    times = []
    for _ in range(3):  # processor time, which other processes hardly change
        before = os.times()
        subprocess.run(
            [sys.executable, "-m", "shaketable", "--help"], check=True, capture_output=True
        )
        after = os.times()
        times.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    assert min(times) < 0.3


@pytest.mark.parametrize("argv", [["--help"], ["adversary", "--help"], ["evaluate", "--help"]])
def test_help_imports_nothing_heavy(argv):
    modules = modules_after(*argv)
    assert ("shaketable.cli.adversary" in modules) is (argv[0] != "evaluate"), "it needs no other"
    assert not {*HEAVY, "shaketable.corruptions"} & set(modules)


def test_an_attack_builds_no_suite_and_no_chart():
    modules = modules_after(
        *[
            "adversary",
            "--data",
            "iris",
            "--model",
            "1nn",
            "--eps",
            "0.1",
            "--points",
            "2",
            "--random",
            "2",
            "--quiet",
        ]
    )
    assert "shaketable.adversary.worst_case" in modules
    assert not {"shaketable.corruptions.suites.catalogue", "altair", "torch"} & set(modules)
