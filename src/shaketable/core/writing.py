"""Writing files so that a failure leaves what was there before."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shaketable.core.errors import InputError


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
