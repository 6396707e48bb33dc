r"""Balls of the p-norms: how large they are, and how much of one lies in another.

Two balls of the same epsilon differ in volume by factors beyond all bounds as dimensions are added
(`volume_factor`), and even balls of about the same size may have next to nothing in common
(`overlap`): noise from one says little about noise from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.core.keys import Rng, fold, key_from, row_keys
from shaketable.core.norms import as_p, norm_title, pnorm
from shaketable.core.spec import format_value
from shaketable.core.types import FloatArray, KeyArray
from shaketable.corruptions.pnorm import Kind, PNormNoise, unit_ball

_LEAST = 1e-100  # order of a norm

PAPER_DIMENSIONS = (3, 5, 10, 20)
PAPER_PAIRS = ((math.inf, 2.0), (2.0, 1.0))
PAPER_NORMS = (0.0, 0.5, 1.0, 5.0, 50.0, math.inf)
"""First balls of Fig. 5: its text names five of the six, 5 is our guess at the other."""

_BLOCK = 2**23  # numbers held at a time: 64 MB
_STEPS = 200  # sizes at which an overlap is told, unless they are given


def log_volume(p: str | float, d: int) -> float:
    r"""Logarithm of the volume of the unit ball of the p-norm in d dimensions.

    .. math:: \log V_p = d \log(2\,\Gamma(1 + 1/p)) - \log\Gamma(1 + d/p)

    For p = inf it is d log 2, a cube's. With radius epsilon it grows by d log(epsilon).

    >>> round(math.exp(log_volume(2, 3)), 4), round(math.exp(log_volume("inf", 3)), 4)
    (4.1888, 8.0)
    """
    p, d = as_p(p), check_whole("d", d, least=1)
    if p < _LEAST:
        raise InputError(f"p must be at least {_LEAST:g} for a volume that floats hold, got {p!r}")
    return d * (math.log(2) + math.lgamma(1 + 1 / p)) - math.lgamma(1 + d / p)


def volume_factor(p: str | float, q: str | float, d: int) -> float:
    """How many times larger the p-norm's ball is than the q-norm's of the same epsilon.

    inf where that is more than a float holds; the difference of the two `log_volume` never is.

    >>> round(volume_factor("inf", 2, 10), 1), volume_factor("inf", 2, 3072)
    (401.5, inf)
    """
    return VolumeFactor.of(p, q, d).factor


@dataclass(frozen=True)
class VolumeFactor:
    """Volume of the p-norm's ball over that of the q-norm's of the same epsilon."""

    p: float
    q: float
    d: int
    log: float
    """Natural logarithm of the factor."""

    @classmethod
    def of(cls, p: str | float, q: str | float, d: int) -> VolumeFactor:
        """Factor of two norms in d dimensions."""
        return cls(as_p(p), as_p(q), d, log_volume(p, d) - log_volume(q, d))

    @property
    def factor(self) -> float:
        """The factor itself; inf where that is more than a float holds."""
        return math.exp(self.log) if self.log < math.log(np.finfo(float).max) else math.inf

    def json(self) -> dict[str, Any]:
        """Factor as an object; null where it is more than a float holds."""
        factor = self.factor if self.factor < math.inf else None
        norms = {"p": format_value(self.p), "q": format_value(self.q)}
        return norms | {"d": self.d, "log": self.log, "factor": factor}

    def __str__(self) -> str:
        return (
            f"{self.factor:.4g}" if self.factor < math.inf else f"10^{self.log / math.log(10):.1f}"
        )


def volume_table(
    dimensions: Iterable[int] = PAPER_DIMENSIONS,
    pairs: Iterable[tuple[str | float, str | float]] = PAPER_PAIRS,
) -> list[VolumeFactor]:
    """Volume factors in every dimension, one after the other for every pair of norms.

    By default Table 6 of Siedel et al. (2024), as it should read: as printed, its two columns have
    changed places from d = 5 on.

    >>> [str(factor) for factor in volume_table(dimensions=[3, 5])]
    ['1.91', '6.079', '3.142', '19.74']
    """
    dimensions = list(dimensions)
    return [VolumeFactor.of(p, q, d) for p, q in pairs for d in dimensions]


def samples(p: str | float, n: int = 1000, *, kind: Kind = "ball", rng: Rng = 0) -> FloatArray:
    """Points in the plane, uniform in the p-norm's unit ball, or on its surface: shape (n, 2).

    Parameters
    ----------
    p
        Which norm, such as 0.5 or ``"inf"``.
    n
        Number of points.
    kind
        ``ball``, ``surface``, or of L-inf ``vertices``, its corners.
    rng
        Seed, numpy Generator, or None for fresh points.

    >>> on_diamond = samples(1, 5, kind="surface")
    >>> np.abs(on_diamond).sum(axis=1).round(12)
    array([1., 1., 1., 1., 1.])
    """
    noise = PNormNoise(as_p(p), 1.0, kind)  # knows which kinds there are
    return unit_ball(_keys(rng, check_whole("n", n, least=1)), 2, noise.p, kind=noise.kind)


@dataclass(frozen=True, eq=False)
class Shares:
    """Share of one ball's points that lie in the other, for every epsilon of the first ball."""

    value: FloatArray
    low: FloatArray
    """Where the 95 % interval (Clopper-Pearson) of each begins."""
    high: FloatArray
    half: float
    """Epsilon of the first ball at which half of the points lie in the other."""

    def json(self) -> dict[str, Any]:
        """Everything as an object."""
        lists = {name: getattr(self, name).tolist() for name in ("value", "low", "high")}
        return lists | {"half": self.half}


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """How much of two balls lies in each other, as the first of them grows."""

    p: float
    q: float
    epsilon_q: float
    d: int
    n: int
    epsilons: FloatArray
    """Sizes of the first ball; of L0, shares of the dimensions."""
    first_in_second: Shares
    """Falls with epsilon: the first ball grows out of the second."""
    second_in_first: Shares
    """Rises with epsilon: the first ball grows over the second."""

    def json(self) -> dict[str, Any]:
        """Everything as an object."""
        return {
            "p": format_value(self.p), "q": format_value(self.q), "epsilon_q": self.epsilon_q,
            "d": self.d, "n": self.n, "epsilons": self.epsilons.tolist(),
            "first_in_second": self.first_in_second.json(),
            "second_in_first": self.second_in_first.json(),
        }  # fmt: skip


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
    r"""How much of two balls lies in each other, by points drawn uniformly from both.

    A point :math:`\epsilon u`, u in the p-norm's unit ball, is in the second ball as long as
    :math:`\epsilon \le \epsilon_q / \lVert u\rVert_q`; so one draw serves all sizes.

    Siedel et al. (2024), Fig. 5. L0 noise of share epsilon is drawn around a grey picture: exactly
    round(epsilon d) values move by 0.5, to black or white, so all these points are equally far
    away; and a point of the other ball is such noise only if no more of its values differ from 0.

    Parameters
    ----------
    p, q
        Norms of the first ball, which may be 0, and of the second.
    epsilon_q
        Size of the second ball.
    epsilons
        Sizes of the first ball; by default from a third of where half of either ball's points lie
        in the other to three times that, at most 1 for L0.
    d
        Dimensions.
    n
        Points drawn from each ball.
    rng
        Seed, numpy Generator, or None for fresh points.

    >>> found = overlap("inf", 2, epsilon_q=1, epsilons=[0.5, 0.7, 1], d=2)
    >>> found.first_in_second.value.round(1)  # the whole square, at last pi/4 of it
    array([1. , 1. , 0.8])
    >>> found.second_in_first.value[-1:]  # the whole disc
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
        need = _sizes(fold(keys, 1), d, q, lambda x: np.count_nonzero(x, axis=1) / d)
    else:
        with np.errstate(divide="ignore", over="ignore"):  # what comes of it is refused below
            reach = epsilon_q / _sizes(fold(keys, 0), d, p, lambda x: pnorm(x, q))
            need = epsilon_q * _sizes(fold(keys, 1), d, q, lambda x: pnorm(x, p))
    if not (np.isfinite(reach).all() and np.isfinite(need).all() and need.min() > 0):
        raise InputError(
            f"balls of p = {p:g} and q = {q:g} in {d} dimensions differ by more than floats hold; "
            "choose orders that are less extreme"
        )
    halves = float(np.median(reach)), float(np.median(need))
    sizes = _ladder(halves, p, d) if epsilons is None else _checked(epsilons, p)
    asked = np.round(sizes * d) / d if p == 0 else sizes
    return Overlap(
        p=p, q=q, epsilon_q=float(epsilon_q), d=d, n=n, epsilons=sizes,
        first_in_second=_shares((reach[:, None] >= asked).sum(axis=0), n, halves[0]),
        second_in_first=_shares((need[:, None] <= asked).sum(axis=0), n, halves[1]),
    )  # fmt: skip


def _order(norm: str | float) -> float:
    return 0.0 if norm in (0, "0", "l0", "L0") else as_p(norm)


def _keys(rng: Rng, n: int) -> KeyArray:
    return row_keys(key_from(rng), np.arange(n), np.arange(1))[:, 0]


def _sizes(
    keys: KeyArray, d: int, p: float, size: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Another size of points uniform in the p-norm's unit ball, never holding many of them."""
    step = max(1, _BLOCK // d)
    blocks = (keys[start : start + step] for start in range(0, len(keys), step))
    return np.concatenate([size(unit_ball(block, d, p)) for block in blocks])


def _ladder(halves: tuple[float, float], p: float, d: int) -> FloatArray:
    low, high = min(halves) / 3, 3 * max(halves)
    if p == 0:
        low, high = max(low, 1 / d), 1.0
    return np.geomspace(low, high, _STEPS)


def _checked(epsilons: ArrayLike, p: float) -> FloatArray:
    sizes = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    most = 1 if p == 0 else np.finfo(float).max
    if sizes.ndim > 1 or not sizes.size or not ((sizes > 0) & (sizes <= most)).all():
        rule = "shares above 0 and at most 1" if p == 0 else "positive and finite"
        raise InputError(f"epsilons of {norm_title(p)} balls must be {rule}, got {epsilons!r}")
    return sizes


def _shares(hits: FloatArray, n: int, half: float) -> Shares:
    """Shares with their Clopper-Pearson intervals."""
    from scipy import special

    low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, 0.025), 0.0)
    high = np.where(hits < n, special.betaincinv(hits + 1, np.maximum(n - hits, 1), 0.975), 1.0)
    return Shares(hits / n, low, high, half)
