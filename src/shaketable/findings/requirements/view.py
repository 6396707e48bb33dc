"""Decisions on requirements, as words, a table, JUnit XML and Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shaketable.core.writing import write_beside
from shaketable.findings.requirements.parts import FEW
from shaketable.views.blocks import Block, Column, Entry, Heading, Sentence, Table
from shaketable.views.formats import Markdown
from shaketable.views.numbers import format_full
from shaketable.views.terminal import render
from shaketable.views.text import make_visible

if TYPE_CHECKING:
    from shaketable.findings.requirements.check import Check, Decision


def make_blocks(check: Check) -> list[Block]:
    """Return one row per decision, and the outcome."""
    table = Table(
        f"requirements; {describe_confidence(check)}",
        (
            *map(Column, ("requirement", "model", "under")),
            Column("measured, with its interval", "rate", ""),
            *map(Column, ("verdict", "to decide", "registered")),
        ),
        [
            (
                d.requirement.text,
                d.model,
                _name_part(d),
                _show_value(d),
                d.outcome,
                _count_more(d),
                Entry(d.registered, "after it was measured") if d.is_older else "",
            )
            for d in check.decisions
        ],
        limit=len(check.decisions),
    )
    notes = [Sentence(note, tone="alert") for note in check.notes]
    times = [d.registered for d in check.decisions]
    known = [d.measured for d in check.decisions]
    if all(times) and all(known) and not any(d.is_older for d in check.decisions):
        notes.append(
            Sentence(
                f"all were registered by {max(times)}, before they were measured ({min(known)})"
            )
        )
    return [table, *notes, Sentence(describe_check(check))]


def list_notes(check: Check) -> list[str]:
    """Say what was measured before it was required, and which requirements were changed."""
    known = check.known
    if known is None:
        return []
    asked = {d.requirement.text: d for d in check.decisions}
    older = {d.requirement.text: d for d in check.decisions if d.is_older}
    times = [d.measured for d in check.decisions if d.measured]
    return [
        *(
            f"{d.requirement.text!r} was measured ({d.measured}) before it was registered "
            f"({d.registered}), so nothing shows that its limit was set beforehand"
            for d in older.values()
        ),
        *known.describe_changes(min(times, default="")),
        *(
            f"{text!r} is not among the registered requirements"
            for text, d in asked.items()
            if not d.registered
        ),
        *(
            f"{r.text!r} is registered and not checked"
            for r in known.requirements
            if r.text not in asked
        ),
    ]


def _show_value(decision: Decision) -> Entry:
    """Return what was measured: in per cent, or as a number such as a log loss."""
    return Entry(decision.estimate, kind="rate" if decision.requirement.is_rate else "number")


def show_decisions(
    check: Check | None, kept: Mapping[str, str], undecided: Mapping[str, str]
) -> list[Block]:
    """Return the section of a page: decisions, since when they are required, and what is open."""
    since = [f"{text}, since {time}" for text, time in kept.items() if time]
    return [
        Heading("Are the requirements met?", "requirements", "Requirements"),
        *([] if check is None else make_blocks(check)),
        *(Sentence(why, f"not decided: {text}", tone="alert") for text, why in undecided.items()),
        *([Sentence("; ".join(since), "required", tone="quiet", level="detail")] if since else []),
    ]


def _name_part(decision: Decision) -> str:
    """Return the corruption or suite, and the class or group."""
    return ", ".join(filter(None, [decision.under, _describe_part(decision)]))


def _describe_part(decision: Decision) -> str:
    worst = f" (worst of {decision.groups})" if decision.groups > 1 else ""
    return decision.part + worst


def _count_more(decision: Decision) -> str:
    if decision.outcome != "inconclusive":
        return ""
    if not decision.has_enough:
        where = f" in {decision.smallest}" if decision.groups > 1 else ""
        return f"needs {FEW} points{where}, got {decision.fewest}"
    if decision.requirement.metric == "risk":
        return "more answers (--budget)"
    if decision.more is None:
        return "at the limit"
    return f"{round_up(decision.more)} more {decision.unit}"


def describe_decision(decision: Decision) -> str:
    """Say whether a requirement is met, what was measured, and what would decide it."""
    e = decision.estimate
    numbers = format_full(e).replace(" (", ", ").rstrip(")")
    if not decision.requirement.is_rate:
        numbers = f"{e.value:.4g}, {100 * e.confidence:g} % interval {e.low:.4g} to {e.high:.4g}"
    if decision.requirement.is_difference:
        numbers = numbers.replace(" %", " percentage points", 1)
    at = f" for {part}" if (part := _describe_part(decision)) else ""
    verdict = f"{decision.requirement} {decision.outcome}: {decision.model} has {numbers}{at}"
    return verdict + (f"; {describe_more(decision)}" if decision.outcome == "inconclusive" else "")


def describe_more(decision: Decision) -> str:
    """Say how many more points would decide an inconclusive requirement."""
    if not decision.has_enough:
        what = f"{decision.smallest} has" if decision.groups > 1 else "it has"
        points = f"{decision.fewest} point{'' if decision.fewest == 1 else 's'}"
        return f"{what} {points}, and at least {FEW} are needed"
    if decision.requirement.metric == "risk":
        return "a larger --budget of risk would narrow it"
    if decision.more is None:
        return f"no number of {decision.unit} would decide it: it is at the limit"
    one = decision.more == 1
    what = f"more {decision.unit[:-1] if one else decision.unit}"
    return (
        f"about {round_up(decision.more)} {what} would decide it if {'it' if one else 'they'} "
        f"{'shows' if one else 'show'} the same"
    )


def describe_check(check: Check) -> str:
    """Say the outcome, and how many requirements have which.

    One requirement on three models counts as three.
    """
    outcomes = [decision.outcome for decision in check.decisions]
    total = len(outcomes)
    counts = [f"{outcomes.count('met')} of {total} requirement{'' if total == 1 else 's'} met"]
    others = ("not met", "inconclusive")
    counts += [f"{outcomes.count(o)} {o}" for o in others if o in outcomes]
    return f"{check.outcome}: {', '.join(counts)}"


def describe_confidence(check: Check) -> str:
    """Say how the decisions share the error probability."""
    total = len(check.decisions)
    if total == 1:
        return f"rates in per cent; decided with {100 * check.confidence:g} % confidence"
    alone = check.decisions[0].estimate.confidence
    return (
        f"rates in per cent; with {100 * check.confidence:g} % confidence all {total} decisions "
        f"are right, as each has an interval of {100 * alone:.6g} % (Bonferroni)"
    )


def round_up(number: int) -> str:
    """Write a number with two significant digits, rounded up, and commas between thousands.

    >>> round_up(1234), round_up(7)
    ('1,300', '7')
    """
    step = 10 ** max(0, len(str(number)) - 2)
    return f"{-(-number // step) * step:,}"


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
        name = f"{decision.requirement} ({_name_part(decision)})"
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
