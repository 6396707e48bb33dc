r"""Means and differences of independent estimates, such as of groups of points or of data sets.

The interval is put together from those of the parts by square and add (Newcombe 1998, method 10;
Zou & Donner 2008). With the values :math:`v_j` and limits :math:`l_j, u_j` of m parts, the lower
limit of their mean is

.. math:: \bar v - \frac{1}{m} \sqrt{\textstyle\sum_j (v_j - l_j)^2}

and that of a difference

.. math:: v_1 - v_2 - \sqrt{(v_1 - l_1)^2 + (u_2 - v_2)^2}

the upper ones accordingly. It covers for small groups, as their own intervals do. A mean is that
of these m parts, not of others like them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from shaketable.statistics.estimate import Estimate


def average_independent(estimates: Sequence[Estimate]) -> Estimate:
    """Mean of independent estimates that have the same confidence; one is returned as it is.

    >>> a, b = (Estimate(v, v - 0.03, v + 0.04, 0.95, "by hand") for v in (0.1, 0.2))
    >>> print(average_independent([a, b]))
    0.1500 (95 % interval 0.1288 to 0.1783)
    """
    if len(estimates) == 1:
        return estimates[0]
    m = len(estimates)
    value = sum(e.value for e in estimates) / m

    def combine(parts: Sequence[Estimate]) -> tuple[float, float]:
        below = math.hypot(*(e.value - e.low for e in parts)) / m
        above = math.hypot(*(e.high - e.value for e in parts)) / m
        return value - below, value + above

    method = f"mean of {m} independent ones by square and add; {estimates[0].method}"
    return _make_estimate(value, estimates, combine, method)


def subtract_independent(first: Estimate, second: Estimate) -> Estimate:
    """First estimate minus the second, of independent points, both with the same confidence.

    >>> a, b = (Estimate(v, v - 0.03, v + 0.04, 0.95, "by hand") for v in (0.1, 0.2))
    >>> print(subtract_independent(b, a))
    0.100 (95 % interval 0.050 to 0.150)
    """
    value = first.value - second.value

    def combine(parts: Sequence[Estimate]) -> tuple[float, float]:
        a, b = parts
        below = math.hypot(a.value - a.low, b.high - b.value)
        above = math.hypot(a.high - a.value, b.value - b.low)
        return value - below, value + above

    method = f"difference of independent points by square and add; {first.method}, and others"
    return _make_estimate(value, [first, second], combine, method)


def _make_estimate(
    value: float,
    parts: Sequence[Estimate],
    combine: Callable[[Sequence[Estimate]], tuple[float, float]],
    method: str,
) -> Estimate:
    """Estimate whose limits follow from those of its parts."""

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        return combine(
            [e.again(confidence=confidence, times=times, careful=careful) for e in parts]
        )

    return Estimate(value, *combine(parts), parts[0].confidence, method, limits)
