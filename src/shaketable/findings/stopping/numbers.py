"""What narrower intervals would cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypedDict

import numpy as np

from shaketable.core.checks import HUGE, TINY, check_real
from shaketable.evaluation.records import Record, Records
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import Series
from shaketable.findings.stopping.rules import list_estimates
from shaketable.findings.stopping.view import describe_forecast
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import Unit, forecast_width


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
