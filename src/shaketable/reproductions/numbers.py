"""Numbers beside print: what was measured, what is printed, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypeAlias, TypedDict

import numpy as np
from scipy import special

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.independent import subtract_independent
from shaketable.statistics.standard_intervals import compute_student

FEWEST = 5
"""Runs below which no z-score is given."""

_LARGE = 1e6  # from which numbers are written with four digits

_NORMAL = 1.96
"""Quantile of the printed 95 % intervals."""


class NumberJson(TypedDict):
    """A number, ours and as printed, in the unit of its table."""

    row: str
    column: str
    ours: float
    low: Annotated[float | None, "Of the 95 % interval; null for an exact number, or one run."]
    high: float | None
    runs: Annotated[int, "Independent repetitions behind it; 0 if it is none of runs."]
    printed: Annotated[float | None, "As printed, or what is right instead; null if not printed."]
    printed_half: Annotated[float | None, "Half the width of the printed 95 % interval."]
    slip: Annotated[str, "As printed, where that is a slip."]
    z: Annotated[float | None, "Standard errors between ours and print, by Student's t."]
    note: Annotated[str, "Short text beside it, where nothing is printed to compare with."]


class NumberTableJson(TypedDict):
    """Numbers of one unit."""

    key: Annotated[str, "Short name, by which claims find its numbers."]
    title: str
    unit: str
    against: Annotated[str, "What ``printed`` is: print, or a law where a paper only draws."]
    digits: Annotated[int, "Decimals that tables show."]
    corner: Annotated[str, "Heading of the rows."]
    numbers: list[NumberJson]


@dataclass(frozen=True)
class Printed:
    """A number of a paper, with half the width of its 95 % interval where it has one."""

    value: float
    """As printed, or what is right where that is a slip."""
    half: float | None = None
    runs: int = 0
    """Runs behind it; 0 if the paper does not say, or it is none of runs."""
    slip: str = ""
    """As printed, where that is a slip."""
    erratum: str = ""
    """Name of the erratum."""
    rounding: float = 0.0
    """Half a unit of its last printed digit."""
    text: str = ""
    """Value, and half the width, in the digits of print; empty for what is not of a table."""

    @property
    def error(self) -> float:
        """Its standard error. Print divides by n where n - 1 is right; 0 if it has no interval."""
        half = (self.half or 0.0) / _NORMAL
        return half * math.sqrt(self.runs / (self.runs - 1)) if self.runs > 1 else half

    @cached_property
    def estimate(self) -> Estimate:
        """With an interval by Student's t, if the number of runs is known."""

        def limits(confidence: float, times: float, _: bool) -> tuple[float, float]:
            df = times * self.runs - 1 if self.runs > 1 else 1e6
            half = -float(special.stdtrit(df, (1 - confidence) / 2)) * self.error
            half /= math.sqrt(times)
            return self.value - half, self.value + half

        return Estimate(self.value, *limits(0.95, 1, False), 0.95, "as printed", limits)


Ours: TypeAlias = "float | Estimate | FloatArray"
"""An exact number; an estimate of one fitted model; or one value per independent run."""


def mean_over_runs(values: FloatArray) -> Estimate:
    """Mean of independent values with its interval by Student's t.

    >>> print(mean_over_runs(np.array([0.7, 0.8, 0.9])))
    0.800 (95 % interval 0.552 to 1.048)
    """

    def limits(confidence: float, times: float, _: bool) -> tuple[float, float]:
        low, high = compute_student(values, (1 - confidence) / 2, times)
        return low, high

    method = f"Student's t over {len(values)} runs"
    return Estimate(float(values.mean()), *limits(0.95, 1, False), 0.95, method, limits)


def rescale(estimate: Estimate, factor: float = 100) -> Estimate:
    """Return an estimate in another unit, such as a fraction in per cent.

    >>> print(rescale(Estimate(0.5, 0.25, 0.75, 0.95, "by hand")))
    50.00 (95 % interval 25.00 to 75.00)
    """

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        again = estimate.again(confidence=confidence, times=times, careful=careful)
        return factor * again.low, factor * again.high

    value, low, high = (factor * v for v in (estimate.value, estimate.low, estimate.high))
    again = None if estimate.limits is None else limits
    return Estimate(value, low, high, estimate.confidence, estimate.method, again)


