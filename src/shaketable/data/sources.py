"""Files that data are read from: checks of their paths, and errors of one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

SUFFIXES = (".npz", ".npy", ".csv", ".csv.gz", ".parquet")
"""Endings of the files that points are read from."""


def name_parts(train: str, test: str = "") -> str:
    """Name data whose test part may be a source of its own: what is measured comes first.

    >>> name_parts("train.csv", "test.csv"), name_parts("all.csv")
    ('test.csv (training part train.csv)', 'all.csv')
    """
    return train if test in ("", train) else f"{test} (training part {train})"


def find_file(source: str | Path, builtin: Iterable[str]) -> Path:
    """Path of a file that exists, has one of the `SUFFIXES` and is not empty.

    The error for a name that is no file suggests similar names among `builtin`.
    """
    path = Path(source)
    known = path.name.lower().endswith(SUFFIXES)
    if not path.exists() and not known:
        name = str(source).partition("(")[0].strip()
        raise InputError(
            "data must be a file or a built-in set, and this is neither: "
            f"{unknown_name('built-in set', name, builtin)}"
        )
    if not path.exists():
        raise InputError(f"file {str(path)!r} does not exist; check its path")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give a file: {', '.join(SUFFIXES)}")
    if not known:
        raise InputError(f"file {str(path)!r} must end in one of {', '.join(SUFFIXES)}")
    if path.stat().st_size == 0:
        raise InputError(f"file {str(path)!r} is empty")
    return path


@contextmanager
def explain_read_errors(path: Path, kind: str = "file", remedy: str = "") -> Iterator[None]:
    """Turn whatever a library raises for a damaged or unreadable file into an `InputError`.

    Parsers raise errors of every type for damaged input. Only the library's reading belongs in this
    context: mistakes of ours must not look like damage.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except ImportError as error:
        raise InputError(
            f"{kind} {str(path)!r} needs pyarrow; pip install 'shaketable[parquet]'"
        ) from error
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{kind} {str(path)!r} cannot be read: {reason}{remedy}") from error


def read_json(path: Path) -> Any:
    """Content of a JSON file."""
    with explain_read_errors(path):
        return json.loads(path.read_text(encoding="utf-8"))
