"""Formulas of all measures: value, and influence of every point; see `statistics.influence`.

Every measure is one of the joint distribution of true class and answer, with scores or without,
over all answers at all points: all draws count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from shaketable.core.types import Array, BoolArray, FloatArray, IntArray
from shaketable.statistics.influence import Influence

CLIP = float(np.finfo(np.float32).eps)
"""Scores count as at least this, and at most 1 minus this, in the log loss."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Answers at some points: true codes (points), answers and scores (points, draws, …)."""

    y: IntArray
    predicted: Array
    classes: int
    scores: Array | None = None
    true_score: Array | None = None
    rank: Array | None = None
    squares: Array | None = None

    @cached_property
    def confusion(self) -> FloatArray:
        """Shares of (true class, answer) among all answers; the last column is no class."""
        width = self.classes + 1
        answered = np.where(self.predicted < 0, self.classes, self.predicted).astype(np.int64)
        codes = self.y[:, None] * width + answered
        counts = np.bincount(codes.ravel(), minlength=self.classes * width)
        return counts.reshape(self.classes, width) / codes.size

    @cached_property
    def present(self) -> IntArray:
        """Classes that occur, truly or among answers."""
        joint = self.confusion
        return np.flatnonzero((joint.sum(axis=1) > 0) | (joint.sum(axis=0)[:-1] > 0))

    def count(self, code: int) -> int:
        """Return the number of points of a class."""
        return int((self.y == code).sum())

    def count_answered(self, code: int) -> int:
        """Return the number of points at which a class was answered in some draw."""
        return int((self.predicted == code).any(axis=1).sum())

    def count_unusual(self) -> int:
        """Return the number of points at which an answer was not the most frequent one."""
        codes, counts = np.unique(self.predicted, return_counts=True)
        return int((self.predicted != codes[counts.argmax()]).any(axis=1).sum())


def from_table(sample: Sample, value: float, slopes: FloatArray, code: int | None) -> Influence:
    """Return the influence of points from the derivatives by the entries of the confusion matrix.

    Strata are the classes, or a class and the others.
    """
    slopes = slopes - (sample.confusion * slopes).sum()
    points = slopes[sample.y[:, None], sample.predicted].mean(axis=1)  # -1 is the last column
    low, high = slopes.min(axis=1), slopes.max(axis=1)
    if code is None:
        return Influence(value, points, sample.y, low, high)
    is_other = np.arange(sample.classes) != code
    low, high = (
        np.array([each[code], pick(each[is_other]) if is_other.any() else each[code]])
        for each, pick in ((low, np.min), (high, np.max))
    )
    return Influence(value, points, (sample.y != code).astype(np.int64), low, high)


def from_values(values: FloatArray, low: float, high: float) -> Influence:
    """Return the mean of values in [low, high]; points are one stratum."""
    mean = float(values.mean())
    points = values.reshape(len(values), -1).mean(axis=1) - mean
    return Influence(mean, points, np.zeros(len(values), np.int64), [low - mean], [high - mean])


Table: TypeAlias = tuple[float, FloatArray]
"""Value of a measure, and its derivatives by the entries of the confusion matrix."""


def tabulate_recall(joint: FloatArray, code: int) -> Table:
    """Share of right answers at points of a class; 0 if there are none."""
    slopes, row = np.zeros_like(joint), joint[code].sum()
    if row == 0:
        return 0.0, slopes
    value = joint[code, code] / row
    slopes[code] = -value / row
    slopes[code, code] += 1 / row
    return float(value), slopes


def tabulate_precision(joint: FloatArray, code: int) -> Table:
    """Share of right answers among those of a class; 0 if there are none."""
    slopes, column = np.zeros_like(joint), joint[:, code].sum()
    if column == 0:
        return 0.0, slopes
    value = joint[code, code] / column
    slopes[:, code] = -value / column
    slopes[code, code] += 1 / column
    return float(value), slopes


def tabulate_f1(joint: FloatArray, code: int) -> Table:
    """Harmonic mean of precision and recall; 0 if the class occurs nowhere."""
    slopes, both = np.zeros_like(joint), joint[code].sum() + joint[:, code].sum()
    if both == 0:
        return 0.0, slopes
    value = 2 * joint[code, code] / both
    slopes[code] -= value / both
    slopes[:, code] -= value / both
    slopes[code, code] += 2 / both
    return float(value), slopes


