"""p-norms: their names in specs, titles and JSON, and the norms of rows."""

import difflib
import math
import re
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.spec import format_value, parse_call, split_calls, split_name
from shaketable.core.types import Array, FloatArray

_FEW = 32  # up to so many columns are added one by one


def as_p(norm: str | float) -> float:
    """Order p of a norm given as ``"inf"``, ``"linf"``, ``"L2"``, ``"2"`` or ``2``.

    >>> as_p("inf"), as_p("L2"), as_p(1)
    (inf, 2.0, 1.0)
    """
    try:
        p = float(re.sub(r"^[lL]-?", "", norm) if isinstance(norm, str) else norm)
    except (TypeError, ValueError):
        p = math.nan
    if not p > 0:
        near = difflib.get_close_matches(str(norm), ["inf", "linf", "l2", "l1"], n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"norm must be 1, 2, inf or another positive number, got {norm!r}{hint}")
    return p


@lru_cache
def norm_name(p: float) -> str:
    """Name of a norm in spec strings: ``linf``, ``l2``, ``l0.5``."""
    return f"l{format_value(float(p))}"


_NAME = r"l(inf|[\d.]+(?:e-?\d+)?)"  # of noise of a p-norm


class Level(NamedTuple):
    """Noise inside a p-norm ball."""

    p: float
    size: float


@lru_cache(1 << 14)
def pnorm_level(spec: str) -> Level | None:
    """Order p and size of a spec of noise inside a p-norm ball; None for any other corruption.

    >>> pnorm_level("l0.5(2.5e4)"), pnorm_level("l2(1, surface)")
    (Level(p=0.5, size=25000.0), None)
    """
    if "+" in spec or "|" in spec or split_name(spec)[1]:  # joined, or a set with a name
        return None
    call = parse_call(spec)
    level = re.fullmatch(_NAME, call.name)
    if level is None or len(call.args) != 1 or call.options or isinstance(call.args[0], str):
        return None
    return Level(float(level[1]), call.args[0])


def depends_on_distances(spec: str) -> bool:
    """Whether a corruption, or a part of it, is noise of a p-norm.

    >>> depends_on_distances("swap(0.1) + l2(eps_min)"), depends_on_distances("swap(0.1)")
    (True, False)
    """
    return any(re.match(_NAME + r"\(", call) for call in split_calls(spec))


@lru_cache
def norm_title(p: float) -> str:
    """Name of a norm in titles: ``L-inf``, ``L2``."""
    return "L-inf" if math.isinf(p) else f"L{format_value(float(p))}"


def half_separation(two_r: float, p: float) -> float:
    r"""Largest radius, eps_min, at which the balls of two points at distance `two_r` are disjoint.

    .. math:: \epsilon_{min} = 2r / 2^{\max(1, 1/p)}

    Half the distance in every norm; less below p = 1, where the triangle inequality holds only up
    to the factor :math:`2^{1/p - 1}`.

    >>> half_separation(4.0, 2), half_separation(4.0, 0.5)
    (2.0, 1.0)
    """
    return two_r / 2 ** max(1.0, 1 / p)


def pnorm(x: Array, p: float) -> FloatArray:
    """p-norm of every row, scaled by the largest component so that large p cannot underflow.

    >>> pnorm(np.array([[3.0, -4.0]]), 2), pnorm(np.array([[1e-3, 1e-3]]), 200)
    (array([5.]), array([0.00100347]))
    """
    size = np.abs(x.reshape(len(x), math.prod(x.shape[1:]))).astype(np.float64)
    if math.isinf(p):
        return np.asarray(size.max(axis=1))
    if p == 1:
        return _sum(size)
    largest = size.max(axis=1)
    safe = np.where(largest > 0, largest, 1)
    if p == 2:  # powers of two scale without rounding
        safe = np.exp2(np.clip(np.frexp(safe)[1] - 1.0, -1000, 1000))
        return np.asarray(safe * np.sqrt(_sum(np.square(size / safe[:, None]))))
    norm = largest * _sum((size / safe[:, None]) ** p) ** (1 / p)
    return np.asarray(np.maximum(largest, norm))


def _sum(terms: FloatArray) -> FloatArray:
    """Sum of every row; compensated for few columns, so that their order does not matter."""
    if terms.shape[1] > _FEW:
        return np.asarray(terms.sum(axis=1))
    total, lost = np.zeros(len(terms)), np.zeros(len(terms))
    for term in terms.T:
        new = total + term
        back = new - total
        lost += (total - (new - back)) + (term - back)
        total = new
    return np.where(np.isfinite(total), total + lost, total)


NormJson: TypeAlias = Annotated[Literal["inf"] | float, "Order of a norm."]


def norm_to_json(p: float) -> NormJson:
    """Order of a norm for JSON, which has no infinity: ``"inf"`` or the number."""
    return "inf" if math.isinf(p) else p
