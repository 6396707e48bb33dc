"""From spec strings to corruptions, and the one-line way to corrupt an array."""

import re
from collections.abc import Callable

import numpy as np

from shaketable.corruptions.bounds import BoundsLike, as_bounds
from shaketable.corruptions.compose import Sequence
from shaketable.corruptions.corruption import Clean, Corruption
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.errors import InputError, unknown
from shaketable.keys import Rng, key_from, row_keys
from shaketable.norms import as_p
from shaketable.spec import Call, parse_call, split
from shaketable.types import Array

CORRUPTION_NAMES = {
    "clean": "no corruption",
    "linf(epsilon)": "noise uniform in the L-inf ball: every value moves by at most epsilon",
    "l2(epsilon)": "noise uniform in the L2 ball",
    "l1(epsilon)": "noise uniform in the L1 ball",
    "lP(epsilon)": "noise uniform in the ball of any other norm, P > 0, such as l0.5 or l10",
    "A + B": "A, then B",
}
"""What can be written, with its meaning; epsilon may be ``eps_min`` where the data are known."""


def parse(spec: str, *, eps_min: Callable[[float], float] | None = None) -> Corruption:
    """Corruption that a spec string names.

    Parameters
    ----------
    spec
        Such as ``linf(0.1)`` or ``l2(0.5) + linf(eps_min)``.
    eps_min
        What ``eps_min`` stands for in the p-norm, as a function of p; without it the word is an
        error.

    >>> parse("linf(1e-1)").spec
    'linf(0.1)'
    """
    factors = [_parse_one(parse_call(part), eps_min) for part in split(spec, "+")]
    if not factors:
        raise InputError("corruption must not be empty; write for example linf(0.1)")
    return factors[0] if len(factors) == 1 else Sequence(tuple(factors))


def corrupt(x: Array, spec: str, *, rng: Rng = None, bounds: BoundsLike = None) -> Array:
    """Corrupted copy of `x`, every row with its own noise.

    Parameters
    ----------
    x
        Points, one a row; integers become float64 in their own units.
    spec
        Any corruption, such as ``linf(0.1)``.
    rng
        Seed, numpy Generator, or None for fresh noise.
    bounds
        (low, high) to clip to, a `Bounds` for another rule; None leaves values as they fall.

    >>> noisy = corrupt(np.zeros((3, 2)), "linf(0.1)", rng=0)
    >>> noisy.shape, bool(np.abs(noisy).max() <= 0.1)
    ((3, 2), True)
    """
    x = np.asarray(x)
    if x.ndim == 0:
        raise InputError("x must hold one point a row, got a single number")
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(np.float64)
    if not x.size:
        raise InputError(f"x must hold at least one point, got shape {x.shape}")
    corruption = parse(spec).bind(as_bounds(bounds))
    keys = row_keys(key_from(rng), np.arange(len(x)), np.arange(1))[:, 0]
    return np.array(corruption(x, keys))


def _parse_one(call: Call, eps_min: Callable[[float], float] | None) -> Corruption:
    if call.name == "clean" and not call.args and not call.options:
        return Clean()
    if re.fullmatch(r"l(inf|\d+(\.\d+)?|\.\d+)", call.name):
        return _pnorm(call, eps_min)
    raise unknown("corruption", call.name, [name.partition("(")[0] for name in CORRUPTION_NAMES])


def _pnorm(call: Call, eps_min: Callable[[float], float] | None) -> PNormNoise:
    p = as_p(call.name)
    values = [*call.args, *call.options.values()]
    if len(values) != 1 or not set(call.options) <= {"epsilon"}:
        raise InputError(f"corruption {call.name} takes one number, epsilon, got {str(call)!r}")
    (epsilon,) = values
    if epsilon == "eps_min":
        if eps_min is None:
            raise InputError(f"{call}: eps_min is known only where data are; give a number")
        epsilon = eps_min(p)
    if isinstance(epsilon, str):
        raise InputError(f"corruption {call}: epsilon must be a number or eps_min, got {epsilon!r}")
    return PNormNoise(p, epsilon)
