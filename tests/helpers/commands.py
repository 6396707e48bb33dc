"""How tests run commands."""

import json
import sys

import pytest

from shaketable.cli.main import main


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def run(capsys, *argv):
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err


def fails(capsys, *argv, code=2):
    got, out, err = run(capsys, *argv)
    assert got == code, err
    assert out == ""
    assert err.startswith("shaketable: ")
    assert err.count("\n") == 1, "one line"
    return err


def loads(capsys, *argv):
    code, out, err = run(capsys, *argv, "--json")
    assert code == 0, err
    return json.loads(out)
