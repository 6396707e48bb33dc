"""Stopping rules: when an evaluation, or a study, knows enough; and what more would cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypedDict

import numpy as np

from shaketable.core.checks import HUGE, TINY, check_real, check_whole
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Record, Records
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.check import Decision, check, list_entries
from shaketable.findings.requirements.requirement import (
    Requirement,
    parse_requirement,
    parse_requirements,
)
from shaketable.findings.series import Series
from shaketable.findings.stopping.view import describe_forecast
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import Unit, forecast_width

_FEW = 10


@dataclass(frozen=True)
class Precision:
    """Enough is known when intervals have this half-width, in percentage points.

    Parameters
    ----------
    half_width
        Half the width of the widest interval, in percentage points.
    of
        What has to be so precise, as in requirements: ``mscr``, ``accuracy[linf(0.1)]``, ``mce``,
        and in studies ``difference(new, old).mscr``. By default the accuracies on clean points and
        under every corruption.

    Examples
    --------
    >>> import shaketable as st
    >>> x = [[i / 5000] for i in range(5000)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, [i > 2500 for i in range(5000)]),
    ...                       "linf(0.1)", name="step", bounds=None, until=st.Precision(2))
    >>> print(records.cells[1].n, st.metrics.accuracy(records, corruption="linf(0.1)"))
    560 0.9436 (95 % interval 0.9227 to 0.9606)
    """

    half_width: float
    of: str = ""

    def __post_init__(self) -> None:
        rule = "be above 0 percentage points, such as 0.5"
        check_real("half_width", self.half_width, rule, low=TINY, high=HUGE)
        if self.of:
            parse_quantity(self.of)

    def forecast(self, records: Records) -> float:
        """Return how many times the points, or runs, would be enough if they showed the same.

        Parameters
        ----------
        records
            What was measured so far.

        Returns
        -------
        float
            A factor; 1 if it is enough, infinity if no number would be.

        Examples
        --------
        >>> import shaketable as st
        >>> data = [[i / 100] for i in range(100)], [i > 50 for i in range(100)]
        >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)")
        >>> Precision(1).forecast(records) > 1
        True
        """
        groups = RecordGroups(records)
        try:
            estimates = list_estimates(groups, self.of)
        except UndefinedError:  # as yet
            return math.inf
        if self.of and is_hardly_right(groups):
            return math.inf
        return max(forecast_width(e, self.half_width / 100) for e in estimates)


@dataclass(frozen=True)
class Decided:
    """Enough is known when all requirements are met or not met, none inconclusive.

    Parameters
    ----------
    requirements
        As in `check`; one or many.
    confidence
        That all decisions are right, however often one looks.
    models
        Number of models that are evaluated one after another and share the confidence.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[i / 5000] for i in range(5000)], [i > 2500 for i in range(5000)]
    >>> rule = Decided("accuracy >= 80%")
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", k=1, until=rule)
    >>> records.cells[0].n < 5000, rule.forecast(records)
    (True, 1.0)
    """

    requirements: Iterable[str | Requirement] | str
    confidence: float = 0.95
    models: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", parse_requirements(self.requirements))
        object.__setattr__(self, "models", check_whole("models", self.models, least=1))

    def forecast(self, records: Records) -> float:
        """Return how many times the points, or runs, would be enough if they showed the same.

        Parameters
        ----------
        records
            What was measured so far.

        Returns
        -------
        float
            A factor; 1 if it is enough, infinity if no number would be.
        """
        known, named = parse_requirements(self.requirements), set(records.models)
        wanted = [r for r in known if self.models == 1 or named >= set(r.models)]
        if not wanted:  # they are about other models
            return 1.0
        part = len(wanted) / (len(known) * self.models)
        confidence = 1 - (1 - self.confidence) * part
        try:
            decisions = check(records, wanted, confidence=confidence).decisions
        except UndefinedError:  # as yet
            return math.inf
        if is_hardly_right(RecordGroups(records)):
            return math.inf
        return max(map(_forecast_decision, decisions))


def is_hardly_right(groups: RecordGroups) -> bool:
    """Whether a model is right on so few clean points that intervals of ratios are not reliable.

    See `shaketable.statistics.intervals.relative_change`.
    """
    return any(cell.hits.sum() < _FEW for series in groups.series for cell in series.clean)


def _forecast_decision(decision: Decision) -> float:
    """Return how many times the sample decides it; infinity for one at the limit."""
    if decision.outcome != "inconclusive":
        return 1.0
    size = decision.n if decision.unit == "points" else decision.runs
    return math.inf if decision.more is None else 1 + decision.more / size


def parse_quantity(of: str) -> Requirement:
    """Read what has to be precise, such as ``mscr``: a requirement without its limit."""
    try:
        return parse_requirement(f"{of} >= 0")
    except InputError as error:
        raise InputError(
            f"precision of {of!r} cannot be read; write a metric as in requirements, such as mscr, "
            "accuracy[linf(0.1)] or difference(new, old).mscr"
        ) from error


def list_estimates(groups: RecordGroups, of: str) -> list[Estimate]:
    """Return what has to be precise; by default all accuracies."""
    if not of:
        return [series.accuracy for series in groups.series]
    return [entry.estimate for entry in list_entries(groups, parse_quantity(of), "")]


class ForecastJson(TypedDict):
    """What intervals of half that width would take."""

    half_width: Annotated[float, "In percentage points."]
    needed: Annotated[int | None, "Points, or runs, in all; null if no number would do."]
    seconds: Annotated[
        float | None, "Time for those that are missing, at the pace so far; null if unknown."
    ]


@dataclass(frozen=True)
class Forecast:
    """How many points, or runs, would give an interval of some width if they showed the same.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[i / 100] for i in range(100)], [i > 50 for i in range(100)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)")
    >>> found = st.forecast(records, half_width=1)
    >>> found.size, sorted(found.json())
    (100, ['half_width', 'needed', 'seconds'])
    """

    half_width: float
    """In percentage points."""
    unit: Unit
    size: int
    """Points, or runs, on record."""
    needed: int | None
    """Points, or runs, in all; None if no number would do."""
    seconds: float | None
    """Time for those that are missing, at the pace of those on record; None if unknown."""

    def json(self) -> ForecastJson:
        """Return the half-width, and what it takes.

        Returns
        -------
        dict
            Half-width, size, what is needed and the time.
        """
        return {"half_width": self.half_width, "needed": self.needed, "seconds": self.seconds}

    def __str__(self) -> str:
        return describe_forecast(self)


def forecast(records: Records, half_width: float, *, of: str = "") -> Forecast:
    """Return what intervals of this half-width, in percentage points, would take.

    Parameters
    ----------
    records
        Of one model, or of several on the same points or in the same runs.
    half_width
        Half the width of the widest interval, in percentage points.
    of
        As in `Precision`: by default all accuracies.

    Returns
    -------
    Forecast
        The number of points or runs, and the time if it is known.

    Examples
    --------
    >>> import shaketable as st
    >>> x = [[i / 400] for i in range(400)]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, [i > 200 for i in range(400)]),
    ...                       "linf(0.1)", name="step", bounds=None)
    >>> st.forecast(records, half_width=0.5).needed
    2369
    """
    half_width = check_real("half_width", half_width, "be positive", low=TINY, high=HUGE)
    groups = RecordGroups(records)
    return forecast_series(groups.series, list_estimates(groups, of), half_width)


def forecast_series(
    series: Sequence[Series], estimates: Sequence[Estimate], half_width: float
) -> Forecast:
    """Return what so narrow intervals of these estimates, which are made of the series, take."""
    runs = max(s.runs for s in series)
    size = runs if runs > 1 else max(s.first.n for s in series)
    times = max(forecast_width(e, half_width / 100) for e in estimates)
    needed = None if math.isinf(times) else math.ceil(times * size)
    cells = list({c.key: c for s in series for c in (*s.noisy, *s.clean)}.values())
    each = _find_pace(cells) if runs > 1 else sum(c.seconds for c in cells) / size
    seconds = None if needed is None or math.isnan(each) else each * (needed - size)
    return Forecast(half_width, "runs" if runs > 1 else "points", size, needed, seconds)


def _find_pace(cells: Sequence[Record]) -> float:
    """Seconds from one run to the next, training included; breaks between calls count little."""
    ends: dict[int, float] = {}
    for cell in cells:
        if cell.created:
            at = datetime.fromisoformat(cell.created).timestamp()
            ends[cell.run] = max(at, ends.get(cell.run, at))
    gaps = np.diff(sorted(ends.values()))
    if not gaps.any():
        return math.nan
    return float(np.minimum(gaps, 5 * np.median(gaps[gaps > 0])).mean())
