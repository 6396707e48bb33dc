"""Registered requirements: which count, since when, and what was changed after a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, TypedDict

from shaketable.core.toml_files import read_text
from shaketable.evaluation.registrations import Registration
from shaketable.evaluation.store import Store
from shaketable.findings.requirements.requirement import (
    Requirement,
    list_texts,
    name_file,
    parse_requirements,
)


class RegistrationJson(TypedDict):
    """A file of requirements, as it was when it was registered."""

    number: Annotated[int, "1 for the first in the results file; the last one counts."]
    created: str
    sha256: Annotated[str, "Hash of the file."]
    requirements: list[str]
    text: Annotated[str, "All that the file says."]


class NewRegistrationJson(TypedDict):
    """The last registration of a results file."""

    registered: RegistrationJson
    new: Annotated[bool, "Whether the file did not hold it before."]
    cells: Annotated[int, "Number of cells that it holds, measured before."]


@dataclass(frozen=True)
class Registered:
    """The registrations of a results file, at least one.

    >>> from shaketable.evaluation.registrations import make_registration
    >>> texts = "require = 'mscr >= -1'", "require = ['mscr >= -1', 'accuracy >= 90%']"
    >>> known = Registered([make_registration(i, t, f"202{i}") for i, t in enumerate(texts)])
    >>> known.find_time("mscr >= -1%"), known.find_time("accuracy >= 90%"), known.find_time("cv")
    ('2020', '2021', '')
    >>> known.describe_changes("2020-06")
    ["requirements were changed after the first measurement (2020-06), on 2021: added 'accuracy >= \
90%'"]
    """

    registrations: Sequence[Registration]

    @cached_property
    def read(self) -> list[tuple[Requirement, ...]]:
        """Requirements of every registration."""
        return [
            parse_requirements(list_texts(each.text, f"registration {each.number}"))
            for each in self.registrations
        ]

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Those that count: of the last registration."""
        return self.read[-1]

    def find_time(self, text: str) -> str:
        """Return since when a requirement is registered without a break; empty if it is not."""
        found = ""
        for each, requirements in reversed([*zip(self.registrations, self.read, strict=True)]):
            if text not in {r.text for r in requirements}:
                break
            found = each.created
        return found

    def describe_changes(self, measured: str) -> list[str]:
        """Return one sentence per registration with other requirements than the one before it.

        `measured` is when the first of the results was measured; empty if that is not known.
        """
        sentences = []
        for (before, after), each in zip(pairwise(self.read), self.registrations[1:], strict=True):
            parts = [
                f"{word} {', '.join(repr(r.text) for r in some if r not in others)}"
                for word, some, others in (("added", after, before), ("removed", before, after))
                if set(some) - set(others)
            ]
            if not parts:
                continue
            when = f"on {each.created}"
            if measured and each.created > measured:
                when = f"after the first measurement ({measured}), {when}"
            sentences.append(f"requirements were changed {when}: {'; '.join(parts)}")
        return sentences

    def json(self) -> list[RegistrationJson]:
        """Return all registrations."""
        return [
            {
                "number": each.number,
                "created": each.created,
                "sha256": each.sha256,
                "requirements": [r.text for r in requirements],
                "text": each.text,
            }
            for each, requirements in zip(self.registrations, self.read, strict=True)
        ]


@dataclass(frozen=True)
class NewRegistration:
    """What became of a file of requirements that was to be registered."""

    path: str
    store: str
    known: Registered
    is_new: bool
    cells: int

    def __str__(self) -> str:
        last, n = self.known.registrations[-1], len(self.known.requirements)
        done = "registered" if self.is_new else "registered already"
        after = ""
        if self.cells and self.is_new:
            after = (
                f"; the file holds {self.cells} cells that were measured before, and what is "
                "decided by them says so"
            )
        return (
            f"{n} requirement{'' if n == 1 else 's'} of {self.path} {done} in {self.store} "
            f"({last.created}, SHA-256 {last.sha256}){after}"
        )

    def json(self) -> NewRegistrationJson:
        """Return the last registration, and whether it is new."""
        last = self.known.json()[-1]
        return {"registered": last, "new": self.is_new, "cells": self.cells}


def register(path: str, store: str) -> NewRegistration:
    """Keep the requirements of a file in a results file, which is made if there is none."""
    name = name_file(path)
    text = read_text(path, name)
    parse_requirements(list_texts(text, name))  # before anything is written
    with Store(store) as file:
        before = len(file.registrations())
        file.register(text)
        known, cells = Registered(file.registrations()), len(file.keys())
    return NewRegistration(path, store, known, len(known.registrations) > before, cells)