@dataclass(frozen=True, eq=False)
class Number:
    """One number of a table, ours beside print.

    >>> number = Number("rf", np.array([99.5, 99.6, 99.4, 99.5, 99.5]), Printed(99.4, 0.1, 5))
    >>> round(number.value, 2), number.runs, number.score
    (99.5, 5, '+1.4')
    """

    row: str
    ours: Ours
    printed: Printed | None = None
    column: str = ""
    runs_each: int = 1
    """Runs behind each independent value, where runs were balanced within groups."""
    note: str = ""
    """Short text beside it in a matrix, where nothing is printed to compare with."""
    heat: float | None = None
    """Share of colour behind it in a matrix, 0 to 1, where it has no z-score."""

    @property
    def name(self) -> str:
        """Row and column."""
        return f"{self.row} / {self.column}" if self.column else self.row

    @property
    def runs(self) -> int:
        """Independent repetitions behind it; 0 if it is none of runs."""
        return len(self.ours) if isinstance(self.ours, np.ndarray) else 0

    @property
    def is_exact(self) -> bool:
        """Whether it has no interval because it needs none."""
        return isinstance(self.ours, float | int)

    @cached_property
    def value(self) -> float:
        """Value, or mean over runs."""
        if isinstance(self.ours, Estimate):
            return self.ours.value
        return float(np.mean(self.ours))

    @cached_property
    def estimate(self) -> Estimate | None:
        """With its interval; None if it is exact, or of a single run."""
        if isinstance(self.ours, Estimate):
            return self.ours
        return mean_over_runs(np.asarray(self.ours)) if self.runs > 1 else None

    @cached_property
    def difference(self) -> Estimate | float | None:
        """Ours minus print, with an interval if ours has one; None if there is none to compare."""
        if self.printed is None:
            return None
        if self.is_exact:
            return self.value - self.printed.value
        if self.estimate is None or self.estimate.limits is None:
            return None
        return subtract_independent(self.estimate, self.printed.estimate)

    @cached_property
    def z(self) -> float | None:
        """Normal quantile that Student's t of the difference stands for (Welch); None if unknown.

        Runs are few and print has few too, so that quantiles of the normal law would be too small.
        """
        if self.printed is None or self.runs < FEWEST:
            return None
        values = np.asarray(self.ours)
        ours, theirs = float(values.var(ddof=1)) / self.runs, self.printed.error**2
        if not ours + theirs > 0:
            return None
        doubt = ours**2 / (self.runs - 1)
        doubt += theirs**2 / (self.printed.runs - 1) if self.printed.runs > 1 else 0.0
        df = (ours + theirs) ** 2 / doubt if doubt else math.inf
        t = (self.value - self.printed.value) / math.sqrt(ours + theirs)
        # the tail is kept where it is small, so that large scores do not become infinite
        tail = float(special.stdtr(df, -abs(t)))
        return math.copysign(-float(special.ndtri(max(tail, 1e-300))), t)

    @property
    def score(self) -> str:
        """The z-score, or why there is none."""
        if self.z is not None:
            return f"{self.z:+.1f}"
        if self.printed is not None and 0 < self.runs < FEWEST:
            return f"too few runs to judge ({self.runs})"
        return ""

    def json(self) -> NumberJson:
        """Return it for programs."""
        e, p = self.estimate, self.printed
        return {
            "row": self.row,
            "column": self.column,
            "ours": self.value,
            "low": None if e is None else e.low,
            "high": None if e is None else e.high,
            "runs": self.runs,
            "printed": None if p is None else p.value,
            "printed_half": None if p is None else p.half,
            "slip": "" if p is None else p.slip,
            "z": self.z,
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Numbers of one unit; with columns it is shown as a matrix."""

    key: str
    """Short name, by which claims find its numbers: ``key: row / column``."""
    title: str
    numbers: Sequence[Number]
    unit: str = ""
    digits: int = 2
    corner: str = ""
    """Heading of the first column."""
    against: str = "print"
    """What numbers are compared with: print, or for what a paper only draws, such as its law."""

    @cached_property
    def by_name(self) -> Mapping[str, Number]:
        """Numbers by the name that claims use."""
        names = {f"{self.key}: {number.name}": number for number in self.numbers}
        if len(names) < len(self.numbers):
            raise InputError(f"numbers of table {self.key!r} must have different names")
        return names

    @property
    def is_matrix(self) -> bool:
        """Whether numbers have columns."""
        return any(number.column for number in self.numbers)

    def format(self, value: float) -> str:
        """Write a value with the digits of the table.

        >>> NumberTable("a", "A", [], digits=3).format(0.5)
        '0.500'
        """
        if abs(value) >= _LARGE:
            return f"{value:.4g}"
        return f"{round(value, self.digits) + 0.0:.{self.digits}f}"

    def json(self) -> NumberTableJson:
        """Return it for programs."""
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "against": self.against,
            "digits": self.digits,
            "corner": self.corner,
            "numbers": [number.json() for number in self.numbers],
        }


@dataclass(frozen=True, eq=False)
class Numbers:
    """All numbers that were measured, by the names that claims use."""

    tables: Sequence[NumberTable] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[str, Number]]:
        for table in self.tables:
            yield from table.by_name.items()

    @cached_property
    def by_name(self) -> Mapping[str, Number]:
        """Every number by ``key: row / column``."""
        return dict(self)
