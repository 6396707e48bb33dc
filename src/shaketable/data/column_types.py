"""What columns of a file hold that the file does not say: dates, text or categories."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, describe_error

if TYPE_CHECKING:
    from pandas import DataFrame, Series

TYPES = ("date", "text", "category")
"""Types that a column can be declared to have."""


def check_types(types: Mapping[str, str]) -> dict[str, str]:
    """Return the types by column; raise an `InputError` for an unknown one."""
    for kind in types.values():
        if kind not in TYPES:
            raise unknown_name("type of a column", kind, TYPES)
    return dict(types)


def convert_columns(table: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Return a table whose columns have the types that were declared.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"day": ["2024-02-29", None], "zip": [12, 7]})
    >>> [dtype.kind for dtype in convert_columns(table, {"day": "date", "zip": "text"}).dtypes]
    ['M', 'O']
    """
    converters = {"date": _read_dates, "text": _as_text, "category": _as_category}
    return table.assign(**{name: converters[kind](table[name]) for name, kind in types.items()})


def _read_dates(values: Series[Any]) -> Series[Any]:
    """Dates of one format; those of several time zones become those of UTC."""
    import pandas as pd  # slow to import

    if values.dtype.kind == "M":
        return values
    if values.dtype.kind in "biuf" and values.notna().any():
        raise InputError(
            f"column {values.name!r} must hold dates, such as 2024-12-31, got {values.iloc[0]!r}; "
            "write them as dates, or name another column"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # several time zones, several formats
        for utc in (False, True):
            try:
                return pd.to_datetime(values, utc=utc)
            except (ValueError, TypeError, Warning) as error:
                reason = describe_error(error)
    raise InputError(
        f"column {values.name!r} must hold dates of one format, such as 2024-12-31: {reason}"
    )


def _as_text(values: Series[Any]) -> Series[Any]:
    return values.map(str, na_action="ignore")


def _as_category(values: Series[Any]) -> Series[Any]:
    return values.astype("category")