def measure_class(sample: Sample, tabulate: Callable[..., Table], code: int) -> Influence:
    """Return a measure of one class."""
    return from_table(sample, *tabulate(sample.confusion, code), code)


def measure_macro(
    sample: Sample, tabulate: Callable[..., Table], codes: IntArray | None = None
) -> Influence:
    """Return the mean of a measure over classes, by default all that occur."""
    codes = sample.present if codes is None else codes
    value, slopes = 0.0, np.zeros_like(sample.confusion)
    for code in codes:
        own, table = tabulate(sample.confusion, int(code))
        value, slopes = value + own / len(codes), slopes + table / len(codes)
    return from_table(sample, value, slopes, None)


def measure_balanced_accuracy(sample: Sample) -> Influence:
    """Return the mean recall of the classes that have points."""
    joint = sample.confusion
    rows = joint.sum(axis=1)
    codes = np.flatnonzero(rows > 0)
    recalls = np.diag(joint)[codes] / rows[codes]
    slopes = np.zeros_like(joint)
    slopes[codes] = -(recalls / rows[codes])[:, None] / len(codes)
    slopes[codes, codes] += 1 / rows[codes] / len(codes)
    return from_table(sample, float(recalls.mean()), slopes, None)


def measure_matthews(sample: Sample) -> Influence:
    """Return the Matthews correlation (Gorodkin's R_K); 0 if all answers or all classes agree."""
    joint = sample.confusion
    true, answered = np.append(joint.sum(axis=1), 0.0), joint.sum(axis=0)
    spread, spread_answered = 1 - (true**2).sum(), 1 - (answered**2).sum()
    most = np.sqrt(max(spread * spread_answered, 0.0))
    slopes = np.zeros_like(joint)
    if most < 1e-12:
        return from_table(sample, 0.0, slopes, None)
    value = (np.trace(joint) - true @ answered) / most
    slopes -= (answered[:-1, None] + true) / most
    slopes[np.arange(sample.classes), np.arange(sample.classes)] += 1 / most
    slopes += value * (true[:-1, None] / spread + answered / spread_answered)
    return from_table(sample, float(value), slopes, None)


def measure_top(sample: Sample, number: int) -> Influence:
    """Return the share of answers with the true class among the highest scores."""
    assert sample.rank is not None
    return from_values((sample.rank <= number).mean(axis=1), 0.0, 1.0)


def measure_log_loss(sample: Sample) -> Influence:
    """Return the mean of -log of the true class's score."""
    assert sample.true_score is not None
    scores = np.clip(sample.true_score.astype(np.float64), CLIP, 1 - CLIP)
    return from_values(-np.log(scores).mean(axis=1), -np.log1p(-CLIP), -np.log(CLIP))


def measure_brier(sample: Sample) -> Influence:
    """Return the mean squared error of all scores; of two classes, of that of one of them."""
    assert sample.true_score is not None
    assert sample.squares is not None
    sums = sample.squares.astype(np.float64) - 2 * sample.true_score.astype(np.float64) + 1
    sums = np.maximum(sums, 0.0).mean(axis=1)
    return from_values(sums / 2, 0.0, 1.0) if sample.classes == 2 else from_values(sums, 0.0, 2.0)


def measure_auc(sample: Sample, code: int) -> Influence:
    """Return the area under the ROC curve of a class against all others; ties count half."""
    own, others = _split(sample, code)
    placements = _place(own, np.sort(others, axis=None))
    losses = 1 - _place(others, np.sort(own, axis=None))
    value = float(placements.mean())
    return _join_two(sample, code, value, placements.mean(axis=1), losses.mean(axis=1))


def _split(sample: Sample, code: int) -> tuple[Array, Array]:
    """Return the scores of a class at its points, and at all others."""
    assert sample.scores is not None
    scores, is_own = sample.scores[:, :, code], sample.y == code
    return scores[is_own], scores[~is_own]


def _place(scores: Array, reference: Array) -> FloatArray:
    """Return the share of sorted reference values below each score; equal ones count half."""
    flat = np.sort(scores, axis=None)
    below, upto = (np.searchsorted(reference, flat, side) for side in ("left", "right"))
    order = np.argsort(scores, axis=None)
    placed = np.empty(flat.size)
    placed[order] = (below + upto) / 2 / reference.size
    return placed.reshape(scores.shape)


