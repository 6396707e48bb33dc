"""The registry of figures, and how a figure gets what it is drawn from.

A figure is a function that returns a chart. It declares itself in its own module. Figures of other
packages are functions of `Results`, found by entry point (group ``shaketable.figures``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias

from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.results import Results, find
from shaketable.views.drawing import Chart

Found: TypeAlias = Results | Records | str | Path
"""What most figures are drawn from: findings, records, or a results file."""


@dataclass(frozen=True)
class FigureKind:
    """A figure, as its module declares it."""

    draw: Callable[..., Chart]
    """The first line of its docstring is its description; keyword-only arguments are options."""
    source: Literal["results", "networks", "model"] = "results"
    """What it is drawn from: results, files of trained networks, or a model and its data."""

    @property
    def about(self) -> str:
        """Description, one line."""
        return (self.draw.__doc__ or "").strip().partition("\n")[0]

    @property
    def options(self) -> list[str]:
        """Names of its options."""
        parameters = signature(self.draw).parameters.values()
        return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _admit(name: str, thing: Any) -> FigureKind:
    if not callable(thing):
        raise InputError(
            f"figure {name!r} must be a function of Results that returns a chart, got "
            f"{type(thing).__name__}"
        )
    return FigureKind(lambda found, thing=thing: thing(as_results(found)))


FIGURES: Registry[FigureKind] = Registry(
    "figure",
    admit=_admit,
    homes=tuple(
        f"shaketable.findings.figures.{name}"
        for name in (
            "tradeoff",
            "models",
            "copies",
            "convergence",
            "optima",
            "transfer",
            "errors",
            "learning",
            "plane",
        )
    ),
)
"""All figures."""


def draw(name: str, *source: Any) -> Chart:
    """Draw a figure by its name, without options; its own function takes them.

    Parameters
    ----------
    name
        Such as ``tradeoff``; ``shaketable list figures`` lists them.
    source
        What the figure is drawn from: for most of them findings, records or a results file.
    """
    return FIGURES.get(name).draw(*source)


def describe_figures() -> dict[str, str]:
    """Return the description of every figure, by name."""
    return FIGURES.describe(lambda name, kind: {name: kind.about})


def as_results(found: Found) -> Results:
    """Return the findings that a figure is drawn from."""
    if isinstance(found, Results):
        return found
    if isinstance(found, Records):
        return find(found)
    with Store(found, must_exist=True) as store:
        records = store.records()
    return find(records)
