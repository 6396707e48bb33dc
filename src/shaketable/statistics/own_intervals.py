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
small ones that were seen, of a share below 3 / n (``benchmarks/results/coverage.md``).

**Few points** do not show even common kinds of points: one that has a share of 5 % does not occur
among n points with the probability :math:`0.95^n`. Where that is more than the 5 % of cases in
which an interval may be wrong, up to 58 points, the imagined point stands at the end of the range,
and beyond that the less so the more points there are: with :math:`a = \min(0.95^n / 0.05, 1)`, u
and v are raised to :math:`a + (1 - a) u` and :math:`a + (1 - a) v`. At 100 points a is 0.12, at
150 points 0.01.

**Clean errors** are rare, and complete changes: a point is right without noise or it is not, while
noise may change a tenth of its draws. The small changes that were seen say nothing about them. So
an estimate whose values are sums of parts, such as clean and noisy answers, looks at each part that
is only ever at an end of its range. If a change of all of it, :math:`D_j`, would be the first among
:math:`m_j` seen, with :math:`m_j = \sum_{d_i > 0} (d_i / D_j)^3` plus the number of values inside
the range, the imagined point is at least :math:`\sum_j D_j / (1 + m_j)` away.

**Mean over splits.** The same, with the variances of the points multiplied by the dispersion, the
variance between runs over that of independent points, and with the quantile of t in place of the
normal one: as far as points explain the spread, in the tail of the beta distribution, and for the
rest as a factor of the distance from the estimate. The degrees of freedom grow from runs - 1 with
the part that one point such as the imagined one would have in the variance: the fewer points make
up the spread, the less it is one between runs (Welch–Satterthwaite). If all runs are at 100 % the
limits are Clopper–Pearson for all their points. No limit is closer to the estimate than that of the
t interval with ddof 1, unless it is at the end of the range: if all changed points of a run change
the same way, their skewness says nothing about runs that may change the other way.

**MSCR and iCE** are ratios of means, :math:`\bar y / \bar c - 1`. Linearised, the value of a point
is :math:`m + (y_i - (1 + m) c_i) / \bar c`. The worst point for the lower limit is right when clean
and wrong under all noise, for the upper limit the reverse. The limit is that of the randomly
weighted ratio itself, as in Fieller's method: :math:`t c_i / \bar c` takes the place of t, since
the mean of c is not known either, which matters if few points have c = 1, as clean errors in iCE.
With j of them, half a point like their mean is added (Jeffreys), times :math:`1 - (2 / j)^2`; with
j up to 2 it would take from an interval that must be wide. A difference of two models takes the
difference of the linearised values, which keeps the pairing; its worst point is that of one model
and an average point of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shaketable.core.types import FloatArray

_BISECTIONS = 40
_MANY = 1e9  # degrees of freedom from which Student's t is normal
_ROUNDING = 1e-12  # deviations below this part of the range are 0
_DOUBLINGS = 100
_UNLIKELY = 0.05  # probability up to which a common kind of point may be absent

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
    parts: tuple[LinearEstimate, ...] = ()
    """What the values are sums of, such as clean and noisy answers, if they are."""
    bases: FloatArray | None = None
    """Of a ratio: c of every outcome over its mean; 1 for all if it is None."""
    base_low: FloatArray | float = 1.0
    """Of a ratio: the same of the point with the lowest value."""
    base_high: FloatArray | float = 1.0
    """Of a ratio: the same of the point with the highest value."""

    def shift(self, step: FloatArray) -> LinearEstimate:
        """Return the same deviations around estimate + step."""
        return replace(
            self,
            estimate=self.estimate + step,
            values=self.values + step[..., None],
            low=self.low + step,
            high=self.high + step,
        )

    def __neg__(self) -> LinearEstimate:
        return LinearEstimate(
            -self.estimate,
            -self.values,
            -self.high,
            -self.low,
            tuple(-part for part in self.parts),
            self.bases,
            self.base_high,
            self.base_low,
        )

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

    def find_base(self, linear: LinearEstimate) -> FloatArray:
        """Of a ratio: c of the point over its mean, between an average point and the farthest."""
        part = _ratio(self.distance, linear.high - linear.estimate, 0.0)
        return np.asarray(1 + part * (linear.base_high - 1))


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


def difference_estimator(a: FloatArray, b: FloatArray) -> Estimator:
    """Estimator of the mean of a minus that of b; both have a value in [0, 1] per outcome."""
    whole, first, second = mean_estimator(a - b, -1.0, 1.0), mean_estimator(a), mean_estimator(b)
    return lambda counts: replace(whole(counts), parts=(first(counts), -second(counts)))


