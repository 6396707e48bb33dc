"""Faults of tables: noise, missing values and a wrong scale, relative to every column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import HUGE, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.corruption import Corruption, Traits, check_number, on_arrays
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns
from shaketable.data.frames.columns import CATEGORIES, NUMBERS

Fill: TypeAlias = Literal["mean", "empty"]


@declare(
    "jitter",
    {"jitter(deviations)": "normal noise of that many standard deviations of a value's column"},
)
@dataclass(frozen=True)
class Jitter(Corruption):
    """Normal noise on every value; ``deviations`` is in standard deviations of its column.

    Columns are measured on the training part, or on all points if there is no training part.

    Parameters
    ----------
    deviations
        Standard deviation of the noise, in standard deviations of the column.
    bounds
        Value range; filled in from the data.
    spread
        Standard deviation of every column; filled in from the data.

    Examples
    --------
    >>> Jitter(0.1).spec
    'jitter(0.1)'
    """

    deviations: float
    bounds: Bounds | None = None
    spread: FloatArray | None = field(default=None, compare=False, repr=False)

    traits = Traits(by_column=True, on_steps=True)

    def __post_init__(self) -> None:
        check_number(self, "deviations", "be 0 or more and finite", low=0, high=HUGE)

    def for_columns(self, columns: Columns) -> Jitter:
        """Return the same noise with the standard deviations of the columns filled in."""
        return replace(self, spread=columns.spread)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Add the noise, scaled to the columns."""
        scale = self.size * _check_columns(self.spread, x, self.spec)
        noise = Gaussian(1.0).draw(x, drawn) * scale.astype(x.dtype)
        return _enforce(x + noise.reshape(x.shape), self.bounds)


@declare(
    "missing",
    {
        "missing(share)": "every value is missing with that probability: in data frames and tables "
        "it is left empty, in arrays of plain numbers set to its column's mean",
        "missing(share, mean)": "missing values are set to their column's mean or most frequent "
        "value",
        "missing(share, empty)": "missing values are left empty (NaN), for models that take them",
    },
)
@dataclass(frozen=True)
class Missing(Corruption):
    """Every value is missing with probability ``share``.

    ``fill`` says what is there instead: ``mean``, the mean of the column, or its most frequent
    value if it holds no numbers; or ``empty``, nothing: NaN, or the column's own sign for missing
    values, for models that take them. Without it, data frames and tables get the latter, arrays
    of plain numbers the former. What is missing at a lower share is missing at a higher one in the
    same draw as well.

    Parameters
    ----------
    share
        Probability that a value is missing.
    fill
        What is there instead: ``mean`` or ``empty``.
    bounds
        Value range; filled in from the data.
    values
        What stands for a missing value in every column; filled in from the data.

    Examples
    --------
    >>> Missing(0.1).spec, Missing(0.1, "empty").spec
    ('missing(0.1)', 'missing(0.1, empty)')
    """

    share: float
    fill: Fill | None = None
    bounds: Bounds | None = None
    values: FloatArray | None = field(default=None, compare=False, repr=False)
    """What replaces missing values, by column; None until the columns are known."""

    def __post_init__(self) -> None:
        check_number(self, "share", "lie in [0, 1], 0.1 for 10 %", low=0, high=1)
        if self.fill is not None and self.fill not in get_args(Fill):
            raise unknown_name("fill of missing", str(self.fill), get_args(Fill))

    @property
    def traits(self) -> Traits:
        """Means of columns may replace values, or nothing."""
        empty = self.fill == "empty"
        gaps = empty or (self.values is not None and bool(np.isnan(self.values).any()))
        kinds = (*NUMBERS, "date", *CATEGORIES)
        return Traits(by_column=not empty, kinds=kinds, on_steps=True, leaves_gaps=gaps)

    def for_columns(self, columns: Columns) -> Missing:
        """Return the same corruption with what replaces the values of each column filled in."""
        empty = self.fill == "empty" or (self.fill is None and columns.table is not None)
        return replace(self, values=np.full_like(columns.mean, np.nan) if empty else columns.mean)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Replace missing values."""
        # compiled code, slow to load
        from shaketable.corruptions.compiled.levels import replace_values

        values = _check_columns(self.values, x, self.spec)
        return _enforce(replace_values(x, drawn, self.share / 2, values, values), self.bounds)


@declare(
    "scaling",
    {"scaling(factor)": "every value times factor: a wrong gain or unit"},
)
@dataclass(frozen=True)
class Rescaling(Corruption):
    """Every value times ``factor``: a wrong gain, or a wrong unit.

    Parameters
    ----------
    factor
        Factor of every value.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> Rescaling(1.1).spec
    'scaling(1.1)'
    """

    factor: float
    bounds: Bounds | None = None

    traits = Traits(on_steps=True)

    def __post_init__(self) -> None:
        check_number(self, "factor", "be a finite number", low=-HUGE, high=HUGE)

    @property
    def size(self) -> float:
        """How far the factor is from 1."""
        return abs(self.factor - 1)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:  # noqa: ARG002  (nothing is random)
        """Multiply every value."""
        return _enforce(x * x.dtype.type(self.factor), self.bounds)


def fit_to_frame(corruption: Corruption) -> Corruption:
    """Return what a corruption means on a data frame of plain numbers, which its spec then says.

    There values are left empty that are missing; in an array of the same numbers they are means.

    >>> fit_to_frame(Missing(0.1)).spec
    'missing(0.1, empty)'
    """
    if isinstance(corruption, Missing):
        return replace(corruption, fill=corruption.fill or "empty")
    return corruption.with_members(tuple(map(fit_to_frame, corruption.members)))


def _check_columns(values: FloatArray | None, x: Array, spec: str) -> FloatArray:
    """Return one value per column; raise if the columns are not known or do not fit `x`."""
    d = math.prod(x.shape[1:])
    if values is None or len(values) != d:
        got = "none" if values is None else f"{len(values)} for {d}"
        raise InputError(
            f"{spec} depends on the columns of the data, which must be known first, got {got}; use "
            "corrupt or evaluate, or for_columns(Columns(…))"
        )
    return values


def _enforce(x: Any, bounds: Bounds | None) -> Array:
    return np.asarray(x if bounds is None else bounds.enforce(x))
