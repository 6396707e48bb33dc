"""JSON Schema of all that commands print as JSON, put together from files beside the code.

A finding describes its own keys in the file ``schema.json`` of its package: ``properties`` and, for
parts that have a name, ``$defs``. `FILE` describes what is common to all results.
"""

from __future__ import annotations

from typing import Any

from shaketable.core.errors import InputError
from shaketable.core.schemas import SCHEMA_VERSION, read_schema
from shaketable.findings.finding import FindingKind, load_kinds

FILE = "findings/schema.json"

_SHARED = "statistics/schema.json"  # estimates, differences and the like


def make_schema(name: str, path: str) -> dict[str, Any]:
    """Put together the JSON Schema of a result.

    Parameters
    ----------
    name
        What it describes, such as ``report``; a part of its identifier.
    path
        File below the package ``shaketable`` that describes it; `FILE` for all findings.
    """
    schema, shared = read_schema(path), read_schema(_SHARED)
    assert schema is not None, f"{path} is missing"
    assert shared is not None
    named = shared["$defs"] | schema.pop("$defs", {})
    for kind, part in _list_parts().items():
        if part is None:  # of another package, whose keys are not known
            schema |= {"additionalProperties": True} if path == FILE else {}
            continue
        for key, definition in part.get("$defs", {}).items():
            if named.setdefault(key, definition) != definition:
                raise InputError(f"schema of finding {kind!r} must not define {key!r}; rename it")
        if path == FILE:
            schema["properties"] |= part["properties"]
    _require_version(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:shaketable:schema:{name}:{SCHEMA_VERSION}",
        **schema,
        "$defs": _choose_used(schema, named),
    }


def read_part(kind: FindingKind) -> dict[str, Any] | None:
    """Read the file in which a finding describes its keys; None if there is none."""
    package = kind.find.__module__.rpartition(".")[0]
    return read_schema("schema.json", package) if package else None


def _list_parts() -> dict[str, dict[str, Any] | None]:
    kinds, _ = load_kinds()
    return {name: read_part(kind) for name, kind in kinds.items()}


def _require_version(schema: dict[str, Any]) -> None:
    """Add the version to a description of an object, or of each of several; lists have none."""
    for branch in schema.get("anyOf", []):
        _require_version(branch)
    if "properties" in schema:
        schema["properties"] = {"schema_version": {"const": SCHEMA_VERSION}} | schema["properties"]
        schema["required"] = ["schema_version", *schema["required"]]


def _choose_used(schema: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """Return the named parts that a description refers to, directly or through another one."""
    used: dict[str, Any] = {}
    todo: list[Any] = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used[name] = named[name]
                todo.append(named[name])
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return dict(sorted(used.items()))
