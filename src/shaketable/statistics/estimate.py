"""A value with its confidence interval, and how the interval was computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypedDict

from shaketable.core.errors import InputError

Limits: TypeAlias = Callable[[float, float, bool], tuple[float, float]]
"""Function from a confidence, a multiple of the sample, and whether to be careful, to the ends of
an interval."""


class EstimateJson(TypedDict):
    """A value with the limits of its 95 % interval, in per cent or percentage points."""

    mean: float
    low: float
    high: float


class EstimateWithMethodJson(EstimateJson):
    """A value with its 95 % interval, and how the interval was computed."""

    method: str


class BoundJson(TypedDict):
    """A share in per cent, and its one-sided upper bound with 95 % confidence."""

    mean: float
    upper: float


@dataclass(frozen=True)
class Method:
    """How value and limits of one estimate are computed."""

    name: str
    compute: Callable[[float, float, bool], tuple[float, float, float]]
    """Function from the probability beyond each limit, a multiple of the sample, and whether to be
    careful, to value, lower and upper limit."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, as fractions, and how the interval was computed.

    Parameters
    ----------
    value
        The estimate, a fraction.
    low, high
        Ends of its confidence interval.
    confidence
        Such as 0.95.
    method
        How the interval was computed, and what it is for.
    limits
        Computes the interval again; None if it cannot be, as after pickling.
    careful
        Whether the interval allows for points unlike all that were seen.

    Examples
    --------
    >>> print(Estimate(value=0.9, low=0.824, high=0.951, confidence=0.95, method="by hand"))
    0.900 (95 % interval 0.824 to 0.951)
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str
    limits: Limits | None = field(default=None, repr=False, compare=False)
    """Computes the interval again; None if it cannot be, as after pickling."""
    careful: bool = field(default=False, repr=False)
    """Whether the interval allows for points unlike all that were seen."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, getattr(self, name) + 0.0)  # no negative zero

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "limits": None}  # a function of the counts, which pickle cannot take

    def again(
        self, *, confidence: float | None = None, times: float = 1.0, careful: bool | None = None
    ) -> Estimate:
        """Return the same value with the interval of another confidence or another sample size.

        `times` imagines so many times the points, or the runs of a study, which show the same. With
        `careful` the limits hold for any points, also if a rare kind of them was not seen: the
        worst possible point is imagined (`statistics.own_intervals`, Gaffke). Neither of them is
        closer to the value than without.

        Parameters
        ----------
        confidence
            Another confidence; None keeps it.
        times
            Imagined multiple of the points, or of the runs, which show the same.
        careful
            Whether the limits hold for any points; None keeps what the estimate has.

        Returns
        -------
        Estimate
            The same value with another interval.

        Examples
        --------
        >>> from shaketable.statistics.intervals import proportion
        >>> print(proportion(90, 100).again(confidence=0.99))
        0.900 (99 % interval 0.798 to 0.962)
        >>> print(proportion(90, 100).again(times=10))
        0.9000 (95 % interval 0.8797 to 0.9179)
        """
        confidence = self.confidence if confidence is None else confidence
        careful = self.careful if careful is None else careful
        if (confidence, times, careful) == (self.confidence, 1.0, self.careful):
            return self
        if self.limits is None:
            raise InputError(
                f"an interval ({self.method}) can only be computed again from its counts, and the "
                "estimate has none; compute it with shaketable.metrics"
            )
        low, high = self.limits(confidence, times, False)
        if careful:
            lower, higher = self.limits(confidence, times, True)
            low, high = min(low, lower), max(high, higher)
        return replace(self, low=low, high=high, confidence=confidence, careful=careful)

    def subtract_from(self, total: float) -> Estimate:
        """Return `total` minus the value: 1 makes an error of an accuracy, 0 changes the sign.

        Parameters
        ----------
        total
            What the value is subtracted from.

        Returns
        -------
        Estimate
            The difference, with its limits.

        Examples
        --------
        >>> Estimate(0.9, 0.8, 0.95, 0.95, "by hand").subtract_from(1).high
        0.19999999999999996
        """

        def mirror(confidence: float, times: float, careful: bool) -> tuple[float, float]:
            assert limits is not None
            low, high = limits(confidence, times, careful)
            return total - high, total - low

        limits = self.limits
        return Estimate(
            total - self.value,
            total - self.high,
            total - self.low,
            self.confidence,
            self.method,
            None if limits is None else mirror,
            self.careful,
        )

    def json(self) -> EstimateJson:
        """Value and limits in per cent.

        Returns
        -------
        dict
            ``mean``, ``low`` and ``high``.

        Examples
        --------
        >>> Estimate(0.5, 0.25, 0.75, 0.95, "by hand").json()
        {'mean': 50.0, 'low': 25.0, 'high': 75.0}
        """
        return {"mean": 100 * self.value, "low": 100 * self.low, "high": 100 * self.high}

    def json_with_method(self) -> EstimateWithMethodJson:
        """Value and limits in per cent, and the method.

        Returns
        -------
        dict
            ``mean``, ``low``, ``high`` and ``method``.

        Examples
        --------
        >>> Estimate(0.5, 0.25, 0.75, 0.95, "by hand").json_with_method()["method"]
        'by hand'
        """
        return {**self.json(), "method": self.method}

    def bound_json(self) -> BoundJson:
        """Value and upper limit in per cent.

        Returns
        -------
        dict
            ``mean`` and ``upper``.

        Examples
        --------
        >>> Estimate(0.25, 0.0, 0.5, 0.95, "by hand").bound_json()
        {'mean': 25.0, 'upper': 50.0}
        """
        return {"mean": 100 * self.value, "upper": 100 * self.high}

    def __str__(self) -> str:
        width = self.high - self.low
        digits = max(2, 2 - math.floor(math.log10(width))) if width > 0 else 4
        value, low, high = (
            f"{round(x, digits) + 0.0:.{digits}f}"  # no negative zero
            for x in (self.value, self.low, self.high)
        )
        return f"{value} ({100 * self.confidence:g} % interval {low} to {high})"
