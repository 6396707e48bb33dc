"""Files that data are read from: checks of their paths, and errors of one line."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

SUFFIXES = (".npz", ".npy", ".csv", ".csv.gz", ".parquet")
"""Endings of the files that points are read from."""

_READ_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    NotImplementedError,
    Warning,
    zipfile.BadZipFile,
    zlib.error,
)


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
def explain_read_errors(path: Path) -> Iterator[None]:
    """Turn what a reader raises for a damaged or unreadable file into an `InputError`."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"file {str(path)!r} needs pyarrow; pip install 'shaketable[parquet]'"
        ) from error
    except _READ_ERRORS as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if "Object arrays" in reason:
            reason = "it holds Python objects; save x as numbers and y for example as y.astype(str)"
        raise InputError(f"file {str(path)!r} cannot be read: {reason}") from error
