"""Facts that only the user of a dossier knows: declared once, read from a TOML file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.toml_files import comment, read_toml, write_new

NEW_FILE = "facts.toml"
"""File that is written if no name is given, and that messages name if none is."""

REASONS = "reasons"
"""Section of the reasons for perturbations, whose keys are names of perturbations and suites."""

Value: TypeAlias = str | list[str] | dict[str, str]


@dataclass(frozen=True)
class Fact:
    """One fact that a dossier asks for."""

    section: str
    key: str
    """Empty for a section whose keys are free."""
    title: str
    help: str
    example: str
    """Lines of TOML; of texts the value alone."""
    kind: Literal["text", "texts", "table"] = "text"

    @property
    def place(self) -> str:
        """Where it is written, such as ``[system] name``."""
        if self.kind == "table":
            return f"[{self.section}.{self.key}]" if self.key else f"[{self.section}]"
        return f"[{self.section}] {self.key}"


FACTS = (
    Fact("system", "name", "System", "name of the system that the models are part of", "Gate 4"),
    Fact("system", "version", "Version", "version of the system that was measured", "2.1"),
    Fact(
        "system",
        "intended_use",
        "Intended use",
        "what it is for, who uses it, and what follows from its answers",
        "Sorts parcels by their label; a person sorts those that it rejects.",
    ),
    Fact(
        "people",
        "responsible",
        "Responsible people",
        "names and roles",
        "A. Person, product safety",
        "texts",
    ),
    Fact("sign_off", "name", "Signed by", "who signs this dossier", "A. Person"),
    Fact("sign_off", "date", "Signed on", "day of the signature", "2026-01-31"),
    Fact(
        "sign_off",
        "decision",
        "Decision",
        "what was decided by it, and under which conditions",
        "Released for gate 4 until the next camera is installed.",
    ),
    Fact(
        "domain",
        "description",
        "Operating domain",
        "conditions in which the system is used, and those in which it must not be",
        "Indoors, daylight or lamps of 300 lux or more; never outdoors.",
    ),
    Fact(
        "domain",
        "ranges",
        "Value ranges",
        "ranges of inputs and conditions: [low, high], a list of texts, or a text",
        'brightness = [300, 2000]\nlabels = ["printed", "handwritten"]',
        "table",
    ),
    Fact(
        "data",
        "origin",
        "Origin of the data",
        "where the data come from: who collected them, when, where and with what",
        "Photographs of 12,000 parcels from two depots, March to May 2025.",
    ),
    Fact(
        "data",
        "labels",
        "Origin of the labels",
        "who labelled the data, and how labels were checked",
        "Two people each; a third one decided where they differed.",
    ),
    Fact(
        "data",
        "independence",
        "Independence of training and test data",
        "how test points were kept apart from training points, and from those who trained",
        "Test parcels come from another depot; the developers never saw them.",
    ),
    Fact(
        REASONS,
        "",
        "Reasons",
        "why each perturbation or suite is tested in these sizes; names are those of the dossier",
        'linf = "The sensor is off by up to 0.01 (data sheet, page 3)."',
        "table",
    ),
)
"""All facts, in their order."""

_HEAD = """\
Facts of a dossier: what only you know. All else comes from the results file.

shaketable dossier {store} --facts {path} -o dossier.html

