r"""Confidence intervals that cover the truth also at high accuracy and without a single loss.

There are two targets, and every estimate says which one its interval is for:

- **Fixed model**: what this model does on new points with new noise. Points are independent, the k
  draws of one point are not.
- **Mean over splits**: the mean over all random splits of this data set, training included. Runs
  are independent, and the spread between runs counts.

`statistics.own_intervals` explains how the limits are computed. They may be wide: without a
loss in n points the interval of MSCR still reaches :math:`\pm 3/n`, and for few points the
intervals cover more often than they state: up to about 60 points they allow for kinds of points
that were not seen (``benchmarks/results/coverage.md``). Intervals over runs are never narrower than
Student's t on either side. No interval covers what was not sampled: 5 runs say nothing about a
failure in one run of 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.counts import (
    Runs,
    check_confidence,
    check_draws,
    read_points,
    read_runs,
    tabulate,
)
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.estimating import bound_each, estimate_each, make_estimate
from shaketable.statistics.own_intervals import (
    Estimator,
    Imagine,
    LinearEstimate,
    average_estimators,
    change_estimator,
    difference_estimator,
    imagine_point,
    mean_estimator,
)

_Counts = TypeVar("_Counts")  # ArrayLike or Runs


def proportion(hits: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Share of ``n`` independent points that were right, for a fixed model (Clopper–Pearson).

    Parameters
    ----------
    hits
        Number of right answers.
    n
        Number of points.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The share, with its interval.

    Examples
    --------
    >>> print(proportion(90, 100))
    0.900 (95 % interval 0.824 to 0.951)
    """
    if n < 1:
        raise InputError(f"n must be 1 or more, got {n}; a share needs points")
    if not 0 <= hits <= n:
        raise InputError(f"hits must lie in 0..n = 0..{n}, got {hits}; count points, not draws")
    counts = np.array([n - hits, hits], dtype=np.float64)
    return make_estimate(
        mean_estimator(np.array([0.0, 1.0])), counts, 1, confidence, quantity="share"
    )


def mean_share(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Robust accuracy of a fixed model, from the ``hits`` of every point in its ``k`` draws.

    .. math:: \frac{1}{n} \sum_i h_i / k

    The draws of one point depend on each other, so the sample size is n, not n k, unless the data
    show that they do not. With k = 1 this is the clean accuracy and Clopper–Pearson. Counts of
    errors in place of hits give the error.

    Parameters
    ----------
    hits
        Number of right answers of every point, from 0 to `k`.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The mean share, with its interval.

    Examples
    --------
    >>> print(mean_share([10, 10, 9, 10, 0, 10, 10, 10, 10, 10], k=10))
    0.890 (95 % interval 0.543 to 0.995)
    """
    (h,), counts = tabulate([read_points("hits", hits, check_draws(k))], [k + 1])
    return make_estimate(mean_estimator(h / k), counts[0], k, confidence, quantity="share")


def mean_share_over_runs(hits: Runs, k: int, *, confidence: float = 0.95) -> Estimate:
    r"""Mean accuracy over all splits of a data set, from the per-point ``hits`` of every run.

    .. math:: \frac{1}{R} \sum_r \frac{1}{n} \sum_i h_{ri} / k

    Parameters
    ----------
    hits
        For every run, the number of right answers of every point.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The mean over runs, with its interval.

    Examples
    --------
    >>> print(mean_share_over_runs([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], k=1))
    0.833 (95 % interval 0.468 to 1.000)
    """
    (h,), counts = tabulate([read_runs("hits", hits, check_draws(k))], [k + 1])
    return make_estimate(mean_estimator(h / k), counts, k, confidence)


def relative_change(
    clean: ArrayLike, hits: ArrayLike, k: int, *, clean_k: int = 1, confidence: float = 0.95
) -> Estimate:
    r"""Change of the accuracy under noise, relative to the clean accuracy, for a fixed model.

    .. math:: m = (a_\epsilon - a_0) / a_0, \quad a_0 = \bar c, \; a_\epsilon = \bar h / k

    At eps_min this is MSCR (Siedel et al. 2022, Eq. 2). Negative: accuracy was lost. ``clean`` is
    1 for every point that is right without noise and 0 for the others, ``hits`` the number of
    right answers in ``k`` draws. With few right clean points, the interval is wide. If ``clean``
    counts the right answers of several models, ``clean_k`` is their number.

    Parameters
    ----------
    clean
        1 for every point that is right without noise, else 0.
    hits
        Number of right answers of every point in its draws.
    k
        Number of draws per point.
    clean_k
        Number of answers that `clean` counts.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The relative change, with its interval.

    Examples
    --------
    >>> print(relative_change([1] * 90 + [0] * 10, [10] * 85 + [0] * 15, k=10))
    -0.056 (95 % interval -0.119 to -0.008)
    """
    estimator, counts = _tabulate_changes([[(clean, hits)]], k, read_points, clean_k)
    return make_estimate(estimator, counts[0], k, confidence, least=-1.0)


def relative_change_over_runs(
    clean: Runs, hits: Runs, k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of a data set of the relative change: MSCR as the paper reports it.

    The mean of the runs' ratios (Algorithm 1), not the ratio of their means.

    Parameters
    ----------
    clean, hits
        For every run, the counts of every point, as in `relative_change`.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The mean over runs, with its interval.

    Examples
    --------
    >>> clean = [[1] * 19 + [0]] * 3
    >>> hits = [[1] * 17 + [0] * 3, [1] * 18 + [0] * 2, [1] * 19 + [0]]
    >>> print(relative_change_over_runs(clean, hits, k=1))
    -0.053 (95 % interval -0.197 to 0.078)
    """
    estimator, counts = _tabulate_changes([[(clean, hits)]], k, read_runs)
    return make_estimate(estimator, counts, k, confidence, least=-1.0)


def change_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    k: int,
    *,
    clean_k: int = 1,
    confidence: float = 0.95,
) -> Estimate:
    """Relative change of the first fixed model minus that of the second, paired by point.

    Each model is a pair (clean, hits), measured on the same points with the same noise. Positive:
    the first model keeps more of its accuracy. `clean_k` is that of `relative_change`.

    Parameters
    ----------
    first, second
        Each a pair (clean, hits), as in `relative_change`.
    k
        Number of draws per point.
    clean_k
        Number of answers that the clean counts are of.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> sturdy = [1] * 100, [10] * 100
    >>> shaky = [1] * 100, [10] * 80 + [2] * 20
    >>> print(change_difference(sturdy, shaky, k=10))
    0.160 (95 % interval 0.100 to 0.232)
    """
    estimator, counts = _tabulate_changes([[first], [second]], k, read_points, clean_k)
    return make_estimate(estimator, counts[0], k, confidence)


