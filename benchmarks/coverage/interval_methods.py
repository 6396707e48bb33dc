"""Other 95 % intervals for the mean of bounded values, to compare shaketable's with.

Every function takes many studies at once and returns the lower and the upper limits. `interval
_coverage.py` lets them compete.

- ``t``: Student's t of the points' values.
- ``skewness``: t with Johnson's correction for skewness (1978).
- ``Bonett–Price``: normal, after adding one point at each end of the range (2012).
- ``Agresti–Coull``: normal, after adding :math:`z^2 / 2`, about 2, points at each end (1998).
- ``likelihood``: empirical likelihood (Owen 1988), calibrated by the square of Student's t.
- ``betting``: hedged capital with predictable plug-in bets (Waudby-Smith & Ramdas 2024), in one
  random order of the points.
- ``bootstrap t`` and ``BCa`` (Efron 1987), from 400 resamples, of the linearised estimate.
- ``Gaffke``: one imagined point at the end of the range with weight 1, two for a difference of
  relative changes; the method of shaketable before the imagined point followed the data.
- ``before``: that of shaketable until 2026-11-17. The imagined point did not allow for common kinds
  that few points do not show, nor for clean errors; ratios were linearised.

For ratios only:

- ``Fieller``: t of y - r c, for all ratios r (1954); without end if c may be 0.
- ``log ratio``: t of the logarithm (delta method; Katz et al. 1978).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray
from shaketable.statistics.own_intervals import (
    Imagine,
    LinearEstimate,
    find_upper_limit,
    imagine_point,
    imagine_worst,
)

TAIL = 0.025
Z = float(special.ndtri(1 - TAIL))
RESAMPLES = 400


@dataclass(frozen=True)
class Studies:
    """Studies of n points each: their linear estimate, and how often every value occurs."""

    linear: LinearEstimate
    counts: FloatArray
    n: int
    imagined: int = 1
    """Number of points that Gaffke's limits imagine."""

    @property
    def steps(self) -> FloatArray:
        """Deviations of the values from the estimate."""
        return np.asarray(self.linear.values - self.linear.estimate[:, None])

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Distances of the ends of the range from the estimate, the lower one negative."""
        return self.linear.low - self.linear.estimate, self.linear.high - self.linear.estimate

    def moment(self, power: int) -> FloatArray:
        """Central moment of the values."""
        return np.asarray((self.counts * self.steps**power).sum(axis=-1) / self.n)

    def first(self, number: int) -> "Studies":
        """Return the first studies."""
        linear = choose(self.linear, lambda x: x[:number], lambda x: x[:number])
        return Studies(linear, self.counts[:number], self.n, self.imagined)


def choose(
    linear: LinearEstimate,
    studies: Callable[[FloatArray], FloatArray],
    outcomes: Callable[[FloatArray], FloatArray],
) -> LinearEstimate:
    """Choose some of the studies, from arrays with one value each, and some of the outcomes."""

    def of_studies(end: FloatArray | float) -> FloatArray | float:
        return studies(end) if isinstance(end, np.ndarray) else end

    return LinearEstimate(
        studies(linear.estimate),
        outcomes(linear.values),
        studies(linear.low),
        studies(linear.high),
        tuple(choose(part, studies, outcomes) for part in linear.parts),
        None if linear.bases is None else outcomes(linear.bases),
        of_studies(linear.base_low),
        of_studies(linear.base_high),
    )


Limits: TypeAlias = tuple[FloatArray, FloatArray]
Method: TypeAlias = Callable[[Studies, np.random.Generator], Limits]


def around(studies: Studies, low: FloatArray, high: FloatArray) -> Limits:
    """Limits at these distances, within the range and never past the estimate."""
    least, most = studies.ends
    value = studies.linear.estimate
    low, high = np.clip(low, least, None), np.clip(high, None, most)
    return value + np.minimum(low, 0), value + np.maximum(high, 0)


def student(studies: Studies, _: np.random.Generator) -> Limits:
    """Student's t."""
    error = np.sqrt(studies.moment(2) / (studies.n - 1))
    half = float(special.stdtrit(studies.n - 1, 1 - TAIL)) * error
    return around(studies, -half, half)


