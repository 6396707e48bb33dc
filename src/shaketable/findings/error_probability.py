"""The probability of a wrong answer of one fitted model under one corruption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Record
from shaketable.findings.sequential import bound_error
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True, eq=False)
class ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds."""

    overall: Estimate
    by_class: dict[Any, Estimate]
    by_point: FloatArray
    """Upper bound for every single point; it cannot be below `least_provable`."""
    least_provable: float
    """Bound for a point that was never misclassified: the lowest that k draws can prove."""
    k: int
    unseen: tuple[Any, ...]
    """Classes without a test point: nothing is known about them."""


def estimate_error_probability(cell: Record, overall: Estimate) -> ErrorProbability:
    """Probability of a wrong answer by class and by point; `overall` is that of all points."""
    y, classes = cell.points.y, cell.points.classes
    return ErrorProbability(
        overall=overall,
        by_class={
            label: bound_error(cell.hits[y == code], cell)
            for code, label in enumerate(classes)
            if (y == code).any()
        },
        by_point=intervals.point_error_upper_bound(cell.hits, cell.k),
        least_provable=float(intervals.point_error_upper_bound(np.array([cell.k]), cell.k)[0]),
        k=cell.k,
        unseen=tuple(label for code, label in enumerate(classes) if not (y == code).any()),
    )
