"""Slips in papers and their code, read from ``errata.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from shaketable.evaluation.records import AS_GIVEN, CLEAN, Records
from shaketable.views.blocks import Block, Column, Entry, Heading, Sentence, Table

_ABOUT = "Published numbers and procedures that these results would be compared with"


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One slip, and what is right.

    >>> load_errata()["twofactor-equation3"].right
    'divides by n'
    """

    id: str
    paper: str
    place: str
    printed: str
    right: str
    see: str
    """How one can tell."""
    command: str
    """Shows the right number, or what makes the difference."""
    touches: tuple[str, ...]
    """What results it is about, such as ``suite:ice*``; see `name_subjects`."""

    def __str__(self) -> str:
        return f"{self.paper}, {self.place}: {self.printed}; right: {self.right} ({self.see})"


@cache
def load_errata() -> dict[str, Erratum]:
    """Return all errata, by their ID."""
    text = files("shaketable.findings.errata").joinpath("errata.toml").read_text(encoding="utf-8")
    return {
        name: Erratum(id=name, **(entry | {"touches": tuple(entry["touches"])}))
        for name, entry in tomllib.loads(text).items()
    }


def name_subjects(records: Records, findings: Collection[str]) -> set[str]:
    """Return what results are about, in the words of `Erratum.touches`."""
    found = {f"finding:{name}" for name in findings}
    found |= {f"suite:{suite.name}" for suite in records.suites}
    found |= {f"data:{cell.data.lower()}" for cell in records}
    found |= {f"data:{data.name.lower()}" for data in records.data}
    found |= {f"constraint:{attack.kind}" for attack in records.attacks}
    trained = {cell.train for cell in records} - {AS_GIVEN, CLEAN}
    return found | {f"training:{spec.lower()}" for spec in trained}


def list_touching(records: Records, findings: Collection[str]) -> list[Erratum]:
    """Return the errata that touch a number of these results."""
    subjects = name_subjects(records, findings)
    return [
        erratum
        for erratum in load_errata().values()
        if any(fnmatchcase(subject, each) for each in erratum.touches for subject in subjects)
    ]


def show_errata(records: Records, findings: Collection[str]) -> list[Block]:
    """Return the section of errata that touch a shown number; nothing without one."""
    errata = list_touching(records, findings)
    if not errata:
        return []
    return [
        Heading("Errata that touch these numbers", "errata", "Errata"),
        Sentence(_ABOUT, level="detail"),
        Table(
            "slips in print and in published code",
            (*map(Column, ("where", "printed", "right", "how one can tell")),),
            [(Entry(e.place, e.paper), e.printed, e.right, e.see) for e in errata],
            level="detail",
            limit=len(errata),
        ),
    ]