What is left empty is shown as missing. Lines that begin with # are comments; the examples among
them show the form."""


class FactJson(TypedDict):
    """A fact as the user wrote it."""

    section: str
    key: Annotated[str, "Empty for a section whose keys are free."]
    title: str
    value: Annotated[str | list[str] | dict[str, str] | None, "null if it is missing."]


@dataclass(frozen=True)
class Facts:
    """What the user declares.

    >>> facts = Facts({"system": {"name": "Gate 4"}})
    >>> facts.show("system")[:2]
    [('System', 'Gate 4'), ('Version', 'missing: write it as [system] version in facts.toml')]
    """

    values: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """By section and key, none empty; reasons by their key alone."""
    path: str = NEW_FILE

    def get(self, section: str, key: str) -> Value | None:
        """Return a fact; None if it is missing."""
        fact = next(f for f in FACTS if (f.section, f.key) == (section, key))
        found = self.values.get(section, {})
        return (dict(found) or None) if not fact.key else found.get(key)  # type: ignore[arg-type]

    def show(self, section: str) -> list[tuple[str, str]]:
        """Return titles and values of a section, in one line each, missing ones too."""
        return [
            (fact.title, self._show(fact)) for fact in FACTS if fact.section == section and fact.key
        ]

    def _show(self, fact: Fact) -> str:
        value = self.get(fact.section, fact.key)
        if value is None:
            return self.ask(fact.place)
        if isinstance(value, dict):
            return "; ".join(f"{key}: {text}" for key, text in value.items())
        return value if isinstance(value, str) else "; ".join(value)

    def ask(self, place: str) -> str:
        """Say that a fact is missing, and where it is written."""
        return f"missing: write it as {place} in {self.path}"

    def find_reason(self, name: str) -> str:
        """Return why a perturbation is tested; empty if that is missing."""
        return str(self.values.get(REASONS, {}).get(name, ""))

    def check_reasons(self, names: Iterable[str]) -> None:
        """Raise an `InputError` for the reason of a perturbation that was not measured."""
        known = list(names)
        for name in self.values.get(REASONS, {}):
            if name not in known:
                raise unknown_name(f"perturbation in [{REASONS}] of {self.path}:", name, known)

    @cached_property
    def missing(self) -> list[str]:
        """Places of the facts that are missing; reasons apart."""
        return [f.place for f in FACTS if f.key and self.get(f.section, f.key) is None]

    def json(self) -> list[FactJson]:
        """Return all facts."""
        return [
            {
                "section": fact.section,
                "key": fact.key,
                "title": fact.title,
                "value": self.get(fact.section, fact.key),
            }
            for fact in FACTS
        ]


def read_facts(path: str | Path) -> Facts:
    """Read a file of facts; an unknown key or a wrong value is an `InputError` that names it."""
    where = f"facts file {str(path)!r}"
    known: dict[str, dict[str, Fact]] = {}
    for fact in FACTS:
        known.setdefault(fact.section, {})[fact.key] = fact
    values: dict[str, dict[str, Value]] = {}
    for section, content in read_toml(path, where).items():
        if section not in known:
            raise unknown_name(f"section in {where}:", section, known)
        if not isinstance(content, dict):
            raise InputError(f"{where}: {section} must be a section, got {content!r}: [{section}]")
        facts = known[section]
        for key, value in content.items():
            if "" in facts:
                read: Value = _read_text(value, f"{where}: {facts[''].place} {key}")
            elif key not in facts:
                raise unknown_name(f"key in [{section}] of {where}:", key, facts)
            else:
                read = _READERS[facts[key].kind](value, f"{where}: {facts[key].place}")
            if read:
                values.setdefault(section, {})[key] = read
    return Facts(values, Path(path).name)


def _read_text(value: Any, where: str) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        raise InputError(f'{where} must be a text, got {value!r}; write it in quotes: "{value}"')
    return value.strip()


def _read_texts(value: Any, where: str) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for each in values if (text := _read_text(each, where))]


def _read_table(value: Any, where: str) -> dict[str, str]:
    """Read ranges: numbers as ``[low, high]``, lists of texts, or texts."""
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a section of its own, got {value!r}")
    table = {}
    for key, given in value.items():
        numbers = given if isinstance(given, list) else []
        is_range = len(numbers) == 2 and all(type(n) in (int, float) for n in numbers)
        if is_range and not numbers[0] <= numbers[1]:
            raise InputError(f"{where} {key} must be [low, high] with low <= high, got {given!r}")
        if is_range:
            table[key] = f"{numbers[0]} to {numbers[1]}"
        elif texts := _read_texts(given, f"{where} {key} must be [low, high] or texts; it"):
            table[key] = ", ".join(texts)
    return table


_READERS: Mapping[str, Any] = {"text": _read_text, "texts": _read_texts, "table": _read_table}


def write_facts_file(path: str | Path = NEW_FILE, *, store: str = "r.sqlite") -> None:
    """Write a new file of facts, all of them empty, with a comment for each."""
    parts = [comment(_HEAD.format(path=path, store=store))]
    section = ""
    # keys of a section come before its tables
    for fact in sorted(FACTS, key=lambda f: [g.section for g in FACTS].index(f.section)):
        if fact.kind == "table":
            parts.append(f"\n{fact.place}\n{_explain(fact)}{comment(fact.example)}")
        else:
            head = "" if fact.section == section else f"\n[{fact.section}]\n"
            empty = "[]" if fact.kind == "texts" else '""'
            example = comment(f'such as {empty[0]}"{fact.example}"{empty[1]}'.replace('""', '"'))
            parts.append(f"{head}{_explain(fact)}{example}{fact.key} = {empty}\n")
        section = fact.section
    write_new(path, "".join(parts), f"facts file {str(path)!r}", "dossier init FILE")


def _explain(fact: Fact) -> str:
    text = f"{fact.title}: {fact.help}"
    return comment("\n".join(textwrap.wrap(text, 98, break_long_words=False)))
