"""What guards a results file: its path, and values in it that cannot be read."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shaketable.core.errors import InputError, describe_error


@contextmanager
def explain_values() -> Iterator[None]:
    """Let values that cannot be read count as damage."""
    try:
        yield
    except (zlib.error, ValueError, TypeError, LookupError) as error:
        raise sqlite3.DatabaseError(describe_error(error)) from error


def check_path(path: str, *, must_exist: bool) -> None:
    """Raise `InputError` for a path that cannot be that of a results file.

    SQLite would keep those of some names in memory, and lose them.
    """
    if path in ("", ":memory:"):
        raise InputError(
            f"results file must be named, got {path!r}; name a file, or leave it out to keep none"
        )
    file = Path(path)
    if file.is_dir():
        raise InputError(f"results file {path!r} is a folder; name a file in it")
    if file.exists() and not file.is_file():  # such as /dev/null
        raise InputError(f"results file {path!r} is a device or a pipe; name a file")
    if must_exist and not file.exists():
        raise InputError(f"results file {path!r} does not exist; check the path")


def check_pages(db: sqlite3.Connection) -> None:
    """Let SQLite check that its pages and indexes fit together."""
    (report,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if report != "ok":
        raise sqlite3.DatabaseError(report)


def store_without_cells(path: str) -> InputError:
    """Return the error for a results file without results."""
    return InputError(
        f"results file {path!r} must hold at least one cell, got none; evaluate and study write "
        "cells, adversary, risk and separation do not; measure a model: shaketable evaluate "
        f"--store {path}"
    )
