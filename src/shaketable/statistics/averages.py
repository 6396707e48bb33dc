r"""Averages of independent estimates, such as of one quantity on several data sets.

The interval is put together from those of the parts by square and add (Zou & Donner 2008): with
the values :math:`v_j` and limits :math:`l_j, u_j` of m parts, its lower limit is

.. math:: \bar v - \frac{1}{m} \sqrt{\textstyle\sum_j (v_j - l_j)^2}

and the upper one accordingly. It is for these m parts, not for others like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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

    def limits(confidence: float, times: float, careful: bool) -> tuple[float, float]:
        return combine(
            [e.again(confidence=confidence, times=times, careful=careful) for e in estimates]
        )

    method = f"mean of {m} independent ones by square and add; {estimates[0].method}"
    return Estimate(value, *combine(estimates), estimates[0].confidence, method, limits)
