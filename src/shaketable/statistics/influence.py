r"""Intervals of quantities that are not means of points, from the influence of every point.

The influence of a point, :math:`\psi_i`, is how fast the quantity changes if points like it become
more frequent (Hampel 1974); the quantity behaves as its value plus the mean of the influences. Few
points of one class may decide about the quantity, however many the others are. So the influences
are divided into those within each stratum, such as the points of a class, and those of the strata's
shares: with the means :math:`m_s` of strata of :math:`n_s` of n points,

.. math:: \frac1n \sum_i \psi_i = \sum_s \frac{n_s}{n} \Big(\frac{1}{n_s} \sum_{i \in s}
          (\psi_i - m_s)\Big) + \frac1n \sum_i m_{s(i)}

whose terms are uncorrelated. Each term is a mean of independent values in a known range, and has
its limits by `own_intervals`. The distances of the limits from 0 are combined by the root of
the sum of their squares (MOVER, Zou & Donner 2008). The points' own draws are averaged first, so
they need not be independent. A kind of point counts as common (`own_intervals`) by its share of all
points, not of its stratum: strata of 30 out of 300 points would else all have the widest limits.

The lowest and highest influence of a point are those of a whole point where the derivative, which
is that of an infinitely small part of one, has no useful bound: the change of the quantity by one
more point, times n + 1 (the sensitivity curve, Tukey 1977). A bias of order 1 / n that is known, as
of average precision, is subtracted from both limits.

The standard family has Student's t with the variance of the influences: the delta method, for the
area under the ROC curve that of DeLong et al. (1988).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.counts import check_confidence
from shaketable.statistics.estimate import Estimate, Method
from shaketable.statistics.families import get_family
from shaketable.statistics.own_intervals import (
    LinearEstimate,
    compute_limits,
    imagine_point,
    imagine_worst,
)

FEWEST = 10
"""Points that a stratum needs to be one; smaller ones are one together."""

_MOST_VALUES = 128  # of a stratum; more are put together to this many


@dataclass(frozen=True, eq=False)
class Influence:
    """A quantity with the influence of every point.

    Examples
    --------
    >>> influence = Influence(0.5, np.array([-0.5, 0.5] * 50), np.zeros(100, int), [-0.5], [0.5])
    >>> print(estimate_by_influence(influence, k=1))
    0.500 (95 % interval 0.398 to 0.602)
    """

    value: float
    points: FloatArray
    """Influence of every point, with the mean 0."""
    strata: IntArray
    """Stratum of every point, an index into `low` and `high`."""
    low: Sequence[float] | FloatArray
    """Lowest influence that a point of each stratum may have."""
    high: Sequence[float] | FloatArray
    """Highest influence that a point of each stratum may have."""
    bias: float = 0.0
    """How much too large the value is on average: the interval is moved by it, the value is not."""

    def __mul__(self, factor: float) -> Influence:
        ends = factor * np.asarray(self.low), factor * np.asarray(self.high)
        low, high = ends if factor >= 0 else ends[::-1]
        value, bias = self.value * factor, self.bias * factor
        return Influence(value, self.points * factor, self.strata, low, high, bias)

    def __sub__(self, other: Influence) -> Influence:
        # the worst point of one quantity is an average point of the other
        own, others = self.average(), other.average()
        return Influence(
            self.value - other.value,
            self.points - other.points,
            self.strata,
            np.minimum(np.asarray(self.low) - others, own - np.asarray(other.high)),
            np.maximum(np.asarray(self.high) - others, own - np.asarray(other.low)),
            self.bias - other.bias,
        )

    def relate(self, base: Influence) -> Influence:
        """Return the change relative to a base: self / base - 1."""
        change = (self - base * (self.value / base.value)) * (1 / base.value)
        return replace(change, value=self.value / base.value - 1)

    def average(self) -> FloatArray:
        """Return the mean influence of every stratum; 0 for those without points."""
        size = len(self.low)
        counts = np.bincount(self.strata, minlength=size)
        return np.bincount(self.strata, self.points, size) / np.maximum(counts, 1)


def average_influences(parts: Sequence[Influence]) -> Influence:
    """Return the mean of quantities of the same points; a point may be the worst in all of them."""
    return replace(
        parts[0],
        value=float(np.mean([part.value for part in parts])),
        points=np.mean([part.points for part in parts], axis=0),
        low=np.mean([np.asarray(part.low) for part in parts], axis=0),
        high=np.mean([np.asarray(part.high) for part in parts], axis=0),
        bias=float(np.mean([part.bias for part in parts])),
    )


def estimate_by_influence(
    influence: Influence,
    k: int,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    confidence: float = 0.95,
) -> Estimate:
    """Return the quantity with its interval, which lies in [least, most]."""
    method = _choose_student(influence) if get_family() == "standard" else _choose_own(influence)

    def compute(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        tail = (1 - check_confidence(confidence)) / 2
        _, low, high = method.compute(tail, times, careful)
        bias = influence.bias / times
        low, high = low - bias, high - bias
        return min(max(low, least), influence.value), max(min(high, most), influence.value)

    text = f"fixed model, new points and noise; {method.name}: n = {len(influence.points)}, k = {k}"
    low, high = compute(confidence, 1.0, False)
    return Estimate(influence.value, low, high, confidence, text, compute)


def _choose_student(influence: Influence) -> Method:
    n, value = len(influence.points), influence.value
    deviation = float(np.std(influence.points, ddof=1)) if n > 1 else math.inf

    def compute(tail: float, times: float, _: bool) -> tuple[float, float, float]:
        reach = -float(special.stdtrit(max(n * times - 1, 1), tail)) * deviation
        reach /= math.sqrt(n * times)
        return value, value - reach, value + reach

    return Method("Student t of influences", compute)


def _choose_own(influence: Influence) -> Method:
    linear, counts = tabulate_influence(influence)

    def compute(tail: float, times: float, careful: bool) -> tuple[float, float, float]:
        # a common kind of point is one among all points
        usual = partial(imagine_point, points=len(influence.points) * times)
        imagine = imagine_worst if careful else usual
        _, low, high = compute_limits(lambda _: linear, counts, tail, imagine, times)
        below, above = (math.sqrt(float((ends**2).sum())) for ends in (low, high))
        return influence.value, influence.value - below, influence.value + above

    return Method("influences, by Clopper–Pearson generalised to means, combined (MOVER)", compute)


def tabulate_influence(influence: Influence) -> tuple[LinearEstimate, FloatArray]:
    """Return the terms of the influences, each with mean 0, and the counts of their outcomes."""
    n = len(influence.points)
    strata, low, high = _join_small(influence)
    means = replace(influence, strata=strata, low=low, high=high).average()
    parts = []
    for s in np.unique(strata):
        own = influence.points[strata == s] - means[s]
        share = len(own) / n
        ends = min(low[s] - means[s], own.min()), max(high[s] - means[s], own.max())
        values, counts = _bin(own)
        parts.append((values * share, counts, ends[0] * share, ends[1] * share))
    sizes = np.bincount(strata, minlength=len(means)).astype(np.float64)
    present = sizes > 0
    if np.ptp(means[present]) > 1e-12 * (high.max() - low.min()):
        parts.append((means[present], sizes[present], means[present].min(), means[present].max()))
    most = max(len(part[0]) for part in parts)
    values, counts = (
        np.stack([np.pad(part[i], (0, most - len(part[i]))) for part in parts]) for i in (0, 1)
    )
    lows, highs = (np.array([part[i] for part in parts]) for i in (2, 3))
    return LinearEstimate(np.zeros(len(parts)), values, lows, highs), counts


def _join_small(influence: Influence) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return strata, and the ends of their range, with all small strata as the last one."""
    low, high = np.asarray(influence.low, float), np.asarray(influence.high, float)
    sizes = np.bincount(influence.strata, minlength=len(low))
    small = sizes < FEWEST
    if small.sum() < 2:
        return influence.strata, low, high
    strata = np.where(small[influence.strata], len(low), influence.strata)
    return strata, np.append(low, low[small].min()), np.append(high, high[small].max())


def _bin(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return few values with their counts, of the same mean and variance."""
    distinct, numbers = np.unique(values, return_counts=True)
    counts = numbers.astype(np.float64)
    if len(distinct) <= _MOST_VALUES:
        return distinct, counts
    # half of the bins by size, half by number, so that neither tails nor the middle are lost
    half = _MOST_VALUES // 2
    width = distinct[-1] - distinct[0]
    by_size = np.minimum((distinct - distinct[0]) / width * half, half - 1).astype(int)
    before = np.cumsum(counts) - counts
    by_number = (before * half // len(values)).astype(int)
    _, places = np.unique(by_size * half + by_number, return_inverse=True)
    sizes = np.asarray(np.bincount(places, counts), dtype=np.float64)
    means = np.bincount(places, counts * distinct) / sizes
    centre = values.mean()
    spread = (sizes * (means - centre) ** 2).sum()
    scale = math.sqrt(((values - centre) ** 2).sum() / spread)
    return np.asarray(centre + (means - centre) * scale), sizes.astype(np.float64)
