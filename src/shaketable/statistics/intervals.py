r"""Intervals that cover the truth also at high accuracy and without a single loss.

Two truths can be asked for, and every estimate says which one its interval is for:

- **Fixed model**: what this model does on new points with new noise. Points are independent, the k
  draws of one point are not.
- **Mean over splits**: the mean over all random splits of this data set, training included. Runs
  are independent, and the spread between runs is what counts.

How the limits are made stands in `shaketable.limits`. They may be wide: without a loss in n points
that of MSCR still reaches :math:`\pm 3.7/n`, and for few points they cover more often than they
say. ``benchmarks/results/coverage.md`` has the figures. What was not drawn no interval shows: 5
runs do not tell of a failure in one run of 100.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.limits import (
    Measure,
    change_of,
    fixed_limits,
    limits_over_runs,
    mean_of,
    upper_limit,
)

Runs: TypeAlias = Sequence[ArrayLike] | Array
"""One array of per-point counts for every run, all of the same length."""

_Given = TypeVar("_Given")
_FIXED_MODEL = "fixed model, new points and noise; Clopper–Pearson, generalised to k draws a point"
_OVER_RUNS = "mean over all runs like these; Student t with beta tails"


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
    return _estimate(mean_of(np.array([0.0, 1.0])), counts, 1, confidence)


def clustered(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Robust accuracy of a fixed model from the ``hits`` of every point in its ``k`` draws.

    .. math:: \frac{1}{n} \sum_i h_i / k

    The draws of one point stand or fall together, so the sample size is n, not n k, unless the
    data show that they do not. With k = 1 it is the clean accuracy and Clopper–Pearson.

    >>> print(clustered([10, 10, 9, 10, 0, 10, 10, 10, 10, 10], k=10))
    0.890 (95 % interval 0.548 to 0.995)
    """
    (h,), counts = _tabulate([_points("hits", hits, _draws(k))], [k + 1])
    return _estimate(mean_of(h / k), counts[0], k, confidence)


def over_runs(hits: Runs, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Mean accuracy over all splits of a data set, from the per-point ``hits`` of every run.

    .. math:: \frac{1}{R} \sum_r \frac{1}{n} \sum_i h_{ri} / k

    >>> print(over_runs([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], k=1))
    0.833 (95 % interval 0.468 to 0.996)
    """
    (h,), counts = _tabulate([_runs("hits", hits, _draws(k))], [k + 1])
    return _estimate(mean_of(h / k), counts, k, confidence)


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


def mean_of_values(
    values: FloatArray, *, low: float, high: float, confidence: float = 0.95
) -> Estimate:
    """Mean of one value a point, which lie in [low, high], for a fixed model.

    >>> print(mean_of_values(np.array([0.0, 2.0, 2.0, 4.0]), low=0, high=4))
    2.00 (95 % interval 0.46 to 3.54)
    """
    shares, counts = np.unique((values - low) / (high - low), return_counts=True)
    e = _estimate(mean_of(np.clip(shares, 0, 1)), counts.astype(np.float64), 1, confidence)
    value, bottom, top = (low + (high - low) * v for v in (e.value, e.low, e.high))
    return Estimate(value, bottom, top, confidence, e.method)


def mean_difference(
    first: ArrayLike, second: ArrayLike, k: int, *, confidence: float = 0.95
) -> Estimate:
    r"""Mean of the first counts minus that of the second, per draw, paired by point.

    .. math:: \frac{1}{n} \sum_i (a_i - b_i) / k

    For a fixed pair of models: right or wrong answers of the same points, in k draws each.

    >>> print(mean_difference([3] * 20 + [0] * 80, [0] * 100, k=10))
    0.0600 (95 % interval 0.0191 to 0.1008)
    """
    measure, counts = _gap(first, second, k, _points)
    return _estimate(measure, counts[0], k, confidence)


def mean_difference_over_runs(
    first: Runs, second: Runs, k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of the first model's mean count minus the second's, paired by run.

    >>> runs = [[1] * 40 + [0] * 10, [1] * 42 + [0] * 8, [1] * 41 + [0] * 9]
    >>> print(mean_difference_over_runs(runs, [[0] * 50] * 3, k=1))
    0.820 (95 % interval 0.751 to 0.867)
    """
    measure, counts = _gap(first, second, k, _runs)
    return _estimate(measure, counts, k, confidence)


def error_upper_bound(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    """Probability of a wrong answer under this noise, with a one-sided upper confidence bound.

    Fixed model, new points. No error in n points proves less than about 3 / n, whatever k is.

    >>> print(error_upper_bound([10] * 100, k=10))
    0.0000 (95 % interval 0.0000 to 0.0295)
    """
    (h,), counts = _tabulate([_points("hits", hits, _draws(k))], [k + 1])
    errors = mean_of(1 - h / k)(counts[0])
    high = float(upper_limit(errors, counts[0], 1 - _checked(confidence)))
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


# From what users give to tables, and from limits to what users get.


def _estimate(
    measure: Measure, counts: FloatArray, k: int, confidence: float, *, least: float = -math.inf
) -> Estimate:
    """Estimate from one table of outcomes, (outcomes) or (runs, outcomes)."""
    tail = (1 - _checked(confidence)) / 2
    n = f"n = {counts.sum(axis=-1).flat[0]:.0f}, k = {k}"
    if counts.ndim == 1:
        limits, method = fixed_limits(measure, counts, tail), f"{_FIXED_MODEL}: {n}"
    else:
        limits = limits_over_runs(measure, counts, tail)
        method = f"{_OVER_RUNS}: {len(counts)} runs, {n}"
    value, low, high = map(float, limits)
    return Estimate(value, max(low, least), high, confidence, method)


def _change(
    models: Sequence[tuple[_Given, _Given]], k: int, read: Callable[[str, _Given, int], IntArray]
) -> tuple[Measure, FloatArray]:
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
    first = change_of(outcomes[0], outcomes[1] / k)
    if len(models) == 1:
        return first, counts
    second = change_of(outcomes[2], outcomes[3] / k)
    return lambda table: first(table) - second(table), counts


def _gap(
    first: _Given, second: _Given, k: int, read: Callable[[str, _Given, int], IntArray]
) -> tuple[Measure, FloatArray]:
    """Mean of the first counts minus that of the second, and the outcome table."""
    columns = [read("first", first, _draws(k)), read("second", second, k)]
    (a, b), counts = _tabulate(columns, [k + 1, k + 1])
    return lambda table: mean_of(a / k)(table) - mean_of(b / k)(table), counts


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
