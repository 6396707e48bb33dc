"""Noise uniform in the ball of a p-norm, inside it or on its surface."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import DTypeLike

from shaketable.core.checks import HUGE, TINY, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import fold, uniforms
from shaketable.core.norms import as_p, norm_name
from shaketable.core.spec import Call, resolve_size
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.corruption import (
    AddedNoise,
    Corruption,
    Traits,
    add_noise,
    check_number,
    device_code,
)
from shaketable.corruptions.registry import CORRUPTIONS, Declaration, EpsMin, read_arguments
from shaketable.data.bounds import Bounds

Kind: TypeAlias = Literal["ball", "surface", "vertices"]

MAX_REJECTION_DIMENSION = 8
_MAX_ROUNDS = 10_000


@dataclass(frozen=True)
class PNormNoise(Corruption):
    r"""Noise uniform in the p-norm ball of radius ``epsilon``, one draw per point.

    .. math:: \epsilon\,U^{1/d}\,g/\lVert g\rVert_p, \quad |g_i|^p \sim \Gamma(1/p, 1)

    Method of Calafiore et al. (CDC 1998); for p = inf every coordinate is uniform in
    [-epsilon, epsilon]. On the ``surface`` the factor of U is 1 and all noise has norm epsilon; its
    directions are those of the ball, which are uniform by area only for p = 1, 2 and inf. For
    p = inf one coordinate is then -epsilon or epsilon; on the ``vertices`` all are. ``bounds`` says
    what happens at the ends of the value range.

    Parameters
    ----------
    p
        Order of the norm, at least 0; ``inf`` for L-inf.
    epsilon
        Radius of the ball, in the units of the data.
    kind
        ``ball``, ``surface``, or for L-inf ``vertices``.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> PNormNoise(2, 0.5).spec, PNormNoise(2, 0.5, "surface").spec
    ('l2(0.5)', 'l2(0.5, surface)')
    """

    p: float
    epsilon: float
    kind: Kind = "ball"
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_number(self, "p", "be positive (for p = 0 use Impulse)", low=TINY, high=math.inf)
        check_number(self, "epsilon", "be 0 or more and finite", low=0, high=HUGE)
        if self.kind not in get_args(Kind):
            raise unknown_name("kind of p-norm noise", str(self.kind), get_args(Kind))
        if self.kind == "vertices" and not math.isinf(self.p):
            raise InputError(f"vertices are for p = inf, got p = {self.p!r}; choose 'surface'")

    @property
    def traits(self) -> Traits:
        """Added noise, unless the bounds cut the ball; a device draws numbers of its own."""
        noise = AddedNoise(self.p, self.kind, self.epsilon).within(self.bounds)
        return Traits(made_on="device", additive=None if self.truncates else noise)

    def write(self) -> Call:
        """Return the norm with the radius, and the kind unless it is the ball."""
        kind = () if self.kind == "ball" else (self.kind,)
        return Call(norm_name(self.p), (self.epsilon, *kind))

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return noise of size 1, or the keys if `apply` has to try several points of the ball."""
        if self.truncates and not math.isinf(self.p):
            return keys
        if device := device_code(x):
            return device.draw_noise(self, x, keys, self.p, self.kind)
        return unit_ball(keys, math.prod(x.shape[1:]), self.p, kind=self.kind, dtype=x.dtype)

    def apply(self, x: Array, drawn: Array, sizes: FloatArray | None = None) -> Array:
        """Add the noise, scaled to its size, or to the size that is given for every row."""
        if device := device_code(x):
            if not self.truncates:
                return device.add_noise(self, x, drawn, sizes)
            if math.isinf(self.p):
                return device.apply_flat(self, x, drawn, self.truncated)
            return device.through_arrays(self.apply, x, drawn)
        flat = x.reshape(len(x), -1)
        if self.truncates:
            noisy = self.truncated(flat, drawn)
        else:
            scale = self.epsilon if sizes is None else sizes
            noisy = add_noise(flat, drawn, scale, self.bounds)
        return noisy.astype(x.dtype, copy=False).reshape(x.shape)

    @property
    def truncates(self) -> bool:
        """Whether the bounds cut the ball."""
        return self.bounds is not None and self.bounds.rule == "truncate"

    def truncated(self, flat: Array, drawn: Any) -> Array:
        """Return points uniform in the part of the ball in the bounds; in L-inf also of tensors.

        Parameters
        ----------
        flat
            Points, one per row.
        drawn
            What `draw` returned.

        Returns
        -------
        Array
            Noisy points.

        Examples
        --------
        >>> import numpy as np
        >>> from shaketable.core.keys import row_keys
        >>> noise = PNormNoise(np.inf, 0.1, bounds=Bounds(0, 1, rule="truncate"))
        >>> flat, keys = np.zeros((2, 3)), row_keys(0, np.arange(2), np.arange(1))[:, 0]
        >>> noisy = noise.truncated(flat, noise.draw(flat, keys))
        >>> bool((noisy >= 0).all() and (noisy <= 0.1).all())
        True
        """
        bounds = self.bounds
        assert bounds is not None
        if self.kind != "ball":
            raise InputError(f"bounds 'truncate' are for balls, got {self.spec}; use 'clip'")
        bounds.check(flat)
        if math.isinf(self.p):
            low = (flat - self.epsilon).clip(min=bounds.low)
            high = (flat + self.epsilon).clip(max=bounds.high)
            noisy: Array = low + (high - low) * (0.5 * drawn + 0.5)
            return noisy
        d = flat.shape[1]
        if d > MAX_REJECTION_DIMENSION:
            raise InputError(
                f"bounds 'truncate' needs L-inf noise or at most {MAX_REJECTION_DIMENSION} "
                f"dimensions, got {self.spec} in {d}; use 'clip'"
            )
        noisy = flat.astype(np.float64)
        todo = np.arange(len(flat))
        for attempt in range(_MAX_ROUNDS):
            unit = unit_ball(fold(drawn[todo], attempt), d, self.p)
            tried = flat[todo] + self.epsilon * unit
            inside = ((tried >= bounds.low) & (tried <= bounds.high)).all(axis=1)
            noisy[todo[inside]] = tried[inside]
            todo = todo[~inside]
            if not todo.size:
                return noisy
        raise InputError(
            f"epsilon {self.epsilon!r} is so large that {self.spec} hardly ever falls into the "
            f"bounds [{bounds.low}, {bounds.high}]; use 'clip' or a smaller epsilon"
        )


