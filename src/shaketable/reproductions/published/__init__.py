"""Printed tables of the papers: CSV files with table and page, and what is right where they err.

A file begins with a line ``# paper, table: what it holds``. Its columns are ``table``, ``page``
(empty where it is not known), ``row``, ``column``, ``printed`` (the number), ``half`` (half the
width of its 95 % interval), ``runs``, and for slips ``right`` (what is right) and ``erratum``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, TypeAlias, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.reproductions.numbers import Printed
from shaketable.views.blocks import Column, Table


class PublishedNumberJson(TypedDict):
    """A printed number."""

    row: str
    column: str
    printed: Annotated[str, "As printed."]
    half: Annotated[float | None, "Half the width of its 95 % interval."]
    runs: Annotated[int, "Runs behind it; 0 if print does not say."]
    right: Annotated[float | None, "What is right, where the number is a slip."]
    erratum: Annotated[str, "Name of the erratum, for list errata NAME."]
    page: str


PublishedJson: TypeAlias = list[PublishedNumberJson]


@dataclass(frozen=True)
class PublishedNumber:
    """A printed number in its table."""

    row: str
    column: str
    text: str
    """As printed."""
    printed: Printed
    page: str

    def json(self) -> PublishedNumberJson:
        """Return it for programs."""
        p = self.printed
        return {
            "row": self.row,
            "column": self.column,
            "printed": self.text,
            "half": p.half,
            "runs": p.runs,
            "right": p.value if p.slip else None,
            "erratum": p.erratum,
            "page": self.page,
        }


@dataclass(frozen=True, eq=False)
class Published:
    """A printed table.

    >>> table = load_published("mscr-table1")
    >>> table["CIFAR-10", "2r"].value, table.rows
    (0.211765, ['2D dataset', 'CIFAR-10'])
    """

    name: str
    title: str
    numbers: Mapping[tuple[str, str], PublishedNumber]

    def __getitem__(self, place: tuple[str, str]) -> Printed:
        return self.numbers[place].printed

    def __iter__(self) -> Iterator[PublishedNumber]:
        return iter(self.numbers.values())

    def get(self, row: str, column: str) -> Printed | None:
        """Return a number, or None if none is printed there."""
        found = self.numbers.get((row, column))
        return None if found is None else found.printed

    @property
    def rows(self) -> list[str]:
        """Headings of its rows."""
        return list(dict.fromkeys(row for row, _ in self.numbers))

    @property
    def columns(self) -> list[str]:
        """Headings of its columns."""
        return list(dict.fromkeys(column for _, column in self.numbers))

    def tabulate(self) -> Table:
        """Return it as a table, slips beside what is right."""
        names = ("row", "column", "printed", "±", "right", "erratum", "page")
        return Table(
            self.title,
            tuple(map(Column, names)),
            [
                (
                    n.row,
                    n.column,
                    n.text,
                    "" if n.printed.half is None else f"{n.printed.half:g}",
                    f"{n.printed.value:g}" if n.printed.slip else "",
                    n.printed.erratum,
                    n.page,
                )
                for n in self
            ],
            limit=len(self.numbers),
        )


def list_published() -> dict[str, str]:
    """Return titles of all printed tables, by name."""
    folder = files(__name__)
    names = sorted(f.name.removesuffix(".csv") for f in folder.iterdir() if f.name[-4:] == ".csv")
    return {name: load_published(name).title for name in names}


def find_published(name: str) -> Published:
    """Return a printed table by its name; an `InputError` if there is none."""
    if name not in (known := list_published()):
        raise unknown_name("published table", name, known)
    return load_published(name)


@cache
def load_published(name: str) -> Published:
    """Read a printed table of the package."""
    text = files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    title, *lines = text.splitlines()
    numbers = [_read(row) for row in csv.DictReader(lines)]
    by_place = {(number.row, number.column): number for number in numbers}
    if len(by_place) < len(numbers):
        raise ValueError(f"a row and column of {name}.csv stand twice")
    return Published(name, title.removeprefix("# "), by_place)


def _read(row: Mapping[str, str]) -> PublishedNumber:
    right = row["right"]
    text = right or row["printed"]
    shown = Decimal(text)
    printed = Printed(
        float(shown),
        float(row["half"]) if row["half"] else None,
        int(row["runs"] or 0),
        slip=row["printed"] if right else "",
        erratum=row["erratum"],
        rounding=0.5 * 10.0 ** int(shown.as_tuple().exponent),
        text=f"{text} ± {row['half']}" if row["half"] else text,
    )
    return PublishedNumber(row["row"], row["column"], row["printed"], printed, row["page"])
