"""Rows of the results file: tables made from the fields of records, and the checksum of a row."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, TypeVar, get_origin, get_type_hints

import numpy as np

from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.answers import Answers
from shaketable.evaluation.attack_record import AttackRecord
from shaketable.evaluation.certificate_record import CertificateRecord
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.rare_record import RareRecord
from shaketable.evaluation.records import (
    SETTING_FIELDS,
    FailureRecord,
    GroupingRecord,
    Points,
    Record,
    Setting,
    SuiteRecord,
)
from shaketable.evaluation.registrations import Registration
from shaketable.separations.separation import SeparationRecord

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Part:
    """What long work has done so far; see `Store.add_part`."""

    key: str
    content: bytes


TABLES: Mapping[str, type[Any]] = {
    "points": Points,
    "cells": Record,
    "separations": SeparationRecord,
    "suites": SuiteRecord,
    "groupings": GroupingRecord,
    "commands": CommandRecord,
    "failures": FailureRecord,
    "attacks": AttackRecord,
    "rare": RareRecord,
    "certificates": CertificateRecord,
    "data": DataRecord,
    "parts": Part,
    "registrations": Registration,
}
"""Kinds of records by the table that has their fields as columns."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "points": ("id",),
    "cells": ("key",),
    "separations": ("fingerprint", "norm"),
    "suites": ("fingerprint", "name", "specs"),
    "groupings": ("fingerprint", "name"),
    "commands": ("id",),
    "failures": ("key",),
    "attacks": ("key",),
    "rare": ("key",),
    "certificates": ("key",),
    "data": ("fingerprint",),
    "parts": ("key",),
    "registrations": ("number",),
}
"""Columns that tell the rows of a table apart."""

CHECKSUM_BITS = (1 << 62) - 1
"""Checksums and their sums have 62 bits, so that SQLite can add two of them."""


def compute_checksum(table: str, rowid: int, values: Sequence[Any]) -> int:
    """Checksum of a row as it is stored: of its table, its place and all its columns.

    >>> compute_checksum("t", 1, ["a", b"b"]) == compute_checksum("t", 1, ["a", "b"])
    False
    """
    return int(_hash(_ENCODER.encode([table, rowid, values]).encode()), 16) & CHECKSUM_BITS


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


_ENCODER = json.JSONEncoder(check_circular=False, default=lambda blob: [_hash(blob)])


def _pack(values: IntArray | None) -> bytes | None:
    """Compressed integers in the smallest type that holds them, its name in front."""
    if values is None:
        return None
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    small = values.astype(np.int64 if least < 0 else np.min_scalar_type(most))
    return small.dtype.str.encode().ljust(4) + zlib.compress(small.tobytes(), 6)


def _unpack(blob: bytes | None) -> IntArray | None:
    if blob is None:
        return None
    values = np.frombuffer(zlib.decompress(blob[4:]), dtype=blob[:4].decode().strip())
    return values.astype(np.int64)


@dataclass(frozen=True)
class _Column:
    """How values of one type are kept."""

    sql: str
    encode: Callable[[Any], Any] | None = None
    """None if values are kept as they are."""
    decode: Callable[[Any], Any] | None = None


_INTEGERS = _Column("BLOB", _pack, _unpack)
_FLOATS = _Column(
    "BLOB",
    lambda values: None if values is None else zlib.compress(values.tobytes()),
    lambda blob: None if blob is None else np.frombuffer(zlib.decompress(blob)),
)
_COLUMNS: Mapping[Any, _Column] = {
    str: _Column("TEXT"),
    int: _Column("INTEGER"),
    float: _Column("REAL"),
    bytes: _Column("BLOB", decode=bytes),
    IntArray: _INTEGERS,
    IntArray | None: _INTEGERS,
    FloatArray: _FLOATS,
    FloatArray | None: _FLOATS,
    Answers | None: _Column("BLOB", lambda answers: None if answers is None else answers.packed),
    Points: _Column("TEXT REFERENCES points(id)", lambda points: points.id),
}
"""By type; lists, tuples and dicts are kept as JSON."""


def _choose_column(name: str, hint: Any) -> _Column:
    if hint in _COLUMNS:
        return _COLUMNS[hint]
    wanted = get_origin(hint)

    def read(text: str) -> Any:
        value = json.loads(text)
        if wanted is dict and not isinstance(value, dict):
            raise ValueError(f"{name} must be by name, got {value!r}")
        return tuple(value) if wanted is tuple else value

    return _Column("TEXT", json.dumps, read)


def _list_columns(kind: type[Any]) -> dict[str, _Column]:
    """Columns of a kind of records, by name: its fields, those of a setting in its place.

    Points have their ID, which tells what a stopping rule chose, and cells the number of their
    hits, as a check.
    """
    columns: dict[str, _Column] = {}
    hints = get_type_hints(kind)
    for field in fields(kind):
        if hints[field.name] is Setting:
            columns |= _list_columns(Setting)
        elif kind is Points and field.name in ("order", "stopped"):
            columns |= {"id": _COLUMNS[str]}
        else:
            counted = kind is Record and field.name == "hits"
            columns |= {"correct": _COLUMNS[int]} if counted else {}
            columns[field.name] = _choose_column(field.name, hints[field.name])
    return columns


COLUMNS = {kind: _list_columns(kind) for kind in TABLES.values()}

NAMES: Mapping[str, tuple[str, ...]] = {
    table: tuple(COLUMNS[kind]) for table, kind in TABLES.items()
}
"""Names of the columns by table, without the checksum."""


def _list_definitions(table: str) -> Iterator[str]:
    """What SQL says about the columns of a table."""
    (first, *others), columns = KEYS[table], COLUMNS[TABLES[table]]
    for name, column in columns.items():
        yield f"{name} {column.sql}" + ("" if others or name != first else " PRIMARY KEY")
    yield "checksum INTEGER"
    if others:
        yield f"PRIMARY KEY ({', '.join(KEYS[table])})"


STATEMENTS: Mapping[str, str] = {
    **{table: f"CREATE TABLE {table} ({', '.join(_list_definitions(table))})" for table in TABLES},
    "totals": "CREATE TABLE totals (name TEXT PRIMARY KEY, checksum INTEGER)",
}
"""Statements that create the tables; ``totals`` has the sum of the checksums of every other one."""


def encode(record: Any) -> dict[str, Any]:
    """Return a record as values by column."""
    values = vars(record)
    if isinstance(record, Record):
        values = {**values, **vars(record.setting), "correct": record.correct}
    elif isinstance(record, Points):
        values = {**values, "id": record.id}
    columns = COLUMNS[type(record)].items()
    return {
        name: values[name] if column.encode is None else column.encode(values[name])
        for name, column in columns
    }


def decode(kind: type[T], row: Mapping[str, Any]) -> T:
    """Return the record in a row; the points of a cell are in the row already."""
    make: Callable[..., T] = kind
    values = {
        name: row[name] if column.decode is None else column.decode(row[name])
        for name, column in COLUMNS[kind].items()
    }
    if kind is Points:
        order, _, end = values.pop("id").partition(":")
        stopped = None if not end else "runs" if end == "runs" else "points"
        return make(order=order, stopped=stopped, **values)
    if kind is Record:
        if values["hits"].sum() != values.pop("correct"):
            raise sqlite3.DatabaseError(f"cell {values['key']} does not add up")
        if values["answers"] is not None:
            values["answers"] = Answers(values["points"].y, bytes(values["answers"]))
        setting = Setting(**{name: values.pop(name) for name in SETTING_FIELDS})
        return make(setting=setting, **values)
    return make(**values)