def skewness(studies: Studies, _: np.random.Generator) -> Limits:
    """Student's t with a centre that is corrected for skewness."""
    n, variance = studies.n, studies.moment(2)
    shift = np.zeros_like(variance)
    np.divide(studies.moment(3), 6 * n * variance, out=shift, where=variance > 0)
    half = special.stdtrit(n - 1, 1 - TAIL) * np.sqrt(variance / (n - 1))
    return around(studies, shift - half, shift + half)


def with_points_at_the_ends(number: float) -> Method:
    """Normal interval, after adding so many points at each end of the range."""

    def limits(studies: Studies, _: np.random.Generator) -> Limits:
        low, high = studies.ends
        n = studies.n + 2 * number
        centre = number * (low + high) / n
        squares = studies.n * studies.moment(2) + number * (low**2 + high**2)
        half = Z * np.sqrt((squares / n - centre**2) / n)
        return around(studies, centre - half, centre + half)

    return limits


def likelihood(studies: Studies, _: np.random.Generator) -> Limits:
    """Empirical likelihood: of all weights with a mean, those that are most likely."""
    critical = special.stdtrit(studies.n - 1, 1 - TAIL) ** 2

    def upper(steps: FloatArray) -> FloatArray:
        counts = studies.counts
        top = np.where(counts > 0, steps, 0.0).max(axis=-1)
        spread = np.maximum(top, 1e-12)
        # the weights are proportional to 1 / (pole - value), for one pole per mean
        low, high = np.full(len(top), -12.0), np.full(len(top), 12.0)
        for _ in range(40):
            pole = top + spread * np.exp((low + high) / 2)
            each = 1 / np.where(counts > 0, pole[:, None] - steps, 1)
            each /= (counts * each).sum(axis=-1, keepdims=True) / studies.n
            distance = -2 * (counts * np.log(each)).sum(axis=-1)
            far = distance > critical
            low, high = np.where(far, (low + high) / 2, low), np.where(far, high, (low + high) / 2)
        return np.asarray((counts * each * steps).sum(axis=-1) / studies.n)

    return around(studies, -upper(-studies.steps), upper(studies.steps))


def betting(studies: Studies, rng: np.random.Generator) -> Limits:
    """Hedged capital: means against which bets on the points would not have won 20-fold."""
    low, high = studies.linear.low, studies.linear.high
    places = studies.counts.astype(np.int64)
    columns = np.arange(places.shape[1])
    rows = np.array([rng.permutation(np.repeat(columns, row)) for row in places])
    x = np.take_along_axis(studies.linear.values, rows, axis=1)
    x = np.clip((x - low[:, None]) / (high - low)[:, None], 0, 1)
    before = np.arange(1, studies.n + 1)
    mean = (0.5 + np.cumsum(x, axis=1)) / (before + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2, axis=1)) / (before + 1)
    last = np.concatenate([np.full((len(x), 1), 0.25), variance[:, :-1]], axis=1)
    bets = np.sqrt(2 * np.log(2 / (2 * TAIL)) / (studies.n * last))

    def lower(x: FloatArray) -> FloatArray:
        start, end = np.zeros(len(x)), np.full(len(x), 1.0)
        for _ in range(16):
            m = (start + end) / 2
            most = 0.75 / np.maximum(m, 1e-9)[:, None]
            capital = np.log1p(np.minimum(bets, most) * (x - m[:, None])).sum(axis=1)
            lost = capital > np.log(1 / TAIL)
            start, end = np.where(lost, m, start), np.where(lost, end, m)
        return start

    value = studies.linear.estimate
    return around(
        studies,
        low + (high - low) * lower(x) - value,
        low + (high - low) * (1 - lower(1 - x)) - value,
    )


