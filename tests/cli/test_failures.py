"""Models that misbehave, killed workers, signals and full disks, with the real command."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.commands import run_command, run_failing, run_json
from shaketable.evaluation.store import Store

pytestmark = pytest.mark.usefixtures("own_directory")

MODELS = """
import os, pathlib, sys
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

def leave(x):
    sys.exit(0)

class Model(ClassifierMixin, BaseEstimator):
    def __init__(self, copies=0):
        self.copies = copies

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        return np.full(len(x), self.classes_[0])

class LeavesWhenFitted(Model):
    def fit(self, x, y):
        sys.exit(0)

class LeavesWhenMade(Model):
    def __init__(self, copies=0):
        self.copies = copies
        if "leaves_when_made" in globals():
            sys.exit(0)

class LeavesWhenLookedAt(Model):
    def fit(self, x, y):
        self.fitted_ = True
        return self

    @property
    def classes_(self):
        sys.exit(0)

class FailsAtTenth(Model):
    def predict(self, x):
        calls = pathlib.Path("calls")
        with calls.open("a") as file:
            file.write("x")
        if len(calls.read_text()) == 10:
            self.fail()
        return super().predict(x)

class Raises(FailsAtTenth):
    def fail(self):
        raise RuntimeError("out of\\nluck")

class Exits(FailsAtTenth):
    def fail(self):
        os._exit(0)

class Slow(Model):
    def fit(self, x, y):
        import time

        time.sleep(0.05)
        return super().fit(x, y)

leaves_when_fitted, leaves_when_made = LeavesWhenFitted(), LeavesWhenMade()
leaves_when_looked_at, raises, exits, slow = LeavesWhenLookedAt(), Raises(), Exits(), Slow()
"""

MANY_RUNS = ["study", "--data", "bands(n=60)", "--k", "1", "--quiet", "--runs", "200"]
STUDY = [*MANY_RUNS[:-1], "4"]
HANGS = 900  # seconds; as long as it takes on a busy machine is no failure


@pytest.fixture(autouse=True)
def models(own_directory):
    Path("misbehaving.py").write_text(MODELS)
    yield
    sys.modules.pop("misbehaving", None)


def start(*argv, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "shaketable", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def run_in_process(*argv, **options):
    """Run a command in a process of its own; return its exit code and its one line of stderr."""
    process = start(*argv, **options)
    out, err = process.communicate(timeout=HANGS)
    assert out == ""
    assert err.count("\n") == 1, err
    return process.returncode, err


def count_cells(path):
    try:
        with Store(path, must_exist=True) as store:
            return len(store.keys())
    except (OSError, ValueError):
        return -1


def test_a_model_that_exits_does_not_pass_a_gate():
    argv = ["--data", "bands(n=60)", "--require", "mscr >= -100", "--quiet"]
    code, err = run_in_process("evaluate", "--model", "misbehaving:leave", *argv)
    assert code == 2
    assert "on clean points: model misbehaving:leave failed: sys.exit(0); correct it" in err


@pytest.mark.parametrize(
    ("command", "model", "what"),
    [
        ("evaluate --fit", "leaves_when_fitted", "could not be trained"),
        ("evaluate --fit", "leaves_when_made", "could not be copied"),
        ("evaluate --fit", "leaves_when_looked_at", "failed"),
        ("study --runs 2 --jobs 1", "leaves_when_fitted", "could not be trained"),
        ("adversary --eps 0.1", "leave", "failed"),
        ("adversary --agreement neither --model 1nn", "leave", "failed"),
    ],
)
def test_a_model_that_exits_is_an_error_that_names_it(capsys, command, model, what):
    argv = ["--model", f"misbehaving:{model}", "--data", "bands(n=60)", "--quiet"]
    err = run_failing(capsys, *command.split(), *argv)
    assert f"model misbehaving:{model} {what}: sys.exit(0); correct it" in err


def test_a_model_that_raises_is_recorded_and_the_same_command_tries_it_again(capsys):
    argv = [*STUDY, "--model", "misbehaving:raises", "--jobs", "1", "--store", "s.sqlite"]
    code, out, err = run_command(capsys, *argv)
    assert code == 4
    assert "misbehaving:raises" in out, "what could be measured is printed"
    place = (
        "), trained with clean, run 2: model misbehaving:raises failed: RuntimeError: out of luck"
    )
    assert "note: failed: under linf(0.0" in err
    last = err.splitlines()[-1]
    assert last.startswith("shaketable: error: results are not complete: 1 failure: under linf(0.0")
    assert place in last
    assert "; run the same command to try again what failed" in last
    assert count_cells("s.sqlite") == 15
    assert run_json(capsys, *argv)
    assert count_cells("s.sqlite") == 16
    assert len(Path("calls").read_text()) == 16 + 2, "the model that failed is measured again"


def test_a_worker_that_exits_names_its_place_and_the_same_command_goes_on(capsys):
    argv = [*STUDY, "--model", "misbehaving:exits", "--store", "s.sqlite", "--jobs", "2"]
    code, err = run_in_process(*argv)
    assert code == 4
    assert "a worker process was killed or exited (EXIT(0)) while at work: model " in err
    assert re.search(
        r"model misbehaving:exits, (under linf|on clean).* trained with .*, run \d", err
    )
    assert "what was measured is in s.sqlite, run the same command to go on" in err
    assert run_json(capsys, *argv[:-1], "1")
    assert count_cells("s.sqlite") == 16


def list_workers(process):
    """Processes that a command has started and that have not ended, by their number."""
    command = ["ps", "-o", "pid=,stat=", "-g", str(process.pid)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    running = (line.split()[0] for line in lines if "Z" not in line)
    return {int(number) for number in running} - {process.pid}


def test_sigterm_stops_a_command_and_its_workers():
    argv = [*MANY_RUNS, "--model", "misbehaving:slow", "--jobs", "2"]
    process = start(*argv, "--store", "s.sqlite")
    while process.poll() is None and count_cells("s.sqlite") < 4:
        time.sleep(0.01)
    assert len(list_workers(process)) >= 2
    os.kill(process.pid, signal.SIGTERM)
    try:
        out, err = process.communicate(timeout=HANGS)  # waits for workers that hold the pipes, too
    finally:
        for number in list_workers(process):
            os.kill(number, signal.SIGKILL)
    assert process.returncode == 130
    assert out == ""
    assert err == (
        "shaketable: interrupted; what was measured is in s.sqlite, run the same command to go on\n"
    )
    assert 4 <= count_cells("s.sqlite") < 800


def test_a_full_disk_with_two_workers_is_one_line():
    code, err = run_in_process(
        *[*MANY_RUNS, "--model", "1nn", "--jobs", "2", "--store", "s.sqlite"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, 160_000)),
    )
    assert code == 4
    assert "results file 's.sqlite': d" in err
    assert "what was measured before is kept" in err
    assert count_cells("s.sqlite") > 0


def test_a_copy_that_cannot_be_written_leaves_the_old_file():
    Path("copy.npz").write_text("the old one")
    code, err = run_in_process(
        *["corrupt", "bands(n=500)", "--corruption", "linf(0.1)", "-o", "copy.npz", "--quiet"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )
    assert code == 2
    assert "data cannot be written to 'copy.npz' (File too large); name another file" in err
    assert Path("copy.npz").read_text() == "the old one"
    assert {path.name for path in Path().iterdir()} <= {"copy.npz", "misbehaving.py"}
