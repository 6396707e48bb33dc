"""Two models compared on the same points: a paired difference, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True)
class Difference:
    """What one model has minus what another has, on the same points and noise.

    >>> gap = Estimate(0.1, 0.05, 0.15, 0.95, "by hand")
    >>> Difference("a", "b", gap, "keeps more of its accuracy").words
    'a keeps more of its accuracy'
    """

    first: str
    second: str
    value: Estimate
    better: str
    """What the better of the two does."""
    lower_is_better: bool = False
    doubt: str = ""
    """Why the two cannot be compared after all."""

    @property
    def shown(self) -> bool:
        """Whether its interval leaves 0 out, and nothing speaks against it."""
        return not self.doubt and not self.value.low <= 0 <= self.value.high

    @property
    def words(self) -> str:
        """Which of the two is better, if that is shown."""
        if self.doubt:
            return self.doubt
        if not self.shown:
            return "the difference may be chance"
        first = (self.value.low > 0) != self.lower_is_better
        return f"{self.first if first else self.second} {self.better}"

    def json(self) -> dict[str, Any]:
        """Difference as an object, in percentage points."""
        names = {"first": self.first, "second": self.second}
        return {**names, **self.value.json(), "method": self.value.method}
