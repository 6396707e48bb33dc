"""Sizes at which a worst case is shown."""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.norms import pnorm
from shaketable.core.spec import read_multiple
from shaketable.data.dataset import Dataset

_SIZES = 14


def choose_sizes(data: Dataset, p: float, eps_min: float | None) -> list[float]:
    """Sizes at which accuracies are shown: multiples of eps_min, up to the span of the data.

    >>> from shaketable.data.files import as_dataset
    >>> choose_sizes(as_dataset(([[0.0], [2.0], [8.0]], [0, 1, 1])), 2, 1.0)
    [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    """
    ranges = data.ranges if data.table is None else data.ranges[data.table.moved]
    reach = float(pnorm(np.ravel(ranges)[None].astype(np.float64), p)[0])
    if eps_min is None or not eps_min < reach:
        return [reach * 2.0**-i for i in range(_SIZES - 1, -1, -1)]
    doublings = math.log2(reach / eps_min)
    factor = 2.0 ** max(1, math.ceil(doublings / (_SIZES - 3)))
    sizes = [eps_min * factor**i for i in range(-2, _SIZES) if eps_min * factor**i < reach]
    return [*sizes, reach]


def resolve_epsilon(given: float | str, eps_min: float | None) -> float:
    """Return a size as a number; multiples of eps_min need it."""
    factor = read_multiple(given)
    if factor is not None:
        assert eps_min is not None, "it is needed"
        return factor * eps_min
    if isinstance(given, str):
        raise unknown_name("epsilon", given, ["eps_min"])
    return given
