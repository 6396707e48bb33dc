"""What compiles at the first call after installation, and is compiled ahead by the demo."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from shaketable.activities import first_calls
from shaketable.activities.first_calls import compile_ahead
from shaketable.core.compiling import is_kept

NEXT = """
import numpy as np
import shaketable as st
from shaketable.activities.first_calls import is_compiled
assert is_compiled()
people = st.load("people")
st.evaluate(lambda x: np.full(len(x), "no"), people, ["linf(eps_min)", "jitter(0.5)"], k=1)
x = np.random.default_rng(0).integers(0, 256, (1000, 8, 8, 3)).astype(np.uint8)
st.evaluate(lambda x: np.zeros(len(x)), (x, np.arange(1000) % 2), "linf(eps_min)", k=1)
"""


def list_code(folder):
    return sorted(path.name for path in folder.rglob("*.nb[ic]"))


def test_the_next_command_compiles_nothing(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    ahead = "from shaketable.activities.first_calls import *; assert not is_compiled(); "
    for code in (ahead + "compile_common()", NEXT):
        before = list_code(tmp_path)
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert before
    assert list_code(tmp_path) == before


def test_code_older_than_its_source_does_not_count(tmp_path):
    function = SimpleNamespace(py_func=list_code, stats=SimpleNamespace(cache_path=str(tmp_path)))
    assert not is_kept(function)
    index = tmp_path / "test_first_calls.list_code-29.py311.nbi"
    index.touch()
    assert is_kept(function)
    os.utime(index, (0, 0))
    assert not is_kept(function)


class Children:
    """Processes that were started, each of which sleeps."""

    def __init__(self, monkeypatch, seconds):
        self.started = []
        self.popen = subprocess.Popen
        self.code = f"import time; time.sleep({seconds})"
        monkeypatch.setattr(first_calls.subprocess, "Popen", self.start)

    def start(self, command, **options):
        self.started.append(self.popen([*command[:-1], self.code], **options))
        return self.started[-1]


def test_the_block_runs_while_another_process_compiles(monkeypatch, capsys):
    children = Children(monkeypatch, 0.2)
    monkeypatch.setattr(first_calls, "is_compiled", lambda: False)
    with compile_ahead():
        assert "compiling for the first time" in capsys.readouterr().err
        (child,) = children.started
        assert child.poll() is None
    assert child.returncode == 0  # it was waited for
    assert "waiting" in capsys.readouterr().err


def test_nothing_is_compiled_ahead_twice(monkeypatch, capsys):
    children = Children(monkeypatch, 0)
    monkeypatch.setattr(first_calls, "is_compiled", lambda: True)
    with compile_ahead():
        pass
    assert children.started == []
    assert capsys.readouterr().err == ""


def test_no_process_is_left_behind_by_an_error(monkeypatch):
    children = Children(monkeypatch, 600)
    monkeypatch.setattr(first_calls, "is_compiled", lambda: False)
    with pytest.raises(KeyboardInterrupt), compile_ahead():
        raise KeyboardInterrupt
    assert children.started[0].returncode != 0
