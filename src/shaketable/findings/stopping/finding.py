"""The finding: where a stopping rule stopped, and what narrower intervals would take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypedDict

from shaketable.evaluation.sequential import recommend_k
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import ModelJson, Series, find_unit
from shaketable.findings.stopping.numbers import Forecast, ForecastJson, forecast_series
from shaketable.findings.stopping.view import make_blocks
from shaketable.statistics.sequences import Unit
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class StopJson(ModelJson):
    """Where a stopping rule stopped."""

    unit: Annotated[Unit, "What was added until enough was known."]
    size: Annotated[int, "Number of points, or of runs."]
    half_width: Annotated[
        float, "Half the width of the widest interval of an accuracy, in percentage points."
    ]
    forecast: ForecastJson
    recommended_k: Annotated[
        int | None, "Draws per point that would have been cheapest; null if k = 1 does not tell."
    ]


class StopsJson(TypedDict):
    """Where a stopping rule stopped, per model."""

    stopping: Annotated[
        list[StopJson], "Models whose number of points, or of runs, a stopping rule chose."
    ]


@dataclass(frozen=True, eq=False)
class Stop:
    """One model whose number of points, or of runs, a stopping rule chose."""

    label: str
    unit: Unit
    series: tuple[Series, ...]

    @property
    def size(self) -> int:
        """Number of points, or of runs."""
        first = self.series[0]
        return first.runs if self.unit == "runs" else first.first.n

    @property
    def k(self) -> int:
        """Most draws per point."""
        return max(s.first.k for s in self.series)

    @cached_property
    def half_width(self) -> float:
        """Half the width of the widest interval of an accuracy, in percentage points."""
        return max(50 * (s.accuracy.high - s.accuracy.low) for s in self.series)

    @cached_property
    def forecast(self) -> Forecast:
        """What intervals of half the width would take."""
        accuracies = [s.accuracy for s in self.series]
        return forecast_series(self.series, accuracies, self.half_width / 2)

    @cached_property
    def recommended_k(self) -> int | None:
        """Draws per point that would have been cheapest; see `recommend_k`."""
        return recommend_k([s.first for s in self.series if s.runs == 1])

    def json(self) -> StopJson:
        """Return its numbers; half-widths in percentage points."""
        cell = self.series[0].first
        return {
            "model": cell.model,
            "label": self.label,
            "data": cell.data,
            "unit": self.unit,
            "size": self.size,
            "half_width": self.half_width,
            "forecast": self.forecast.json(),
            "recommended_k": self.recommended_k,
        }


@dataclass(frozen=True, eq=False)
class Stops(Displayed):
    """All models whose number of points, or of runs, a stopping rule chose."""

    models: tuple[Stop, ...]

    def json(self) -> StopsJson:
        """Return where it stopped, and a forecast, per model."""
        return {"stopping": [stop.json() for stop in self.models]}

    def blocks(self) -> list[Block]:
        """Return one sentence per model."""
        return make_blocks(self.models)


def find(groups: RecordGroups) -> Stops | None:
    """Take the finding from records; None if all numbers were fixed beforehand."""
    models: dict[str, list[Series]] = {}
    for condition in groups.conditions:
        for label, series in condition.series.items():
            models.setdefault(label, []).append(series)
    stops = [
        Stop(label, unit, tuple(series))
        for label, series in models.items()
        if (unit := find_unit(series[0].noisy)) is not None
    ]
    return Stops(tuple(stops)) if stops else None


FINDINGS.add("stopping", FindingKind(find, json=StopsJson))
