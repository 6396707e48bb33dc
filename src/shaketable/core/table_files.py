"""Tables in CSV and Parquet files; no text in a CSV file is a formula to a spreadsheet.

Text that would be one is written with an apostrophe before it, as it is typed into a spreadsheet,
and is read without it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_PROTECTED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a data frame without its index, as Parquet if `path` ends so, else as CSV."""
    if not path.name.lower().endswith(".parquet"):
        _write_csv(table, path)
        return
    try:
        table.to_parquet(path, index=False)
    except ImportError as error:
        raise InputError("Parquet files need pyarrow; pip install 'shaketable[parquet]'") from error


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    returns = False

    def protect(text: str) -> str:
        nonlocal returns
        returns |= "\r" in text
        return protect_text(text)

    protected = _change_texts(table, protect)
    # by itself the csv module quotes a line feed, but not a carriage return
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    protected.to_csv(path, index=False, quoting=quoting)


def restore_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Undo in a data frame what a CSV file has done to its texts and names of columns."""
    return _change_texts(table, restore_text)


def protect_text(text: str) -> str:
    """Put an apostrophe before a text that begins with a formula sign and is no number.

    >>> protect_text("=1+1"), protect_text("-1"), protect_text("a=b"), protect_text("'=1")
    ("'=1+1", '-1', 'a=b', "''=1")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def restore_text(text: str) -> str:
    """Undo `protect_text`.

    >>> restore_text("'=1+1"), restore_text("'a'")
    ('=1+1', "'a'")
    """
    return text[1:] if _PROTECTED.match(text) else text


def _change_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Apply a function to all texts of a data frame, and to the names of its columns."""

    def change_value(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    names = [change_value(name) for name in table.columns]
    changed = table.set_axis(names, axis=1)
    for i, dtype in enumerate(table.dtypes):
        values = table.iloc[:, i]
        if dtype.kind != "O":  # numbers, booleans, dates
            continue
        distinct = values.drop_duplicates()
        if any(change_value(value) is not value for value in distinct):
            changed.isetitem(i, values.map(change_value).array)
    return changed
