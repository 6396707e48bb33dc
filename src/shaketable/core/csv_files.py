"""CSV files that a spreadsheet opens without computing anything: text that would be a formula.

Such a text is written with an apostrophe before it, as one types it into a spreadsheet, and is read
without it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_PROTECTED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a data frame as CSV, without its index; text never begins with a formula sign."""
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
    """Undo in a data frame what `write_csv` has done to texts and names of columns."""
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
