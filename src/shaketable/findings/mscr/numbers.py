"""Metrics of one model under one corruption: accuracy, relative loss, MSCR, error probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Records
from shaketable.findings.series import Series, group_series, meets_same_noise, refuse_shared
from shaketable.findings.suite_results import list_first
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def accuracy(records: Records | Series, *, corruption: str = "clean") -> Estimate:
    """Share of points, or of noisy draws, that are classified correctly."""
    return _choose_series(records, _match_corruption(corruption), "accuracy").accuracy


def relative_loss(records: Records | Series, *, corruption: str | None = None) -> Estimate:
    """Accuracy gained or lost under one corruption, relative to the clean accuracy.

    `corruption` may be left out when the records hold only one.
    """
    return _choose_series(records, _match_corruption(corruption), "relative_loss").relative_loss


def mscr(records: Records | Series) -> Estimate:
    r"""MSCR: avoidable accuracy lost under noise of size eps_min, relative to the clean accuracy.

    .. math:: (a_{\epsilon_{min}} - a_0) / a_0

    Siedel et al. (2022), Eq. 2; over runs, the mean of the ratios (Algorithm 1). Negative:
    avoidable accuracy lost. 0: as robust as the data allow. Positive: the noise helps. If the
    records hold several corruptions, it is computed for the one of size eps_min.
    """
    series = _choose_mscr_series(records)
    estimate = series.relative_loss
    if series.at_eps_min:
        return estimate
    caveat = f"{series.first.corruption}, the only noise on record, taken for eps_min"
    return replace(estimate, method=f"{estimate.method}; {caveat}")


def mscr_difference(first: Records | Series, second: Records | Series) -> Estimate:
    """MSCR of the first model minus that of the second, paired: same points, same noise."""
    a, b = _choose_mscr_series(first), _choose_mscr_series(second)
    if not meets_same_noise(a, b):
        raise InputError(
            "mscr_difference needs two models evaluated under the same noise on the same points "
            "in the same runs; evaluate both with the same data, corruption, k, runs and seed"
        )
    k = a.first.k
    if a.runs == 1:
        refuse_shared(a.first)
        of_first, of_second = ((s.clean[0].hits, s.noisy[0].hits) for s in (a, b))
        return intervals.change_difference(of_first, of_second, k)
    first_runs, second_runs = (
        ([c.hits for c in s.clean], [c.hits for c in s.noisy]) for s in (a, b)
    )
    return intervals.change_difference_over_runs(first_runs, second_runs, k)


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


def error_probability(
    records: Records | Series, *, corruption: str | None = None
) -> ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds.

    The overall and per-class bounds hold for new points of the same distribution and a fixed model;
    the bound of a point holds for new noise on that point.
    """
    series = _choose_series(records, _match_corruption(corruption), "error_probability")
    if series.runs > 1:
        raise InputError("error_probability is about one fitted model, got several runs of a study")
    refuse_shared(series.first)
    cell = series.first
    y = cell.points.y
    return ErrorProbability(
        overall=intervals.error_upper_bound(cell.hits, cell.k),
        by_class={
            label: intervals.error_upper_bound(cell.hits[y == code], cell.k)
            for code, label in enumerate(cell.points.classes)
            if (y == code).any()
        },
        by_point=intervals.point_error_upper_bound(cell.hits, cell.k),
        least_provable=float(intervals.point_error_upper_bound(np.array([cell.k]), cell.k)[0]),
        k=cell.k,
        unseen=tuple(
            label for code, label in enumerate(cell.points.classes) if not (y == code).any()
        ),
    )


def _match_corruption(corruption: str | None) -> Callable[[Series], bool]:
    """Return a filter of series for one corruption, or for all that are not clean."""
    if corruption is None:
        return lambda s: s.first.corruption != "clean"
    return lambda s: s.first.corruption == corruption


def _choose_mscr_series(records: Records | Series) -> Series:
    if isinstance(records, Series):
        return records
    marked = any(s.at_eps_min for s in group_series(records))
    wanted = (lambda s: s.at_eps_min) if marked else _match_corruption(None)
    return _choose_series(records, wanted, "mscr")


def _choose_series(
    records: Records | Series, wanted: Callable[[Series], bool], metric: str
) -> Series:
    """Return the only series that is wanted; raise if there is none or more than one."""
    if isinstance(records, Series):
        return records
    candidates = [s for s in group_series(records) if wanted(s)]
    if len(candidates) != 1:
        raise InputError(
            f"{metric} needs exactly one model under one corruption, got {list_first(candidates)}; "
            "choose with records.select(model=…) or metrics.series(records)"
        )
    return candidates[0]
