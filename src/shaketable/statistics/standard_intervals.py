r"""The standard intervals, which `families.use_intervals` chooses in place of `own_intervals`.

- **Share of right answers, one per point**: Clopper–Pearson (1934), exact.
- **Share of right draws, k per point**: Wilson's score interval (1927) with the effective number of
  independent draws, :math:`m = n\,p (1 - p) / \mathrm{var}(h / k)`, from n where the draws of a
  point always agree to n k where they are independent (Kish 1965, design effect). n if all points
  are right, or none.
- **Difference of two models, one answer each per point**: Tango's score interval (1998), which
  excludes 0 where McNemar's test, without continuity correction, rejects.
- **Other means and ratios of a fixed model**: the BCa bootstrap (Efron 1987). Points are resampled,
  each with all its draws; the acceleration is that of the infinitesimal jackknife. Resamples in
  which a ratio is undefined are left out.
- **Mean over runs**: Student's t of the runs' values, ddof 1.

The bootstrap has a fixed seed. For tails that hold fewer than ten resamples, the distance from the
estimate grows with the normal quantile; for a multiple of the points, it shrinks with its root.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from shaketable.core.errors import InputError, either
from shaketable.core.types import FloatArray
from shaketable.statistics.estimate import Method
from shaketable.statistics.own_intervals import Estimator, LinearEstimate

Quantity: TypeAlias = Literal["share", "difference", "other"]
"""What is estimated: a share of right answers, a difference of two shares, or something else."""

Ends: TypeAlias = tuple[float, float]

RESAMPLES = 9999
LEAST_RESAMPLES = 999
"""Resamples where points have very many different outcomes."""

_MOST_DRAWN = 2e7  # numbers per bootstrap; more would take seconds
_BLOCK = 2**21  # numbers that are drawn at a time
_IN_TAIL = 10  # resamples that a quantile needs beyond it
_SEED = 27
_BISECTIONS = 60
_ROUNDING = 1e-12


def choose_method(estimator: Estimator, counts: FloatArray, k: int, quantity: Quantity) -> Method:
    """Choose the standard method for an estimate from a table of outcomes.

    The table has the shape (outcomes) for a fixed model, or (runs, outcomes).
    """
    linear = estimator(counts)
    if counts.ndim > 1:
        each = linear.estimate
        return _make("Student t", linear, lambda tail, times: compute_student(each, tail, times))
    if quantity == "share":

        def compute_share(tail: float, times: float) -> Ends:
            low, high = compute_share_limits(linear, counts, k, tail, times)
            return float(low), float(high)

        return _make(describe_share_method(k), linear, compute_share, any_points=k == 1)
    if quantity == "difference" and k == 1:
        n, first, second = (
            float(counts[chosen].sum())
            for chosen in (slice(None), linear.values > 0, linear.values < 0)
        )
        return _make(
            "Tango's score interval, paired",
            linear,
            lambda tail, times: compute_tango(first * times, second * times, n * times, tail),
        )
    bootstrap = Bootstrap(estimator, counts)
    name = f"BCa bootstrap of points, {bootstrap.resamples} resamples"
    return _make(name, linear, bootstrap.compute_limits)


def _make(
    name: str,
    linear: LinearEstimate,
    compute_limits: Callable[[float, float], Ends],
    *,
    any_points: bool = False,
) -> Method:
    """Method with limits around the value and within its range.

    `any_points` says that they hold for all kinds of points, also such as were not seen.
    """
    value = float(linear.estimate.mean())
    least, most = float(np.min(linear.low)), float(np.max(linear.high))
    if linear.bases is not None:  # of a ratio, these are not the ends
        least, most = -math.inf, math.inf

    def compute(tail: float, times: float, careful: bool) -> tuple[float, float, float]:
        if careful and not any_points:
            careful_option = either("--careful", "careful=True")
            standard_option = either("--intervals standard", "use_intervals('standard')")
            raise InputError(
                f"{careful_option} needs shaketable's own intervals, got standard ones ({name}), "
                f"which cannot allow for points unlike those seen; drop {careful_option} or "
                f"{standard_option}"
            )
        low, high = compute_limits(tail, times)
        return value, max(min(low, value), least), min(max(high, value), most)

    return Method(name, compute)


def compute_clopper_pearson(hits: FloatArray, n: FloatArray, tail: float) -> tuple[FloatArray, ...]:
    """Limits of a share of n independent answers, with the probability `tail` beyond each.

    >>> [round(float(limit), 4) for limit in compute_clopper_pearson(90, 100, 0.025)]
    [0.8238, 0.951]
    """
    low = special.betaincinv(np.maximum(hits, _ROUNDING), n - hits + 1, tail)
    high = special.betaincinv(hits + 1, np.maximum(n - hits, _ROUNDING), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(hits < n, high, 1.0)


def compute_wilson(share: FloatArray, n: FloatArray, tail: float) -> tuple[FloatArray, ...]:
    """Limits of a share of n independent answers by the normal test of every share.

    >>> [round(float(limit), 4) for limit in compute_wilson(0.9, 100, 0.025)]
    [0.8256, 0.9448]
    """
    squared = special.ndtri(tail) ** 2 / n
    centre = (share + squared / 2) / (1 + squared)
    half = np.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    # the ends are exact where all answers are alike
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return np.where(share > 0, low, 0.0), np.where(share < 1, high, 1.0)


def compute_share_limits(
    linear: LinearEstimate, counts: FloatArray, k: int, tail: float, times: float = 1.0
) -> tuple[FloatArray, ...]:
    """Limits of shares of right draws, k per point, of one or more fixed models."""
    share, n = linear.estimate, counts.sum(axis=-1)
    if k == 1:
        return compute_clopper_pearson(share * n * times, n * times, tail)
    steps = linear.values - share[..., None]
    variance = (counts * steps**2).sum(axis=-1) / n
    most = share * (1 - share)
    independent = np.full_like(n, k)
    np.divide(most, variance, out=independent, where=variance > _ROUNDING)
    independent = np.where(most > _ROUNDING, np.clip(independent, 1, k), 1.0)
    return compute_wilson(share, n * independent * times, tail)


def describe_share_method(k: int) -> str:
    """Name the method for a share of right draws, k per point."""
    return "Clopper–Pearson" if k == 1 else "Wilson, effective number of draws"


def compute_tango(first: float, second: float, n: float, tail: float) -> Ends:
    r"""Limits of a difference of two paired shares by the score test of every difference.

    `first` and `second` are the numbers of points that only the first, or only the second model
    classifies correctly. The limits are the differences d with

    .. math:: \frac{(first - second - n d)^2}{n (2 q + d (1 - d))} = z^2

    where q is the most likely share of `second` given d.

    >>> [round(limit, 4) for limit in compute_tango(12, 3, 100, 0.025)]
    [0.016, 0.1737]
    """
    z = -float(special.ndtri(tail))

    def exceeds(d: float) -> bool:
        """Whether the score test rejects d, which is above the estimate."""
        b = (2 * n - first + second) * d - first - second
        c = -second * d * (1 - d)
        q = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = max(n * (2 * q + d * (1 - d)), 0.0)
        return n * d - first + second > z * math.sqrt(variance)

    def find_upper() -> float:
        low, high = (first - second) / n, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if exceeds(middle) else (middle, high)
        return high

    upper = find_upper()
    first, second = second, first
    return -find_upper(), upper


def compute_student(values: FloatArray, tail: float, times: float = 1.0) -> Ends:
    """Limits of the mean of independent values, such as those of runs, by Student's t, ddof 1.

    >>> [round(limit, 3) for limit in compute_student(np.array([0.7, 0.8, 0.9]), 0.025)]
    [0.552, 1.048]
    """
    runs, mean = len(values) * times, float(values.mean())
    half = -float(special.stdtrit(runs - 1, tail)) * float(values.std(ddof=1)) / math.sqrt(runs)
    return mean - half, mean + half


class Bootstrap:
    """The BCa bootstrap of points, of an estimate from a table of outcomes."""

    def __init__(self, estimator: Estimator, counts: FloatArray) -> None:
        seen = int(np.count_nonzero(counts))
        self.resamples = int(np.clip(_MOST_DRAWN / seen, LEAST_RESAMPLES, RESAMPLES))
        self.estimator, self.counts = estimator, counts
        self.draw = cache(self._draw)

    def compute_limits(self, tail: float, times: float) -> Ends:
        """Return lower and upper limit, with `times` as many points."""
        estimates, bias, acceleration = self.draw()
        value = float(self.estimator(self.counts).estimate)
        within = max(tail, _IN_TAIL / (len(estimates) + 1))
        z = bias + special.ndtri(np.array([within, 1 - within]))
        low, high = np.quantile(estimates, special.ndtr(bias + z / (1 - acceleration * z)))
        reach = float(special.ndtri(tail) / special.ndtri(within)) / math.sqrt(times)
        return value + reach * float(low - value), value + reach * float(high - value)

    def _draw(self) -> tuple[FloatArray, float, float]:
        """Return the estimates of all resamples, the bias and the acceleration."""
        rng, n = np.random.default_rng(_SEED), int(self.counts.sum())
        rows = max(1, _BLOCK // len(self.counts))
        blocks = []
        for start in range(0, self.resamples, rows):
            size = min(rows, self.resamples - start)
            again = rng.multinomial(n, self.counts / n, size=size).astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                blocks.append(self.estimator(again).estimate)
        estimates = np.sort(np.concatenate(blocks))
        estimates = estimates[np.isfinite(estimates)]
        linear = self.estimator(self.counts)
        steps, value = linear.values - linear.estimate, float(linear.estimate)
        slack = _ROUNDING * max(1.0, abs(value))
        below = np.mean([(estimates < value - slack).mean(), (estimates <= value + slack).mean()])
        least = 1 / (len(estimates) + 1)
        squares = float(self.counts @ steps**2)
        cubes = float(self.counts @ steps**3)
        acceleration = cubes / (6 * squares**1.5) if squares > _ROUNDING**2 else 0.0
        return estimates, float(special.ndtri(np.clip(below, least, 1 - least))), acceleration
