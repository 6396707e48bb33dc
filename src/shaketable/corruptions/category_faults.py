"""Faults of text and categories: wrong values and typos."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.keys import uniforms
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.corruption import Corruption, Traits, check_number, on_arrays
from shaketable.corruptions.registry import declare
from shaketable.data.columns import Columns
from shaketable.data.frames.columns import CATEGORIES, NUMBERS, VARIANTS


@dataclass(frozen=True)
class _Share(Corruption):
    """A fault of every value with probability ``share``, nested along the shares of a ladder."""

    share: float

    def __post_init__(self) -> None:
        check_number(self, "share", "lie in [0, 1], 0.05 for 5 %", low=0, high=1)

    def _draw_hits(self, x: Array, keys: KeyArray) -> tuple[Array, FloatArray]:
        """Mask of the values that are hit, and a number in (0, 1) for each value."""
        d = x.shape[1]
        u = uniforms(keys, 2 * d)
        return u[:, :d] < self.share, u[:, d:]


@declare(
    "swap",
    {
        "swap(share)": "every category or text is replaced, with that probability, by another "
        "value of its column, drawn by its frequency"
    },
)
@dataclass(frozen=True)
class Swap(_Share):
    """Every value is replaced by another of its column with probability ``share``.

    The other value is drawn by its frequency among all others in the training part, or in all
    points if there is none. In tables of several kinds it changes text, categories, booleans and
    one-hot groups; other columns can be named with ``only=``. Missing values stay missing.

    Parameters
    ----------
    share
        Probability that a value is replaced.
    frequencies
        Values of every column and how often they occur; filled in from the data.

    Examples
    --------
    >>> Swap(0.05).spec
    'swap(0.05)'
    """

    frequencies: tuple[tuple[Array, IntArray], ...] | None = field(
        default=None, compare=False, repr=False
    )
    """Values of every column, and how often they occur; None until the columns are known."""

    traits = Traits(
        points="tables", by_column=True, kinds=CATEGORIES, may_change=(*NUMBERS, "date")
    )

    def for_columns(self, columns: Columns) -> Swap:
        """Return the same corruption with the values of the columns filled in."""
        counted = tuple(columns.count_values(place) for place in range(columns.d))
        return replace(self, frequencies=counted)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Replace values."""
        if self.frequencies is None or len(self.frequencies) != x.shape[1]:
            raise InputError(
                f"{self.spec} depends on the columns of the data, which must be known first; use "
                "corrupt or evaluate, or for_columns(Columns(…))"
            )
        hit, u = self._draw_hits(x, drawn)
        out = x.copy()
        for place, (values, counts) in enumerate(self.frequencies):
            rows = np.flatnonzero(hit[:, place])
            out[rows, place] = _draw_others(x[rows, place], u[rows, place], values, counts)
        return out


def _draw_others(old: Array, u: FloatArray, values: Array, counts: IntArray) -> Array:
    """For every old value another one, by frequency; the old one where there is no other."""
    if not len(values):
        return old
    ends = counts.cumsum()
    place = np.searchsorted(values, old).clip(max=len(values) - 1)
    own = np.where(values[place] == old, counts[place], 0)
    target = u * (ends[-1] - own)
    target = np.where(target >= ends[place] - own, target + own, target)
    new = values[np.searchsorted(ends, target, side="right").clip(max=len(values) - 1)]
    return np.where(own == ends[-1], old, new).astype(old.dtype)


@declare(
    "typo",
    {"typo(share)": "every text gets one slip of the keyboard with that probability"},
)
@dataclass(frozen=True)
class Typo(_Share):
    """Every text gets a typo with probability ``share``: one slip of the keyboard.

    Two neighbouring signs change places, or a sign is left out, doubled or replaced by its
    neighbour on the keyboard. A column of a category type can hold only its categories, so there a
    typo is a missing value.

    Parameters
    ----------
    share
        Probability that a text gets a typo.
    sizes
        Number of texts of every column; filled in from the data.

    Examples
    --------
    >>> Typo(0.05).spec
    'typo(0.05)'
    """

    sizes: FloatArray | None = field(default=None, compare=False, repr=False)
    """Number of values of every column; None until the columns are known."""

    traits = Traits(points="tables", by_column=True, kinds=("text", "category"))

    def for_columns(self, columns: Columns) -> Typo:
        """Return the same corruption with the number of values of every column filled in."""
        if columns.table is None:
            raise InputError(f"{self.spec} is for tables with text, and these data have none")
        return replace(self, sizes=np.array([len(c.values) for c in columns.table.columns], float))

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Move places beyond the values of their columns: there are the typos."""
        if self.sizes is None:
            raise InputError(f"{self.spec} is for tables with text; use corrupted or evaluate")
        hit, u = self._draw_hits(x, drawn)
        variant = 1 + np.floor(u * VARIANTS)
        return np.where(hit & (x < self.sizes), x + variant * self.sizes, x).astype(x.dtype)
