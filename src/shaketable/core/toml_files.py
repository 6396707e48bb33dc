"""TOML files that people write: read with errors that name them, new ones written once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError


def read_text(path: str | Path, where: str) -> str:
    """Return all that a file says, line ends as they are; `where` names it in messages."""
    try:
        return Path(path).read_bytes().decode()
    except (OSError, ValueError) as error:
        raise InputError(f"{where} cannot be read: {error}") from error


def parse_toml(text: str, where: str) -> dict[str, Any]:
    r"""Return what a text says as TOML; `where` names its file in messages.

    >>> parse_toml("a = 1\na = 2", "file 'x.toml'")
    Traceback (most recent call last):
        ...
    shaketable.core.errors.InputError: file 'x.toml': a is given twice; leave one out
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # all that tomllib raises
        place = re.search(
            r"Cannot overwrite a value \(at (?:line (\d+)|end of document)", f"{error}"
        )
        if place is not None:
            before = text.splitlines()[: int(place[1]) if place[1] else None]
            key = re.findall(r"^\s*([\w-]+)\s*=", "\n".join(before), re.MULTILINE)[-1]
            raise InputError(f"{where}: {key} is given twice; leave one out") from error
        raise InputError(f"{where} cannot be read: {error}") from error


def read_toml(path: str | Path, where: str) -> dict[str, Any]:
    """Return what a TOML file says; `where` names it in messages."""
    return parse_toml(read_text(path, where), where)


def write_new(path: str | Path, text: str, where: str, remedy: str) -> None:
    """Write a file that does not exist yet; `where` names it in messages."""
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"{where} exists already; name a new one: {remedy}") from error
    except OSError as error:
        raise InputError(f"{where} cannot be written: {error.strerror}") from error


def comment(text: str) -> str:
    """Return lines as comments."""
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())
