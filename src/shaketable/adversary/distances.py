"""Distances to the nearest failure, of which bounds are known: mean, quantiles, accuracies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypedDict

import numpy as np
from scipy import special

from shaketable.core.errors import UndefinedError
from shaketable.core.types import FloatArray, IntArray
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of the points whose quantiles are shown."""

_Z = 0.975  # share of a two-sided 95 % interval that is below its upper end


class BracketJson(TypedDict):
    """A quantity of distances: what is proven and found, with a 95 % interval around both."""

    proven: Annotated[float, "At least this, for the points that were measured."]
    found: Annotated[float | None, "At most this; null where too few failures were found."]
    low: float
    high: float | None


class QuantileJson(BracketJson):
    """Distance within which a share of the points fails."""

    share: Annotated[float, "Share of the points, in per cent."]


class DistancesJson(TypedDict):
    """Distances of points to their nearest failures."""

    n: int
    reach: Annotated[float, "Distance up to which was searched."]
    found: Annotated[int, "Number of points for which a failure was found."]
    exact: Annotated[int, "Number of points whose distance is known exactly."]
    mean: BracketJson
    quantiles: list[QuantileJson]
    why: Annotated[str | None, "How lower bounds are proven; null if they are not."]


@dataclass(frozen=True)
class Between:
    """A quantity that lies between two estimates, of the bounds of every point."""

    proven: Estimate
    found: Estimate | None
    """None where too few failures were found."""

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.proven.low

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval; infinite where it is unknown."""
        return math.inf if self.found is None else self.found.high

    def json(self) -> BracketJson:
        """Both bounds and the interval, in the unit of distances."""
        return {
            "proven": self.proven.value,
            "found": None if self.found is None else self.found.value,
            "low": self.low,
            "high": self.high if math.isfinite(self.high) else None,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Distances(Displayed):
    """Distance of every point to its nearest failure, between what is proven and what was found.

    A point that is labelled wrongly itself is at distance 0. Quantities are for new points of the
    same distribution.

    Examples
    --------
    >>> known = Distances(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, np.inf]), reach=2.0)
    >>> known.n, known.found, known.exact
    (3, 2, 2)
    >>> print(known.accuracy(1.5)[0])
    0.333 (95 % interval 0.008 to 0.906)
    >>> known.quantile(0.5).proven.value, [each.tolist() for each in known.curve()][0]
    (1.0, [0.0, 1.0, 2.0])
    >>> known.json()["found"], len(known.blocks()) > 1
    (2, True)
    """

    low: FloatArray
    """Distance up to which no point is misclassified, proven; 0 where nothing is."""
    high: FloatArray
    """Distance of the nearest misclassified point that was found; infinite where none was."""
    reach: float
    """Distance up to which was searched."""
    why: str = ""
    """How lower bounds are proven; empty if they are not."""
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of the data that the points are."""
    name: str = "model"
    """Name of the model, with the constraint if there is one."""
    norm: str = ""
    eps_min: float | None = None
    """Half the separation of the data; None if it is unknown or 0."""

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.low)

    @property
    def found(self) -> int:
        """Number of points for which a failure was found."""
        return int(np.isfinite(self.high).sum())

    @property
    def exact(self) -> int:
        """Number of points whose bounds are equal, up to a share of 1e-6."""
        return int((self.high <= self.low * (1 + 1e-6)).sum())

    @cached_property
    def mean(self) -> Between:
        """Mean distance; what was found is None unless failures of all points were found."""
        lows = np.minimum(self.low, self.reach)
        every = bool(np.isfinite(self.high).all())
        return Between(_average(lows), _average(self.high) if every else None)

    def quantile(self, share: float) -> Between:
        """Distance within which a share of the points fails; its interval assumes no distribution.

        Parameters
        ----------
        share
            Share of the points, above 0 and below 1.

        Returns
        -------
        Between
            The quantile of what is proven, and of what was found.
        """
        lows, highs = np.sort(np.minimum(self.low, self.reach)), np.sort(self.high)
        below, place, above = _find_places(self.n, share)
        proven = _make_quantile(lows, below, place, above)
        if not math.isfinite(highs[place]):
            return Between(proven, None)
        return Between(proven, _make_quantile(highs, below, place, above))

    def accuracy(self, epsilon: float) -> tuple[Estimate, Estimate]:
        """Share of points that withstand within epsilon: proven to, and not found to fall.

        Parameters
        ----------
        epsilon
            Distance, at most `reach`.

        Returns
        -------
        tuple[Estimate, Estimate]
            Lower and upper bound, each with its 95 % interval.
        """
        if epsilon > self.reach:
            raise UndefinedError(
                f"epsilon must be at most {self.reach:g}, up to which was searched, got "
                f"{epsilon:g}; search farther"
            )
        withstand = (self.low >= epsilon, self.high > epsilon)
        if epsilon == 0:
            withstand = (self.high > 0, self.high > 0)
        low, high = (intervals.proportion(int(each.sum()), self.n) for each in withstand)
        return low, high

    def curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All distances at which an accuracy changes, with both accuracies from there on.

        Returns
        -------
        tuple[FloatArray, FloatArray, FloatArray]
            Distances, shares that are proven to withstand, and shares not found to fall.
        """
        finite = np.concatenate([self.low, self.high])
        at = np.unique(finite[np.isfinite(finite) & (finite <= self.reach)])
        proven = 1 - np.searchsorted(np.sort(self.low), at, side="right") / self.n
        found = 1 - np.searchsorted(np.sort(self.high), at, side="right") / self.n
        return at, proven, found

    def blocks(self) -> list[Block]:
        """Return mean and quantiles as a table, and the sorted distances as a chart."""
        from shaketable.adversary.distances_view import show_distances

        return show_distances([self])

    def __repr__(self) -> str:
        from shaketable.adversary.distances_view import describe

        return f"<{self.name}: {describe(self)}>"

    def json(self) -> DistancesJson:
        """Mean and quantiles as a JSON object.

        Returns
        -------
        dict
            Keys as in ``distances`` of ``shaketable adversary --json``.
        """
        return {
            "n": self.n,
            "reach": self.reach,
            "found": self.found,
            "exact": self.exact,
            "mean": self.mean.json(),
            "quantiles": [
                {"share": 100 * share, **self.quantile(share).json()} for share in SHARES
            ],
            "why": self.why or None,
        }


def _average(values: FloatArray) -> Estimate:
    """Mean of distances, with Student's interval over points."""
    n, mean = len(values), float(values.mean())
    wide = (
        float(special.stdtrit(n - 1, _Z) * values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf
    )
    return Estimate(mean, max(0.0, mean - wide), mean + wide, 0.95, "Student t over points")


def _find_places(n: int, share: float) -> tuple[int, int, int]:
    """Places of a quantile among n sorted values, and of the ends of its 95 % interval.

    The number of values below the quantile is binomial; an end beyond the values is -1 or n.
    """
    below = special.bdtr(np.arange(n + 1), n, share)  # P(at most so many are below)
    low, high = np.searchsorted(below, [1 - _Z, _Z])
    return int(low) - 1, max(0, math.ceil(share * n) - 1), int(high)


def _make_quantile(values: FloatArray, below: int, place: int, above: int) -> Estimate:
    """Quantile of sorted values, with an interval from their order."""
    low = float(values[below]) if below >= 0 else 0.0
    high = float(values[above]) if above < len(values) else math.inf
    return Estimate(float(values[place]), low, high, 0.95, "order statistics (binomial)")