def change_difference_over_runs(
    first: tuple[Runs, Runs], second: tuple[Runs, Runs], k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of the first model's relative change minus the second's.

    Each model is a pair (clean, hits) as in `relative_change_over_runs`; run r of both has the same
    split and the same noise, so they are paired by run.

    Parameters
    ----------
    first, second
        Each a pair (clean, hits), as in `relative_change_over_runs`.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The mean difference, with its interval.

    Examples
    --------
    >>> clean = [[1] * 50] * 4
    >>> hits = [[1] * 40 + [0] * 10, [1] * 42 + [0] * 8, [1] * 41 + [0] * 9, [1] * 40 + [0] * 10]
    >>> print(change_difference_over_runs((clean, clean), (clean, hits), k=1))
    0.1850 (95 % interval 0.1545 to 0.2188)
    """
    estimator, counts = _tabulate_changes([[first], [second]], k, read_runs)
    return make_estimate(estimator, counts, k, confidence)


def mean_change(
    models: Sequence[tuple[Runs, Runs]], k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over several models of their relative changes, on the same points in the same runs.

    Each model is a pair (clean, hits) as in `relative_change_over_runs`, of one run or more. The
    models are these; the interval is for new points, or for all splits if there are several runs.

    >>> print(mean_change([([[1] * 100], [[1] * 90 + [0] * 10]), ([[1] * 100], [[1] * 100])], k=1))
    -0.0500 (95 % interval -0.0865 to -0.0146)
    """
    return _estimate_changes([models], k, confidence)


def mean_change_difference(
    first: Sequence[tuple[Runs, Runs]],
    second: Sequence[tuple[Runs, Runs]],
    k: int,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Mean relative change of the first models minus that of the second, paired; see `mean_change`.

    >>> sturdy, shaky = ([[1] * 100], [[1] * 100]), ([[1] * 100], [[1] * 90 + [0] * 10])
    >>> print(mean_change_difference([sturdy, shaky], [shaky, shaky], k=1))
    0.0500 (95 % interval 0.0219 to 0.0868)
    """
    return _estimate_changes([first, second], k, confidence)


def mean_of_values(
    values: FloatArray,
    *,
    low: float,
    high: float,
    confidence: float = 0.95,
    imagine: Imagine = imagine_point,
) -> Estimate:
    """Mean of one value per point, all in [low, high], for a fixed model, or over runs.

    Values have the shape (points), or (runs, points) for the mean over all splits. `imagine` says
    which point the limits add to the data (`shaketable.statistics.own_intervals`).

    >>> print(mean_of_values(np.array([0.0, 2.0, 2.0, 4.0]), low=0, high=4))
    2.00 (95 % interval 0.13 to 3.87)
    """
    y, places = np.unique(np.clip(values, low, high), return_inverse=True)
    rows = places.reshape(-1, values.shape[-1])
    table = np.array([np.bincount(row, minlength=len(y)) for row in rows], dtype=np.float64)
    table = table[0] if len(table) == 1 else table
    return make_estimate(mean_estimator(y, low, high), table, 1, confidence, imagine=imagine)


def mean_difference(
    first: ArrayLike, second: ArrayLike, k: int, *, confidence: float = 0.95
) -> Estimate:
    r"""Mean of the first counts minus that of the second, per draw, paired by point.

    .. math:: \frac{1}{n} \sum_i (a_i - b_i) / k

    For a fixed pair of models: counts of right or wrong answers for the same points, in k draws
    each.

    Parameters
    ----------
    first, second
        Counts of every point, from 0 to `k`, of the same points.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> print(mean_difference([3] * 20 + [0] * 80, [0] * 100, k=10))
    0.0600 (95 % interval 0.0258 to 0.0874)
    """
    estimator, counts = _tabulate_means(first, second, k, read_points)
    return make_estimate(estimator, counts[0], k, confidence, quantity="difference")


def mean_differences(
    first: Runs, second: Runs, k: int, *, confidence: float = 0.95
) -> list[Estimate]:
    """`mean_difference` of many pairs of models on the same number of points, all at once.

    Counts have one row per pair. It takes a fraction of the time of one pair after another.

    >>> [print(e) for e in mean_differences([[3] * 20 + [0] * 80], [[0] * 100], k=10)]
    0.0600 (95 % interval 0.0258 to 0.0874)
    [None]
    """
    estimator, counts = _tabulate_means(first, second, k, _read_models)
    return estimate_each(
        lambda _: estimator, estimator, counts, k, confidence, quantity="difference"
    )


def means_of_values(
    values: FloatArray, *, low: FloatArray, high: FloatArray, confidence: float = 0.95
) -> list[Estimate]:
    """`mean_of_values` of many quantities of one fixed model, all at once.

    Values have the shape (quantities, points), and each quantity its own range. It takes a fraction
    of the time of one quantity after another.

    >>> [print(e) for e in means_of_values(np.array([[0.0, 2, 2, 4]]), low=np.zeros(1),
    ...                                    high=np.full(1, 4.0))]
    2.00 (95 % interval 0.13 to 3.87)
    [None]
    """
    rows = [
        np.unique(np.clip(row, *ends), return_counts=True)
        for row, *ends in zip(values, low, high, strict=True)
    ]
    width = max(len(y) for y, _ in rows)  # outcomes that do not occur have no weight
    y = np.array([np.pad(y, (0, width - len(y)), mode="edge") for y, _ in rows])
    counts = np.array([np.pad(n, (0, width - len(n))) for _, n in rows], dtype=np.float64)

    def estimate(counts: FloatArray) -> LinearEstimate:
        mean = np.clip((counts * y).sum(axis=-1) / counts.sum(axis=-1), low, high)
        return LinearEstimate(mean, y, low, high)

    def estimate_row(row: int) -> Estimator:
        return mean_estimator(y[row], float(low[row]), float(high[row]))

    return estimate_each(estimate_row, estimate, counts, 1, confidence)


def mean_difference_over_runs(
    first: Runs, second: Runs, k: int, *, confidence: float = 0.95
) -> Estimate:
    """Mean over all splits of the first model's mean count minus the second's, paired by run.

    Parameters
    ----------
    first, second
        For every run, the counts of every point.
    k
        Number of draws per point.
    confidence
        Confidence of the two-sided interval.

    Returns
    -------
    Estimate
        The mean difference, with its interval.

    Examples
    --------
    >>> runs = [[1] * 40 + [0] * 10, [1] * 42 + [0] * 8, [1] * 41 + [0] * 9]
    >>> print(mean_difference_over_runs(runs, [[0] * 50] * 3, k=1))
    0.820 (95 % interval 0.763 to 0.870)
    """
    estimator, counts = _tabulate_means(first, second, k, read_runs)
    return make_estimate(estimator, counts, k, confidence)


def error_upper_bound(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> Estimate:
    """Probability of a wrong answer under this noise, with a one-sided upper confidence bound.

    Fixed model, new points. No error in n points proves less than about 3 / n, whatever k is.

    Parameters
    ----------
    hits
        Number of right answers of every point, from 0 to `k`.
    k
        Number of draws per point.
    confidence
        Confidence of the one-sided bound.

    Returns
    -------
    Estimate
        The share of wrong answers; ``low`` is 0, and ``high`` the bound.

    Examples
    --------
    >>> print(error_upper_bound([10] * 100, k=10))
    0.0000 (95 % interval 0.0000 to 0.0295)
    """
    (h,), counts = tabulate([read_points("hits", hits, check_draws(k))], [k + 1])
    return bound_each(1 - h / k, counts, k, confidence)[0]


def error_upper_bounds(hits: Runs, k: int) -> list[Estimate]:
    """`error_upper_bound` of many models on the same number of points, all at once.

    Hits have one row per model. It takes a fraction of the time of one model after another.

    >>> [print(e) for e in error_upper_bounds([[10] * 100], k=10)]
    0.0000 (95 % interval 0.0000 to 0.0295)
    [None]
    """
    (h,), counts = tabulate([_read_models("hits", hits, check_draws(k))], [k + 1])
    return bound_each(1 - h / k, counts, k)


def point_error_upper_bound(hits: ArrayLike, k: int, *, confidence: float = 0.95) -> FloatArray:
    """Upper confidence bound of every point's own probability of a wrong answer under noise.

    One-sided Clopper–Pearson of the k draws, for one point at a time: no error in 10 draws proves
    no more than a probability below 25.9 %.

    >>> point_error_upper_bound([10, 9, 0], k=10).round(3)
    array([0.259, 0.394, 1.   ])
    """
    h = read_points("hits", hits, check_draws(k))[0]
    limit = special.betaincinv(k - h + 1, np.maximum(h, 1), check_confidence(confidence))
    return np.where(h > 0, limit, 1.0)


def _read_models(name: str, counts: Runs, k: int) -> IntArray:
    """Counts of one or several models: (models, points)."""
    return np.concatenate([read_points(name, row, k) for row in counts])


def _estimate_changes(
    groups: Sequence[Sequence[tuple[Runs, Runs]]], k: int, confidence: float
) -> Estimate:
    """Mean change of one group of models, or of the first minus the second; runs: 1 or more."""
    if len(groups[0][0][0]) > 1:
        return make_estimate(
            *_tabulate_changes(groups, k, read_runs), k, confidence, least=_least(groups)
        )
    only = [[(clean[0], hits[0]) for clean, hits in models] for models in groups]
    estimator, counts = _tabulate_changes(only, k, read_points)
    return make_estimate(estimator, counts[0], k, confidence, least=_least(groups))


def _least(groups: Sequence[object]) -> float:
    """Lowest value that a change can have, or the difference of two."""
    return -1.0 if len(groups) == 1 else -math.inf


def _tabulate_changes(
    groups: Sequence[Sequence[tuple[_Counts, _Counts]]],
    k: int,
    read: Callable[[str, _Counts, int], IntArray],
    clean_k: int = 1,
) -> tuple[Estimator, FloatArray]:
    """Mean relative change of a group of models, or of the first minus the second, and outcomes."""
    columns = []
    for clean, hits in (model for models in groups for model in models):
        columns += [read("clean", clean, check_draws(clean_k)), read("hits", hits, check_draws(k))]
        zero = np.flatnonzero(~columns[-2].any(axis=1))
        if zero.size:
            where = f" in run {zero[0]}" if len(columns[-2]) > 1 else ""
            raise UndefinedError(
                f"clean accuracy is 0{where}, so the relative change (MSCR) is undefined; check "
                "labels and predictions, or report the accuracies themselves"
            )
    outcomes, counts = tabulate(columns, [clean_k + 1, k + 1] * (len(columns) // 2))
    each = [
        change_estimator(clean / clean_k, hits / k)
        for clean, hits in zip(outcomes[::2], outcomes[1::2], strict=True)
    ]
    first = average_estimators(each[: len(groups[0])])
    if len(groups) == 1:
        return first, counts
    second = average_estimators(each[len(groups[0]) :])
    return lambda table: first(table) - second(table), counts


def _tabulate_means(
    first: _Counts, second: _Counts, k: int, read: Callable[[str, _Counts, int], IntArray]
) -> tuple[Estimator, FloatArray]:
    """Mean of the first counts minus that of the second, and the outcome table."""
    columns = [read("first", first, check_draws(k)), read("second", second, k)]
    (a, b), counts = tabulate(columns, [k + 1, k + 1])
    return difference_estimator(a / k, b / k), counts
