"""The registry of figures, and how a figure gets what it is drawn from.

A figure is a function that returns a chart. It declares itself in its own module. Figures of other
packages are functions of `Results`, found by entry point (group ``shaketable.figures``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, Protocol

from shaketable.core.errors import InputError
from shaketable.core.registry import Registry
from shaketable.findings.results import as_results
from shaketable.views.drawing import Chart


class Numbered(Protocol):
    """A figure that also has numbers to print."""

    def json(self) -> Any:
        """Return its numbers for programs."""

    def print(self) -> None:
        """Print its tables and sentences to the terminal."""

    def plot(self) -> Chart:
        """Draw it."""


@dataclass(frozen=True)
class FigureKind:
    """A figure, as its module declares it."""

    make: Callable[..., Any]
    """Returns the chart, or with `has_numbers` a `Numbered`. The first line of its docstring is its
    description; keyword-only arguments are options."""
    source: Literal["results", "networks", "model", "nothing"] = "results"
    """What it is drawn from: a results file, or a table like it; files of trained networks; a model
    and its data; or nothing but its options."""
    has_numbers: bool = False
    """Whether there are numbers to print besides the chart."""

    @property
    def about(self) -> str:
        """Description, one line."""
        return (self.make.__doc__ or "").strip().partition("\n")[0]

    @property
    def options(self) -> list[str]:
        """Names of its options."""
        parameters = signature(self.make).parameters.values()
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
        for name in ("models", "studies", "norms", "learning", "plane", "scores")
    ),
)
"""All figures."""


def draw(name: str, *source: Any) -> Chart:
    """Draw a figure by its name, without options; its own function takes them.

    Parameters
    ----------
    name
        Such as ``tradeoff``; ``shaketable list figures`` lists them.
    *source
        What the figure is drawn from: for most of them findings, records or a results file.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> import shaketable as st
    >>> records = st.evaluate({"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6},
    ...                       ([[0.2], [0.8]], [False, True]), "linf(eps_min)", k=1)
    >>> type(st.figures.draw("tradeoff", records)).__name__
    '_ConcatChart'
    """
    kind = FIGURES.get(name)
    made = kind.make(*source)
    chart: Chart = made.plot() if kind.has_numbers else made
    return chart


def describe_figures() -> dict[str, str]:
    """Return the description of every figure, by name."""
    return FIGURES.describe(lambda name, kind: {name: kind.about})