def change_estimator(c: FloatArray, y: FloatArray) -> Estimator:
    """Estimator of the mean of y over the mean of c, minus 1, linearised."""

    def estimate(counts: FloatArray) -> LinearEstimate:
        clean = np.asarray(counts @ c / counts.sum(axis=-1))
        ratio = np.asarray(counts @ y / (counts @ c))
        change, bases = ratio - 1, c / clean[..., None]
        noisy, lost = y / clean[..., None], -ratio[..., None] * bases
        nothing, most, all_lost = np.zeros_like(ratio), 1 / clean, -ratio / clean
        return LinearEstimate(
            change,
            change[..., None] + noisy + lost,
            change + all_lost,
            change + most,
            (
                LinearEstimate(ratio, noisy, nothing, most),
                LinearEstimate(-ratio, lost, all_lost, nothing),
            ),
            bases,
            most,
            0.0,
        )

    return estimate


def average_estimators(estimators: Sequence[Estimator]) -> Estimator:
    """Estimator of the mean of several; a point may be the worst of all of them at once."""
    if len(estimators) == 1:
        return estimators[0]

    def average(linear: Sequence[LinearEstimate]) -> LinearEstimate:
        def of(name: str) -> FloatArray:
            return np.asarray(sum(getattr(a, name) for a in linear) / m)

        means = LinearEstimate(of("estimate"), of("values"), of("low"), of("high"))
        if any(a.bases is None for a in linear):
            return means
        return replace(means, bases=of("bases"), base_low=of("base_low"), base_high=of("base_high"))

    def estimate(counts: FloatArray) -> LinearEstimate:
        each = [estimator(counts) for estimator in estimators]
        parts = tuple(average([part]) for a in each for part in a.parts)
        return replace(average(each), parts=parts)

    m = len(estimators)
    return estimate


def imagine_point(
    linear: LinearEstimate,
    counts: FloatArray,
    common: float = 0.05,
    points: float | None = None,
) -> ImaginedPoint:
    """Return the point that the upper limit adds; see above for s, m, S, u, v and rho.

    Kinds of points that have the share `common` are allowed for even if they were not seen among
    all `points`, by default those of `counts`.
    """
    room, room_below = linear.high - linear.estimate, linear.estimate - linear.low
    (above, size), (below, size_below) = _measure_deviations(linear, counts)
    seen = counts.sum(axis=-1) if points is None else points
    absent = np.minimum((1 - common) ** seen / _UNLIKELY, 1.0)
    unseen, unseen_anywhere = (
        absent + (1 - absent) * _share_unseen(squares, size, size_below)
        for squares in (above, above + below)
    )
    part = np.maximum(_ratio(size, room, 0.0), _ratio(size_below, room_below, 0.0))
    size, size_anywhere = np.minimum(size, room), np.minimum(part, 1.0) * room
    variance = (above + below) / counts.sum(axis=-1)
    most = room * room_below  # no distribution in the range has a larger variance
    most = np.where(most > _ROUNDING * (room + room_below) ** 2, most, 0.0)
    filled = np.minimum(_ratio(variance, most, 1.0), 1.0)
    distance = size + unseen * (size_anywhere - size) + unseen_anywhere * (room - size_anywhere)
    of_parts = np.minimum(_reach_of_parts(linear, counts), room)
    unseen = np.maximum(unseen, _ratio(of_parts, room, 0.0))
    weight = filled + (1 - filled) * (0.35 + 0.3 * unseen)
    return ImaginedPoint(np.maximum(distance, of_parts), weight, filled)


