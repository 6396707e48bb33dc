"""Slips in papers and their code, and claims that do not hold, read from ``errata.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.evaluation.records import AS_GIVEN, Records
from shaketable.views.blocks import Block, Column, Entry, Heading, Sentence, Table

_ABOUT = (
    "Published numbers, procedures and claims that these results would be compared with. "
    "`shaketable list errata NAME` has the command that shows it."
)
_NAMED = 3  # errata that a note names


ErrataJson: TypeAlias = Annotated[
    list[str], "Errata of published numbers like these; list errata NAME explains one."
]


class HasErrataJson(TypedDict):
    """Errata that touch a result, if any do."""

    errata: NotRequired[ErrataJson]


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One slip or claim, and what is right.

    >>> erratum = load_errata()["twofactor-equation3"]
    >>> erratum.right, erratum.group
    ('divides by n', 'twofactor')
    """

    id: str
    kind: Literal["slip", "claim"]
    """A slip is wrong, or can be read in two ways, as it stands; a claim did not hold here."""
    paper: str
    place: str
    printed: str
    right: str
    """What is right instead, or what was found here."""
    see: str
    """How one can tell."""
    command: str
    """Shows the right number, or what makes the difference."""
    touches: tuple[str, ...]
    """What results it is about: patterns of subjects, all of those in a text; see `matches`."""

    @property
    def group(self) -> str:
        """Short name of the paper: the first part of the ID."""
        return self.id.partition("-")[0]

    def matches(self, subjects: Collection[str]) -> bool:
        """Whether results about these subjects show a number that it concerns.

        >>> load_errata()["pnorm-table6"].matches(["figure:balls-volumes"])
        True
        """
        return any(
            all(any(re.fullmatch(each, s) for s in subjects) for each in touch.split())
            for touch in self.touches
        )

    def facts(self) -> dict[str, str]:
        """Return all that a reader is told, by what it is."""
        return {
            "paper": self.paper,
            "kind": self.kind,
            "where": self.place,
            "printed": self.printed,
            "right" if self.kind == "slip" else "found here": self.right,
            "how one can tell": self.see,
            "command": self.command,
        }

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


def find_erratum(name: str) -> Erratum:
    """Return an erratum by its ID."""
    errata = load_errata()
    if name not in errata:
        raise unknown_name("erratum", name, errata)
    return errata[name]


def name_subjects(records: Records) -> set[str]:
    """Return what results are about, in the words of `Erratum.touches`.

    Data are named without their options and in small letters: ``data:cifar10`` of CIFAR-10.
    """
    names = [*(cell.data for cell in records), *(data.name for data in records.data)]
    found = {name_data(name) for name in (*names, *(a.data for a in records.attacks))}
    found |= {f"suite:{suite.name}" for suite in records.suites}
    found |= {f"constraint:{attack.kind}" for attack in records.attacks}
    trained = {cell.train for cell in records} - {AS_GIVEN}
    return found | {f"training:{spec.lower()}" for spec in trained}


def name_data(name: str) -> str:
    """Return data as a subject.

    >>> name_data("CIFAR-10"), name_data("bands(n=200)")
    ('data:cifar10', 'data:bands')
    """
    return f"data:{name.partition('(')[0].lower().replace('-', '')}"


def name_one_nn(p: float) -> str:
    """Return the accuracy of 1-NN in a norm as a subject.

    >>> name_one_nn(2.0), name_one_nn(float("inf"))
    ('one-nn:2', 'one-nn:inf')
    """
    return f"one-nn:{p:g}"


def list_touching(subjects: Collection[str]) -> list[Erratum]:
    """Return the errata that touch a number of results about these subjects."""
    return [erratum for erratum in load_errata().values() if erratum.matches(subjects)]


def note_errata(errata: Collection[Erratum]) -> list[str]:
    """Return one sentence that names the first three errata; nothing without any.

    >>> note_errata([load_errata()["pnorm-table6"]])
    ['published numbers like these have errata (pnorm-table6); see shaketable list errata NAME']
    """
    names = [erratum.id for erratum in errata]
    if len(names) > _NAMED:
        names[_NAMED:] = [f"{len(names) - _NAMED} more"]
    listed = ", ".join(names)
    note = f"published numbers like these have errata ({listed}); see shaketable list errata NAME"
    return [note] * bool(errata)


def name_errata(errata: Collection[Erratum]) -> HasErrataJson:
    """Return errata as a part of JSON; nothing without any.

    >>> name_errata([load_errata()["pnorm-table6"]]), name_errata([])
    ({'errata': ['pnorm-table6']}, {})
    """
    return {"errata": [erratum.id for erratum in errata]} if errata else {}


def show_errata(errata: Collection[Erratum]) -> list[Block]:
    """Return the section of errata that touch a shown number; nothing without any."""
    if not errata:
        return []
    return [
        Heading("Errata that touch these numbers", "errata", "Errata"),
        Sentence(_ABOUT, level="detail"),
        Table(
            "slips in print and in published code, and claims that do not hold",
            (
                *map(
                    Column, ("name", "where", "printed", "right, or found here", "how one can tell")
                ),
            ),
            [
                (Entry(e.id, e.kind), Entry(e.place, e.paper), e.printed, e.right, e.see)
                for e in errata
            ],
            level="detail",
            limit=len(errata),
        ),
    ]
