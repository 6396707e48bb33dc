"""Every JSON that commands print is described by a versioned schema, made from types."""

import json

import pytest
from jsonschema import Draft202012Validator

from helpers.commands import check_schema, run_command, run_failing
from shaketable.cli.commands import COMMANDS
from shaketable.cli.list_names import make_command_schema
from shaketable.cli.parser import make_parser
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.results import find


def commands_with_json():
    flags = {name: make_parser(name, COMMANDS.get(name))[1] for name in COMMANDS.declared}
    return [name for name, parser in flags.items() if "--json" in parser._option_string_actions]


@pytest.mark.parametrize("name", sorted(FINDINGS.declared))
def test_every_finding_describes_its_keys(name):
    assert FINDINGS.get(name).json is not None, f"declare the type of the finding {name!r}"


@pytest.mark.parametrize("name", sorted(commands_with_json()))
def test_every_command_that_prints_json_has_a_schema(name):
    schema = make_command_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:shaketable:schema:{name}:{SCHEMA_VERSION}"
    assert schema["title"]


def test_keys_that_no_schema_names_are_refused():
    validator = Draft202012Validator(make_command_schema("report"))
    assert validator.is_valid({"schema_version": 1, "notes": []})
    assert not validator.is_valid({"notes": []})
    assert not validator.is_valid({"schema_version": 2, "notes": []})
    assert not validator.is_valid({"schema_version": 1, "notes": [], "other": 1})
    assert not validator.is_valid({"schema_version": 1, "notes": [], "models": [{}]})


def test_results_are_as_described(noise_records):
    result = json.loads(json.dumps(find(noise_records).json()))
    assert {"models", "error_probabilities"} < result.keys()
    check_schema("report", {"schema_version": SCHEMA_VERSION, **result})


def test_a_finding_of_another_package_may_describe_nothing(monkeypatch):
    kind = FindingKind(eval("lambda groups: None", {"__name__": "theirs"}))
    monkeypatch.setattr("shaketable.findings.schema.load_kinds", lambda: ({"theirs": kind}, []))
    validator = Draft202012Validator(make_command_schema("report"))
    assert validator.is_valid({"schema_version": 1, "notes": [], "theirs": 1})


def test_the_command_prints_a_schema(capsys):
    code, out, _ = run_command(capsys, "list", "schema", "separation")
    assert code == 0
    assert json.loads(out) == make_command_schema("separation")
    assert json.loads(run_command(capsys, "list", "schema")[1]) == make_command_schema("report")
    assert "no JSON of 'merge' has a schema" in run_failing(capsys, "list", "schema", "merge")
    assert "unknown command 'separaton'" in run_failing(capsys, "list", "schema", "separaton")