def _measure_deviations(
    linear: LinearEstimate, counts: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return sum of squares and typical size of the deviations above, and of those below."""
    steps = linear.values - linear.estimate[..., None]
    least = _ROUNDING * (linear.high - linear.low)
    steps = np.where(np.abs(steps) > least[..., None], steps, 0.0)

    def measure(steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = counts * np.maximum(steps, 0) ** 2
        total = squares.sum(axis=-1)
        return total, _ratio((squares * steps).sum(axis=-1), total, 0.0)

    return measure(steps), measure(-steps)


def _share_unseen(squares: FloatArray, size: FloatArray, size_below: FloatArray) -> FloatArray:
    """Return the share of a kind of point that does not occur among these deviations."""
    return np.asarray(1 / (1 + _ratio(squares, np.maximum(size, size_below) ** 2, 0.0)))


def _reach_of_parts(linear: LinearEstimate, counts: FloatArray) -> FloatArray:
    """Return how far above the estimate a point is of which every part that can change has."""
    steps = np.maximum(linear.values - linear.estimate[..., None], 0.0)
    reach = np.zeros_like(linear.estimate)
    for part in linear.parts:
        room, span = part.high - part.estimate, part.high - part.low
        from_ends = np.minimum(
            part.values - part.low[..., None], part.high[..., None] - part.values
        )
        inside = from_ends > _ROUNDING * span[..., None]
        complete = np.minimum(
            _ratio(steps, np.broadcast_to(room[..., None], steps.shape), 1.0), 1.0
        )
        seen = (counts * np.where(inside, 1.0, complete**3)).sum(axis=-1)
        reach = reach + room / (1 + seen)
    return reach


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


def _clip_to_range(linear: LinearEstimate, limit: FloatArray) -> FloatArray:
    """Return an upper limit, or the end of the range if that is lower; a ratio has none."""
    return limit if linear.bases is not None else np.minimum(limit, linear.high)


def _find_t_over_z(df: FloatArray, tail: float) -> FloatArray:
    """Return the quantile of Student's t over the normal one."""
    t = special.stdtrit(np.minimum(df, _MANY), tail) / special.ndtri(tail)
    return np.where(df >= _MANY, 1.0, t)


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
    stretch: float | FloatArray = 1.0
    """Factor of the distance between estimate and limit."""
    least: float | FloatArray = -np.inf
    """What the limit is not below."""

    def find(self) -> FloatArray:
        """Compute it by bisection."""
        steps = np.where(self.counts > 0, self._steps, 0.0)
        low, high = np.zeros_like(self.linear.estimate), steps.max(axis=-1)
        high = np.maximum(high, self.imagined.distance)
        exceeds = self._make_test()
        if self.linear.bases is not None:  # the limit may be beyond all values
            for _ in range(_DOUBLINGS):
                below = exceeds(high)
                if not below.any():
                    break
                low, high = np.where(below, high, low), np.where(below, 2 * high, high)
        for _ in range(_BISECTIONS):
            t = (low + high) / 2
            below = exceeds(t)
            low, high = np.where(below, t, low), np.where(below, high, t)
        limit = self.linear.estimate + self.stretch * (low + high) / 2
        return np.maximum(_clip_to_range(self.linear, limit), self.least)

    def is_above(self, value: float) -> NDArray[np.bool_]:
        """Whether it is above a value, in a fraction of the time that computing it takes."""
        t = value - self.linear.estimate
        near = (t <= _ROUNDING) | (value <= self.least)
        return np.asarray(near | self._make_test()(np.maximum(t, 0) / self.stretch))

    @property
    def _steps(self) -> FloatArray:
        return np.asarray(self.linear.values - self.linear.estimate[..., None])

    def _make_test(self) -> Callable[[FloatArray], NDArray[np.bool_]]:
        """Return whether the limit is above estimate + t, as a function of t."""
        imagined, bases = self.imagined, self.linear.bases
        points = [(imagined.distance, imagined.weight, imagined.find_base(self.linear))]
        if bases is not None:
            most = np.maximum(self.linear.base_low, self.linear.base_high)
            seen = self.counts.sum(axis=-1) / most
            points.append((np.zeros_like(most), np.maximum(0.5 - 2 / seen**2, 0), most))
        distances, weights, own = (np.stack(each, axis=-1) for each in zip(*points, strict=True))
        steps = np.concatenate([self._steps, distances], axis=-1)
        means = np.concatenate([self.counts, weights], axis=-1)
        counts = self.counts * np.asarray(self.dispersion)[..., None]
        variances = np.concatenate([counts, weights], axis=-1)
        slopes = 1.0 if bases is None else np.concatenate([bases, own], axis=-1)

        def test(t: FloatArray) -> NDArray[np.bool_]:
            z = steps - t[..., None] * slopes
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
    half = -special.stdtrit(runs - 1, tail) * np.sqrt(each.var(axis=-1, ddof=1) / runs)

    def make(linear: LinearEstimate) -> UpperLimit:
        variance = np.maximum(independent, between)
        imagined = imagine(linear, total)
        part = _ratio(imagined.distance**2, variance, _MANY)
        df = (runs - 1) * (1 + part) ** 2
        whole = _find_t_over_z(df, tail)
        stretch = whole ** (1 - 1 / np.maximum(dispersion, 1.0))
        deep = np.asarray(special.ndtr(special.ndtri(tail) * whole / stretch))
        students = _clip_to_range(linear, linear.estimate + half)
        return UpperLimit(linear, total, imagined, deep, dispersion, stretch, students)

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
