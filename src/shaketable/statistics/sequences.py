r"""Confidence sequences: intervals that hold for all sample sizes at once.

An interval for a fixed number of points is right in 95 % of all evaluations if that number was
chosen before. Whoever looks again and again, and stops when the interval is narrow or a requirement
is decided, has many chances to see a wrong one. The intervals of a confidence sequence all hold at
once with a probability of 95 %, so it may be looked at, stopped and continued at any time.

**Method.** Let T be Student's statistic for a mean :math:`\mu` after n values. With a normal
mixture of effect sizes of variance g,

.. math:: M_n(\mu) = \frac{1}{\sqrt{1 + n g}} \left(
          \frac{1 + T^2 / (n - 1)}{1 + T^2 / ((n - 1)(1 + n g))} \right)^{n / 2}

is a martingale with expectation 1 if the values are normal with this mean, whatever their variance
(Lai 1976; Wang & Ramdas 2025, after Robbins 1970). It ever exceeds :math:`1 / \alpha` with a
probability of at most :math:`\alpha` (Ville 1939), so the means for which it does not are a
confidence sequence. Solved for T,

.. math:: T_n^2 = (n - 1) \frac{A - 1}{1 - A / (1 + n g)}, \qquad
          A = \left(\frac{\sqrt{1 + n g}}{\alpha}\right)^{2 / n}

takes the place of the quantile of a fixed size; with too few values there is no bound. For values
that are not normal this holds in the limit of many (Waudby-Smith et al. 2024). Shares close to 0
or 1 have few errors to go by, so the tail of Student's t beyond :math:`T_n` is handed to the limits
of `shaketable.statistics.own_intervals`, which are then Clopper–Pearson. Every estimate becomes a
confidence sequence in this way, also ratios and paired differences. How often the sequences cover,
with looks after every point and every run, is in ``benchmarks/results/stopping.md``.

**The constant g** is fixed beforehand; it says at which sizes the interval is narrowest: about
:math:`8 / g`, and hardly wider from a quarter to twelve times of it.

- T. L. Lai (1976). On confidence sequences. Annals of Statistics 4.
- H. Robbins (1970). Statistical methods related to the law of the iterated logarithm. Annals of
  Mathematical Statistics 41.
- H. Wang, A. Ramdas (2025). Anytime-valid t-tests and confidence sequences for Gaussian means with
  unknown variance. Sequential Analysis 44.
- I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas (2024). Time-uniform central limit
  theory and asymptotic confidence sequences. Annals of Statistics 52.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from scipy import special

from shaketable.statistics.counts import check_confidence
from shaketable.statistics.estimate import Estimate

Unit: TypeAlias = Literal["points", "runs"]

MIXTURE = {"points": 0.01, "runs": 1.0}
"""The constant g by what is sampled: narrowest near 800 points, and near 8 runs."""

LEAST_TAIL = 1e-10
"""Tails below it, as with too few values, are raised to it; a million looks use 0.0002."""

_MOST = 2.0**20  # times the sample; more is not imagined


def find_fixed_confidence(confidence: float, size: float, unit: Unit) -> float:
    """Return the confidence of the interval of a fixed size that is as wide as the sequence's.

    >>> round(find_fixed_confidence(0.95, 1000, "points"), 4)
    0.9976
    """
    alpha = 1 - check_confidence(confidence)
    spread = 1 + size * MIXTURE[unit]
    growth = (math.log(spread) - 2 * math.log(alpha)) / max(size, 1)
    tail = 0.0
    if size > 1 and growth < math.log(spread):
        a = math.exp(growth)
        t = math.sqrt((size - 1) * (a - 1) / (1 - a / spread))
        tail = float(special.stdtr(size - 1, -t))
    return 1 - 2 * max(tail, LEAST_TAIL)


def hold_at_any_size(estimate: Estimate, size: int, unit: Unit) -> Estimate:
    """Return the same value with the interval of a confidence sequence after so many values.

    Parameters
    ----------
    estimate
        Estimate with an interval for a fixed number of points or runs.
    size
        Number of points or runs so far.
    unit
        Which of the two: ``points`` or ``runs``.

    Returns
    -------
    Estimate
        The same value; its interval holds for all numbers at once.

    Examples
    --------
    >>> from shaketable.statistics.intervals import proportion
    >>> print(proportion(900, 1000))
    0.9000 (95 % interval 0.8797 to 0.9179)
    >>> print(hold_at_any_size(proportion(900, 1000), 1000, "points"))
    0.9000 (95 % interval 0.8681 to 0.9266)
    """
    fixed = estimate.again(confidence=find_fixed_confidence(estimate.confidence, size, unit))

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        confidence = find_fixed_confidence(confidence, times * size, unit)
        e = estimate.again(confidence=confidence, times=times, careful=careful)
        return e.low, e.high

    return replace(
        fixed,
        confidence=estimate.confidence,
        method=f"{estimate.method}; {describe_method(unit)}",
        limits=limits,
    )


def describe_method(unit: Unit) -> str:
    """Say for which sizes the intervals of a sequence hold."""
    return f"holds for any number of {unit}, so also where it stopped (Student-t mixture)"


def forecast_times(is_enough: Callable[[float], bool]) -> float:
    """Return how many times the sample would be enough: 1 if it is, infinity if no number is.

    `is_enough` says for a multiple of the sample whether it would be.

    >>> round(forecast_times(lambda times: times > 3), 1)
    3.0
    """
    high = 1.0
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            return math.inf
    low = high / 2
    while high > 1 and high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def forecast_width(estimate: Estimate, half_width: float) -> float:
    """Return how many times the sample makes the interval so narrow if it shows the same.

    1 if it is; `half_width` is a fraction.

    >>> from shaketable.statistics.intervals import proportion
    >>> round(forecast_width(proportion(900, 1000), 0.01), 1)
    3.6
    """

    def is_enough(times: float) -> bool:
        e = estimate.again(times=times)
        return (e.high - e.low) / 2 <= half_width

    return forecast_times(is_enough)