def _read(call: Call, eps_min: EpsMin | None) -> PNormNoise:
    p = as_p(call.name)
    args = tuple(resolve_size(value, p, eps_min) for value in call.args)
    options = {name: resolve_size(value, p, eps_min) for name, value in call.options.items()}
    epsilon, others = read_arguments(Call(call.name, args, options), "epsilon", "kind")
    return PNormNoise(p, epsilon, **others)


CORRUPTIONS.add(
    "lP",
    Declaration(
        read=_read,
        pattern=r"l(inf|(\d+(\.\d+)?|\.\d+)(e-?\d+)?)",
        names=("linf", "l2", "l1", "lP"),
        forms={
            "linf(epsilon)": "noise uniform in the L-inf ball: every value moves by at most "
            "epsilon",
            "l2(epsilon)": "noise uniform in the L2 ball",
            "l1(epsilon)": "noise uniform in the L1 ball",
            "lP(epsilon)": "noise uniform in the ball of any other norm, P > 0, such as l0.5, l10",
            "lP(epsilon, surface)": "noise on the surface of the ball: its norm is epsilon",
            "linf(epsilon, vertices)": "every value moves by epsilon, up or down",
        },
        home=__name__,
    ),
)


def unit_ball(
    keys: KeyArray, d: int, p: float, *, kind: Kind = "ball", dtype: DTypeLike = np.float64
) -> Array:
    """Return one point uniform in the unit ball of the p-norm per key, shape (keys, d).

    >>> x = unit_ball(np.arange(3, dtype=np.uint64), 2, 1.0, kind="surface")
    >>> np.abs(x).sum(axis=1).round(12)
    array([1., 1., 1.])
    """
    from shaketable.corruptions.compiled import ziggurat  # compiled code, slow to load

    out = np.empty((len(keys), d), dtype)
    if kind == "vertices":
        run_over_rows(ziggurat.fill_vertices, keys, out)
    elif math.isinf(p):
        run_over_rows(ziggurat.fill_cube, keys, out, settings=(kind == "surface",))
    elif ziggurat.LEAST_P <= p <= ziggurat.MOST_P:
        layers = ziggurat.layers(float(p))
        run_over_rows(ziggurat.fill_ball, keys, out, settings=(kind == "surface", *layers))
    else:
        out[:] = _draw_by_inversion(keys, d, p, surface=kind == "surface")
    return out


def _draw_by_inversion(keys: KeyArray, d: int, p: float, *, surface: bool) -> FloatArray:
    """Points of the unit ball for p outside of the ziggurat's range, slowly and in logarithms.

    Gamma(1/p)^(1/p) = U * Gamma(1 + 1/p)^(1/p) avoids the underflow of small shape parameters.
    """
    from scipy import special

    u = uniforms(keys, 2 * d + 1)
    sign = 2 * u[:, :d] - 1
    size = np.log(np.abs(sign)) + np.log(special.gammaincinv(1 + 1 / p, u[:, d : 2 * d])) / p
    norm = special.logsumexp(p * size, axis=1, keepdims=True) / p
    radius = 0.0 if surface else np.log(u[:, 2 * d :]) / d
    return np.asarray(np.copysign(np.exp(size - norm + radius), sign))
