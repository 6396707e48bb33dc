"""TODO."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Records
from shaketable.findings.series import Series, meets_same_noise, refuse_shared, series
from shaketable.findings.suite_results import list_some
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def accuracy(records: Records | Series, *, corruption: str = "clean") -> Estimate:
    """Share of points, or of noisy draws, that are classified correctly."""
    s = _one(records, lambda s: s.first.corruption == corruption, "accuracy")
    hits = [cell.hits for cell in s.noisy]
    if s.runs == 1:
        refuse_shared(s.first)
        return intervals.mean_share(hits[0], s.first.k)
    return intervals.mean_share_over_runs(hits, s.first.k)


def relative_loss(records: Records | Series, *, corruption: str | None = None) -> Estimate:
    """Accuracy won or lost under one corruption, relative to the clean accuracy.

    `corruption` may be left out when the records hold only one.
    """
    s = _one(records, _noise_named(corruption), "relative_loss")
    clean, hits = [cell.hits for cell in s.clean], [cell.hits for cell in s.noisy]
    if s.runs == 1:
        refuse_shared(s.first)
        return intervals.relative_change(clean[0], hits[0], s.first.k)
    return intervals.relative_change_over_runs(clean, hits, s.first.k)


def mscr(records: Records | Series) -> Estimate:
    r"""MSCR: avoidable accuracy lost under noise of size eps_min, relative to the clean accuracy.

    .. math:: (a_{\epsilon_{min}} - a_0) / a_0

    Siedel et al. (2022), Eq. 2; over runs, the mean of the ratios (Algorithm 1). Negative:
    avoidable accuracy lost. 0: as robust as the data allow. Positive: the noise helps. With several
    corruptions on record, the one whose size is the data's recorded eps_min counts.
    """
    s = _mscr_series(records)
    estimate = relative_loss(s)
    if s.at_eps_min:
        return estimate
    taken = f"{estimate.method}; {s.first.corruption}, the only noise on record, taken for eps_min"
    return replace(estimate, method=taken)


def mscr_difference(first: Records | Series, second: Records | Series) -> Estimate:
    """MSCR of the first model minus that of the second, paired: both met the same noise."""
    a, b = _mscr_series(first), _mscr_series(second)
    if not meets_same_noise(a, b):
        raise InputError(
            "mscr_difference needs two models that met the same noise on the same points in the "
            "same runs; evaluate both with the same data, corruption, k, runs and seed"
        )
    k = a.first.k
    if a.runs == 1:
        refuse_shared(a.first)
        one, two = ((s.clean[0].hits, s.noisy[0].hits) for s in (a, b))
        return intervals.change_difference(one, two, k)
    first_runs, second_runs = (
        ([c.hits for c in s.clean], [c.hits for c in s.noisy]) for s in (a, b)
    )
    return intervals.change_difference_over_runs(first_runs, second_runs, k)


@dataclass(frozen=True, eq=False)
class ErrorProbability:
    """How likely a wrong answer is under this noise, with one-sided upper bounds."""

    overall: Estimate
    by_class: dict[Any, Estimate]
    by_point: FloatArray
    """Upper bound for every point by itself; k draws prove little: see `least_provable`."""
    least_provable: float
    """Bound for a point that was never wrong: the best that k draws can show."""
    k: int
    unseen: tuple[Any, ...]
    """Classes without a test point: nothing is known about them."""


def error_probability(
    records: Records | Series, *, corruption: str | None = None
) -> ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds.

    Overall and per class for new points of the same kind (fixed model); per point for new noise on
    that very point.
    """
    s = _one(records, _noise_named(corruption), "error_probability")
    if s.runs > 1:
        raise InputError("error_probability is about one fitted model, got several runs of a study")
    refuse_shared(s.first)
    cell = s.first
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


def verdict(value: Estimate) -> str:
    """Meaning of an MSCR, in words that claim no more than its interval."""
    loss = f"{abs(value.value):.2%}"
    span = f"95 % interval {value.low:+.2%} to {value.high:+.2%}"
    if value.high < 0:
        return (
            f"Not robust: noise too small to change any point's class costs it {loss} of its "
            f"accuracy ({span}). This loss is avoidable."
        )
    if value.low > 0:
        return f"Robust: noise of this size even raises its accuracy by {loss} ({span})."
    return (
        f"No loss shown, but one of up to {-value.low:.2%} is possible: its accuracy changes by "
        f"{round(value.value, 4) + 0.0:+.2%} under noise of this size ({span})."
    )


def _noise_named(corruption: str | None) -> Callable[[Series], bool]:
    if corruption is None:
        return lambda s: s.first.corruption != "clean"
    return lambda s: s.first.corruption == corruption


def _mscr_series(records: Records | Series) -> Series:
    if isinstance(records, Series):
        return records
    marked = any(s.at_eps_min for s in series(records))
    return _one(records, (lambda s: s.at_eps_min) if marked else _noise_named(None), "mscr")


def _one(records: Records | Series, wanted: Callable[[Series], bool], metric: str) -> Series:
    if isinstance(records, Series):
        return records
    found = [s for s in series(records) if wanted(s)]
    if len(found) != 1:
        raise InputError(
            f"{metric} needs exactly one model under one corruption, got {list_some(found)}; "
            "choose with records.select(model=…) or metrics.series(records)"
        )
    return found[0]
