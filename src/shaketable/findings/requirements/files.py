"""Decisions on requirements as files for pipelines: JUnit XML and Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.core.writing import write_beside
from shaketable.findings.requirements.view import describe_confidence
from shaketable.views.formats import Markdown
from shaketable.views.terminal import render
from shaketable.views.text import make_visible

if TYPE_CHECKING:
    from shaketable.findings.requirements.check import Check

_PROBLEMS = {"not met": "failure", "inconclusive": "error"}
"""Elements of JUnit by outcome: what failed, and what could not be decided."""


def write_junit(check: Check, path: str | Path) -> Path:
    """Write one test case per decision; ``not met`` is a failure, ``inconclusive`` an error."""
    from xml.etree import ElementTree

    outcomes = [decision.outcome for decision in check.decisions]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("not met")),
        "errors": str(outcomes.count("inconclusive")),
        "skipped": "0",
        "time": "0",
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "shaketable", **counts})
    for decision in check.decisions:
        name = f"{decision.requirement} ({decision.under})"
        about = {"classname": _show(decision.model), "name": _show(name), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        text = _show(str(decision))
        if (tag := _PROBLEMS.get(decision.outcome)) is not None:
            problem = ElementTree.SubElement(case, tag, {"type": decision.outcome, "message": text})
            problem.text = f"{text}\n{describe_confidence(check)}"
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(suites)
    with write_beside(path, "JUnit XML") as beside:
        ElementTree.ElementTree(suites).write(beside, encoding="utf-8", xml_declaration=True)
    return Path(path)


def write_markdown(check: Check, path: str | Path) -> Path:
    """Write the table and the outcome."""
    with write_beside(path, "Markdown") as beside:
        beside.write_text(render(check.print, Markdown()), encoding="utf-8")
    return Path(path)


def _show(text: str) -> str:
    """Return a text that XML can hold: what does not show is written out."""
    return make_visible(text)
