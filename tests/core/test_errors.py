"""Messages name what the reader can change: a flag of a command, or an argument in Python."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_failing
from shaketable.core.errors import either, speak_of_flags

CLASHING = np.array([[0.0], [0.0], [1.0], [2.0]]), ["a", "b", "a", "b"]


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
