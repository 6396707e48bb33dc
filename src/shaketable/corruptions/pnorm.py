"""Noise uniform in the ball of a p-norm."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shaketable.corruptions.bounds import Bounds
from shaketable.errors import InputError
from shaketable.keys import fold, uniforms
from shaketable.norms import norm_name
from shaketable.spec import Call
from shaketable.types import Array, FloatArray, KeyArray

MAX_REJECTION_DIMENSION = 8
_MAX_ROUNDS = 10_000


@dataclass(frozen=True)
class PNormNoise:
    r"""Noise uniform in the p-norm ball of radius ``epsilon``, one draw per sample.

    .. math:: \epsilon\,U^{1/d}\,g/\lVert g\rVert_p, \quad |g_i|^p \sim \Gamma(1/p, 1)

    Method of Calafiore et al. (CDC 1998); for p = inf every coordinate is uniform in
    [-epsilon, epsilon]. ``bounds`` says what happens at the edge of the value range.

    >>> PNormNoise(2, 0.5).spec
    'l2(0.5)'
    """

    p: float
    epsilon: float
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if not self.p > 0:
            raise InputError(f"p must be positive, got {self.p!r}")
        if not 0 <= self.epsilon < math.inf:
            raise InputError(f"epsilon must be 0 or more and finite, got {self.epsilon!r}")

    @property
    def spec(self) -> str:
        """Canonical spec string; bounds are the data's, so they are recorded apart."""
        return str(Call(norm_name(self.p), (self.epsilon,)))

    @property
    def ladder(self) -> str:
        """Name of the whole ladder of levels, for noise that is to be scaled along it."""
        return norm_name(self.p)

    def bind(self, bounds: Bounds | None) -> PNormNoise:
        """Return the same noise with the data's bounds filled in."""
        return replace(self, bounds=bounds)

    def __call__(self, x: Array, keys: KeyArray) -> Array:
        """Noisy copy of the rows of ``x``, one key a row."""
        flat = x.reshape(len(x), -1)
        if self.bounds is not None and self.bounds.rule == "truncate":
            noisy = self._truncated(flat, keys, self.bounds)
        else:
            noisy = self._apply(flat, unit_ball(keys, flat.shape[1], self.p))
            if self.bounds is not None:
                np.clip(noisy, self.bounds.low, self.bounds.high, out=noisy)
        return noisy.astype(x.dtype, copy=False).reshape(x.shape)

    def _apply(self, flat: Array, delta: FloatArray) -> FloatArray:
        delta *= self.epsilon
        delta += flat
        return delta

    def _truncated(self, flat: Array, keys: KeyArray, bounds: Bounds) -> FloatArray:
        """Uniform in the part of the ball that lies inside the box."""
        bounds.check(flat)
        d = flat.shape[1]
        if math.isinf(self.p):
            low = np.maximum(flat - self.epsilon, bounds.low)
            high = np.minimum(flat + self.epsilon, bounds.high)
            return np.asarray(low + (high - low) * uniforms(keys, d), dtype=np.float64)
        if d > MAX_REJECTION_DIMENSION:
            raise InputError(
                f"bounds 'truncate' needs L-inf noise or at most {MAX_REJECTION_DIMENSION} "
                f"dimensions, got {self.spec} in {d}; use 'clip'"
            )
        noisy = flat.astype(np.float64)
        todo = np.arange(len(flat))
        for attempt in range(_MAX_ROUNDS):
            tried = self._apply(flat[todo], unit_ball(fold(keys[todo], attempt), d, self.p))
            inside = ((tried >= bounds.low) & (tried <= bounds.high)).all(axis=1)
            noisy[todo[inside]] = tried[inside]
            todo = todo[~inside]
            if not todo.size:
                return noisy
        raise InputError(
            f"epsilon {self.epsilon!r} is so large that {self.spec} hardly ever falls into the "
            f"bounds [{bounds.low}, {bounds.high}]; use 'clip' or a smaller epsilon"
        )


def unit_ball(keys: KeyArray, d: int, p: float) -> FloatArray:
    """One point uniform in the unit ball of the p-norm for every key, shape (keys, d)."""
    if math.isinf(p):
        return 2 * uniforms(keys, d) - 1
    g, radius = _generalised_normal(keys, d, p)
    # scaled by the largest component, whose p-th power can neither over- nor underflow
    largest = np.abs(g).max(axis=1, keepdims=True)
    g /= largest
    g *= radius ** (1 / d) / (np.abs(g) ** p).sum(axis=1, keepdims=True) ** (1 / p)
    return g


def _generalised_normal(keys: KeyArray, d: int, p: float) -> tuple[FloatArray, FloatArray]:
    """Signed g with |g_i|^p ~ Gamma(1/p, 1), and one more uniform number a row."""
    from scipy import special  # 0.2 s that L-inf noise can do without

    if p == 2:
        u = uniforms(keys, d + 1)
        return special.ndtri(u[:, :d]), u[:, d:]
    if p == 1:
        u = uniforms(keys, d + 1)
        v = 2 * u[:, :d] - 1
        return np.copysign(np.log1p(-np.abs(v)), v), u[:, d:]
    # Gamma(1/p)^(1/p) = U * Gamma(1 + 1/p)^(1/p): free of the underflow that small shapes bring
    u = uniforms(keys, 2 * d + 1)
    gamma = special.gammaincinv(1 + 1 / p, u[:, :d])
    return (2 * u[:, d : 2 * d] - 1) * gamma ** (1 / p), u[:, 2 * d :]