def _join_two(
    sample: Sample, code: int, value: float, own: FloatArray, others: FloatArray
) -> Influence:
    """Return influences from the values of points of a class and of others, all in [0, 1]."""
    is_own = sample.y == code
    share = is_own.mean()
    points = np.empty(len(is_own))
    points[is_own], points[~is_own] = (own - value) / share, (others - value) / (1 - share)
    shares = np.array([share, 1 - share])
    strata = (~is_own).astype(np.int64)
    return Influence(value, points, strata, -value / shares, (1 - value) / shares)


def measure_average_precision(sample: Sample, code: int) -> Influence:
    """Return the average precision of a class against all others, as scikit-learn defines it."""
    assert sample.scores is not None
    scores, is_own = sample.scores[:, :, code], sample.y == code
    n, k = scores.shape
    order = np.argsort(-scores, axis=None)
    flat, own = scores.ravel()[order], np.repeat(is_own, k)[order]
    ends = np.append(np.flatnonzero(np.diff(flat)), flat.size - 1)  # last of equal scores
    at = np.searchsorted(ends, np.arange(flat.size))
    found = np.cumsum(own)[ends][at].astype(np.float64)
    total = (ends + 1.0)[at]
    precision = found / total
    share = is_own.mean()
    value = float(precision[own].mean())
    # derivatives of all precisions at scores up to this one, by right and by wrong answers
    gains, losses = (
        np.cumsum(np.where(own, each / total**2, 0.0)[::-1])[::-1]
        for each in (total - found, -found)
    )
    starts = np.append(0, ends[:-1] + 1)[at]
    gains, losses = gains[starts], losses[starts]
    each = np.where(own, gains + precision - value, losses) / share
    points = np.empty(flat.size)
    points[order] = each
    from scipy.stats import rankdata  # slow to load

    strata = (~is_own).astype(np.int64)
    low, high = _add_point(found[own], total[own], value, n, k)
    # a point counts in its own precision, also if it is the only one of its class with such scores
    themselves = np.zeros((n, k))
    themselves[is_own] = rankdata(-scores[is_own], method="max", axis=1)
    counted = themselves.ravel()[order][own]
    wrong, rest = (total - found)[own], np.maximum(total[own] - counted, 1)
    bias = float((counted * wrong / (total[own] * rest)).mean())
    return Influence(value, points.reshape(n, k).mean(axis=1), strata, low, high, bias)


def _add_point(
    found: FloatArray, total: FloatArray, value: float, n: int, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest influence of a point of a class, and of one of the others.

    They are those of one more point with k answers before, or after, all that are `found` in
    `total`: derivatives would be those of an infinitely small part of a point, which is far more at
    the very first place.
    """
    own = len(found)
    first = ((found + k) / (total + k)).sum() + k
    last = (found / total).sum() + k * (own + k) / (n * k + k)
    wrong = (found / (total + k)).mean()
    low, high = np.array([last / (own + k), wrong]), np.array([first / (own + k), value])
    return (n + 1) * (low - value), (n + 1) * (high - value)


def measure_each(sample: Sample, measure: Callable[[Sample, int], Influence]) -> Influence:
    """Return the mean of a measure of scores over classes; of two, that of the second one."""
    if sample.classes == 2:
        return measure(sample, 1)
    codes = [code for code in range(sample.classes) if sample.count(code)]
    value, points, bias = 0.0, np.zeros(len(sample.y)), 0.0
    low, high = np.zeros(sample.classes), np.zeros(sample.classes)
    for code in codes:
        each = measure(sample, code) * (1 / len(codes))
        value, points, bias = value + each.value, points + each.points, bias + each.bias
        places = (np.arange(sample.classes) != code).astype(int)
        low, high = low + np.asarray(each.low)[places], high + np.asarray(each.high)[places]
    return Influence(value, points, sample.y, low, high, bias)


def has_both(sample: Sample, code: int) -> BoolArray:
    """Whether there are points of a class, and others."""
    is_own = sample.y == code
    return np.asarray(is_own.any() and not is_own.all())
