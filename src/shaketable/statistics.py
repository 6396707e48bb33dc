r"""Intervals that cover the truth also at high accuracy and without a single loss.

Two truths can be asked for, and every estimate says which one its interval is for:

- **Fixed model**: what this model does on new points with new noise. Points are independent, the k
  draws of one point are not.
- **Mean over splits**: the mean over all random splits of this data set, training included. Runs
  are independent, and the spread between runs is what counts.

**Fixed model.** Clopper–Pearson adds one imagined point to the data, at the worst possible value
:math:`y^*`, and takes a quantile of the beta distribution that follows. The same works for any mean
of bounded values: give all points random weights :math:`\gamma_i` (standard exponential); then the
upper limit is the t with

.. math:: P\left(\gamma^* (y^* - t) + \textstyle\sum_i \gamma_i (y_i - t) > 0\right) = \alpha / 2

(Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208, who conjecture that it covers for every
bounded distribution). The positive and the negative part of the sum are close to gamma variables of
the same mean and variance (Satterthwaite), which makes the probability an incomplete beta function:
exactly Clopper–Pearson for k = 1, a few per cent of the width off otherwise.

**Mean over splits.** The same, with the variances of the points multiplied by the dispersion: the
variance between runs over that of independent points. The normal tail :math:`\alpha/2` becomes
Student's, as :math:`\Phi(-t_{1-\alpha/2})`. Amid the range this is the t interval with ddof 1;
where all runs are at 100 % it is Clopper–Pearson for all their points. The degrees of freedom grow
from runs - 1 with the weight of the imagined point, which needs no t (Welch–Satterthwaite).

**MSCR** is a ratio of means, :math:`m = \bar y / \bar c - 1`, and is linearised: the value of a
point is :math:`m + (y_i - (1 + m) c_i) / \bar c`. The worst point for the lower limit is right when
clean and wrong under all noise, for the upper limit the reverse. A difference of two models takes
the difference of these values, which keeps the pairing, and one imagined point for each model.

Such intervals may be wide: without a loss in n points that of MSCR still reaches :math:`\pm 3.7/n`,
and for few points they cover more often than they say. ``benchmarks/results/coverage.md`` has the
figures. What was not drawn no interval shows: 5 runs do not tell of a failure in one run of 100.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shaketable.errors import InputError, UndefinedError
from shaketable.types import Array, FloatArray, IntArray

Runs: TypeAlias = Sequence[ArrayLike] | Array
"""One array of per-point counts for every run, all of the same length."""

_Given = TypeVar("_Given")
_FIXED_MODEL = "fixed model, new points and noise; Clopper–Pearson, generalised to k draws a point"
_OVER_SPLITS = "mean over splits of this data set; Student t with beta tails"
_BISECTIONS = 45
_MANY = 1e9  # degrees of freedom from which Student's t is normal


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, as fractions, and how the interval was made.

    >>> print(Estimate(value=0.9, low=0.824, high=0.951, confidence=0.95, method="by hand"))
    0.900 (95 % interval 0.824 to 0.951)
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str

    def __str__(self) -> str:
        width = self.high - self.low
        digits = max(2, 2 - math.floor(math.log10(width))) if width > 0 else 4
        value, low, high = (f"{x:.{digits}f}" for x in (self.value, self.low, self.high))
        return f"{value} ({100 * self.confidence:g} % interval {low} to {high})"


def proportion(hits: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Share of ``n`` independent points that were right, for a fixed model (Clopper–Pearson).

    >>> print(proportion(90, 100))
    0.900 (95 % interval 0.824 to 0.951)
    """
    if n < 1:
        raise InputError(f"n must be 1 or more, got {n}; a share needs points")
    if not 0 <= hits <= n:
        raise InputError(f"hits must lie in 0..n = 0..{n}, got {hits}; count points, not draws")
    counts = np.array([n - hits, hits], dtype=np.float64)
    return _estimate(_mean_of(np.array([0.0, 1.0])), counts, 1, confidence)


