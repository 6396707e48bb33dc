"""Columns of a data frame as numbers, and back with the very types."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from shaketable.core.arrays import check_exact
from shaketable.core.errors import InputError
from shaketable.core.keys import digest, uniforms
from shaketable.core.types import Array, FloatArray

if TYPE_CHECKING:
    from pandas import Series


Kind: TypeAlias = Literal["number", "integer", "boolean", "category", "text", "date", "one-hot"]

NUMBERS: tuple[Kind, ...] = ("number", "integer")
CATEGORIES: tuple[Kind, ...] = ("category", "text", "boolean", "one-hot")

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FEW = 64
_NO_DATE = np.iinfo(np.int64).min  # what pandas stores for a missing date


@dataclass(frozen=True, eq=False)
class Column:
    """What is known of a column, so that its numbers can be turned back into its values.

    Numbers and whole numbers stand for themselves, booleans are 0 and 1, dates are days since the
    first one, and text and categories are places in `values`. A place beyond them stands for a
    value with a typo: place ``v * len(values) + i`` for variant v of value i. Missing values are
    NaN.
    """

    name: str
    kind: Kind
    labels: tuple[Any, ...]
    """Labels of the column in the frame; of a one-hot group, of all its columns."""
    dtypes: tuple[Any, ...] = (None,)
    """Types of these columns; None in arrays."""
    values: Any = field(default=(), repr=False)
    """Values of text and categories, in the order of their places."""
    missing: Any = math.nan
    """What the frame holds for a missing value."""
    start: int = 0
    """First date."""
    unit: str = ""
    """Unit of dates."""
    touched: bool = True
    """Whether any corruption may change it."""
    moved: bool = False
    """Whether noise changes it unless other columns are named."""
    low: float = -math.inf
    high: float = math.inf
    step: float = 0.0
    """Corrupted values are a whole number of steps away from `anchor`; 0 for no steps."""
    anchor: float = 0.0

    def write(self, *, plain: bool) -> str:
        """Return all that decides what numbers mean and which may change, for fingerprints.

        The content decides: how a version of pandas stores text, dates or missing values is no part
        of it. A column of plain numbers is written as that of an array.
        """
        kind = "number" if plain and self.kind in NUMBERS else self.kind
        types = tuple(self._name_type(dtype, plain=plain) for dtype in self.dtypes)
        limits = (self.touched, self.moved, self.low, self.high, self.step)
        words = "\n".join(map(_write_value, self.values)).encode()
        values = hashlib.blake2b(words, digest_size=16).hexdigest() if len(self.values) else ""
        start = self.start * (_PER_DAY["ns"] // _PER_DAY[self.unit]) if self.unit else 0
        return repr((self.name, kind, types, values, start, self.unit and "ns", *limits))

    def _name_type(self, dtype: Any, *, plain: bool) -> str:
        """Name of the type of a column, the same for all types that hold the same values."""
        if self.kind in ("text", "boolean"):
            return {"text": "str", "boolean": "bool"}[self.kind]
        if plain or dtype is None:
            return "float64" if self.kind == "one-hot" else "None"
        if self.kind == "date":
            return f"{dtype.kind} {_find_zone(dtype) or ''}"
        return str(getattr(dtype, "numpy_dtype", dtype))

    def holds(self, x: FloatArray) -> bool:
        """Whether the frame holds these numbers as they are: floats, as noise leaves them."""
        if self.kind == "integer":
            return isinstance(self.dtypes[0], np.dtype) and not _are_whole(x[:_FEW])
        return self.kind == "number" and self.dtypes[0] == x.dtype

    def decode(self, x: FloatArray) -> dict[Any, Any]:
        """Return the column, or all columns of a one-hot group, by label."""
        if self.kind == "one-hot":
            return {
                label: (x == i).astype(dtype)
                for i, (label, dtype) in enumerate(zip(self.labels, self.dtypes, strict=True))
            }
        return {self.labels[0]: _DECODERS[self.kind](self, x, self.dtypes[0])}

    def read_values(self, x: FloatArray) -> Any:
        """Values that numbers stand for; of a one-hot group, the names of its columns."""
        if self.kind != "one-hot":
            return self.decode(x)[self.labels[0]]
        return np.array([*self.values, None])[np.where(np.isnan(x), -1, x).astype(int)]


def read_column(label: Any, series: Series[Any]) -> tuple[Column, FloatArray]:
    """Return what is known of a column of a frame, and its numbers.

    >>> import pandas as pd
    >>> column, x = read_column("job", pd.Series(["clerk", None, "clerk"]))
    >>> column.kind, x
    ('text', array([ 0., nan,  0.]))
    """
    import pandas as pd  # slow to import

    name, dtype = str(label), series.dtype
    known: dict[str, Any] = {"name": name, "labels": (label,), "dtypes": (dtype,)}
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy(np.float64)
        column = Column(kind="category", values=dtype.categories, **known)
        return column, np.where(codes < 0, np.nan, codes)
    if dtype.kind in "mM":
        return _read_dates(series, known)
    if dtype.kind == "b":
        return Column(kind="boolean", **known), series.to_numpy(np.float64, na_value=np.nan)
    if dtype.kind in "iu":
        check_exact(series.to_numpy(f"{dtype.kind}8", na_value=0), f"column {name} of x")
        numbers = series.to_numpy(np.float64, na_value=np.nan)
        return Column(kind="integer", moved=True, **known), numbers
    if dtype.kind == "f":
        return Column(kind="number", moved=True, **known), series.to_numpy(
            np.float64, na_value=np.nan
        )
    return _read_values(series, known)


def _read_values(series: Series[Any], known: dict[str, Any]) -> tuple[Column, FloatArray]:
    """Text, or objects of any other type that can be told apart."""
    import pandas as pd

    try:
        places, values = pd.factorize(series)
    except TypeError as error:
        raise InputError(
            f"column {known['name']!r} must hold numbers, text, categories, booleans or dates, got "
            f"{type(series.iloc[0]).__name__}; encode or drop it"
        ) from error
    gaps = np.flatnonzero(places < 0)
    missing = series.iloc[gaps[0]] if len(gaps) else getattr(series.dtype, "na_value", math.nan)
    column = Column(kind="text", values=values, missing=missing, **known)
    return column, np.where(places < 0, np.nan, places)


def _read_dates(series: Series[Any], known: dict[str, Any]) -> tuple[Column, FloatArray]:
    """Dates or durations as days since the first one, or since 0."""
    import pandas as pd

    index: Any = (pd.DatetimeIndex if series.dtype.kind == "M" else pd.TimedeltaIndex)(series)
    ticks, there = index.asi8, ~index.isna()
    start = int(ticks[there].min()) if there.any() and series.dtype.kind == "M" else 0
    whole, rest = np.divmod(ticks - start, _PER_DAY[index.unit])  # the same days in every unit
    days = np.where(there, whole + rest / _PER_DAY[index.unit], np.nan)
    if (_ticks(days[there], index.unit, start) != ticks[there]).any():
        raise InputError(
            f"column {known['name']!r} has dates that float64 cannot tell apart; round them, as in "
            ".dt.round('us')"
        )
    return Column(kind="date", start=start, unit=index.unit, **known), days


def _write_value(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _find_zone(dtype: Any) -> Any:
    """Time zone of a type of dates; None if it has none."""
    return getattr(dtype, "tz", None) or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)


def _ticks(days: FloatArray, unit: str, start: int) -> Array:
    return np.rint(days * _PER_DAY[unit]).astype(np.int64) + start


def _decode_number(column: Column, x: FloatArray, dtype: Any) -> Any:  # noqa: ARG001  (one form)
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return x.astype(dtype, copy=False)
    return pd.Series(x).astype(dtype).array


def _decode_integer(column: Column, x: FloatArray, dtype: Any) -> Any:
    """Whole numbers in their type; floats where noise has left others, or none.

    They may have been scaled and back, which leaves rounding errors.
    """
    is_plain = isinstance(dtype, np.dtype)
    if not all(map(_are_whole, (x[:_FEW], x))):  # noise shows in few values
        nullable = "double[pyarrow]" if "pyarrow" in str(dtype) else "Float64"
        return x if is_plain else _decode_number(column, x, nullable)
    whole = np.rint(x)
    return whole if is_plain and np.isnan(x).any() else _decode_number(column, whole, dtype)


def _are_whole(x: FloatArray) -> bool:
    whole = np.rint(x)
    return np.array_equal(x, whole) or np.allclose(x, whole, rtol=1e-12, atol=1e-9, equal_nan=True)


def _decode_boolean(column: Column, x: FloatArray, dtype: Any) -> Any:
    """Booleans; numbers where some are missing and the type has no sign for that."""
    import pandas as pd

    gaps = np.isnan(x)
    if not gaps.any():
        return _decode_number(column, x != 0, dtype)
    if isinstance(dtype, np.dtype):
        return x
    return pd.Series(np.where(gaps, None, x != 0)).astype(dtype).array


def _decode_category(column: Column, x: FloatArray, dtype: Any) -> Any:
    """Categories; a typo is none of them, so such a column can hold it only as missing."""
    import pandas as pd

    known = x < len(column.values)  # False for NaN
    return pd.Categorical.from_codes(np.where(known, x, -1).astype(np.int64), dtype=dtype)


def _decode_text(column: Column, x: FloatArray, dtype: Any) -> Any:
    import pandas as pd

    k = max(1, len(column.values))
    places = np.where(np.isnan(x), -1, x).astype(np.int64)
    values: Any = np.asarray(column.values) if isinstance(dtype, np.dtype) else column.values.array
    decoded: Any = pd.api.extensions.take(
        values, np.where(places < 0, -1, places % k), allow_fill=True, fill_value=column.missing
    )
    if column.missing is None:  # to take, None means no sign of its own
        decoded[places < 0] = None
    if (odd := np.flatnonzero(places >= k)).size:
        distinct, which = np.unique(places[odd], return_inverse=True)
        typos = [make_typo(column.values[i % k], int(i // k)) for i in distinct]
        decoded[odd] = np.array(typos, dtype=object)[which]
    # pandas would make text of objects that are all text
    return pd.Series(decoded, dtype=dtype) if isinstance(dtype, np.dtype) else decoded


def _decode_date(column: Column, x: FloatArray, dtype: Any) -> Any:
    import pandas as pd

    gaps = np.isnan(x)
    ticks = _ticks(np.where(gaps, 0, x), column.unit, column.start)
    ticks[gaps] = _NO_DATE
    if dtype.kind == "m":
        return pd.Series(ticks.view(f"m8[{column.unit}]")).astype(dtype).array
    dates: Any = pd.Series(ticks.view(f"M8[{column.unit}]"))
    zone = _find_zone(dtype)
    dates = dates.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else dates
    return dates.astype(dtype).array


_DECODERS: dict[str, Any] = {
    "number": _decode_number,
    "integer": _decode_integer,
    "boolean": _decode_boolean,
    "category": _decode_category,
    "text": _decode_text,
    "date": _decode_date,
}


def merge_one_hot(columns: Iterable[Column], x: FloatArray, name: str) -> tuple[Column, FloatArray]:
    """Return 0/1 columns as one column: the place of the 1, NaN where all are 0.

    Raises `InputError` for other numbers, and for more than one 1 in a row.
    """
    members = tuple(columns)
    odd = np.flatnonzero(((x != 0) & (x != 1)).any(axis=1) | (x.sum(axis=1) > 1))
    if odd.size:
        names = ", ".join(column.name for column in members)
        raise InputError(
            f"one-hot columns must hold 0 and at most one 1 per row, got {x[odd[0]].tolist()} in "
            f"row {odd[0]} (from 0) of {names}"
        )
    column = Column(
        name,
        "one-hot",
        labels=tuple(column.labels[0] for column in members),
        dtypes=tuple(column.dtypes[0] or x.dtype for column in members),
        values=tuple(column.name for column in members),
    )
    return column, np.where(x.any(axis=1), x.argmax(axis=1), np.nan)


VARIANTS = 256
"""Number of different typos that a text may get; they are numbered from 1."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
_BESIDE = {
    sign: "".join(row[j] for j in (i - 1, i + 1) if 0 <= j < len(row))
    for row in _ROWS
    for i, sign in enumerate(row)
}


def make_typo(text: Any, variant: int) -> Any:
    """Return a text with a typo, which differs from the text; a function of its arguments alone.

    Two neighbouring signs change places, or a sign is left out, doubled, or replaced by its
    neighbour on the keyboard, each with the same probability. What is no text stays as it is.

    >>> [make_typo("nurse", variant) for variant in (1, 2, 3, 4)]
    ['urse', 'nurae', 'nirse', 'nursee']
    """
    if not isinstance(text, str):
        return text
    key = np.array([digest("typo", text, variant)], np.uint64)
    which, where, side = uniforms(key, 3)[0]
    i = int(where * len(text))
    before, sign, after = text[:i], text[i : i + 1], text[i + 1 :]
    beside = _BESIDE.get(sign.lower(), "x")
    other = beside[int(side * len(beside))]
    changed = (
        before + after[:1] + sign + after[1:],
        before + after,
        before + sign + sign + after,
        before + (other.upper() if sign.isupper() else other) + after,
    )[int(which * 4)]
    return changed if changed not in {text, ""} else f"{text}{sign or 'x'}"
