"""Messages name what the reader can change: a flag of a command, or an argument in Python."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_failing
from shaketable.core.errors import (
    InputError,
    ModelError,
    ShaketableError,
    either,
    guard_foreign,
    speak_of_flags,
)

CLASHING = np.array([[0.0], [0.0], [1.0], [3.0]]), ["a", "b", "a", "b"]


def test_python_is_told_arguments_and_commands_are_told_flags(tmp_path, capsys):
    path = str(tmp_path / "clashing.npz")
    np.savez(path, x=CLASHING[0], y=CLASHING[1])
    with pytest.raises(st.InputError, match=r"leave them out with Dataset.drop_clashes\(\)$"):
        st.separation(*CLASHING)
    told = run_failing(capsys, "separation", path)
    assert told.rstrip().endswith("leave them out with --drop-clashes")
    joblib.dump(LogisticRegression().fit([[0.0], [1.0]], ["a", "b"]), tmp_path / "m.joblib")
    told = run_failing(capsys, "evaluate", "--model", str(tmp_path / "m.joblib"), "--data", path)
    assert "add --trust, else" in told
    with pytest.raises(st.InputError, match="add trust=True, else"):
        st.study("iris", str(tmp_path / "m.joblib"), runs=1)


def test_an_evaluation_without_eps_min_is_told_of_noise_that_does_without():
    with pytest.raises(
        st.UndefinedError, match=r"drop_clashes\(\); or measure noise that needs no"
    ):
        st.evaluate(lambda x: np.where(x[:, 0] > 0.5, "b", "a"), CLASHING, "linf(eps_min)")


def test_flags_are_spoken_of_while_a_command_runs_and_no_longer():
    assert either("--k", "k=") == "k="
    with speak_of_flags():
        with speak_of_flags():
            assert either("--k", "k=") == "--k"
        assert either("--k", "k=") == "--k"
        assert joblib.Parallel(2)([joblib.delayed(either)("--k", "k=")] * 2) == ["--k", "--k"]
    assert either("--k", "k=") == "k="
    with pytest.raises(ValueError, match="inside"), speak_of_flags():
        raise ValueError("inside")
    assert either("--k", "k=") == "k="


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ValueError("no\nluck"), "net {x} failed: ValueError: no luck; no"),
        (SystemExit(3), "net {x} failed: sys.exit(3); sys.exit(3)"),
        (StopIteration(), "net {x} failed: StopIteration; StopIteration"),
    ],
)
def test_what_foreign_code_raises_becomes_an_error_of_one_line(raised, told):
    @guard_foreign("net {x} failed: {error}; {text}", ModelError)
    def call():
        raise raised

    with pytest.raises(ModelError) as caught:
        call()
    assert str(caught.value) == told
    assert caught.value.__cause__ is raised


def test_a_guard_lets_our_errors_and_others_it_is_not_for_through():
    with pytest.raises(ShaketableError, match="^k is 0$"), guard_foreign("failed: {error}"):
        raise ShaketableError("k is 0")
    with (
        pytest.raises(InputError, match="^failed: k is 0$"),
        guard_foreign("failed: {error}", but=()),
    ):
        raise ShaketableError("k is 0")
    with pytest.raises(KeyboardInterrupt), guard_foreign("failed: {error}"):
        raise KeyboardInterrupt
    with pytest.raises(KeyError), guard_foreign("failed: {error}", only=(TypeError,)):
        raise KeyError
