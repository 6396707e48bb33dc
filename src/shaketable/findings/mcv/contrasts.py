"""Contrasts: weighted sums of one model's accuracies on several sets, paired by point.

Every point was evaluated under all sets, so a contrast is the mean of one value per point. What the
sets have in common cancels out, so that even small differences show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.findings.sequential import allow_for_looks
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def contrast(
    result: SuiteResult, weights: Mapping[str, float], *, confidence: float = 0.95
) -> Estimate:
    r"""Weighted sum of one model's accuracies on several sets, with its interval.

    .. math:: \sum_s w_s a_s = \frac{1}{n} \sum_i \sum_s w_s h_{si} / k

    The keys of `weights` are specs of sets; ``clean`` is allowed even if the suite has no such set.
    With weights 1 and -1 it is a difference: positive if the first set is easier.

    >>> from shaketable import evaluate, metrics
    >>> from shaketable import grid
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> suite = grid(["linf(0.2)"], ["linf(0.1)"])
    >>> records = evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), [suite], k=1)
    >>> (result,) = metrics.suite_results(records)
    >>> print(contrast(result, {"linf(0.2)": 1, "clean": -1}))
    -0.1000 (95 % interval -0.1478 to -0.0611)
    """
    known = list_sets(result)
    for spec in weights:
        if spec not in known:
            raise unknown_name("set", spec, known)
    vector = np.array([weights.get(spec, 0.0) for spec in known])
    if not (np.isfinite(vector).all() and vector.any()):
        raise InputError(
            f"weights must be finite and one of them other than 0, got {dict(weights)!r}; give "
            "those of the sets to compare"
        )
    e = estimate_contrast(stack_shares(result), vector, confidence=confidence)
    return allow_for_looks(e, result.series[0].noisy)


def list_sets(result: SuiteResult) -> tuple[str, ...]:
    """Return the specs of all sets, and ``clean`` last if it is not among them."""
    return result.specs if "clean" in result.specs else (*result.specs, "clean")


def stack_shares(result: SuiteResult) -> FloatArray:
    """Return `SuiteResult.shares` for the sets of `list_sets`."""
    shares = result.shares()
    clean = np.array([cell.hits for cell in result.series[0].clean])
    clean = clean.reshape(*shares.shape[:-2], 1, -1)
    return shares if "clean" in result.specs else np.concatenate([shares, clean], axis=-2)


def estimate_contrast(
    shares: FloatArray, weights: FloatArray, *, confidence: float = 0.95
) -> Estimate:
    """Weighted sum of accuracies, from every point's share of right answers.

    `shares` has the shape (sets, points), or (runs, sets, points) for the mean over runs.

    >>> right = np.array([[1] * 80 + [0] * 20, [1] * 90 + [0] * 10])
    >>> print(estimate_contrast(right, np.array([1.0, -1.0])))
    -0.100 (95 % interval -0.172 to -0.044)
    """
    low, high = float(np.minimum(weights, 0).sum()), float(np.maximum(weights, 0).sum())
    e = intervals.mean_of_values(weights @ shares, low=low, high=high, confidence=confidence)
    return _describe(e)


def estimate_contrasts(
    shares: FloatArray, weights: FloatArray, *, confidence: float = 0.95
) -> list[Estimate]:
    """Several contrasts of the same sets at once; `weights` has one row for each.

    >>> right = np.array([[1] * 80 + [0] * 20, [1] * 90 + [0] * 10])
    >>> print(*estimate_contrasts(right, np.array([[1.0, -1.0]])))
    -0.100 (95 % interval -0.172 to -0.044)
    """
    if shares.ndim > 2:  # over runs
        return [estimate_contrast(shares, row, confidence=confidence) for row in weights]
    low, high = np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1)
    # one after another: a product of matrices may round otherwise, and then equal values differ
    values = np.array([row @ shares for row in weights])
    return [
        _describe(e)
        for e in intervals.means_of_values(values, low=low, high=high, confidence=confidence)
    ]


def _describe(e: Estimate) -> Estimate:
    return replace(e, method=f"contrast of sets, paired by point; {e.method}")
