r"""Limits: what makes the intervals of `statistics` cover where textbook ones do not.

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
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray

_BISECTIONS = 45
_MANY = 1e9  # degrees of freedom from which Student's t is normal

# Every estimate is a mean over a table of outcomes. Counts have the shape (..., outcomes); leading
# axes may hold studies, so that thousands of simulated ones are computed at once.


@dataclass(frozen=True)
class Linear:
    """An estimate as the mean of one value per outcome; imagined worst points on either side.

    The imagined points lie on the last axis of ``low`` and ``high``: one for each model.
    """

    estimate: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray

    def shifted(self, step: FloatArray) -> "Linear":
        """Return the same deviations around estimate + step."""
        each = step[..., None]
        return Linear(self.estimate + step, self.values + each, self.low + each, self.high + each)

    def __neg__(self) -> "Linear":
        return Linear(-self.estimate, -self.values, -self.high, -self.low)

    def __sub__(self, other: "Linear") -> "Linear":
        # a point imagined for one model is an average point for the other
        mine, others = self.shifted(-other.estimate), (-other).shifted(self.estimate)
        return Linear(
            mine.estimate,
            self.values - other.values,
            np.concatenate([mine.low, others.low], axis=-1),
            np.concatenate([mine.high, others.high], axis=-1),
        )


Measure: TypeAlias = Callable[[FloatArray], Linear]


def mean_of(y: FloatArray) -> Measure:
    """Mean of y, which lies in [0, 1]."""

    def measure(counts: FloatArray) -> Linear:
        mean = np.asarray(counts @ y / counts.sum(axis=-1))
        end = np.ones_like(mean)[..., None]
        return Linear(mean, np.broadcast_to(y, counts.shape), 0 * end, end)

    return measure


def change_of(c: FloatArray, y: FloatArray) -> Measure:
    """Mean of y over mean of c, minus 1, linearised."""

    def measure(counts: FloatArray) -> Linear:
        clean = np.asarray(counts @ c / counts.sum(axis=-1))[..., None]
        ratio = np.asarray(counts @ y / (counts @ c))[..., None]
        change = ratio - 1
        values = change + (y - ratio * c) / clean
        return Linear(change[..., 0], values, change - ratio / clean, change + 1 / clean)

    return measure


def fixed_limits(
    measure: Measure, counts: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate for a fixed model with its lower and upper limit."""
    linear = measure(counts)
    return linear.estimate, -upper_limit(-linear, counts, tail), upper_limit(linear, counts, tail)


def limits_over_runs(
    measure: Measure, counts: FloatArray, tail: float
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

    low = -upper_limit(-linear, total, t_tail(linear.low), dispersion)
    return linear.estimate, low, upper_limit(linear, total, t_tail(linear.high), dispersion)


def upper_limit(
    linear: Linear,
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
