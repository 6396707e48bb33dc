r"""Probabilities of rare failures, per point and their mean, with intervals.

Four cases, per point:

- **Plain draws**: hits of n, Clopper-Pearson.
- **Splitting**: the mean of r independent replicas :math:`q_1, \dots, q_r`, each unbiased and close
  to log-normal. The interval is symmetric in the logarithm,

  .. math:: \hat p\, e^{\pm t_{r-1}\, c}, \qquad
      c = \max\left(\frac{s_q}{\hat p \sqrt r},
      \sqrt{\frac{s^2}{r} + \frac{s^4}{r - 1}}\right)

  with the standard deviations :math:`s_q` of the replicas and s of their logarithms. The second
  term is that of Cox's interval for the mean of a log-normal law (Zhou & Gao 1997), with twice its
  :math:`s^4`: few replicas of a skewed law show too small a spread, and most of all where their
  mean is too small. Of ten replicas with s up to 1.5 it covers 94 %, and Cox's own 91 %.
- **Splitting that never got to a failure**: 0, and as the upper limit that of the probability of
  the last level that it reached.
- **Importance sampling**: the mean of n weights, symmetric in the logarithm as well.

**The mean over points** is about these very points, which are no sample of others here: no number
of draws says how rare a point that was not seen is. Its limits are those of the points put together
(MOVER, Zou & Donner 2008),

.. math:: \bar p - \frac{1}{n} \sqrt{\textstyle\sum_i (\hat p_i - l_i)^2}, \qquad
    \bar p + \frac{1}{n} \sqrt{\textstyle\sum_i (u_i - \hat p_i)^2}

where points with equally many plain draws count as one, with all of their draws: that is on the
safe side, as a sum of draws of unequal probabilities varies less than that of equal ones (Hoeffding
1956).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.standard_intervals import compute_clopper_pearson

PLAIN, SPLITTING, IMPORTANCE = range(3)
METHODS = "plain draws", "splitting", "importance sampling"
"""Names of the methods, by their numbers."""

_LEAST = 1e-3  # of the mean, which a replica without a failure counts as in the logarithm


class PointRisk(NamedTuple):
    """The probability of a failure at one point."""

    method: int
    value: float
    error: float
    """Standard error relative to the value; of plain draws 0, as these have their hits."""
    sample: int
    """Draws, or replicas of splitting."""
    hits: int
    """Draws that failed, or particles that did."""
    queries: int
    """Answers of the model that it took."""
    reach: float = 0.0
    """Probability of the last level that was reached; the value itself where there are failures."""


def measure_spread(values: FloatArray) -> float:
    """Return the relative standard error of the mean of replicas, on the safe side.

    >>> round(measure_spread(np.array([1.0, 2.0, 4.0, 1.0])), 2)
    0.42
    """
    n, mean = len(values), values.mean()
    if not mean:
        return math.inf
    logs = np.log(np.maximum(values, _LEAST * mean))
    s2 = logs.var(ddof=1)
    cox = math.sqrt(s2 / n + s2**2 / (n - 1))
    return max(cox, float(values.std(ddof=1) / mean / math.sqrt(n)))


@dataclass(frozen=True, eq=False)
class PointRisks:
    """Probabilities of failures of several points, as arrays; see `PointRisk`."""

    method: IntArray
    value: FloatArray
    error: FloatArray
    sample: IntArray
    hits: IntArray
    queries: IntArray
    reach: FloatArray

    @classmethod
    def of(cls, risks: Sequence[PointRisk]) -> PointRisks:
        """Put those of single points together.

        >>> PointRisks.of([PointRisk(PLAIN, 0.1, 0.0, 100, 10, 100)]).value
        array([0.1])
        """
        whole = {"method", "sample", "hits", "queries"}
        columns = zip(*risks, strict=True) if risks else [()] * len(PointRisk._fields)
        arrays: dict[str, Any] = {
            name: np.array(column, np.int64 if name in whole else np.float64)
            for name, column in zip(PointRisk._fields, columns, strict=True)
        }
        return cls(**arrays)

    @classmethod
    def join(cls, parts: Sequence[PointRisks]) -> PointRisks:
        """Return those of several parts, one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def limits(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits of all points, beyond which each lies with this chance.

        >>> risks = PointRisks.of([PointRisk(SPLITTING, 1e-6, 0.5, 10, 99, 0, 1e-6)])
        >>> [float(f"{limit[0]:.1e}") for limit in risks.limits(0.025)]
        [3.2e-07, 3.1e-06]
        """
        low, high = compute_clopper_pearson(
            np.where(self.method == PLAIN, self.hits, 0).astype(float),
            self.sample.astype(float),
            tail,
        )
        away = np.exp(-special.stdtrit(self.sample - 1, tail) * self.error)
        indirect = self.method != PLAIN
        top = np.maximum(self.value, self.reach)
        low = np.where(indirect, self.value / away, low)
        high = np.where(indirect, np.minimum(top * away, 1.0), high)
        return low, high

    @property
    def mean(self) -> Estimate:
        """Mean over these points, with its interval."""
        methods = [METHODS[m] for m in sorted(set(self.method.tolist()))]
        how = f"{', '.join(methods)}; limits of {len(self.value)} points put together (MOVER)"
        value = float(self.value.mean())

        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:  # noqa: ARG001
            return self._average_limits((1 - confidence) / 2)

        return Estimate(value, *limits(0.95, 1.0, False), 0.95, how, limits)

    def _average_limits(self, tail: float) -> tuple[float, float]:
        n, indirect = len(self.value), self.method != PLAIN
        values, shares = self.value[indirect], np.full(int(indirect.sum()), 1 / n)
        low, high = (limit[indirect] for limit in self.limits(tail))
        for draws in np.unique(self.sample[~indirect]):
            alike = ~indirect & (self.sample == draws)
            hits, total = float(self.hits[alike].sum()), float(draws * alike.sum())
            ends = (
                np.array(hits / total),
                *compute_clopper_pearson(np.array(hits), np.array(total), tail),
            )
            values, low, high = (
                np.append(array, end) for array, end in zip((values, low, high), ends, strict=True)
            )
            shares = np.append(shares, alike.sum() / n)
        mean = float(shares @ values)
        below = math.sqrt(float(((shares * (values - low)) ** 2).sum()))
        above = math.sqrt(float(((shares * (high - values)) ** 2).sum()))
        return max(0.0, mean - below), min(1.0, mean + above)

    @property
    def highest(self) -> Estimate:
        """The highest probability, and a bound below which all lie with 95 % confidence.

        The upper limit of the point that is worst in truth holds with this confidence, and no limit
        is above the highest, so none has to be widened for the number of points.
        """

        def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:  # noqa: ARG001
            _, high = self.limits(1 - confidence)
            return 0.0, float(high.max())

        how = "highest of the one-sided limits of all points"
        return Estimate(float(self.value.max()), *limits(0.95, 1.0, False), 0.95, how, limits)

    def count_above(self, limit: float) -> tuple[int, int, int]:
        """Return how many points are shown to be at most at a limit, above it, and neither.

        All together with 95 % confidence (Bonferroni).

        >>> risks = PointRisks.of([PointRisk(PLAIN, 0.5, 0.0, 100, 50, 100)] * 2)
        >>> risks.count_above(0.1)
        (0, 2, 0)
        """
        low, high = self.limits(0.025 / len(self.value))
        below, above = int((high <= limit).sum()), int((low > limit).sum())
        return below, above, len(self.value) - below - above
