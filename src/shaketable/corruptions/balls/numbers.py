r"""Balls of the p-norms: how large they are, and how much of one lies in another.

The ratio of the volumes of two balls of the same epsilon grows without bound with the number of
dimensions (`volume_factor`), and even balls of about the same size may hardly overlap (`overlap`):
robustness to noise from one says little about noise from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import Rng, fold, make_key, row_keys
from shaketable.core.norms import as_p, norm_title, pnorm
from shaketable.core.spec import format_value
from shaketable.core.types import FloatArray, KeyArray
from shaketable.corruptions.pnorm import Kind, PNormNoise, unit_ball

_LEAST = 1e-100  # smallest order of a norm

PAPER_DIMENSIONS = (3, 5, 10, 20)
"""Dimensions of Table 6 of Siedel et al. (2024)."""

PAPER_PAIRS = ((math.inf, 2.0), (2.0, 1.0))
"""Pairs of norms of Table 6."""

PAPER_NORMS = (0.0, 0.5, 1.0, 5.0, 50.0, math.inf)
"""First balls of Fig. 5: the text names four of the six; 5 and 50 are our guess at the others."""

_BLOCK = 2**23  # numbers held at a time: 64 MB
_STEPS = 200  # number of default epsilons of an overlap


def log_volume(p: str | float, d: int) -> float:
    r"""Return the logarithm of the volume of the p-norm's unit ball in d dimensions.

    .. math:: \log V_p = d \log(2\,\Gamma(1 + 1/p)) - \log\Gamma(1 + d/p)

    For p = inf, a cube, it is d log 2. For a ball of radius epsilon add d log(epsilon).

    Parameters
    ----------
    p
        Order of the norm, such as 0.5 or ``"inf"``.
    d
        Number of dimensions.

    Returns
    -------
    float
        Natural logarithm of the volume.

    Examples
    --------
    >>> round(math.exp(log_volume(2, 3)), 4), round(math.exp(log_volume("inf", 3)), 4)
    (4.1888, 8.0)
    """
    p, d = as_p(p), check_whole("d", d, least=1)
    if p < _LEAST:
        raise InputError(f"p must be at least {_LEAST:g} for a volume that floats hold, got {p!r}")
    return d * (math.log(2) + math.lgamma(1 + 1 / p)) - math.lgamma(1 + d / p)


def volume_factor(p: str | float, q: str | float, d: int) -> float:
    """Return the volume of the p-norm's ball over that of the q-norm's of the same epsilon.

    inf if that exceeds the largest float; the difference of the two `log_volume` never does.

    Parameters
    ----------
    p, q
        Orders of the norms.
    d
        Number of dimensions.

    Returns
    -------
    float
        The factor.

    Examples
    --------
    >>> round(volume_factor("inf", 2, 10), 1), volume_factor("inf", 2, 3072)
    (401.5, inf)
    """
    return VolumeFactor.of(p, q, d).factor


class VolumeFactorJson(TypedDict):
    """Volume of a ball over that of another."""

    p: str
    q: str
    d: int
    log: float
    factor: float | None


class SharesJson(TypedDict):
    """Share of the points of one ball that lie in the other, per size."""

    value: list[float]
    low: list[float]
    high: list[float]
    half: float


class OverlapJson(TypedDict):
    """How much of each of two balls lies in the other."""

    p: str
    q: str
    epsilon_q: float
    d: int
    n: int
    epsilons: list[float]
    first_in_second: SharesJson
    second_in_first: SharesJson


@dataclass(frozen=True)
class VolumeFactor:
    """Volume of the p-norm's ball over that of the q-norm's of the same epsilon.

    Examples
    --------
    >>> factor = VolumeFactor.of("inf", 2, 3)
    >>> str(factor), factor.json()["d"]
    ('1.91', 3)
    """

    p: float
    q: float
    d: int
    log: float
    """Natural logarithm of the factor."""

    @classmethod
    def of(cls, p: str | float, q: str | float, d: int) -> VolumeFactor:
        """Compute the factor of two norms in d dimensions.

        Parameters
        ----------
        p, q
            Orders of the norms.
        d
            Number of dimensions.

        Returns
        -------
        VolumeFactor
            The factor.
        """
        return cls(as_p(p), as_p(q), d, log_volume(p, d) - log_volume(q, d))

    @property
    def factor(self) -> float:
        """The factor itself; inf if it exceeds the largest float."""
        return math.exp(self.log) if self.log < math.log(np.finfo(float).max) else math.inf

    def json(self) -> VolumeFactorJson:
        """Return the factor as a JSON object; null if it exceeds the largest float.

        Returns
        -------
        dict
            Norms, dimension and factor.
        """
        return {
            "p": format_value(self.p),
            "q": format_value(self.q),
            "d": self.d,
            "log": self.log,
            "factor": self.factor if self.factor < math.inf else None,
        }

    def __str__(self) -> str:
        return (
            f"{self.factor:.4g}" if self.factor < math.inf else f"10^{self.log / math.log(10):.1f}"
        )


def volume_table(
    dimensions: Iterable[int] = PAPER_DIMENSIONS,
    pairs: Iterable[tuple[str | float, str | float]] = PAPER_PAIRS,
) -> list[VolumeFactor]:
    """Return volume factors for every pair of norms in every dimension, pair by pair.

    By default Table 6 of Siedel et al. (2024), corrected: as printed, its two columns are swapped
    from d = 5 on.

    Parameters
    ----------
    dimensions
        Numbers of dimensions.
    pairs
        Pairs of norms.

    Returns
    -------
    list[VolumeFactor]
        One factor per pair and dimension.

    Examples
    --------
    >>> [str(factor) for factor in volume_table(dimensions=[3, 5])]
    ['1.91', '6.079', '3.142', '19.74']
    """
    dimensions = list(dimensions)
    return [VolumeFactor.of(p, q, d) for p, q in pairs for d in dimensions]


def samples(p: str | float, n: int = 1000, *, kind: Kind = "ball", rng: Rng = 0) -> FloatArray:
    """Draw points in the plane, uniform in the p-norm's unit ball or on its surface: shape (n, 2).

    Parameters
    ----------
    p
        Order of the norm, such as 0.5 or ``"inf"``.
    n
        Number of points.
    kind
        ``ball``, ``surface``, or for L-inf ``vertices``, its corners.
    rng
        Seed, numpy Generator, or None for fresh points.

    Returns
    -------
    FloatArray
        The points.

    Examples
    --------
    >>> on_diamond = samples(1, 5, kind="surface")
    >>> np.abs(on_diamond).sum(axis=1).round(12)
    array([1., 1., 1., 1., 1.])
    """
    noise = PNormNoise(as_p(p), 1.0, kind)  # checks the kind
    return unit_ball(_keys(rng, check_whole("n", n, least=1)), 2, noise.p, kind=noise.kind)


@dataclass(frozen=True, eq=False)
class Shares:
    """Share of the points of one ball that lie in the other, per epsilon of the first ball."""

    value: FloatArray
    low: FloatArray
    """Lower ends of the 95 % intervals (Clopper-Pearson); `high` has the upper ends."""
    high: FloatArray
    half: float
    """Epsilon of the first ball at which half of the points lie in the other."""

    def json(self) -> SharesJson:
        """Return everything as a JSON object."""
        value, low, high = (x.tolist() for x in (self.value, self.low, self.high))
        return {"value": value, "low": low, "high": high, "half": self.half}


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """How much of each of two balls lies in the other, as the first grows.

    Examples
    --------
    >>> result = overlap("inf", 2, epsilon_q=1.0, epsilons=[0.5, 1.0], d=2)
    >>> sorted(result.json())[:3]
    ['d', 'epsilon_q', 'epsilons']
    """

    p: float
    q: float
    epsilon_q: float
    d: int
    n: int
    epsilons: FloatArray
    """Sizes of the first ball; for L0, shares of the dimensions."""
    first_in_second: Shares
    """Falls with epsilon, as the first ball grows out of the second."""
    second_in_first: Shares
    """Rises with epsilon, as the first ball grows over the second."""

    def json(self) -> OverlapJson:
        """Return everything as a JSON object.

        Returns
        -------
        dict
            Norms, sizes and shares.
        """
        return {
            "p": format_value(self.p),
            "q": format_value(self.q),
            "epsilon_q": self.epsilon_q,
            "d": self.d,
            "n": self.n,
            "epsilons": self.epsilons.tolist(),
            "first_in_second": self.first_in_second.json(),
            "second_in_first": self.second_in_first.json(),
        }


def overlap(
    p: str | float,
    q: str | float = 2.0,
    *,
    epsilon_q: float = 4.0,
    epsilons: ArrayLike | None = None,
    d: int = 3072,
    n: int = 1000,
    rng: Rng = 0,
) -> Overlap:
    r"""Estimate how much of each of two balls lies in the other, from points uniform in both.

    A point :math:`\epsilon u`, u in the p-norm's unit ball, is in the second ball as long as
    :math:`\epsilon \le \epsilon_q / \lVert u\rVert_q`; so the same points serve all sizes.

    Siedel et al. (2024), Fig. 5. L0 noise of share epsilon is added to a grey image: exactly
    round(epsilon d) values move by 0.5, to black or white, so all these points are equally far
    away. A point of the other ball is in the L0 ball if at most round(epsilon d) of its values
    differ from 0.

    Parameters
    ----------
    p, q
        Norms of the first ball, 0 for L0, and of the second.
    epsilon_q
        Size of the second ball.
    epsilons
        Sizes of the first ball. By default from a third of the smaller to three times the larger
        of the two sizes at which half of one ball lies in the other; for L0 at most 1.
    d
        Number of dimensions.
    n
        Number of points drawn from each ball.
    rng
        Seed, numpy Generator, or None for fresh points.

    Returns
    -------
    Overlap
        Shares of both balls, by the size of the first.

    Examples
    --------
    >>> shares = overlap("inf", 2, epsilon_q=1, epsilons=[0.5, 0.7, 1], d=2)
    >>> shares.first_in_second.value.round(1)  # the whole square, in the end pi/4 of it
    array([1. , 1. , 0.8])
    >>> shares.second_in_first.value[-1:]  # the whole disc
    array([1.])
    """
    p, q = _order(p), as_p(q)
    d, n = check_whole("d", d, least=1), check_whole("n", n, least=1)
    if not 0 < epsilon_q < math.inf:
        raise InputError(f"epsilon_q must be positive and finite, got {epsilon_q!r}")
    keys = _keys(rng, n)
    if p == 0:
        within = 0.5 * np.arange(1, d + 1) ** (1 / q) <= epsilon_q
        reach = np.full(n, np.count_nonzero(within) / d)
        need = _measure(fold(keys, 1), d, q, lambda x: np.count_nonzero(x, axis=1) / d)
    else:
        with np.errstate(divide="ignore", over="ignore"):  # overflow is refused below
            reach = epsilon_q / _measure(fold(keys, 0), d, p, lambda x: pnorm(x, q))
            need = epsilon_q * _measure(fold(keys, 1), d, q, lambda x: pnorm(x, p))
    if not (np.isfinite(reach).all() and np.isfinite(need).all() and need.min() > 0):
        raise InputError(
            f"balls of p = {p:g} and q = {q:g} in {d} dimensions differ by more than floats hold; "
            "choose orders that are less extreme"
        )
    halves = float(np.median(reach)), float(np.median(need))
    sizes = _default_sizes(halves, p, d) if epsilons is None else _check_sizes(epsilons, p)
    exact = np.round(sizes * d) / d if p == 0 else sizes
    return Overlap(
        p=p,
        q=q,
        epsilon_q=float(epsilon_q),
        d=d,
        n=n,
        epsilons=sizes,
        first_in_second=_shares((reach[:, None] >= exact).sum(axis=0), n, halves[0]),
        second_in_first=_shares((need[:, None] <= exact).sum(axis=0), n, halves[1]),
    )


def _order(norm: str | float) -> float:
    return 0.0 if norm in (0, "0", "l0", "L0") else as_p(norm)


def _keys(rng: Rng, n: int) -> KeyArray:
    return row_keys(make_key(rng), np.arange(n), np.arange(1))[:, 0]


def _measure(
    keys: KeyArray, d: int, p: float, measure: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Measure points uniform in the p-norm's unit ball, few at a time to save memory."""
    step = max(1, _BLOCK // d)
    blocks = (keys[start : start + step] for start in range(0, len(keys), step))
    return np.concatenate([measure(unit_ball(block, d, p)) for block in blocks])


def _default_sizes(halves: tuple[float, float], p: float, d: int) -> FloatArray:
    low, high = min(halves) / 3, 3 * max(halves)
    if p == 0:
        low, high = max(low, 1 / d), 1.0
    return np.geomspace(low, high, _STEPS)


def _check_sizes(epsilons: ArrayLike, p: float) -> FloatArray:
    sizes = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    most = 1 if p == 0 else np.finfo(float).max
    if sizes.ndim > 1 or not sizes.size or not ((sizes > 0) & (sizes <= most)).all():
        rule = "shares above 0 and at most 1" if p == 0 else "positive and finite"
        raise InputError(f"epsilons of {norm_title(p)} balls must be {rule}, got {epsilons!r}")
    return sizes


def _shares(hits: FloatArray, n: int, half: float) -> Shares:
    """Turn numbers of points out of n into shares with their Clopper-Pearson intervals."""
    from scipy import special

    low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, 0.025), 0.0)
    high = np.where(hits < n, special.betaincinv(hits + 1, np.maximum(n - hits, 1), 0.975), 1.0)
    return Shares(hits / n, low, high, half)