def clustered(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Robust accuracy of a fixed model from the ``hits`` of every point in its ``k`` draws.

    .. math:: \frac{1}{n} \sum_i h_i / k

    The draws of one point stand or fall together, so the sample size is n, not n k, unless the
    data show that they do not. With k = 1 it is the clean accuracy and Clopper–Pearson.

    >>> print(clustered([10, 10, 9, 10, 0, 10, 10, 10, 10, 10], k=10))
    0.890 (95 % interval 0.548 to 0.995)
    """
    (h,), counts = _tabulate([_points("hits", hits, _draws(k))], [k + 1])
    return _estimate(_mean_of(h / k), counts[0], k, confidence)


def over_runs(hits: Runs, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Mean accuracy over all splits of a data set, from the per-point ``hits`` of every run.

    .. math:: \frac{1}{R} \sum_r \frac{1}{n} \sum_i h_{ri} / k

    >>> print(over_runs([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], k=1))
    0.833 (95 % interval 0.468 to 0.996)
    """
    (h,), counts = _tabulate([_runs("hits", hits, _draws(k))], [k + 1])
    return _estimate(_mean_of(h / k), counts, k, confidence)


def relative_change(
    clean: ArrayLike, hits: ArrayLike, k: int, *, confidence: float = 0.95
) -> Estimate:
    r"""Accuracy won or lost under noise relative to the clean accuracy, for a fixed model.

    .. math:: m = (a_\epsilon - a_0) / a_0, \quad a_0 = \bar c, \; a_\epsilon = \bar h / k

    At eps_min this is MSCR (Siedel et al. 2022, Eq. 2). Negative: accuracy was lost. ``clean``
    tells of every point whether it is right without noise, ``hits`` in how many of ``k`` draws.
    The interval is made for models that are right on ten clean points or more.

    >>> print(relative_change([1] * 90 + [0] * 10, [10] * 85 + [0] * 15, k=10))
    -0.056 (95 % interval -0.125 to 0.001)
    """
    measure, counts = _change([(clean, hits)], k, _points)
    return _estimate(measure, counts[0], k, confidence, least=-1.0)


def relative_change_over_runs(
    clean: Runs, hits: Runs, k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of a data set of the relative change: MSCR as the paper reports it.

    The mean of the runs' ratios (Algorithm 1), not the ratio of their means.

    >>> clean = [[1] * 19 + [0]] * 3
    >>> hits = [[1] * 17 + [0] * 3, [1] * 18 + [0] * 2, [1] * 19 + [0]]
    >>> print(relative_change_over_runs(clean, hits, k=1))
    -0.053 (95 % interval -0.208 to 0.073)
    """
    measure, counts = _change([(clean, hits)], k, _runs)
    return _estimate(measure, counts, k, confidence, least=-1.0)


def difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    k: int,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Relative change of the first fixed model minus that of the second, paired by point.

    Each model is a pair (clean, hits), measured on the same points with the same noise. Positive:
    the first one keeps more of its accuracy.

    >>> sturdy = [1] * 100, [10] * 100
    >>> shaky = [1] * 100, [10] * 80 + [2] * 20
    >>> print(difference(sturdy, shaky, k=10))
    0.160 (95 % interval 0.077 to 0.248)
    """
    measure, counts = _change([first, second], k, _points)
    return _estimate(measure, counts[0], k, confidence)


def difference_over_runs(
    first: tuple[Runs, Runs], second: tuple[Runs, Runs], k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of the first model's relative change minus the second's.

    Each model is a pair (clean, hits) as in `relative_change_over_runs`; run r of both has the same
    split and the same noise, so they are paired by run.

    >>> clean = [[1] * 50] * 4
    >>> hits = [[1] * 40 + [0] * 10, [1] * 42 + [0] * 8, [1] * 41 + [0] * 9, [1] * 40 + [0] * 10]
    >>> print(difference_over_runs((clean, clean), (clean, hits), k=1))
    0.1850 (95 % interval 0.1407 to 0.2294)
    """
    measure, counts = _change([first, second], k, _runs)
    return _estimate(measure, counts, k, confidence)


def error_upper_bound(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    """Probability of a wrong answer under this noise, with a one-sided upper confidence bound.

    Fixed model, new points. No error in n points proves less than about 3 / n, whatever k is.

    >>> print(error_upper_bound([10] * 100, k=10))
    0.0000 (95 % interval 0.0000 to 0.0295)
    """
    (h,), counts = _tabulate([_points("hits", hits, _draws(k))], [k + 1])
    errors = _mean_of(1 - h / k)(counts[0])
    high = float(_upper(errors, counts[0], 1 - _checked(confidence)))
    method = f"one-sided, {_FIXED_MODEL}: n = {counts.sum():.0f}, k = {k}"
    return Estimate(float(errors.estimate), 0.0, high, confidence, method)


def point_error_upper_bound(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> FloatArray:
    """Upper confidence bound of every point's own probability of a wrong answer under noise.

    One-sided Clopper–Pearson of the k draws, for one point at a time: no error in 10 draws still
    only proves less than 25.9 %.

    >>> point_error_upper_bound([10, 9, 0], k=10).round(3)
    array([0.259, 0.394, 1.   ])
    """
    h = _points("hits", hits, _draws(k))[0]
    limit = special.betaincinv(k - h + 1, np.maximum(h, 1), _checked(confidence))
    return np.where(h > 0, limit, 1.0)


# Every estimate is a mean over a table of outcomes. Counts have the shape (..., outcomes); leading
# axes may hold studies, so that thousands of simulated ones are computed at once.


@dataclass(frozen=True)
class _Linear:
    """An estimate as the mean of one value per outcome; imagined worst points on either side.

    The imagined points lie on the last axis of ``low`` and ``high``: one for each model.
    """

    estimate: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray

    def shifted(self, step: FloatArray) -> "_Linear":
        """Return the same deviations around estimate + step."""
        each = step[..., None]
        return _Linear(self.estimate + step, self.values + each, self.low + each, self.high + each)

    def __neg__(self) -> "_Linear":
        return _Linear(-self.estimate, -self.values, -self.high, -self.low)

    def __sub__(self, other: "_Linear") -> "_Linear":
        # a point imagined for one model is an average point for the other
        mine, others = self.shifted(-other.estimate), (-other).shifted(self.estimate)
        return _Linear(
            mine.estimate,
            self.values - other.values,
            np.concatenate([mine.low, others.low], axis=-1),
            np.concatenate([mine.high, others.high], axis=-1),
        )


_Measure: TypeAlias = Callable[[FloatArray], _Linear]


def _mean_of(y: FloatArray) -> _Measure:
    """Mean of y, which lies in [0, 1]."""

    def measure(counts: FloatArray) -> _Linear:
        mean = np.asarray(counts @ y / counts.sum(axis=-1))
        end = np.ones_like(mean)[..., None]
        return _Linear(mean, np.broadcast_to(y, counts.shape), 0 * end, end)

    return measure


def _change_of(c: FloatArray, y: FloatArray) -> _Measure:
    """Mean of y over mean of c, minus 1, linearised."""

    def measure(counts: FloatArray) -> _Linear:
        clean = np.asarray(counts @ c / counts.sum(axis=-1))[..., None]
        ratio = np.asarray(counts @ y / (counts @ c))[..., None]
        change = ratio - 1
        values = change + (y - ratio * c) / clean
        return _Linear(change[..., 0], values, change - ratio / clean, change + 1 / clean)

    return measure


def _limits(
    measure: _Measure, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate for a fixed model with its lower and upper limit."""
    linear = measure(counts)
    return linear.estimate, -_upper(-linear, counts, tail), _upper(linear, counts, tail)


def _limits_over_runs(
    measure: _Measure, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over runs with its lower and upper limit; the runs are the last but one axis."""
    runs, total = counts.shape[-2], counts.sum(axis=-2)
    each, pooled = measure(counts).estimate, measure(total)
    linear = pooled.shifted(each.mean(axis=-1) - pooled.estimate)

    def squares(points: FloatArray, weights: FloatArray | float = 1.0) -> FloatArray:
        return np.asarray((weights * (points - linear.estimate[..., None]) ** 2).sum(axis=-1))

    # variances of the sum over all points: of independent points, and as seen between runs
    independent = squares(linear.values, total)
    between = total.sum(axis=-1) ** 2 * each.var(axis=-1, ddof=1) / runs
    # Runs with equal counts are not runs without spread: they are known to a whole point only, and
    # rounding has the variance 1/12 (Sheppard).
    rounding = runs / 12 * np.maximum(squares(linear.low), squares(linear.high))
    between = np.maximum(between, np.minimum(independent, rounding))
    dispersion = np.ones_like(between)
    np.divide(between, independent, out=dispersion, where=independent > 0)

    def t_tail(imagined: FloatArray) -> FloatArray:
        variance = np.maximum(independent, between)
        weight = np.full_like(variance, _MANY)
        np.divide(squares(imagined), variance, out=weight, where=variance > 0)
        df = np.minimum((runs - 1) * (1 + weight) ** 2, _MANY)
        return np.asarray(special.ndtr(special.stdtrit(df, tail)))

    low = -_upper(-linear, total, t_tail(linear.low), dispersion)
    return linear.estimate, low, _upper(linear, total, t_tail(linear.high), dispersion)


def _upper(
    linear: _Linear,
    counts: FloatArray,
    tail: float | FloatArray,
    dispersion: float | FloatArray = 1.0,
) -> FloatArray:
    """Upper limit: the t that the randomly weighted mean exceeds with probability ``tail``."""
    values = np.concatenate([linear.values, linear.high], axis=-1)
    imagined = np.ones_like(linear.high)
    means = np.concatenate([counts, imagined], axis=-1)
    variances = np.concatenate([counts * np.asarray(dispersion)[..., None], imagined], axis=-1)
    low = linear.estimate
    high = low + (linear.high - low[..., None]).sum(axis=-1)
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        z = values - t[..., None]
        above = np.maximum(z, 0)
        below = above - z
        a, b = (means * above).sum(axis=-1), (means * below).sum(axis=-1)
        # variance / mean is the scale of a gamma variable, mean / scale its shape; 0 / 0 can only
        # happen where estimate and limit coincide at the end of the range
        with np.errstate(invalid="ignore", divide="ignore"):
            scale_a = (variances * above**2).sum(axis=-1) / a
            scale_b = (variances * below**2).sum(axis=-1) / b
            share = scale_a / (scale_a + scale_b)
            exceeds = special.betainc(b / scale_b, a / scale_a, share) > tail
        low, high = np.where(exceeds, t, low), np.where(exceeds, high, t)
    return np.asarray((low + high) / 2)


# From what users give to tables, and from limits to what users get.


def _estimate(
    measure: _Measure, counts: FloatArray, k: int, confidence: float, *, least: float = -math.inf
) -> Estimate:
    """Estimate from one table of outcomes, (outcomes) or (runs, outcomes)."""
    tail = (1 - _checked(confidence)) / 2
    n = f"n = {counts.sum(axis=-1).flat[0]:.0f}, k = {k}"
    if counts.ndim == 1:
        limits, method = _limits(measure, counts, tail), f"{_FIXED_MODEL}: {n}"
    else:
        limits = _limits_over_runs(measure, counts, tail)
        method = f"{_OVER_SPLITS}: {len(counts)} runs, {n}"
    value, low, high = map(float, limits)
    return Estimate(value, max(low, least), high, confidence, method)


def _change(
    models: Sequence[tuple[_Given, _Given]], k: int, read: Callable[[str, _Given, int], IntArray]
) -> tuple[_Measure, FloatArray]:
    """Relative change of one model, or of the first minus the second, and the outcome table."""
    columns = []
    for clean, hits in models:
        columns += [read("clean", clean, 1), read("hits", hits, _draws(k))]
        zero = np.flatnonzero(~columns[-2].any(axis=1))
        if zero.size:
            where = f" in run {zero[0]}" if len(columns[-2]) > 1 else ""
            raise UndefinedError(
                f"clean accuracy is 0{where}, so the relative change (MSCR) is undefined; check "
                "labels and predictions, or report the accuracies themselves"
            )
    outcomes, counts = _tabulate(columns, [2, k + 1] * len(models))
    first = _change_of(outcomes[0], outcomes[1] / k)
    if len(models) == 1:
        return first, counts
    second = _change_of(outcomes[2], outcomes[3] / k)
    return lambda table: first(table) - second(table), counts


def _tabulate(columns: Sequence[IntArray], sizes: list[int]) -> tuple[list[FloatArray], FloatArray]:
    """Distinct outcomes, one array a column, and how often each occurs: (runs, outcomes)."""
    shapes = sorted({column.shape for column in columns})
    if len(shapes) > 1:
        raise InputError(
            f"clean and hits must have the same runs and points, got shapes {shapes[0]} and "
            f"{shapes[1]}; pass counts of the same points in the same order"
        )
    codes, inverse = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
    runs, m = shapes[0][0], len(codes)
    cells = inverse.reshape(runs, -1) + m * np.arange(runs)[:, None]
    counts = np.bincount(cells.ravel(), minlength=runs * m).reshape(runs, m)
    outcomes = np.unravel_index(codes, sizes)
    return [column.astype(np.float64) for column in outcomes], counts.astype(np.float64)


def _runs(name: str, given: Runs, most: int) -> IntArray:
    """Counts of all runs as one table, (runs, points)."""
    rows = [_points(name, run, most)[0] for run in given]
    if len(rows) < 2:
        raise InputError(
            f"{name} must hold at least 2 runs, got {len(rows)}; for one run use the function for "
            "a fixed model"
        )
    sizes = sorted({len(row) for row in rows})
    if len(sizes) > 1:
        raise InputError(
            f"{name} must have the same number of points in every run, got {sizes[0]} and "
            f"{sizes[-1]}; runs are splits of one data set"
        )
    return np.stack(rows)


def _points(name: str, given: ArrayLike, most: int) -> IntArray:
    """Counts of the points of one run as a table with one row."""
    counts = np.asarray(given)
    if counts.ndim != 1 or not counts.size:
        raise InputError(
            f"{name} must have one count per point, got shape {counts.shape}; pass one list a model"
            " (over runs: a list of them)"
        )
    if counts.dtype.kind not in "biu":
        raise InputError(f"{name} must be integers, got {counts.dtype}; pass counts, not rates")
    if counts.min() < 0 or counts.max() > most:
        wrong = counts[(counts < 0) | (counts > most)][0]
        raise InputError(f"{name} must lie in 0..{most}, got {wrong}; is k right?")
    return counts.astype(np.int64)[None]


def _draws(k: int) -> int:
    if k < 1:
        raise InputError(f"k must be 1 or more, got {k}; it is the number of draws per point")
    return k


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}; 95 % is 0.95")
    return confidence
