r"""Confidence limits that cover where those of textbooks do not.

**Fixed model.** Clopper–Pearson adds one imagined point to the data, at the worst possible value
:math:`y^*`, and takes a quantile of the beta distribution that follows. The same works for any mean
of bounded values: give the points random weights :math:`\gamma_i` (standard exponential); then the
upper limit is the t with

.. math:: P\left(\gamma^* (y^* - t) + \textstyle\sum_i \gamma_i (y_i - t) > 0\right) = \alpha / 2

(Gaffke 2005; Learned-Miller & Thomas, arXiv:1905.06208). The positive and the negative part of the
sum are close to gamma variables of the same mean and variance (Satterthwaite), which makes the
probability an incomplete beta function.

**The imagined point.** Gaffke's stands at the end of the range with weight 1, whatever the data
are. If many points change a little and none changes much, such as in a difference of two models,
it makes the interval twice as wide as necessary. Here it follows the data. With the deviations
:math:`d_i = y_i - \bar y`, the typical size of those above, and their number, are

.. math:: s = \sum_{d_i > 0} d_i^3 \Big/ \sum_{d_i > 0} d_i^2, \qquad
          m = \sum_{d_i > 0} d_i^2 \Big/ \max(s, s_{below})^2

and likewise below. D is the distance to the end of the range above, and
:math:`S = D \max(s / D, s_{below} / D_{below})` the size of the deviations of the side that has the
larger ones. A kind of point that does not occur among m others has a share of about
:math:`u = 1 / (1 + m)`, and one that occurs on neither side of about
:math:`v = 1 / (1 + m + m_{below})`, so the imagined point stands at

.. math:: \bar y + s + u (S - s) + v (D - S)

at the end if nothing was seen, at a typical deviation if there are many, and halfway to the size of
those on the other side if there is one. Its weight, the shape of the gamma variable
:math:`\gamma^*`, is

.. math:: \rho + (1 - \rho) (0.35 + 0.3 u), \qquad \rho = \mathrm{var}(y) / (D D_{below})

:math:`\rho` is 1 if all values are at the ends of the range, and then the limits are exactly
Clopper–Pearson, which a share near 0 or 1 needs; half a point is that of Jeffreys. If all points
are alike, and not at an end, the weight is 0.65, and the limit is close to the rule of three:
:math:`\pm 2.9 D / n`. The normal tail :math:`\alpha/2` becomes Student's, as
:math:`\Phi(-t_{1-\alpha/2})`, with :math:`(n - 1) / 2 / (1 - \rho)` degrees of freedom: about half
of the points are on one side, and Clopper–Pearson needs no t. With these constants the mean of
points that change by -1, 0 or 1 is covered in at least 94 % of all studies of 16 points or more,
whatever the shares are. What the points do not show is not covered: a rare large change among many
small ones that were seen (``benchmarks/results/coverage.md``).

**Mean over splits.** The same, with the variances of the points multiplied by the dispersion: the
variance between runs over that of independent points, and with the t of the runs. In the middle of
the range this is the t interval with ddof 1; if all runs are at 100 % it is Clopper–Pearson for all
their points. The degrees of freedom grow from runs - 1 with the part that one point such as the
imagined one would have in the variance: the fewer points make up the spread, the less it is one
between runs (Welch–Satterthwaite).

**MSCR** is a ratio of means, :math:`m = \bar y / \bar c - 1`, and is linearised: the value of a
point is :math:`m + (y_i - (1 + m) c_i) / \bar c`. The worst point for the lower limit is right when
clean and wrong under all noise, for the upper limit the reverse. A difference of two models takes
the difference of these values, which keeps the pairing; its worst point is that of one model and
an average point of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shaketable.core.types import FloatArray

_BISECTIONS = 40
_MANY = 1e9  # degrees of freedom from which Student's t is normal
_ROUNDING = 1e-12  # deviations below this part of the range are 0

# Every estimate is a mean over a table of outcomes. Counts have the shape (..., outcomes); leading
# axes may hold studies: simulations compute thousands of them at once.


@dataclass(frozen=True)
class LinearEstimate:
    """An estimate as a mean of outcomes' values, and the ends of their range."""

    estimate: FloatArray
    values: FloatArray
    """Value of every outcome, on the last axis."""
    low: FloatArray
    """Lowest value that a point may have."""
    high: FloatArray
    """Highest value that a point may have."""

    def shift(self, step: FloatArray) -> LinearEstimate:
        """Return the same deviations around estimate + step."""
        return LinearEstimate(
            self.estimate + step, self.values + step[..., None], self.low + step, self.high + step
        )

    def __neg__(self) -> LinearEstimate:
        return LinearEstimate(-self.estimate, -self.values, -self.high, -self.low)

    def __sub__(self, other: LinearEstimate) -> LinearEstimate:
        # the worst point of one model is an average point of the other
        own, others = self.shift(-other.estimate), (-other).shift(self.estimate)
        return LinearEstimate(
            own.estimate,
            self.values - other.values,
            np.minimum(own.low, others.low),
            np.maximum(own.high, others.high),
        )


