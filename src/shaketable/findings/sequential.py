"""Records whose number of points or runs a stopping rule chose: intervals that allow for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shaketable.core.types import IntArray
from shaketable.evaluation.records import Record
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.sequences import (
    Unit,
    describe_method,
    find_fixed_confidence,
    hold_at_any_size,
)


def find_unit(cells: Sequence[Record]) -> Unit | None:
    """Return what a stopping rule chose the number of; `cells` has one cell per run."""
    stopped = {cell.points.stopped for cell in cells}
    unit: Unit = "points" if len(cells) == 1 else "runs"
    return unit if unit in stopped else None


def allow_for_looks(
    estimate: Estimate, *models: Sequence[Record], n: int | None = None
) -> Estimate:
    """Return an estimate from cells of some models with an interval that holds where it stops.

    That is a confidence sequence if a stopping rule chose the number of points, or of runs, for one
    of the models, else the estimate as it is. Each has one cell per run, in the same runs. `n` is
    the number of points if it is not that of the first cell.
    """
    units = [unit for cells in models if (unit := find_unit(cells)) is not None]
    if not units:
        return estimate
    size = len(models[0]) if units[0] == "runs" else models[0][0].n if n is None else n
    return hold_at_any_size(estimate, size, units[0])


def bound_error(hits: IntArray, cell: Record) -> Estimate:
    """Probability of a wrong answer at some points of a cell, with a one-sided 95 % bound."""
    e = intervals.error_upper_bound(hits, cell.k)
    if find_unit([cell]) is None:
        return e
    # one side of a sequence with 90 %
    confidence = (1 + find_fixed_confidence(0.9, len(hits), "points")) / 2
    e = intervals.error_upper_bound(hits, cell.k, confidence=confidence)
    return replace(e, confidence=0.95, method=f"{e.method}; {describe_method('points')}")
