r"""Confidence limits that cover where those of textbooks do not.

**Fixed model.** Clopper–Pearson adds one pseudo-observation to the data, at the worst possible
value :math:`y^*`, and takes a quantile of the beta distribution that follows. The same works for
any mean of bounded values: give all points random weights :math:`\gamma_i` (standard exponential);
then the upper limit is the t with

.. math:: P\left(\gamma^* (y^* - t) + \textstyle\sum_i \gamma_i (y_i - t) > 0\right) = \alpha / 2

(Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208, who conjecture that it covers for every
bounded distribution). The positive and the negative part of the sum are close to gamma variables of
the same mean and variance (Satterthwaite), which makes the probability an incomplete beta function:
exactly Clopper–Pearson for k = 1, otherwise a few per cent of the width off.

**Mean over splits.** The same, with the variances of the points multiplied by the dispersion: the
variance between runs over that of independent points. The normal tail :math:`\alpha/2` becomes
Student's, as :math:`\Phi(-t_{1-\alpha/2})`. In the middle of the range this is the t interval with
ddof 1; if all runs are at 100 % it is Clopper–Pearson for all their points. The degrees of freedom
grow from runs - 1 with the weight of the pseudo-observation, which needs no t
(Welch–Satterthwaite).

**MSCR** is a ratio of means, :math:`m = \bar y / \bar c - 1`, and is linearised: the value of a
point is :math:`m + (y_i - (1 + m) c_i) / \bar c`. The worst point for the lower limit is right when
clean and wrong under all noise, for the upper limit the reverse. A difference of two models takes
the difference of these values, which keeps the pairing, and one pseudo-observation per model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray

_BISECTIONS = 45
_MANY = 1e9  # degrees of freedom from which Student's t is normal

# Every estimate is a mean over a table of outcomes. Counts have the shape (..., outcomes); leading
# axes may hold studies: simulations compute thousands of them at once.


@dataclass(frozen=True)
class LinearEstimate:
    """An estimate as a mean of outcomes' values, with the pseudo-observations its limits add."""

    estimate: FloatArray
    values: FloatArray
    """Value of every outcome, on the last axis."""
    low: FloatArray
    """Pseudo-observations of the lower limit, one per model, on the last axis."""
    high: FloatArray
    """The same for the upper limit."""

    def shift(self, step: FloatArray) -> LinearEstimate:
        """Return the same deviations around estimate + step."""
        each = step[..., None]
        return LinearEstimate(
            self.estimate + step, self.values + each, self.low + each, self.high + each
        )

    def __neg__(self) -> LinearEstimate:
        return LinearEstimate(-self.estimate, -self.values, -self.high, -self.low)

    def __sub__(self, other: LinearEstimate) -> LinearEstimate:
        # a pseudo-observation of one model is an average point of the other
        own, others = self.shift(-other.estimate), (-other).shift(self.estimate)
        return LinearEstimate(
            own.estimate,
            self.values - other.values,
            np.concatenate([own.low, others.low], axis=-1),
            np.concatenate([own.high, others.high], axis=-1),
        )


Estimator: TypeAlias = Callable[[FloatArray], LinearEstimate]
"""Function from a table of counts, (..., outcomes), to the estimate."""


def mean_estimator(y: FloatArray) -> Estimator:
    """Estimator of the mean of y; `y` has one value in [0, 1] per outcome."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        mean = np.asarray(counts @ y / counts.sum(axis=-1))
        end = np.ones_like(mean)[..., None]
        return LinearEstimate(mean, np.broadcast_to(y, counts.shape), 0 * end, end)

    return estimate


def change_estimator(c: FloatArray, y: FloatArray) -> Estimator:
    """Estimator of the mean of y over the mean of c, minus 1, linearised."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        clean = np.asarray(counts @ c / counts.sum(axis=-1))[..., None]
        ratio = np.asarray(counts @ y / (counts @ c))[..., None]
        change = ratio - 1
        values = change + (y - ratio * c) / clean
        return LinearEstimate(change[..., 0], values, change - ratio / clean, change + 1 / clean)

    return estimate


def compute_limits(
    estimator: Estimator, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate for a fixed model with its lower and upper limit."""
    linear = estimator(counts)
    return (
        linear.estimate,
        -find_upper_limit(-linear, counts, tail),
        find_upper_limit(linear, counts, tail),
    )


def compute_limits_over_runs(
    estimator: Estimator, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over runs with its lower and upper limit; the runs are the last but one axis."""
    runs, total = counts.shape[-2], counts.sum(axis=-2)
    each, pooled = estimator(counts).estimate, estimator(total)
    linear = pooled.shift(each.mean(axis=-1) - pooled.estimate)

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

    low = -find_upper_limit(-linear, total, t_tail(linear.low), dispersion)
    return linear.estimate, low, find_upper_limit(linear, total, t_tail(linear.high), dispersion)


def find_upper_limit(
    linear: LinearEstimate,
    counts: FloatArray,
    tail: float | FloatArray,
    dispersion: float | FloatArray = 1.0,
) -> FloatArray:
    """Upper limit: the t that the randomly weighted mean exceeds with probability `tail`."""
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