@dataclass(frozen=True)
class ImaginedPoint:
    """What an upper limit adds to the data."""

    distance: FloatArray
    """How far the point is above the estimate."""
    weight: FloatArray
    filled: FloatArray
    """Variance of the points over the largest one that the range allows."""


Estimator: TypeAlias = Callable[[FloatArray], LinearEstimate]
"""Function from a table of counts, (..., outcomes), to the estimate."""

Imagine: TypeAlias = Callable[[LinearEstimate, FloatArray], ImaginedPoint]
"""Function from an estimate and its counts to the point that the upper limit adds."""


def mean_estimator(y: FloatArray, low: float = 0.0, high: float = 1.0) -> Estimator:
    """Estimator of the mean of y; `y` has one value in [low, high] per outcome."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        mean = np.asarray(np.clip(counts @ y / counts.sum(axis=-1), low, high))
        ends = np.full_like(mean, low), np.full_like(mean, high)
        return LinearEstimate(mean, np.broadcast_to(y, counts.shape), *ends)

    return estimate


def change_estimator(c: FloatArray, y: FloatArray) -> Estimator:
    """Estimator of the mean of y over the mean of c, minus 1, linearised."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        clean = np.asarray(counts @ c / counts.sum(axis=-1))
        ratio = np.asarray(counts @ y / (counts @ c))
        change = ratio - 1
        values = change[..., None] + (y - ratio[..., None] * c) / clean[..., None]
        return LinearEstimate(change, values, change - ratio / clean, change + 1 / clean)

    return estimate


