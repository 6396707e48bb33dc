"""Writing files so that a failure leaves what was there before; tables as CSV and Parquet.

No text in a CSV file is a formula to a spreadsheet: text that would be one is written with an
apostrophe before it, as it is typed into a spreadsheet, and is read without it.
"""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shaketable.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def check_writable(path: str | Path, what: str) -> None:
    """Raise `InputError` before any work if a file cannot be written to `path`.

    What is there stays as it is.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(
            f"{what} must be written to a file, got the folder {str(path)!r}; name a file in it"
        )
    if not target.parent.is_dir():
        raise InputError(
            f"{what} cannot be written to {str(path)!r}: its folder does not exist; make it, or "
            "name another file"
        )
    if target.exists() and not target.is_file():  # a pipe or a device
        return
    try:
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise _refuse(path, what, error) from error


def make_folder(path: str | Path, what: str) -> None:
    """Make a folder for files, if there is none; `InputError` if none can be written there."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise InputError(
            f"{what} must be a folder that can be written to, got {str(path)!r} "
            f"({error.strerror}); name another one"
        ) from error


def _refuse(path: str | Path, what: str, error: OSError) -> InputError:
    return InputError(
        f"{what} cannot be written to {str(path)!r} ({error.strerror or error}); name another "
        "file, or free some space if the disk is full"
    )


@contextmanager
def write_beside(path: str | Path, what: str) -> Iterator[Path]:
    """Context in which a new file is written beside `path`; at the end it takes its place.

    If anything fails, the new file is removed, and an older file at `path` stays as it was; an
    `OSError` becomes an `InputError` that says `what` could not be written. The path to write to
    has the endings of `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_beside(Path(folder) / "a.txt", "text") as beside:
    ...         _ = beside.write_text("all of it")
    ...     Path(folder, "a.txt").read_text(), os.listdir(folder)
    ('all of it', ['a.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    beside = target.with_name(
        f".{target.stem[:50]}-{secrets.token_hex(4)}.part{''.join(target.suffixes[-2:])}"
    )
    if target.exists() and not target.is_file():  # a pipe or a device takes bytes, not a name
        beside = target
    try:
        yield beside
        if beside != target:
            if target.exists():
                shutil.copymode(target, beside)
            beside.replace(target)
    except OSError as error:
        raise _refuse(path, what, error) from error
    finally:
        if beside != target:
            beside.unlink(missing_ok=True)


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
