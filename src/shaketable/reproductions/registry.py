"""The registry of reproductions: what each is, what it needs, what it claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.registry import Registry
from shaketable.evaluation.noise import Draws
from shaketable.reproductions.claims import Claim
from shaketable.reproductions.numbers import NumberTable

if TYPE_CHECKING:
    from shaketable.evaluation.store import Store
    from shaketable.views.blocks import Block
    from shaketable.views.drawing import Chart

FormName: TypeAlias = Literal["fast", "gpu", "full"]

FORMS: tuple[FormName, ...] = ("fast", "gpu", "full")
"""Forms from the quickest to that of the paper."""

PAPERS = {
    "mscr": "Siedel et al. (2022), class separation",
    "pnorm": "Siedel et al. (2024), p-norm corruptions",
    "genuine": "Proper measure for adversarial robustness (2020)",
    "twofactor": "Dai & Berleant (2022), two-factor perturbations",
    "hendrycks": "Hendrycks & Dietterich (2019), common corruptions",
    "notions": "all of them together",
}
"""Papers by the first part of the names, called as in the errata."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for: a form, data, and how it is carried out."""

    name: str = ""
    form: FormName = "fast"
    data: str | None = None
    norm: str = "inf"
    draws: Draws = "shared"
    runs: int | None = None
    """None: as many as the form has."""
    seed: int = 0
    folder: Path | None = None
    """Where results files are, which keep what is done; None for none."""
    minutes: float | None = None
    """No run is begun after so many; None for no limit."""
    jobs: int | None = None
    device: str | None = None
    quiet: bool = True

    @property
    def store(self) -> Path | None:
        """Path of the results file."""
        return None if self.folder is None else self.folder / f"{self.name}.sqlite"

    def share(self, study: str) -> Asked:
        """Return the same with the results file of a study that several names take part in."""
        return replace(self, name=study)

    @contextmanager
    def open_store(self) -> Iterator[Store]:
        """Open the results file, or one in memory."""
        from shaketable.evaluation.store import Store  # slow to load

        with Store(self.store) as store:
            yield store

    def require_data(self, what: str) -> str:
        """Return the path or name of the data; raise an `InputError` that says which are needed."""
        if self.data is None:
            raise InputError(
                f"the data are not part of this package; give {what} by {either('--data', 'data=')}"
            )
        return self.data


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured: numbers beside print, and what else is shown."""

    tables: Sequence[NumberTable]
    blocks: Sequence[Block] = ()
    """Sentences, tables and charts that are shown besides."""
    figure: Callable[[], Chart] | None = None
    """Draws the figure of the paper, or what stands for it."""
    own_size: bool = False
    """Whether pages keep the size of the figure, so that both axes have one scale."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was measured: network, epochs, points, runs."""
    notes: Sequence[str] = ()
    unfinished: str = ""
    """What is not done yet, such as ``3 of 20 runs``; the same call goes on."""
    claims: Sequence[Claim] | None = None
    """Claims in place of those of the form, where data or norm are others than print has."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to carry out a reproduction, with what must hold of it."""

    about: str
    """What is done."""
    takes: str
    """How long it takes, and on what."""
    claims: Sequence[Claim]
    needs: str = ""
    """Data and hardware that it needs; empty for none."""
    deviations: Sequence[str] = ()
    """What differs from the paper, and why."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """Published numbers, and how they are made again."""

    name: str
    place: str
    """Where they stand, such as ``Table 2``."""
    about: str
    """One line."""
    measure: Callable[[Asked], Measured]
    forms: Mapping[FormName, Form]
    """The first is the default."""
    takes: Sequence[str] = ()
    """Options besides those of all: data, runs, norm, draws."""
    errata: Sequence[str] = ()
    """Names of errata that touch the numbers; the right numbers are compared."""

    @property
    def paper(self) -> str:
        """The paper, as errata call it."""
        return PAPERS.get(self.name.partition("-")[0], self.name)

    @property
    def source(self) -> str:
        """Paper and place."""
        return f"{self.paper}, {self.place}" if self.place else self.paper

    def choose_form(self, name: str | None) -> FormName:
        """Return a form by its name, or the default; an `InputError` if there is none."""
        if name is None:
            return next(iter(self.forms))
        for known in self.forms:
            if known == name:
                return known
        raise unknown_name(f"form of {self.name}", name, self.forms)


def _admit(name: str, thing: Any) -> Reproduction:
    if not isinstance(thing, Reproduction):
        raise InputError(
            f"reproduction {name!r} must be a shaketable.reproductions.registry.Reproduction, got "
            f"{type(thing).__name__}"
        )
    return thing


REPRODUCTIONS: Registry[Reproduction] = Registry(
    "reproduction",
    admit=_admit,
    homes=tuple(
        f"shaketable.reproductions.papers.{home}"
        for home in (
            "mscr.planes",
            "mscr.plane_figures",
            "mscr.separation_images",
            "pnorm.regimes",
            "pnorm.gallery",
            "pnorm.balls",
            "genuine.worst_cases",
            "genuine.agreements",
            "genuine.neighbours",
            "twofactor.factors",
            "twofactor.factor_scores",
            "twofactor.factor_training",
            "severities",
            "notions.notions",
        )
    ),
)
"""All reproductions, in the order of their declaration."""


def list_in_order() -> list[Reproduction]:
    """Return all reproductions, paper by paper: tables by their number, then figures, then others.

    >>> [each.name for each in list_in_order()][:3]
    ['mscr-table1', 'mscr-table2', 'mscr-table3']
    """
    papers = [*PAPERS]

    def place(each: Reproduction) -> tuple[int, int, int]:
        paper, _, rest = each.name.partition("-")
        kind = re.fullmatch(r"(table|fig)(\d+)", rest)
        where = (kind[1] == "fig", int(kind[2])) if kind else (2, 0)
        return papers.index(paper) if paper in papers else len(papers), *where

    return sorted(map(REPRODUCTIONS.get, REPRODUCTIONS), key=place)


Measure: TypeAlias = Callable[[Asked], Measured]


def declare(
    name: str,
    *,
    place: str,
    about: str,
    forms: Mapping[FormName, Form],
    takes: Sequence[str] = (),
    errata: Sequence[str] = (),
) -> Callable[[Measure], Measure]:
    """Decorator that declares the function that measures a reproduction."""

    def add(measure: Measure) -> Measure:
        REPRODUCTIONS.add(
            name,
            Reproduction(
                name=name,
                place=place,
                about=about,
                measure=measure,
                forms=forms,
                takes=takes,
                errata=errata,
            ),
        )
        return measure

    return add
