"""Run shaketable commands in this process."""

import json
from functools import cache

from jsonschema import Draft202012Validator

from shaketable.cli.list_names import make_command_schema
from shaketable.cli.main import main
from shaketable.findings.finding import FINDINGS


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
    """Run a command with ``--json``, which must succeed; return its output, as its schema says."""
    code, out, err = run_command(capsys, *argv, "--json")
    assert code == 0, err
    result = json.loads(out)
    check_schema(str(argv[0]), result)
    return result


def check_schema(command, result):
    """Check what a command printed as JSON against its schema."""
    error = next(_make_validator(command, tuple(FINDINGS)).iter_errors(result), None)
    assert error is None, f"{error.json_path}: {error.message}"


@cache
def _make_validator(command, findings):  # those installed, which a schema depends on
    schema = make_command_schema(command)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)
