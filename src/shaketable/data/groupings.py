"""Groupings: rows of a data set in groups, by the values of a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.types import Array, IntArray
from shaketable.views.text import to_utf8

if TYPE_CHECKING:
    from pandas import Series

    from shaketable.data.dataset import Dataset

MAX_VALUES = 10
"""Different numbers or dates that are groups each; of more, quarters of the rows are the groups."""

MAX_GROUPS = 200
"""Groups that a column may have."""

MISSING = "missing"
"""Name of the group of rows that have no value."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of rows: every row is in one of them."""

    name: str
    """Name of the column."""
    labels: tuple[str, ...]
    """Names of the groups."""
    codes: IntArray = field(repr=False)
    """Group of every row, an index into `labels`."""


def make_grouping(name: str, values: Any) -> Grouping:
    """Group rows by the values of a column, one value per row.

    Every text, boolean or number is a group. Of more than 10 different numbers or dates, each
    quarter of the rows, in their order, is a group; equal values stay together. Rows without a
    value are the last group.

    >>> grouping = make_grouping("age", [31, 18, 55, 31])
    >>> grouping.labels, grouping.codes
    (('18', '31', '55'), array([1, 0, 2, 1]))
    """
    import pandas as pd  # slow to import

    column = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    known = column.dropna()
    labels, codes = _group_values(known)
    if len(labels) + (len(known) < len(column)) > MAX_GROUPS:
        raise InputError(
            f"column {name!r} must have at most {MAX_GROUPS} groups, got {len(labels)} different "
            "values; combine some of them first"
        )
    all_codes = np.full(len(column), len(labels), np.int64)
    all_codes[column.notna().to_numpy()] = codes
    if len(known) < len(column):
        labels.append(MISSING)
    if not labels:
        raise InputError(f"column {name!r} must have a value per row, got no rows")
    return Grouping(to_utf8(name), tuple(map(to_utf8, labels)), all_codes)


def _group_values(known: Series[Any]) -> tuple[list[str], IntArray]:
    """Names of the groups of values, none of which is missing, and the group of each."""
    kind = known.dtype.kind
    if kind == "M":
        days = known.dt.tz_localize(None).to_numpy("datetime64[D]")
        return _group_ordered(days, str)
    if kind in "iuf":
        digits = 7 if str(known.dtype).lower() == "float32" else 12  # what the type holds
        return _group_ordered(known.to_numpy(kind + "8"), lambda v: _write_number(v, digits))
    texts, codes = np.unique(known.astype(str).to_numpy(object), return_inverse=True)
    return list(texts), codes.astype(np.int64)


def _write_number(value: Any, digits: int = 12) -> str:
    """Write a number as briefly as it can be told from others.

    >>> _write_number(2019001.0), _write_number(0.1 + 0.2), _write_number(0.1234567)
    ('2019001', '0.3', '0.1234567')
    """
    return f"{float(f'{value:.{digits}g}'):.15g}"


def _group_ordered(values: Array, write: Callable[[Any], str]) -> tuple[list[str], IntArray]:
    """Group numbers or dates: each value alone if they are few, else quarters."""
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= MAX_VALUES:
        return [write(value) for value in distinct], codes.astype(np.int64)
    before = np.bincount(codes).cumsum()[:-1]  # rows before each place between two values
    cuts = {int(np.abs(before - len(codes) * share).argmin()) + 1 for share in (0.25, 0.5, 0.75)}
    starts = [0, *sorted(cuts), len(distinct)]
    quarters = np.searchsorted(starts, codes, side="right") - 1
    labels = [
        " to ".join(dict.fromkeys(write(distinct[i]) for i in (first, end - 1)))
        for first, end in pairwise(starts)
    ]
    return labels, quarters.astype(np.int64)


def read_feature(data: Dataset, name: str) -> Any:
    """Values of the feature with this name, in their original units."""
    features = data.features or ()
    if not features:
        raise InputError(
            f"column {name!r} to group by is unknown, as the features have no names; give its "
            "values, as in by={name: values}, or a table"
        )
    if name not in features:
        raise unknown_name("column to group by", name, features)
    x = data.x if data.scaling is None else data.scaling.undo(data.x).astype(np.float32)
    values = x[:, features.index(name)]
    if data.table is None:
        return values
    column = (data.table.raw or data.table).columns[features.index(name)]
    return column.read_values(values.astype(np.float64))
