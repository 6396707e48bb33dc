"""Noise as a function of independent standard normal numbers, on which one Markov kernel moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from shaketable.core.types import FloatArray, KeyArray
from shaketable.corruptions import Corruption
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.only import Only
from shaketable.corruptions.pnorm import PNormNoise

_TINY = 1e-290
_FEWEST = 1e-3  # below, the quantile of a gamma law is its leading term


@dataclass(frozen=True)
class LatentNoise:
    r"""Noise of size 1 in d dimensions as a map of `dimensions` standard normal numbers u.

    Gaussian noise is u itself, and noise uniform in the cube is :math:`2\Phi(u) - 1`. Noise uniform
    in the ball of another norm is

    .. math:: \Phi(u_0)^{1/d}\, g / \lVert g \rVert_p, \quad
        |g_i|^p = F_{1/p}^{-1}(2 \Phi(|u_i|) - 1)

    with the sign of :math:`u_i` and the distribution function F of Gamma(1/p): the same law as that
    of `corruptions.pnorm`, by inversion. On the surface there is no radius. The L2 ball is made of
    d + 2 numbers, as :math:`u_{1 \dots d} / \lVert u \rVert_2` (Archimedes' hat-box theorem): all
    directions of u are then alike, and a region behind a plane is a cone.

    >>> LatentNoise(np.inf, 2)(np.array([[0.0, 8.0]])).round(12)
    array([[0., 1.]])
    """

    p: float
    """Order of the norm; 2 for Gaussian noise."""
    d: int
    """Number of values that the noise moves."""
    kind: str = "ball"
    """As in `AddedNoise`: ``ball``, ``surface``, ``vertices`` or ``gaussian``."""

    @property
    def dimensions(self) -> int:
        """How many normal numbers make one draw."""
        return self.d + (2 if self._is_round_ball else self._has_extra)

    @property
    def _is_round_ball(self) -> bool:
        return self.p == 2 and self.kind == "ball"

    @property
    def _has_extra(self) -> bool:
        """Whether the first number is the radius, or the face of the cube."""
        if math.isinf(self.p):
            return self.kind == "surface"
        return self.kind == "ball" and self.p != 2

    def __call__(self, u: FloatArray) -> FloatArray:
        """Return one draw per row of normal numbers."""
        if self._is_round_ball:
            return np.asarray(u[:, : self.d] / np.linalg.norm(u, axis=1, keepdims=True))
        values = u[:, 1:] if self._has_extra else u
        if self.kind == "gaussian":
            return values
        if self.kind == "vertices":
            return np.where(values < 0, -1.0, 1.0)
        if math.isinf(self.p):
            cube = np.asarray(special.erf(values / math.sqrt(2)))
            if self.kind == "surface":
                rows = np.arange(len(u))
                face = np.minimum((special.ndtr(u[:, 0]) * self.d).astype(np.int64), self.d - 1)
                cube[rows, face] = np.where(cube[rows, face] < 0, -1.0, 1.0)
            return cube
        size = self._log_sizes(np.abs(values))
        norm = special.logsumexp(self.p * size, axis=1, keepdims=True) / self.p
        radius = special.log_ndtr(u[:, :1]) / self.d if self._has_extra else 0.0
        return np.asarray(np.copysign(np.exp(size - norm + radius), values))

    def _log_sizes(self, u: FloatArray) -> FloatArray:
        """Logarithms of the sizes of the values, before they share a norm; `u` is at least 0."""
        if self.p == 2:
            return np.asarray(np.log(np.maximum(u, _TINY)))
        upper = special.log_ndtr(-u) + math.log(2)
        if self.p == 1:
            return np.asarray(np.log(np.maximum(-upper, _TINY)))
        a, lower = 1 / self.p, special.erf(u / math.sqrt(2))
        gamma = np.where(
            lower < 0.5, special.gammaincinv(a, lower), special.gammainccinv(a, np.exp(upper))
        )
        # the quantile may underflow where its root does not: lower = gamma^a / Gamma(1 + a) there
        leading = np.log(np.maximum(lower, _TINY)) + special.gammaln(1 + a)
        small = gamma < _FEWEST**2
        return np.where(small, leading, a * np.log(np.where(small, 1.0, gamma)))


def find_latent(corruption: Corruption, d: int) -> LatentNoise | None:
    """Return how a corruption of d values is made of normal numbers; None if it is not known.

    >>> from shaketable.corruptions import parse
    >>> find_latent(parse("l2(0.5)"), 3)
    LatentNoise(p=2.0, d=3, kind='ball')
    >>> find_latent(parse("rotation(30)"), 3) is None
    True
    """
    if isinstance(corruption, Only):
        return find_latent(corruption.corruption, len(corruption.places or ()))
    if isinstance(corruption, PNormNoise):
        if corruption.truncates and not (math.isinf(corruption.p) and corruption.kind == "ball"):
            return None
        return LatentNoise(float(corruption.p), d, corruption.kind)
    if isinstance(corruption, Gaussian) and corruption.traits.additive is not None:
        return LatentNoise(2.0, d, "gaussian")
    return None


def draw_normals(keys: KeyArray, d: int) -> FloatArray:
    """Return d standard normal numbers for every key."""
    from shaketable.core.threads import run_over_rows
    from shaketable.corruptions.compiled import ziggurat  # compiled code, slow to load

    out = np.empty((len(keys), d))
    run_over_rows(ziggurat.fill_gaussian, keys, out, settings=ziggurat.layers(2.0))
    return out