def average_estimators(estimators: Sequence[Estimator]) -> Estimator:
    """Estimator of the mean of several; a point may be the worst of all of them at once."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        parts = [estimator(counts) for estimator in estimators]
        return LinearEstimate(
            *(np.mean([getattr(x, f.name) for x in parts], axis=0) for f in fields(LinearEstimate))
        )

    return estimate


def imagine_point(linear: LinearEstimate, counts: FloatArray) -> ImaginedPoint:
    """Return the point that the upper limit adds; see above for s, m, S, u, v and rho."""
    room, room_below = linear.high - linear.estimate, linear.estimate - linear.low
    steps = linear.values - linear.estimate[..., None]
    steps = np.where(np.abs(steps) > _ROUNDING * (room + room_below)[..., None], steps, 0.0)

    def measure(steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = counts * np.maximum(steps, 0) ** 2
        total = squares.sum(axis=-1)
        return total, _ratio((squares * steps).sum(axis=-1), total, 0.0)

    (above, size), (below, size_below) = measure(steps), measure(-steps)
    largest = np.maximum(size, size_below) ** 2
    unseen = 1 / (1 + _ratio(above, largest, 0.0))
    unseen_anywhere = 1 / (1 + _ratio(above + below, largest, 0.0))
    part = np.maximum(_ratio(size, room, 0.0), _ratio(size_below, room_below, 0.0))
    size, size_anywhere = np.minimum(size, room), np.minimum(part, 1.0) * room
    variance = (above + below) / counts.sum(axis=-1)
    most = room * room_below  # no distribution in the range has a larger variance
    most = np.where(most > _ROUNDING * (room + room_below) ** 2, most, 0.0)
    filled = np.minimum(_ratio(variance, most, 1.0), 1.0)
    weight = filled + (1 - filled) * (0.35 + 0.3 * unseen)
    distance = size + unseen * (size_anywhere - size) + unseen_anywhere * (room - size_anywhere)
    return ImaginedPoint(distance, weight, filled)


def imagine_worst(linear: LinearEstimate, _: FloatArray, points: int = 1) -> ImaginedPoint:
    """Return Gaffke's point, whatever the data are: at the end of the range, with weight 1.

    For values that are themselves estimates, such as those of a linearised CV, whose spread says
    too little about the points that were not seen. `points` is the number of such points.
    """
    distance = linear.high - linear.estimate
    return ImaginedPoint(distance, np.full_like(distance, points), np.ones_like(distance))


def _find_tail(df: FloatArray, tail: float) -> FloatArray:
    """Return the normal tail beyond the quantile of Student's t."""
    student = special.ndtr(special.stdtrit(np.minimum(df, _MANY), tail))
    return np.where(df >= _MANY, tail, student)


