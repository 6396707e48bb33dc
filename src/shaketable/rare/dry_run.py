"""What `risk` would take: how points are measured, and its time from a few thousand answers."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any, TypeAlias, TypedDict

import numpy as np

from shaketable.core.schemas import NotesJson
from shaketable.findings.rare.finding import RiskJson
from shaketable.rare.latent import draw_normals
from shaketable.rare.measuring import Measurement
from shaketable.rare.risk import prepare
from shaketable.views.blocks import Block, Column, Table
from shaketable.views.numbers import format_seconds, format_spec
from shaketable.views.terminal import Displayed

_ANSWERS = 2000  # timed at a time


class PlannedJson(TypedDict):
    """One model under one corruption, to be measured."""

    model: str
    corruption: str
    points: int
    answers: Annotated[int, "Of the model, at most, about."]
    seconds: Annotated[float, "Estimated from a few thousand answers."]
    why_plain: Annotated[str, "Why there would be plain draws alone; empty if there are not."]


class RiskDryRunJson(TypedDict):
    """What risk would take."""

    planned: list[PlannedJson]
    notes: NotesJson


RiskResultJson: TypeAlias = Annotated[
    Annotated[RiskJson, "Of measurements."] | Annotated[RiskDryRunJson, "With --dry-run."],
    "Result of risk",
]


@dataclass(frozen=True)
class RiskDryRun(Displayed):
    """What `risk` would take, one entry per model and corruption."""

    planned: tuple[PlannedJson, ...]

    def __add__(self, other: RiskDryRun) -> RiskDryRun:
        return RiskDryRun((*self.planned, *other.planned))

    def json(self) -> RiskDryRunJson:
        """Return one entry per model and corruption."""
        return {"planned": [*self.planned], "notes": []}

    def blocks(self) -> list[Block]:
        """Return a table with one row per model and corruption."""
        columns = (
            *map(Column, ("model", "corruption")),
            Column("points", "count"),
            Column("answers at most, about", "count"),
            *map(Column, ("time at most, about", "how")),
        )
        rows = [
            (
                each["model"],
                format_spec(each["corruption"]),
                each["points"],
                each["answers"],
                format_seconds(each["seconds"]),
                f"plain draws: {each['why_plain']}" if each["why_plain"] else "splitting",
            )
            for each in self.planned
        ]
        return [Table("What it would take", columns, rows)]


def dry_run(model: Any, data: Any, corruption: Any, **given: Any) -> RiskDryRun:
    """Return what `risk` would take with these arguments; nothing is measured or kept."""
    given.pop("store", None)
    measurement, _ = prepare(model, data, corruption, store=None, **given)
    n = len(measurement.target.rows)
    _answer(measurement)  # the first call compiles
    started = perf_counter()
    _answer(measurement)
    answers = n * measurement.budget
    planned: PlannedJson = {
        "model": measurement.target.classifier.name,
        "corruption": measurement.corruption.spec,
        "points": n,
        "answers": answers,
        "seconds": (perf_counter() - started) / _ANSWERS * answers,
        "why_plain": measurement.why_plain,
    }
    return RiskDryRun((planned,))


def _answer(measurement: Measurement) -> None:
    """Ask the model about some noise, as measuring does."""
    target, latent, margin = measurement.target, measurement.latent, measurement.margin
    places = np.arange(_ANSWERS) % len(target.rows)
    keys = np.arange(_ANSWERS, dtype=np.uint64)
    if measurement.why_plain or latent is None or margin is None:
        target.predict(measurement.noisy(target.points[places], keys))
        return
    drawn = np.ascontiguousarray(latent(draw_normals(keys, latent.dimensions)), target.points.dtype)
    margin(measurement.noisy.apply(target.points[places], drawn), target.y[places])
