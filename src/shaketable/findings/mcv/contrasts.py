"""Contrasts: weighted sums of one fitted model's accuracies on several sets, paired by point.

Every point met all sets, so a contrast is a mean of one value a point: what the sets have in common
drops out, and a small difference shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def contrast(
    result: SuiteResult, weights: Mapping[str, float], *, confidence: float = 0.95
) -> Estimate:
    r"""Weighted sum of one fitted model's accuracies on several sets, with its interval.

    .. math:: \sum_s w_s a_s = \frac{1}{n} \sum_i \sum_s w_s h_{si} / k

    `weights` go by the specs of the sets; ``clean`` may be among them, also where the suite has no
    such set. With 1 and -1 it is a difference: positive where the first set is easier.

    >>> from shaketable import evaluate, metrics
    >>> from shaketable import grid
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> suite = grid(["linf(0.2)"], ["linf(0.1)"])
    >>> records = evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), [suite], k=1)
    >>> (result,) = metrics.suite_results(records)
    >>> print(contrast(result, {"linf(0.2)": 1, "clean": -1}))
    -0.1000 (95 % interval -0.1502 to -0.0555)
    """
    known = sets_and_clean(result)
    for spec in weights:
        if spec not in known:
            raise unknown_name("set", spec, known)
    vector = np.array([weights.get(spec, 0.0) for spec in known])
    if not (np.isfinite(vector).all() and vector.any()):
        raise InputError(
            f"weights must be finite and one of them other than 0, got {dict(weights)!r}; weigh "
            "the sets that are compared"
        )
    return weighted(shares_and_clean(result), vector, confidence=confidence)


def sets_and_clean(result: SuiteResult) -> tuple[str, ...]:
    """Specs of the sets; clean points last where they are no set."""
    return result.specs if "clean" in result.specs else (*result.specs, "clean")


def shares_and_clean(result: SuiteResult) -> FloatArray:
    """Share of right answers of every one of these, (sets, points)."""
    shares = result.shares()
    clean = result.series[0].clean[0].hits
    return shares if "clean" in result.specs else np.concatenate([shares, clean[None]])


def weighted(shares: FloatArray, weights: FloatArray, *, confidence: float = 0.95) -> Estimate:
    """Weighted sum of accuracies, from every point's share of right answers, (sets, points).

    >>> right = np.array([[1] * 80 + [0] * 20, [1] * 90 + [0] * 10])
    >>> print(weighted(right, np.array([1.0, -1.0])))
    -0.100 (95 % interval -0.176 to -0.034)
    """
    low, high = float(np.minimum(weights, 0).sum()), float(np.maximum(weights, 0).sum())
    e = intervals.mean_of_values(weights @ shares, low=low, high=high, confidence=confidence)
    return replace(e, method=f"contrast of sets, paired by point; {e.method}")
