"""Run shaketable commands in this process."""

import json

from shaketable.cli.main import main


def run_command(capsys, *argv):
    """Run a command; return its exit code, standard output and standard error."""
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err


def run_failing(capsys, *argv, code=2):
    """Run a command that must fail with this exit code and a one-line message; return it."""
    actual, out, err = run_command(capsys, *argv)
    assert actual == code, err
    assert out == ""
    assert err.startswith("shaketable: ")
    assert err.count("\n") == 1, "one line"
    return err


def run_json(capsys, *argv):
    """Run a command with ``--json``, which must succeed; return the parsed output."""
    code, out, err = run_command(capsys, *argv, "--json")
    assert code == 0, err
    return json.loads(out)
