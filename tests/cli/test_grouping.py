"""--group and --baseline: how models are grouped, and with what they are compared."""

import pytest

from helpers.commands import run_command
from shaketable.cli.output import read_group
from shaketable.core.errors import InputError


def read(*texts):
    return read_group(texts)


def test_groups_are_named_or_patterns():
    assert read() == "regime"
    assert read("network") == "network"
    assert read("noisy=*(C?)", "plain=a=b") == {"noisy": "*(C?)", "plain": "a=b"}
    with pytest.raises(InputError, match=r"got 'network' and 'a=b'; leave out 'network'"):
        read("network", "a=b")
    with pytest.raises(InputError, match=r"unknown group 'regim'; did you mean 'regime'"):
        read("regim")
    with pytest.raises(InputError, match="must be NAME=PATTERN, got 'a='"):
        read("a=")


def test_a_baseline_that_does_not_exist_costs_no_results(capsys, own_directory):
    argv = ["study", "--data", "bands(n=60)", "--model", "1nn", "--runs", "1", "--k", "1"]
    argv += ["--train", "clean", "--train", "linf(0.01)", "--jobs", "1", "--quiet"]
    code, out, err = run_command(capsys, *argv, "--store", "s.sqlite", "--baseline", "linf(0.02)")
    assert code == 2
    assert "1nn(linf(0.01))" in out
    assert "unknown baseline 'linf(0.02)'" in err
    code, out, _ = run_command(capsys, "report", "s.sqlite", "--baseline", "linf(0.01)")
    assert code == 0
    assert "minus linf(0.01), on the same points and noise" in out
    assert "is clean accuracy higher than for linf(0.01)?" in out