def _ratio(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """Return the ratio, or another value where the denominator is 0."""
    ratio = np.full(np.shape(denominator), otherwise)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio


@dataclass(frozen=True)
class UpperLimit:
    """The t that the randomly weighted mean exceeds with a given probability."""

    linear: LinearEstimate
    counts: FloatArray
    imagined: ImaginedPoint
    tail: FloatArray
    dispersion: float | FloatArray = 1.0
    """Factor of the variances of points."""

    def find(self) -> FloatArray:
        """Compute it by bisection."""
        steps = np.where(self.counts > 0, self._steps, 0.0)
        low, high = np.zeros_like(self.linear.estimate), steps.max(axis=-1)
        high = np.maximum(high, self.imagined.distance)
        exceeds = self._make_test()
        for _ in range(_BISECTIONS):
            t = (low + high) / 2
            below = exceeds(t)
            low, high = np.where(below, t, low), np.where(below, high, t)
        return np.asarray(self.linear.estimate + (low + high) / 2)

    def is_above(self, value: float) -> NDArray[np.bool_]:
        """Whether it is above a value, in a fraction of the time that computing it takes."""
        t = value - self.linear.estimate
        return (t <= _ROUNDING) | self._make_test()(np.maximum(t, 0))

    @property
    def _steps(self) -> FloatArray:
        return np.asarray(self.linear.values - self.linear.estimate[..., None])

    def _make_test(self) -> Callable[[FloatArray], NDArray[np.bool_]]:
        """Return whether the limit is above estimate + t, as a function of t."""
        steps = np.concatenate([self._steps, self.imagined.distance[..., None]], axis=-1)
        weight = self.imagined.weight[..., None]
        means = np.concatenate([self.counts, weight], axis=-1)
        counts = self.counts * np.asarray(self.dispersion)[..., None]
        variances = np.concatenate([counts, weight], axis=-1)

        def test(t: FloatArray) -> NDArray[np.bool_]:
            z = steps - t[..., None]
            above = np.maximum(z, 0)
            below = above - z
            a, b = (means * above).sum(axis=-1), (means * below).sum(axis=-1)
            # variance / mean is the scale of a gamma variable, mean / scale its shape; 0 / 0 can
            # only happen where estimate and limit coincide at the end of the range
            with np.errstate(invalid="ignore", divide="ignore"):
                scale_a = (variances * above**2).sum(axis=-1) / a
                scale_b = (variances * below**2).sum(axis=-1) / b
                share = scale_a / (scale_a + scale_b)
                exceeds = special.betainc(b / scale_b, a / scale_a, share) > self.tail
            return np.asarray(exceeds)

        return test


def compute_limits(
    estimator: Estimator,
    counts: FloatArray,
    tail: float,
    imagine: Imagine = imagine_point,
    times: float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate for a fixed model with its lower and upper limit; `times` multiplies the points."""
    below, above = make_limits(estimator, counts * times, tail, imagine)
    return above.linear.estimate, -below.find(), above.find()


def compute_limits_over_runs(
    estimator: Estimator,
    counts: FloatArray,
    tail: float,
    imagine: Imagine = imagine_point,
    times: float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over runs with its lower and upper limit; the runs are the last but one axis.

    `times` multiplies the runs, with the same spread between them.
    """
    below, above = make_limits_over_runs(estimator, counts, tail, imagine, times)
    return above.linear.estimate, -below.find(), above.find()


def make_limits(
    estimator: Estimator, counts: FloatArray, tail: float, imagine: Imagine = imagine_point
) -> tuple[UpperLimit, UpperLimit]:
    """Limits for a fixed model: the upper one of the negated estimate, and of the estimate."""
    linear = estimator(counts)
    below, above = (_make_upper_limit(a, counts, tail, imagine) for a in (-linear, linear))
    return below, above


def make_limits_over_runs(
    estimator: Estimator,
    counts: FloatArray,
    tail: float,
    imagine: Imagine = imagine_point,
    times: float = 1.0,
) -> tuple[UpperLimit, UpperLimit]:
    """Limits of a mean over runs: the upper one of the negated estimate, and of the estimate."""
    runs, total = counts.shape[-2] * times, counts.sum(axis=-2) * times
    each, pooled = estimator(counts).estimate, estimator(total)
    linear = pooled.shift(each.mean(axis=-1) - pooled.estimate)
    # variances of the sum over all points: of independent points, and as seen between runs
    independent = (total * (linear.values - linear.estimate[..., None]) ** 2).sum(axis=-1)
    between = total.sum(axis=-1) ** 2 * each.var(axis=-1, ddof=1) / runs
    # Runs with equal counts are not runs without spread: they are known to a whole point only, and
    # rounding has the variance 1/12 (Sheppard).
    room = np.maximum(linear.high - linear.estimate, linear.estimate - linear.low)
    between = np.maximum(between, np.minimum(independent, runs / 12 * room**2))
    dispersion = np.ones_like(between)
    np.divide(between, independent, out=dispersion, where=independent > 0)

    def make(linear: LinearEstimate) -> UpperLimit:
        variance = np.maximum(independent, between)
        imagined = imagine(linear, total)
        part = _ratio(imagined.distance**2, variance, _MANY)
        df = (runs - 1) * (1 + part) ** 2
        return UpperLimit(linear, total, imagined, _find_tail(df, tail), dispersion)

    return make(-linear), make(linear)


def find_upper_limit(
    linear: LinearEstimate, counts: FloatArray, tail: float, imagine: Imagine = imagine_point
) -> FloatArray:
    """Upper limit for a fixed model."""
    return _make_upper_limit(linear, counts, tail, imagine).find()


def _make_upper_limit(
    linear: LinearEstimate, counts: FloatArray, tail: float, imagine: Imagine
) -> UpperLimit:
    imagined = imagine(linear, counts)
    # about half of the points are on the side of the limit
    half = np.maximum(counts.sum(axis=-1) - 1, 1) / 2
    df = _ratio(half, 1 - imagined.filled, _MANY)
    return UpperLimit(linear, counts, imagined, _find_tail(df, tail))
