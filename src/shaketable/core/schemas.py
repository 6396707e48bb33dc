"""The version of all JSON that commands print, and the files that describe it."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Any

SCHEMA_VERSION = 1
"""Rises when a key is removed or changes its meaning; new keys leave it as it is."""


def add_version(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as commands print it: with the version of its schema as the first key.

    >>> add_version({"notes": []})
    {'schema_version': 1, 'notes': []}
    """
    return {"schema_version": SCHEMA_VERSION, **result}


def read_schema(path: str, package: str = "shaketable") -> dict[str, Any] | None:
    """Read a file of a package that describes JSON; None if there is none.

    >>> sorted(read_schema("findings/schema.json"))
    ['additionalProperties', 'properties', 'required', 'title', 'type']
    """
    if not hasattr(import_module(package), "__path__"):  # a module has no files of its own
        return None
    file = files(package).joinpath(path)
    if not file.is_file():
        return None
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
