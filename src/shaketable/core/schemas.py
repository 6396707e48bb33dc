"""JSON Schema of what commands print, made from the types that describe it.

JSON is described by classes of `typing.TypedDict` beside the code that makes it: a field may be
``Annotated`` with a sentence that says what it is, and ``NotRequired``; the docstring of a class
says what the object is. A key that ends in ``*`` stands for all keys that begin so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

SCHEMA_VERSION = 1
"""Rises when a key is removed or changes its meaning; new keys leave it as it is."""

Schema: TypeAlias = dict[str, Any]

NotesJson: TypeAlias = Annotated[list[str], "Sentences that a reader should know."]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def add_version(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as commands print it: with the version of its schema as the first key.

    >>> add_version({"notes": []})
    {'schema_version': 1, 'notes': []}
    """
    return {"schema_version": SCHEMA_VERSION, **result}


def make_schema(name: str, kind: Any, parts: Iterable[Any] = ()) -> Schema:
    """Make the JSON Schema of a result.

    Parameters
    ----------
    name
        What it describes, such as ``report``; a part of its identifier.
    kind
        Type of the result: a TypedDict, a union of several, or any other type that JSON has. Its
        docstring, or the sentence that it is annotated with, is the title.
    parts
        Types whose keys the result may have besides its own; None for keys that are not known.

    Returns
    -------
    dict
        The schema; objects of named types are in its ``$defs``.

    Examples
    --------
    >>> schema = make_schema("names", Annotated[dict[str, str], "Descriptions by name."])
    >>> schema["title"], schema["type"], schema["additionalProperties"]
    ('Descriptions by name', 'object', {'type': 'string'})
    """
    definitions = _Definitions()
    root = definitions.describe_whole(kind)
    for part in parts:
        if part is None:
            root["additionalProperties"] = True
        else:
            root["properties"] |= definitions.describe_object(part)["properties"]
    definitions.complete()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:shaketable:schema:{name}:{SCHEMA_VERSION}",
        "title": root.pop("description").rstrip("."),
        **root,
        "$defs": dict(sorted(definitions.described.items())),
    }


class _Definitions:
    """Descriptions of the classes that a schema refers to, by name."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.described: dict[str, Schema] = {}

    def complete(self) -> None:
        """Describe all classes that were referred to, and those that these refer to."""
        while missing := [kind for kind, name in self.names.items() if name not in self.described]:
            for kind in missing:
                self.described[self.names[kind]] = self.describe_object(kind)

    def describe_whole(self, kind: Any) -> Schema:
        """Describe what a command prints: objects have a version, and are not referred to."""
        arguments = get_args(kind)
        if is_typeddict(kind):
            described = self.describe_object(kind)
            described["properties"] = add_version(described["properties"])
            described["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
            described["required"].insert(0, "schema_version")
            return described
        if get_origin(kind) is Annotated:
            return {**self.describe_whole(arguments[0]), "description": arguments[-1]}
        if get_origin(kind) in (Union, UnionType):
            return {"anyOf": list(map(self.describe_whole, arguments))}
        return self.describe(kind)

    def describe_object(self, kind: Any) -> Schema:
        """Describe a TypedDict: its keys, and which of them are required."""
        described: Schema = {"type": "object", "properties": {}, "required": []}
        if kind.__doc__:
            described = {"description": " ".join(kind.__doc__.split()), **described}
        for key, hint in get_type_hints(kind, include_extras=True).items():
            if key.endswith("*"):
                described["patternProperties"] = {f"^{key[:-1]}": self.describe(hint)}
                continue
            described["properties"][key] = self.describe(hint)
            if get_origin(hint) is not NotRequired and key not in kind.__optional_keys__:
                described["required"].append(key)
        return {**described, "additionalProperties": False}

    def describe(self, kind: Any) -> Schema:
        """Describe any type that JSON has; a class by a reference."""
        origin, arguments = get_origin(kind), get_args(kind)
        described: Schema = {}
        if is_typeddict(kind):
            described["$ref"] = f"#/$defs/{self._name(kind)}"
        elif kind in _PLAIN:
            described["type"] = _PLAIN[kind]
        elif origin is Annotated:
            described = {**self.describe(arguments[0]), "description": arguments[-1]}
        elif origin is NotRequired:
            described = self.describe(arguments[0])
        elif origin is Literal:
            described["enum"] = [*arguments]
        elif origin in (Union, UnionType):
            parts = list(map(self.describe, arguments))
            is_plain = all(part.keys() == {"type"} for part in parts)
            described = {"type": [p["type"] for p in parts]} if is_plain else {"anyOf": parts}
        elif origin in (list, tuple):
            described = {"type": "array", "items": self.describe(arguments[0])}
            if origin is tuple:  # of so many of the same
                described |= {"minItems": len(arguments), "maxItems": len(arguments)}
        elif origin is dict:
            described = {"type": "object", "additionalProperties": self.describe(arguments[1])}
        elif kind is not Any:
            raise TypeError(f"no JSON Schema describes {kind!r}")
        return described

    def _name(self, kind: Any) -> str:
        """Return the name of a class: its own, with its module if another class has it."""
        if kind not in self.names:
            taken = kind.__name__ in self.names.values()
            self.names[kind] = f"{kind.__module__}.{kind.__name__}" if taken else kind.__name__
        return self.names[kind]
