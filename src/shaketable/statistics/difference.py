"""Differences: of two models on the same points and noise, and whether one is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True)
class Difference:
    """Value of a first model minus that of a second, on the same points and noise.

    >>> gap = Estimate(0.1, 0.05, 0.15, 0.95, "by hand")
    >>> Difference("a", "b", gap, "keeps more of its accuracy").words
    'a keeps more of its accuracy'
    """

    first: str
    second: str
    value: Estimate
    better: str
    """What the better model does, as in ``keeps more of its accuracy``."""
    lower_is_better: bool = False
    doubt: str = ""
    """Why the two are not comparable; empty if they are."""

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0, and the two are comparable."""
        return not self.doubt and excludes_zero(self.value)

    @property
    def words(self) -> str:
        """Which model is better, that the difference may be chance, or why there is doubt."""
        if self.doubt:
            return self.doubt
        if not self.shown:
            return "the difference may be chance"
        first = (self.value.low > 0) != self.lower_is_better
        return f"{self.first if first else self.second} {self.better}"

    def json(self) -> dict[str, Any]:
        """Names, value and limits in percentage points, and the method."""
        names = {"first": self.first, "second": self.second}
        return {**names, **self.value.json(), "method": self.value.method}


def is_shown(value: Estimate, judged: int) -> bool:
    """Whether a difference is other than 0, among several that are judged together.

    The probability that any of them is shown although it is 0 is at most 5 % (Bonferroni).
    """
    if not excludes_zero(value):
        return False
    return judged == 1 or excludes_zero(value.again(confidence=1 - 0.05 / judged))


def excludes_zero(value: Estimate) -> bool:
    """Whether 0 lies outside the interval."""
    return not value.low <= 0 <= value.high
