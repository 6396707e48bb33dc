"""Right answers of models that were trained with one noise, and the rule that chooses one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shaketable.core.errors import UndefinedError
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Record
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Answers:
    """Numbers of right answers, (runs, points), of models that were trained with one noise."""

    clean: IntArray
    robust: IntArray
    """Under noise: of all corruptions together, each with the same weight."""
    draws: int
    """Largest possible number under noise."""

    @property
    def runs(self) -> int:
        """Number of trainings."""
        return len(self.clean)

    @property
    def by_point(self) -> tuple[IntArray, IntArray]:
        """Right answers of all runs together, clean and under noise."""
        return self.clean.sum(axis=0), self.robust.sum(axis=0)

    @property
    def clean_accuracy(self) -> float:
        """Mean accuracy on clean points."""
        return float(self.clean.mean())

    @property
    def robust_accuracy(self) -> float:
        """Mean accuracy under noise."""
        return float(self.robust.mean() / self.draws)


@dataclass(frozen=True)
class Measures:
    """Accuracy on clean points and under noise, and the relative change; or differences of them."""

    clean: Estimate
    robust: Estimate
    change: Estimate | None
    """Accuracy under noise relative to the clean one, minus 1; None if that is 0."""

    def json(self) -> dict[str, Any]:
        """Values in per cent, or percentage points."""
        values = {"clean": self.clean, "robust": self.robust, "change": self.change}
        return {
            name: None if value is None else {**value.json(), "method": value.method}
            for name, value in values.items()
        }


def collect_answers(records: Iterable[Record]) -> dict[str, Answers]:
    """Gather the records of a study of one model by training noise."""
    clean: dict[str, dict[int, IntArray]] = {}
    robust: dict[str, dict[int, IntArray]] = {}
    draws: dict[tuple[str, int], int] = {}
    for cell in records:
        if cell.corruption == "clean":
            clean.setdefault(cell.train, {})[cell.run] = cell.hits
            continue
        runs = robust.setdefault(cell.train, {})
        runs[cell.run] = runs.get(cell.run, 0) + cell.hits
        draws[cell.train, cell.run] = draws.get((cell.train, cell.run), 0) + cell.k
    return {
        train: Answers(
            np.stack([runs[run] for run in sorted(runs)]),
            np.stack([robust[train][run] for run in sorted(runs)]),
            draws[train, 0],
        )
        for train, runs in clean.items()
    }


def compare_splits(first: Answers, second: Answers) -> tuple[Estimate, Estimate]:
    """Clean and robust accuracy of the first minus those of the second; every run is a new split.

    Paired: run r of both has the same points and the same noise.
    """
    pairs = ((first.clean, second.clean, 1), (first.robust, second.robust, first.draws))
    if first.runs == 1:
        clean, robust = (intervals.mean_difference(a[0], b[0], k) for a, b, k in pairs)
    else:
        clean, robust = (intervals.mean_difference_over_runs(a, b, k) for a, b, k in pairs)
    return clean, robust


def measure_accuracies(answers: Answers) -> Measures:
    """Accuracies and relative change of models that were all tested on the same points."""
    a, runs, k = answers, answers.runs, answers.draws
    clean, robust = (
        _join_runs(
            runs,
            partial(intervals.mean_share, hits.sum(axis=0), k * runs),
            partial(intervals.mean_share_over_runs, hits, k),
            (0.0, 1.0),
        )
        for hits, k in ((a.clean, 1), (a.robust, a.draws))
    )
    change = _join_defined(
        runs,
        lambda: intervals.relative_change(*a.by_point, k * runs, clean_k=runs),
        lambda: intervals.relative_change_over_runs(a.clean, a.robust, k),
        (-1.0, math.inf),
    )
    return Measures(clean, robust, change)


def compare_trainings(first: Answers, second: Answers) -> Measures:
    """Measures of the first minus those of the second, paired by point and by run.

    All models were tested on the same points.
    """
    a, b, runs, k = first, second, first.runs, first.draws
    clean, robust = (
        _join_runs(
            runs,
            partial(intervals.mean_difference, x.sum(axis=0), y.sum(axis=0), k * runs),
            partial(intervals.mean_difference_over_runs, x, y, k),
            (-1.0, 1.0),
        )
        for x, y, k in ((a.clean, b.clean, 1), (a.robust, b.robust, a.draws))
    )
    change = _join_defined(
        runs,
        lambda: intervals.change_difference(a.by_point, b.by_point, k * runs, clean_k=runs),
        lambda: intervals.change_difference_over_runs((a.clean, a.robust), (b.clean, b.robust), k),
    )
    return Measures(clean, robust, change)


def join_sources(
    by_points: Estimate, by_runs: Estimate, ends: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    r"""Estimate whose interval covers new points and new trainings on the same training points.

    The runs share their test points, so the spread between runs does not show what other points
    would give, and the spread between points not what other trainings would. With the distances
    :math:`l_p` and :math:`l_r` from the value to the lower limits of both, the joint one is

    .. math:: \sqrt{l_p^2 + l_r^2}

    and likewise above (MOVER; Zou & Donner 2008), within the `ends` of the range.

    >>> points = Estimate(0.1, 0.07, 0.13, 0.95, "by points")
    >>> print(join_sources(points, Estimate(0.1, 0.06, 0.14, 0.95, "by runs")))
    0.100 (95 % interval 0.050 to 0.150)
    """

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        parts = [
            e.again(confidence=confidence, times=times, careful=careful)
            for e in (by_points, by_runs)
        ]
        low = math.hypot(*(e.value - e.low for e in parts))
        high = math.hypot(*(e.high - e.value for e in parts))
        return max(by_runs.value - low, ends[0]), min(by_runs.value + high, ends[1])

    method = f"points and runs joined in quadrature; by points: {by_points.method}; by runs: "
    return Estimate(
        by_runs.value,
        *limits(by_runs.confidence, 1.0, False),
        by_runs.confidence,
        method + by_runs.method,
        limits,
    )


def _join_runs(
    runs: int,
    by_points: Callable[[], Estimate],
    by_runs: Callable[[], Estimate],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    return by_points() if runs == 1 else join_sources(by_points(), by_runs(), ends)


def _join_defined(
    runs: int,
    by_points: Callable[[], Estimate],
    by_runs: Callable[[], Estimate],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate | None:
    try:
        return _join_runs(runs, by_points, by_runs, ends)
    except UndefinedError:
        return None


ONE_ERROR = 0.68
"""Confidence of an interval of one standard error to both sides."""


@dataclass(frozen=True)
class Candidate:
    """Training noise of the search, compared with none on points left out of fitting."""

    noise: str
    size: float | None
    """Its size relative to the ladder's unit; None for noise that was named."""
    clean_accuracy: float
    robust_accuracy: float
    clean: Estimate
    """Clean accuracy minus that of training without noise, on as many copies."""
    robust: Estimate
    """Accuracy under the test noise minus that of the same."""

    def fits(self, price: float) -> bool:
        """Whether the loss of clean accuracy is at most `price`, up to one standard error."""
        return self.clean.again(confidence=ONE_ERROR).high >= -price

    def json(self, price: float) -> dict[str, Any]:
        """Values in per cent, differences in percentage points."""
        return {
            "noise": self.noise,
            "size": self.size,
            "clean": 100 * self.clean_accuracy,
            "robust": 100 * self.robust_accuracy,
            "clean_difference": self.clean.json(),
            "robust_difference": self.robust.json(),
            "fits_price": self.fits(price),
        }


def choose(candidates: Iterable[Candidate], price: float) -> Candidate | None:
    """Return the candidate with the highest accuracy under noise among those that fit the price.

    None if none of these is more accurate under noise than training without noise. Of equal ones,
    the first is chosen.
    """
    fit = [candidate for candidate in candidates if candidate.fits(price)]
    best = max(fit, key=lambda candidate: candidate.robust.value, default=None)
    return best if best is not None and best.robust.value > 0 else None
