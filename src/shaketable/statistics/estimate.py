"""A value with its confidence interval, and how the interval was computed."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, as fractions, and how the interval was computed.

    >>> print(Estimate(value=0.9, low=0.824, high=0.951, confidence=0.95, method="by hand"))
    0.900 (95 % interval 0.824 to 0.951)
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, getattr(self, name) + 0.0)  # no negative zero

    def json(self) -> dict[str, float]:
        """Value and limits in per cent.

        >>> Estimate(0.5, 0.25, 0.75, 0.95, "by hand").json()
        {'mean': 50.0, 'low': 25.0, 'high': 75.0}
        """
        return {"mean": 100 * self.value, "low": 100 * self.low, "high": 100 * self.high}

    def __str__(self) -> str:
        width = self.high - self.low
        digits = max(2, 2 - math.floor(math.log10(width))) if width > 0 else 4
        value, low, high = (
            f"{round(x, digits) + 0.0:.{digits}f}"  # no negative zero
            for x in (self.value, self.low, self.high)
        )
        return f"{value} ({100 * self.confidence:g} % interval {low} to {high})"
