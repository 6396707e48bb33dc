r"""Correlation of two quantities over models, with its interval.

With Fisher's :math:`z = \operatorname{artanh} r` of n models the limits are

.. math:: \tanh\left(z \pm 1.96 \sqrt{v / (n - 3)}\right)

where :math:`v = 1` for Pearson's correlation, which is for values that are jointly normal, and
:math:`v = 1 + r^2 / 2` for Spearman's, which is for any (Bonett & Wright 2000). The models count as
a random sample of all models like them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.types import FloatArray
from shaketable.statistics.counts import check_confidence
from shaketable.statistics.estimate import Estimate

LEAST = 4
"""Models that a correlation with an interval needs."""


def spearman(x: FloatArray, y: FloatArray, *, confidence: float = 0.95) -> Estimate:
    """Spearman's rank correlation: 1 if both quantities order the models alike, -1 if reversed.

    >>> print(spearman(np.arange(10.0), np.array([1, 0, 2, 3, 5, 4, 6, 8, 7, 9])))
    0.964 (95 % interval 0.800 to 0.994)
    """
    ranks = [stats.rankdata(_check(values)) for values in (x, y)]
    r = _correlate(*ranks)
    return _estimate(r, len(x), 1 + r**2 / 2, confidence, "Spearman, Bonett & Wright")


def pearson(x: FloatArray, y: FloatArray, *, confidence: float = 0.95) -> Estimate:
    """Pearson's correlation: 1 or -1 if one quantity is a linear function of the other.

    >>> print(pearson(np.arange(10.0), np.arange(10.0) ** 2))
    0.963 (95 % interval 0.846 to 0.991)
    """
    return _estimate(_correlate(_check(x), _check(y)), len(x), 1.0, confidence, "Pearson, Fisher")


def _check(values: FloatArray) -> FloatArray:
    if len(values) < LEAST:
        raise InputError(f"a correlation needs {LEAST} models or more, got {len(values)}; add some")
    if not np.ptp(values) > 0:
        raise UndefinedError("a correlation is undefined if all models have the same value")
    return np.asarray(values, dtype=np.float64)


def _correlate(x: FloatArray, y: FloatArray) -> float:
    if len(x) != len(y):
        raise InputError(
            f"both quantities must have one value per model, got {len(x)} and {len(y)}"
        )
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))


def _estimate(r: float, n: int, variance: float, confidence: float, method: str) -> Estimate:
    # A correlation of 1 has no z: that of ranks with one swap of neighbours takes its place.
    highest = 1 - 12 / (n * (n**2 - 1))
    z = math.atanh(max(-highest, min(r, highest)))

    def limits(confidence: float, times: float, _: bool) -> tuple[float, float]:
        quantile = float(special.ndtri((1 + check_confidence(confidence)) / 2))
        step = quantile * math.sqrt(variance / (n * times - 3))
        ends = math.tanh(z - step), math.tanh(z + step)
        return min(ends[0], r), max(ends[1], r)

    text = f"{method}: {n} models, as a sample of all like them"
    return Estimate(r, *limits(confidence, 1.0, False), confidence, text, limits)


def compute_reliability(estimates: list[Estimate]) -> float:
    """Return the least share of the variance between models that is not error of measurement.

    The error is taken from the intervals. Models that are measured on the same points have much of
    it in common, which does not change their differences, so that the share is higher in truth.

    >>> compute_reliability([Estimate(v, v - 0.0196, v + 0.0196, 0.95, "") for v in (0.1, 0.3)])
    0.995
    """
    values = np.array([e.value for e in estimates])
    spread = float(values.var(ddof=1))
    quantile = float(special.ndtri((1 + estimates[0].confidence) / 2))
    errors = [((e.high - e.low) / 2 / quantile) ** 2 for e in estimates]
    return round(max(0.0, 1 - float(np.mean(errors)) / spread), 4) if spread > 0 else 0.0
