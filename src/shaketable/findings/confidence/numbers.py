"""Calibration error, selective accuracy, and the share of wrong answers that are sure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.types import Array, BoolArray, FloatArray, IntArray
from shaketable.evaluation.records import Points, Record, Records
from shaketable.findings.choosing import choose_series
from shaketable.findings.confidence.calibration import Calibration, Norm
from shaketable.findings.series import (
    Series,
    allow_for_looks,
    meets_same_noise,
    refuse_shared,
    share_points,
)
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import mean_of_values
from shaketable.statistics.parts import keep_within, share_of_part

BINS = 15
"""Bins of confidence, of equal width."""

SURE = 0.9
"""Confidence above which an answer counts as sure."""

_NEAR = 0.05  # share of answers on either side of the threshold whose accuracy is that at it


@dataclass(frozen=True, eq=False)
class Sureness:
    """How sure the answers at some points were, and whether they were right: (points, draws)."""

    confidence: Array
    right: BoolArray

    def is_above(self, level: float) -> BoolArray:
        """Whether the confidence is above a level, in the precision of the scores."""
        return np.asarray(self.confidence > np.float32(level))

    @property
    def excess(self) -> FloatArray:
        """Confidence minus 1 for a right answer and 0 for a wrong one, mean per point."""
        return np.asarray((self.confidence - self.right).mean(axis=1, dtype=np.float64))

    @cached_property
    def levels(self) -> tuple[IntArray, IntArray]:
        """Place of every answer among the distinct confidences, and how often each occurs."""
        _, places, counts = np.unique(self.confidence, return_inverse=True, return_counts=True)
        return places.reshape(self.confidence.shape), counts

    def keep(self, refused: float) -> FloatArray:
        """Return 1 for answers that are kept, 0 for refused ones, and a share for those between.

        >>> sureness = Sureness(np.array([[0.5], [0.5], [0.9], [0.8]]), np.ones((4, 1), bool))
        >>> sureness.keep(0.25).ravel().tolist()
        [0.5, 0.5, 1.0, 1.0]
        """
        places, counts = self.levels
        below = np.cumsum(counts)
        share = np.clip((below - refused * places.size) / counts, 0.0, 1.0)
        return np.asarray(share[places])


def has_scores(cell: Record) -> bool:
    """Whether the answers of a cell were kept, and the model gave scores."""
    return cell.answers is not None and cell.answers.has_scores


def read_sureness(series: Series, metric: str, rows: BoolArray | None = None) -> Sureness:
    """Return confidence and hits of one fitted model, at the points of a mask; else raise."""
    cell = series.first
    refuse_shared(cell, over_runs=False)
    if series.runs > 1:
        raise InputError(
            f"{metric} is about one fitted model, got {series.runs} runs of a study; pass "
            "records.select(run=0), or take_runs(1) of the series"
        )
    answers = cell.answers
    if answers is None:
        raise InputError(
            f"{metric} needs answers, and the record of {series} has hits only; evaluate again "
            "with " + either("--record answers", "record='answers'")
        )
    if not answers.has_scores:
        raise InputError(
            f"{metric} needs scores, and {cell.model} returns labels only; evaluate a model that "
            "returns probabilities or scores"
        )
    chosen = np.ones(cell.n, dtype=bool) if rows is None else rows
    if not chosen.any():
        raise UndefinedError(f"{metric} of no points is undefined; choose a group that has points")
    right = answers.predicted[chosen] == cell.points.y[chosen, None]
    return Sureness(answers.confidence[chosen].astype(np.float64), right)


def estimate_calibration(
    series: Series, *, norm: Norm = "l1", bins: int = BINS, rows: BoolArray | None = None
) -> Estimate:
    """Debiased calibration error of one fitted model; see `calibration`."""
    calibration = read_calibration(series, norm, bins, rows)
    return allow_for_looks(calibration.estimate(norm), series.noisy, n=len(calibration.confidence))


def read_calibration(
    series: Series, norm: Norm = "l1", bins: int = BINS, rows: BoolArray | None = None
) -> Calibration:
    """Return the answers of one fitted model in bins of confidence."""
    if norm not in ("l1", "l2"):
        raise InputError(f"norm must be 'l1' or 'l2', got {norm!r}")
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}")
    sureness = read_sureness(series, "calibration_error", rows)
    return Calibration(sureness.confidence, sureness.right, bins)


def subtract_calibration(
    first: Series,
    second: Series,
    *,
    norm: Norm = "l1",
    bins: int = BINS,
    rows: BoolArray | None = None,
) -> Estimate:
    """Calibration error of the first series minus that of the second, paired by point.

    Two models must have the same noise; or the second is the first one on clean points.
    """
    if second is not first.on_clean and not meets_same_noise(first, second):
        raise InputError(
            "a difference of calibration errors needs two models evaluated under the same noise on "
            "the same points; evaluate both with the same data, corruption, k and seed"
        )
    first, second = share_points(first, second)
    a, b = (read_calibration(s, norm, bins, rows) for s in (first, second))
    return allow_for_looks(a.subtract(b, norm), first.noisy, second.noisy, n=len(a.confidence))


def estimate_sure_and_wrong(
    series: Series, *, above: float = SURE, rows: BoolArray | None = None
) -> Estimate:
    """Share of the wrong answers whose confidence is above a level."""
    sureness = read_sureness(series, "sure_and_wrong", rows)
    if sureness.right.all():
        raise UndefinedError(
            f"sure_and_wrong is undefined, as {series.first.model} has no wrong answer under "
            f"{series.first.corruption}; evaluate a stronger corruption or more points"
        )
    estimate = share_sure(sureness, above)
    return allow_for_looks(estimate, series.noisy, n=len(sureness.right))


def share_sure(sureness: Sureness, above: float = SURE) -> Estimate:
    """Share of the wrong answers whose confidence is above a level; there must be a wrong one."""
    wrong = ~sureness.right
    sure = (wrong & sureness.is_above(above)).sum(axis=1)
    return share_of_part(sure, wrong.sum(axis=1), wrong.shape[1])


def estimate_sure_errors(
    series: Series, *, above: float = SURE, rows: BoolArray | None = None
) -> Estimate:
    """Share of all answers that are wrong with a confidence above a level."""
    sureness = read_sureness(series, "sure_and_wrong", rows)
    estimate = share_sure_errors(sureness, above)
    return allow_for_looks(estimate, series.noisy, n=len(sureness.right))


def share_sure_errors(sureness: Sureness, above: float = SURE) -> Estimate:
    """Share of all answers that are wrong with a confidence above a level."""
    values = (~sureness.right & sureness.is_above(above)).mean(axis=1)
    return mean_of_values(values, low=0.0, high=1.0)


def count_sure_errors(
    sureness: Sureness, points: Points, above: float = SURE
) -> list[tuple[Any, int]]:
    """Return the number of answers that are sure and wrong, by true class, most first."""
    sure = (sureness.is_above(above) & ~sureness.right).sum(axis=1)
    counts = np.bincount(points.y, weights=sure, minlength=len(points.classes)).astype(np.int64)
    order = np.argsort(-counts, kind="stable")
    return [(points.classes[i], int(counts[i])) for i in order if counts[i]]


def estimate_selective_accuracy(
    series: Series, *, refused: float = 0.2, rows: BoolArray | None = None
) -> Estimate:
    """Accuracy of the other answers if a share of them, the least sure, is refused."""
    if not 0 <= refused < 1:
        raise InputError(f"refused must be at least 0 and below 1, got {refused}")
    sureness = read_sureness(series, "selective_accuracy", rows)
    estimate = select_accuracy(sureness, refused)
    return allow_for_looks(estimate, series.noisy, n=len(sureness.right))


def select_accuracy(sureness: Sureness, refused: float) -> Estimate:
    r"""Accuracy of all but the least sure answers; of equally sure ones a share is refused.

    The threshold is that of the answers, and new points would give another, so the value of a
    point, linearised, is

    .. math:: A + (\overline{w (h - a)} - m) / (1 - q)

    with w = 1 for answers that are kept and h = 1 for right ones, a the accuracy near the
    threshold, m the mean of the first term over points and q the share that is refused.
    """
    keep = sureness.keep(refused)
    kept = 1 - refused
    accuracy = float((keep * sureness.right).mean() / kept)
    near = sureness.keep(max(refused - _NEAR, 0.0)) - sureness.keep(min(refused + _NEAR, 1.0))
    at_threshold = float((near * sureness.right).sum() / near.sum()) if refused else 0.0
    values = (keep * (sureness.right - at_threshold)).mean(axis=1) / kept
    shift = accuracy - float(values.mean())
    estimate = mean_of_values(
        values + shift,
        low=shift - at_threshold / kept if refused else 0.0,
        high=shift + (1 - at_threshold) / kept,
    )
    return keep_within(estimate, 0.0, 1.0)


def calibration_error(
    records: Records | Series, *, corruption: str = "clean", norm: Norm = "l1", bins: int = BINS
) -> Estimate:
    """Calibration error: mean distance of confidence and accuracy, in bins of confidence.

    Debiased: the usual estimate is too large if few points are in a bin. Models must return scores.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    corruption
        Spec of the corruption.
    norm
        ``l1`` for the mean distance, ``l2`` for the root of the mean squared distance.
    bins
        Number of bins of equal width.

    Returns
    -------
    Estimate
        The calibration error, with its interval.

    Examples
    --------
    >>> import shaketable as st
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x, y = load_iris(return_X_y=True)
    >>> records = st.evaluate(GaussianNB().fit(x, y), (x, y), "linf(0.5)")
    >>> print(st.metrics.calibration_error(records, corruption="linf(0.5)"))
    0.0581 (95 % interval 0.0333 to 0.0868)
    """
    series = choose_series(records, "calibration_error", corruption=corruption, needs_clean=False)
    return estimate_calibration(series, norm=norm, bins=bins)


def sure_and_wrong(
    records: Records | Series, *, corruption: str = "clean", above: float = SURE
) -> Estimate:
    """Share of wrong answers that are sure: given with a confidence above 0.9.

    Models must return scores; without a wrong answer the share is undefined.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    corruption
        Spec of the corruption.
    above
        Confidence above which an answer counts as sure.

    Returns
    -------
    Estimate
        The share, with its interval.

    Examples
    --------
    >>> import shaketable as st
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x, y = load_iris(return_X_y=True)
    >>> records = st.evaluate(GaussianNB().fit(x, y), (x, y), "linf(0.5)")
    >>> print(st.metrics.sure_and_wrong(records, corruption="linf(0.5)"))
    0.515 (95 % interval 0.381 to 0.638)
    """
    series = choose_series(records, "sure_and_wrong", corruption=corruption, needs_clean=False)
    return estimate_sure_and_wrong(series, above=above)


def selective_accuracy(
    records: Records | Series, *, corruption: str = "clean", refused: float = 0.2
) -> Estimate:
    """Accuracy of the other answers if a share of them, the least sure, is refused.

    Of answers that are equally sure a share is refused. Models must return scores.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    corruption
        Spec of the corruption.
    refused
        Share of answers that are refused, at least 0 and below 1.

    Returns
    -------
    Estimate
        The accuracy, with its interval.

    Examples
    --------
    >>> import shaketable as st
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x, y = load_iris(return_X_y=True)
    >>> records = st.evaluate(GaussianNB().fit(x, y), (x, y), "linf(0.5)")
    >>> print(st.metrics.selective_accuracy(records, corruption="linf(0.5)"))
    0.9817 (95 % interval 0.9619 to 0.9977)
    """
    series = choose_series(records, "selective_accuracy", corruption=corruption, needs_clean=False)
    return estimate_selective_accuracy(series, refused=refused)
