"""Corruptions of some columns of a table: those that are named, or those that suit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.spec import join_names, parse_call
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corruption import Clean, Corruption, Traits, Wrapper
from shaketable.corruptions.one_of import OneOf
from shaketable.data.bounds import Bounds
from shaketable.data.columns import Columns
from shaketable.data.frames.columns import NUMBERS, Column, Kind
from shaketable.data.frames.schema import TableSchema

_TITLES: dict[Kind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "text": "text",
    "date": "dates",
    "one-hot": "one-hot groups",
}


@dataclass(frozen=True)
class Only(Wrapper):
    """``a(…, only="COLUMN,…")``: the same corruption as on a table of these columns alone.

    All other columns stay as they are, and so do missing values. Columns without names are numbered
    from 0. In a table with bounds and steps of columns, results are rounded to them.

    Parameters
    ----------
    corruption
        What is done.
    names
        Columns that it is done to; None for those that suit it.
    places
        Numbers of these columns; filled in from the data.
    table
        Schema of the table; filled in from the data.
    fill
        Values that stand for missing ones; filled in from the data.

    Examples
    --------
    >>> from shaketable.corruptions import corrupt, parse
    >>> parse("linf(0.1, only=age)").spec
    'linf(0.1, only="age")'
    >>> moved = corrupt([[0.0] * 3] * 2, 'linf(0.1, only="1")', rng=0) != 0
    >>> moved.tolist()
    [[False, True, False], [False, True, False]]
    """

    corruption: Corruption
    names: tuple[str, ...] | None
    """The columns; None for those that suit the corruption, which are no part of the spec."""
    places: tuple[int, ...] | None = field(default=None, compare=False, repr=False)
    """Places of the columns; None until the columns of the data are known."""
    table: TableSchema | None = field(default=None, compare=False, repr=False)
    """What these columns hold; None for plain numbers."""
    fill: FloatArray | None = field(default=None, compare=False, repr=False)
    """What the corruption gets in place of missing values, by column; None if none is missing."""

    def __post_init__(self) -> None:
        inner = self.corruption
        if self.names == ():
            raise InputError(f"only must name a column, got none for {inner.spec}")
        if inner.traits.by_row or isinstance(inner, Named | Only | OneOf | Sequence):
            raise InputError(
                f"only= is for single corruptions, got {inner.spec}; name the columns in each "
                "factor or part"
            )

    @property
    def spec(self) -> str:
        """Canonical spec string: the corruption's, with the columns that were named."""
        return self._add_columns(self.corruption.spec)

    @property
    def ladder(self) -> str:
        """The ladder of the corruption on these columns."""
        return self._add_columns(self.corruption.ladder)

    @property
    def traits(self) -> Traits:
        """As the corruption inside, but for floats alone, on the CPU."""
        return replace(self.corruption.traits, takes_levels=False, additive=None)

    def for_shape(self, shape: tuple[int, ...]) -> Only:
        """Return itself; raise an error for points that are no rows of a table."""
        if len(shape) != 1:
            raise InputError(
                f"{self.spec} is for tables, got points of shape {shape}; leave only= out"
            )
        return self

    def for_columns(self, columns: Columns) -> Only:
        """Return the same corruption with the places of the columns filled in."""
        if self.names is not None:
            places = columns.find(self.names)
            table = columns.take(places).table
            for column in () if table is None else table.columns:
                _check_suits(self.corruption, column)
        else:
            places = _find_suitable(self.corruption, columns)
        part = columns.take(places)
        inner = self.corruption.for_shape((len(places),)).for_columns(part)
        fill = None if part.table is None else part.mean
        return replace(self, corruption=inner, places=places, table=part.table, fill=fill)

    def bind(self, bounds: Bounds | None) -> Only:
        """Return the same corruption in these bounds, which are those of numbers alone."""
        mixed = self.table is not None and not self.table.numeric.all()
        return replace(self, corruption=self.corruption.bind(None if mixed else bounds))

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return what the corruption draws for its columns."""
        return self.corruption.draw(self._take(x), keys)

    def apply(self, x: Array, drawn: Any) -> Array:
        """Corrupt the columns."""
        part = self._take(x)
        if self.table is None:
            changed = self.corruption.apply(part, drawn)
        else:
            gaps = np.isnan(part)
            filled = np.asarray(np.where(gaps, self.fill, part), x.dtype) if gaps.any() else part
            changed = self.table.enforce(self.corruption.apply(filled, drawn))
            changed = np.where(gaps, np.nan, changed)
        given: Any = x
        out: Array = given.clone() if hasattr(x, "detach") else given.copy()
        out[:, list(self.places or ())] = changed
        return out

    def _take(self, x: Any) -> Any:
        if self.places is None:
            raise InputError(
                f"{self.spec} depends on the columns of the data, which must be known first; use "
                "corrupt or evaluate, or for_columns(Columns(…))"
            )
        # numpy's take returns rows in one piece, as compiled code needs them
        return x[:, list(self.places)] if hasattr(x, "detach") else x.take(self.places, axis=1)

    def _add_columns(self, spec: str) -> str:
        if self.names is None:
            return spec
        call = parse_call(spec)
        return str(replace(call, options={**call.options, "only": join_names(self.names)}))


def fit_to_columns(corruption: Corruption, columns: Columns) -> Corruption:
    """Fill in what the columns decide; in a table of several kinds, only suitable ones change."""
    if isinstance(corruption, Sequence | OneOf | Named):
        members = (fit_to_columns(member, columns) for member in corruption.members)
        return corruption.with_members(tuple(members))
    if columns.table is not None and not isinstance(corruption, Only | Clean):
        corruption = Only(corruption, None)
    return corruption.for_columns(columns)


def _find_suitable(corruption: Corruption, columns: Columns) -> tuple[int, ...]:
    """Places of the columns that a corruption changes if none are named."""
    assert columns.table is not None, "without a table all columns suit"
    known, kinds = columns.table.columns, corruption.traits.kinds
    places = tuple(
        place
        for place, column in enumerate(known)
        if column.touched and (column.moved if kinds == NUMBERS else column.kind in kinds)
    )
    if not places:
        raise InputError(
            f"{corruption.spec} is for columns of {_list_kinds(kinds)}, and the data have "
            "none that may change; name columns with only=, or leave it out"
        )
    return places


def _check_suits(corruption: Corruption, column: Column) -> None:
    """Raise `InputError` for a column that must not change, or that does not suit."""
    if not column.touched:
        raise InputError(
            f"{corruption.spec} must not change column {column.name!r}, which is kept as it is "
            f"({either('--column', 'Dataset.touching')}); name another one"
        )
    kinds = corruption.traits.kinds_to_name
    if column.kind not in kinds:
        raise InputError(
            f"{corruption.spec} is for columns of {_list_kinds(kinds)}, but column "
            f"{column.name!r} holds {_TITLES[column.kind]}; name another one"
        )


def _list_kinds(kinds: tuple[Kind, ...]) -> str:
    return ", ".join(dict.fromkeys(_TITLES[kind] for kind in kinds))