def bootstraps(studies: Studies, rng: np.random.Generator) -> tuple[Limits, Limits]:
    """Bootstrap t, and BCa."""
    t_low, t_high, low, high = [], [], [], []
    for counts, steps in zip(studies.counts, studies.steps, strict=True):
        held = counts > 0
        counts, steps = counts[held], steps[held]  # noqa: PLW2901
        again = rng.multinomial(studies.n, counts / studies.n, size=RESAMPLES)
        means = again @ steps / studies.n
        errors = np.sqrt(np.maximum(again @ steps**2 / studies.n - means**2, 0))
        error = np.sqrt(counts @ steps**2 / studies.n)
        ratio = np.divide(means, errors, out=np.zeros_like(means), where=errors > 0)
        bottom, top = np.quantile(ratio, [TAIL, 1 - TAIL])
        t_low.append(-top * error)
        t_high.append(-bottom * error)
        below = (means < 0).mean() / 2 + (means <= 0).mean() / 2
        bias = special.ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
        squares = counts @ steps**2
        speed = counts @ steps**3 / (6 * squares**1.5) if squares > 0 else 0.0
        z = bias + np.array([-Z, Z])
        levels = special.ndtr(bias + z / (1 - speed * z))
        bottom, top = np.quantile(means, levels)
        low.append(bottom)
        high.append(top)
    return (
        around(studies, np.array(t_low), np.array(t_high)),
        around(studies, np.array(low), np.array(high)),
    )


def imagined(studies: Studies, imagine: Imagine = imagine_point) -> Limits:
    """Limits of shaketable, with its own imagined point or another."""
    linear, counts = studies.linear, studies.counts
    return (
        -find_upper_limit(-linear, counts, TAIL, imagine),
        find_upper_limit(linear, counts, TAIL, imagine),
    )


def before(studies: Studies, _: np.random.Generator) -> Limits:
    """Limits of shaketable before common kinds, clean errors and ratios had their own rules."""
    plain = replace(studies, linear=replace(studies.linear, parts=(), bases=None))
    return imagined(plain, partial(imagine_point, common=1.0))


def fieller(studies: Studies, _: np.random.Generator) -> Limits:
    """Ratios r for which the mean of y - r c does not differ from 0 by Student's t."""
    steps, bases = studies.steps, studies.linear.bases
    assert bases is not None
    factor = special.stdtrit(studies.n - 1, 1 - TAIL) ** 2 / (studies.n - 1)

    def covariance(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray((studies.counts * a * b).sum(axis=-1) / studies.n) * factor

    # t^2 <= variance of steps - t (bases - 1), times the factor
    own = bases - 1
    square, cross, constant = (
        covariance(*pair) for pair in ((own, own), (own, steps), (steps,) * 2)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(cross**2 + (1 - square) * constant, 0))
        low, high = ((-cross + sign * root) / (1 - square) for sign in (-1, 1))
    open_end = square >= 1
    value = studies.linear.estimate
    return np.where(open_end, -1, value + low), np.where(open_end, np.inf, value + high)


def log_ratio(studies: Studies, _: np.random.Generator) -> Limits:
    """Student's t of the logarithm of the ratio."""
    ratio = np.maximum(1 + studies.linear.estimate, 1e-9)
    error = np.sqrt(studies.moment(2) / (studies.n - 1)) / ratio
    factor = np.exp(float(special.stdtrit(studies.n - 1, 1 - TAIL)) * error)
    return ratio / factor - 1, ratio * factor - 1


METHODS: dict[str, Method] = {
    "shaketable": lambda studies, _: imagined(studies),
    "before": before,
    "Gaffke": lambda studies, _: imagined(studies, partial(imagine_worst, points=studies.imagined)),
    "t": student,
    "skewness": skewness,
    "Bonett–Price": with_points_at_the_ends(1),
    "Agresti–Coull": with_points_at_the_ends(Z**2 / 2),
    "likelihood": likelihood,
    "betting": betting,
    "Fieller": fieller,
    "log ratio": log_ratio,
}
FOR_RATIOS = ("Fieller", "log ratio")
