r"""Calibration error: how far confidence is from accuracy, in bins of confidence.

With the answers of n points in bins b of equal width, :math:`g_{ib}` is the mean over the draws of
point i of confidence minus hit, counted as 0 outside of bin b, and :math:`w_{ib}` the share of its
draws that are in b; :math:`G_b` and :math:`P_b` are their means over points. Then

.. math:: l_1 = \sum_b |G_b|, \qquad l_2^2 = \sum_b G_b^2 / P_b

the share of answers in each bin times the gap between its mean confidence and its accuracy (Guo et
al. 2017), or the root of the mean of the squared gaps.

**Debiased.** Both are too large if few points are in a bin, as noise does not cancel in an absolute
value. With the variance :math:`s_b^2` of :math:`G_b` over points, :math:`s_b^2 / P_b` is subtracted
from each term of :math:`l_2^2` (Kumar et al. 2019), and from each term of :math:`l_1` what the
absolute value of a normal variable with mean :math:`|G_b|` and variance :math:`s_b^2` is larger
than :math:`|G_b|` on average. Of answers that are calibrated, about half of the bias of l1 is left.
Draws at one point are alike, so that points are counted, not draws.

**Interval.** Linearised, both are means over points: of :math:`\sum_b \mathrm{sign}(G_b) g_{ib}`,
and of :math:`\sum_b (2 a_b g_{ib} - a_b^2 w_{ib})` with :math:`a_b = G_b / P_b`, whose limits are
those of `statistics.own_intervals`. The gap in :math:`a_b` is taken as no smaller than
:math:`s_b`, as the derivative at 0 says nothing. Bias is not known well: the lower limit of l1 is
twice the estimated bias further away, and the upper limit is that of the plain error, which holds
for any bias, as both errors are convex. A difference has the limits that follow from those of both
(Zou 2007, MOVER), with the correlation of the linearised values as far as both plain errors are not
bias, and with -1 for the rest: what the corrections of the bias lack may add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from shaketable.core.types import Array, BoolArray, FloatArray, IntArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import mean_of_values
from shaketable.statistics.parts import share_of_part

Norm: TypeAlias = Literal["l1", "l2"]


def find_bins(confidence: Array, bins: int) -> IntArray:
    """Return the bin of every confidence, of equal width; 1 is in the last one.

    >>> find_bins(np.array([0.1, 0.5, 1.0], dtype=np.float32), 2).tolist()
    [0, 1, 1]
    """
    edges = np.linspace(0, 1, bins + 1, dtype=np.float32)
    return np.digitize(confidence.astype(np.float32), edges[1:-1])


@dataclass(frozen=True)
class Bin:
    """The answers whose confidence is in one bin."""

    low: float
    high: float
    share: float
    """Of all answers."""
    confidence: float
    """Their mean confidence."""
    accuracy: Estimate


@dataclass(frozen=True, eq=False)
class Calibration:
    """Confidence and hits of the answers at some points, in bins of confidence.

    Examples
    --------
    >>> sure, right = np.full((10, 1), 0.9), np.arange(10)[:, None] < 7
    >>> calibration = Calibration(sure, right)
    >>> round(calibration.plain("l1"), 6), round(calibration.estimate("l2").value, 4)
    (0.2, 0.1291)
    """

    confidence: Array
    """Score of the class that was answered, (points, draws)."""
    right: BoolArray
    """Whether the answer was right."""
    bins: int = 15
    _estimates: dict[Norm, Estimate] = field(default_factory=dict, repr=False)

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Arrays g and w, (points, bins that hold answers)."""
        n, k = self.confidence.shape
        places = find_bins(self.confidence, self.bins) + self.bins * np.arange(n)[:, None]
        gaps = np.asarray(self.confidence, np.float64) - self.right

        def add(weights: FloatArray | None) -> FloatArray:
            flat = np.bincount(places.reshape(-1), weights, minlength=n * self.bins)
            return np.asarray(flat.reshape(n, self.bins) / k)

        w = add(None)
        used = w.any(axis=0)
        return add(gaps.reshape(-1))[:, used], w[:, used]

    @property
    def gaps(self) -> FloatArray:
        """G of every bin that holds answers."""
        return np.asarray(self._table[0].mean(axis=0))

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of G of every bin; no smaller than if the answers of a point were calibrated.

        A bin with a few points that are all right shows no variance, but has some.
        """
        g, w = self._table
        n = len(g)
        centre = np.divide(g.sum(axis=0), w.sum(axis=0))
        seen = ((g - w * centre) ** 2).sum(axis=0) / max(n - 1, 1) / n
        sure = np.clip(self.confidence, 1e-6, 1 - 1e-6).astype(np.float64)
        inside = find_bins(self.confidence, self.bins)
        used = np.unique(inside)
        mean = np.array([sure[inside == b].mean() for b in used])
        expected = (w**2).sum(axis=0) * mean * (1 - mean) / n**2
        few = 1 / (1 + (w > 0).sum(axis=0))  # the more points, the less the model counts
        return np.asarray((1 - few) * seen + few * np.maximum(seen, expected))

    def list_bins(self) -> list[Bin]:
        """Return the bins that hold answers, each with its accuracy.

        >>> sure, right = np.full((10, 1), 0.9), np.arange(10)[:, None] < 7
        >>> (only,) = Calibration(sure, right, bins=5).list_bins()
        >>> only.low, only.high, only.share, round(only.confidence, 6), only.accuracy.value
        (0.8, 1.0, 1.0, 0.9, 0.7)
        """
        places, k = find_bins(self.confidence, self.bins), self.confidence.shape[1]
        listed = []
        for b in np.unique(places):
            inside = places == b
            accuracy = share_of_part((inside & self.right).sum(axis=1), inside.sum(axis=1), k)
            share, mean = float(inside.mean()), float(self.confidence[inside].mean())
            ends = int(b) / self.bins, (int(b) + 1) / self.bins
            listed.append(Bin(*ends, share, mean, accuracy))
        return listed

    def plain(self, norm: Norm) -> float:
        """Return the error as it is usually computed, which is too large."""
        g, w = self._table
        if norm == "l1":
            return float(np.abs(g.mean(axis=0)).sum())
        return math.sqrt(float((g.mean(axis=0) ** 2 / w.mean(axis=0)).sum()))

    def find_bias(self, norm: Norm, times: float = 1.0) -> float:
        """Return the estimated bias of the plain l1, or of the square of the plain l2."""
        if norm == "l2":
            return float((self.variances / self._table[1].mean(axis=0)).sum() / times)
        gap, s = np.abs(self.gaps), np.sqrt(self.variances / times)
        z = gap / np.maximum(s, 1e-300)
        folded = s * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2)
        return float((folded - 2 * gap * special.ndtr(-z)).sum())

    def find_signal(self, norm: Norm) -> float:
        """Return the share of the plain error, or of its square, that is not bias."""
        plain, bias = self.plain(norm), self.find_bias(norm)
        if not plain:
            return 0.0
        part = 2 * bias / plain if norm == "l1" else bias / plain**2
        return max(1 - part, 0.0)

    def linearise(self, norm: Norm) -> tuple[FloatArray, float, float]:
        """Return the value of every point, and the ends of their range."""
        g, w = self._table
        gaps = g.mean(axis=0)
        signs = np.where(gaps < 0, -1.0, 1.0)
        if norm == "l1":
            return g @ signs, -1.0, 1.0
        a = signs * np.maximum(np.abs(gaps), np.sqrt(self.variances)) / w.mean(axis=0)
        a = np.clip(a, -1.0, 1.0)
        most = float(np.abs(a).max())
        return g @ (2 * a) - w @ a**2, -2 * most - most**2, max(2 * most - most**2, most)

    def estimate(self, norm: Norm) -> Estimate:
        """Return the debiased error with its interval."""
        if norm not in self._estimates:
            self._estimates[norm] = self._estimate(norm)
        return self._estimates[norm]

    def _estimate(self, norm: Norm) -> Estimate:
        values, lowest, highest = self.linearise(norm)
        spread = mean_of_values(values, low=lowest, high=highest)
        assert spread.limits is not None
        of_values = spread.limits
        if norm == "l1":
            value = max(self.plain(norm) - self.find_bias(norm), 0.0)
        else:
            value = _root(self.plain(norm) ** 2 - self.find_bias(norm))

        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
            low, high = of_values(confidence, times, careful)
            below, above = spread.value - low, high - spread.value
            if norm == "l1":
                bias = self.find_bias(norm, times)
                return max(value - 2 * bias - below, 0.0), min(value + bias + above, 1.0)
            square, bias = value**2, self.find_bias(norm, times)
            return min(_root(square - below), value), min(_root(square + bias + above), 1.0)

        n, k = self.confidence.shape
        text = (
            f"fixed model, new points and noise; debiased {norm}, linearised over points in "
            f"{self.bins} bins of equal width: n = {n}, k = {k}"
        )
        return Estimate(value, *limits(0.95, 1.0, False), 0.95, text, limits)

    def subtract(self, other: Calibration, norm: Norm) -> Estimate:
        """Return this error minus that of other answers at the same points, paired."""
        first, second = self.estimate(norm), other.estimate(norm)
        own, others = self.linearise(norm)[0], other.linearise(norm)[0]
        spread = float(own.std() * others.std())
        r = float(np.cov(own, others, ddof=0)[0, 1]) / spread if spread > 0 else 0.0
        signal = self.find_signal(norm) * other.find_signal(norm)
        r = signal * r - (1 - signal)  # errors of the bias add up
        assert first.limits is not None
        assert second.limits is not None
        own_limits, other_limits = first.limits, second.limits
        value = first.value - second.value

        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
            low, high = own_limits(confidence, times, careful)
            other_low, other_high = other_limits(confidence, times, careful)
            return (
                value - _join(first.value - low, other_high - second.value, r),
                value + _join(high - first.value, second.value - other_low, r),
            )

        method = f"paired: MOVER of {first.method}"
        return Estimate(value, *limits(0.95, 1.0, False), 0.95, method, limits)


def _join(a: float, b: float, r: float) -> float:
    """Return the distance of a limit of a difference from the distances of two limits."""
    return math.sqrt(max(a**2 + b**2 - 2 * r * a * b, 0.0))


def _root(square: float) -> float:
    return math.sqrt(max(square, 0.0))
