r"""Differences: of two models on the same points and noise, and whether they are shown.

Several differences that are judged together share their error probability. By Bonferroni, each of m
is judged at :math:`0.05 / m`. By Holm (1979), those with :math:`p \le 0.05 / m` are rejected; if
these are r, the others are tested with :math:`0.05 / (m - r)`, and so on until none is added. The
probability that any of them is rejected although it is true is at most 5 %, whatever their
dependence is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson

LEAST_P = 1e-9
"""p-values below this are not told apart."""

_BISECTIONS = 30


class DifferenceJson(EstimateWithMethodJson):
    """Value of the first model minus that of the second, on the same points and noise.

    In percentage points.
    """

    first: str
    second: str


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

    def json(self) -> DifferenceJson:
        """Names, value and limits in percentage points, and the method."""
        return {"first": self.first, "second": self.second, **self.value.json_with_method()}


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


def compute_p_value(value: Estimate) -> float:
    """Return 1 minus the highest confidence at which the interval of a difference excludes 0.

    It is two-sided, at least `LEAST_P`.

    >>> from shaketable.statistics.intervals import mean_difference
    >>> round(compute_p_value(mean_difference([1] * 6 + [0] * 94, [0] * 100, k=1)), 3)
    0.014
    """
    if value.value == 0:
        return 1.0
    if excludes_zero(value.again(confidence=1 - LEAST_P)):
        return LEAST_P
    low, high = math.log(LEAST_P), 0.0  # of the p-value
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if excludes_zero(value.again(confidence=-math.expm1(middle))):
            high = middle
        else:
            low = middle
    return math.exp(high)


def adjust_p_values(values: Sequence[float]) -> list[float]:
    """Adjust p-values of tests that are judged together, by Holm's procedure.

    >>> adjust_p_values([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    m, highest = len(values), 0.0
    adjusted = [0.0] * m
    for rank, i in enumerate(sorted(range(m), key=values.__getitem__)):
        highest = max(highest, min(1.0, (m - rank) * values[i]))
        adjusted[i] = highest
    return adjusted


def judge_together(values: Sequence[Estimate]) -> list[bool]:
    """Return whether each difference is shown to be other than 0, judged together by Holm.

    >>> gaps = [Estimate(v, v - 1, v + 1, 0.95, "", lambda c, *_: (0, 2)) for v in (0.5, 2)]
    >>> judge_together(gaps)
    [False, False]
    """
    shown = [False] * len(values)
    while True:
        left = shown.count(False)
        added = [
            i
            for i, value in enumerate(values)
            if not shown[i]
            and excludes_zero(value)
            and excludes_zero(value.again(confidence=1 - 0.05 / left))
        ]
        if not added:
            return shown
        for i in added:
            shown[i] = True
