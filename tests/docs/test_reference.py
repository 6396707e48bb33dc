"""The reference is complete: pages of commands are current, and every public name is on one."""

import inspect
import json
import re

import make_reference
import pytest
from make_reference import FOLDER, make_pages
from run_pages import ROOT

import shaketable
from helpers.commands import run_command
from shaketable.cli.list_names import make_command_schema
from shaketable.evaluation.store_columns import NAMES, STATEMENTS
from shaketable.findings.measures.numbers import MEASURES
from shaketable.findings.requirements.quantities import QUANTITIES

PAGES = make_pages()


def test_there_is_a_page_for_every_command_and_no_other():
    assert {path.name for path in FOLDER.glob("*.md")} == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_commands_are_current(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], (
        "run python docs/make_reference.py"
    )


def test_pages_of_commands_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(make_reference, "FOLDER", tmp_path / "commands")
    make_reference.main()
    gone = tmp_path / "commands" / "gone.md"
    gone.write_text("a command that is gone")
    make_reference.main()
    assert {path.name for path in gone.parent.iterdir()} == PAGES.keys()
    assert (gone.parent / "check.md").read_text(encoding="utf-8") == PAGES["check.md"]


def test_every_flag_is_on_its_page_with_its_values_and_default():
    flags = re.findall(r"^\| `(--[a-z-]+)[ `].*\|$", PAGES["check.md"], re.MULTILINE)
    assert flags == [
        "--register", "--store", "--confidence", "--careful", "--json", "--format", "--require",
        "--junit", "--markdown", "--intervals",
    ]  # fmt: skip
    about = "that all decisions are right; they share the rest *(default: 95)*"
    assert f"| `--confidence PERCENT` | {about} |" in PAGES["check.md"]
    assert "| `--format text\\|markdown\\|latex` |" in PAGES["check.md"]


def list_public(module, name):
    """Public objects of a module, and of the modules that it names, by their names."""
    for member in module.__all__:
        value = getattr(module, member)
        if inspect.ismodule(value):
            yield from list_public(value, f"{name}.{member}")
        else:
            yield f"{name}.{member}", value


def list_documented():
    """Names in the tables of the Python pages, as often as they are there."""
    names = []
    for path in sorted((ROOT / "docs" / "reference" / "python").glob("*.md")):
        for block in re.findall(r"```{eval-rst}\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            module = re.search(r"currentmodule:: (\S+)", block)
            assert module is not None, path
            for table in block.split(".. autosummary::")[1:]:
                lines = re.findall(r"^   (\w[\w.]*)$", table, re.MULTILINE)
                names += [f"{module[1]}.{line}" for line in lines]
    return names


def test_every_public_name_is_on_one_page():
    pytest.importorskip("torch")
    names = {}
    for name, value in list_public(shaketable, "shaketable"):
        names.setdefault(id(value), []).append(name)
    documented = list_documented()
    for same in names.values():  # one thing may have several public names
        assert sum(name in same for name in documented) == 1, same
    assert sorted(set(documented)) == sorted(documented)


def read_reference(name):
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("table", STATEMENTS)
def test_columns_of_results_files_are_described(table):
    row = re.search(rf"^\| `{table}` \|.*$", read_reference("results-file.md"), re.MULTILINE)
    assert row is not None
    columns = re.findall(r"`(\w+)`", row[0])[1:]
    assert columns == list(NAMES.get(table, ["name"]))


def test_keys_of_json_are_described():
    keys = set(re.findall(r"`(\w+)`", read_reference("json.md")))
    assert make_command_schema("report")["properties"].keys() - keys == set()


def test_requirements_that_are_described_are_all_that_there_are():
    text = read_reference("requirements.md")
    table = text.partition("| of | metrics |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert named == {*QUANTITIES, *MEASURES, "top_5"}


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("noise.md", "corruptions"), ("suites.md", "suites"), ("networks.md", "networks"),
        ("data.md", "datasets"), ("models.md", "models"), ("augmentations.md", "augmentations"),
        ("training-noise.md", "adversaries"),
    ],
)  # fmt: skip
def test_names_that_are_listed_are_described(capsys, page, kind):
    if kind == "adversaries":
        pytest.importorskip("torch")
    _, out, _ = run_command(capsys, "list", kind, "--json")
    names = {re.match(r"[\w.-]*", name)[0] for name in json.loads(out)}
    words = set(re.findall(r"[\w.-]+", read_reference(page)))
    assert names - {"", "KIND", "A", "3"} - words == set()
