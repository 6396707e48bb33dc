"""Limits that keep the source easy to read: sizes, formatting, wrapped documents."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import shaketable

SOURCE = Path(shaketable.__file__).parent
ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md", "SECURITY.md")
"""Pages of the documentation are in `tests/docs/test_pages.py`."""


def read_lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def longer_than(limit, lines):
    """Numbers of the lines that are longer, and the lines."""
    return [(i, line) for i, line in enumerate(lines, 1) if len(line) > limit]


def public_functions():
    """Public functions, and public methods of public classes, with their names."""
    for name in shaketable.__all__:
        value = getattr(shaketable, name)
        members = [] if inspect.isfunction(value) else inspect.getmembers(value, inspect.isfunction)
        yield from [(name, value)] if inspect.isfunction(value) else []
        yield from ((f"{name}.{m}", method) for m, method in members if not m.startswith("_"))


def test_the_package_has_few_entries():
    entries = [path.name for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 20, sorted(entries)


def test_modules_have_at_most_600_lines():
    sizes = {str(p.relative_to(SOURCE)): len(read_lines(p)) for p in SOURCE.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > 600} == {}


def test_lines_of_templates_are_wrapped():
    for path in SOURCE.rglob("*.j2"):
        assert longer_than(120, read_lines(path)) == [], path


def test_few_places_are_not_formatted():
    places = [
        f"{path.relative_to(SOURCE)}:{i}"
        for path in SOURCE.rglob("*.py")
        for i, line in enumerate(read_lines(path), 1)
        if "# fmt: " in line
    ]
    assert len(places) <= 25, places


def test_public_functions_name_their_options():
    open_ended = [
        f"{name}(**{p.name}: {p.annotation})"
        for name, function in public_functions()
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.VAR_KEYWORD and p.annotation in (Any, "Any")
    ]
    assert open_ended == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_wrapped(name):
    lines = ["" if line.startswith("|") else line for line in read_lines(ROOT / name)]
    assert longer_than(100, lines) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_between_files_are_not_broken(name):
    path = ROOT / name
    links = re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8"))
    files = [link for link in links if not link.startswith("http")]
    assert [link for link in files if not (path.parent / link).exists()] == []
