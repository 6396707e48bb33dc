"""Rows of the results file: its tables, records as values by column, and the checksum of a row."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b
from typing import Any

import numpy as np

from shaketable.core.types import IntArray
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.records import (
    FailureRecord,
    GroupingRecord,
    Points,
    Record,
    SuiteRecord,
)
from shaketable.separations.separation import SeparationRecord

COLUMNS: Mapping[str, str] = {
    "points": "id TEXT PRIMARY KEY, classes TEXT, rows BLOB, y BLOB",
    "cells": (
        "key TEXT PRIMARY KEY, points TEXT REFERENCES points(id), data TEXT, fingerprint TEXT, "
        "model TEXT, recipe TEXT, model_id TEXT, train TEXT, corruption TEXT, bounds TEXT, "
        "draws TEXT, noise TEXT, dtype TEXT, k INTEGER, seed INTEGER, run INTEGER, "
        "correct INTEGER, hits BLOB, predictions BLOB, versions TEXT, created TEXT, seconds REAL"
    ),
    "separations": (
        "fingerprint TEXT, norm REAL, two_r REAL, pair TEXT, classes TEXT, by_class TEXT, "
        "by_part TEXT, nearest BLOB"
    ),
    "suites": "fingerprint TEXT, name TEXT, metric TEXT, derived TEXT, specs TEXT",
    "groupings": "fingerprint TEXT, name TEXT, labels TEXT, codes BLOB",
    "commands": (
        "id TEXT PRIMARY KEY, command TEXT, settings TEXT, lacks TEXT, fingerprint TEXT, "
        "models TEXT, recipes TEXT, seed INTEGER, versions TEXT, platform TEXT, created TEXT"
    ),
    "failures": "key TEXT PRIMARY KEY, fingerprint TEXT, error TEXT, created TEXT",
    "parts": "key TEXT PRIMARY KEY, content BLOB",
}
"""Columns by table: the fields of `Points`, `Record` and the other kinds of records.

``parts`` holds what long work has done so far; see `Store.add_part`.
"""

_KEYS = {
    "separations": ", PRIMARY KEY (fingerprint, norm)",
    "suites": ", PRIMARY KEY (fingerprint, name, specs)",
    "groupings": ", PRIMARY KEY (fingerprint, name)",
}

SINCE: Mapping[str, int] = {"groupings": 4, "commands": 5, "failures": 5, "parts": 5}
"""Version of the file since which there is a table; the others are in all versions."""

NAMES: Mapping[str, tuple[str, ...]] = {
    table: tuple(column.split()[0] for column in columns.split(", "))
    for table, columns in COLUMNS.items()
}
"""Names of the columns by table, without the checksum."""

STATEMENTS: Mapping[str, str] = {
    **{
        table: f"CREATE TABLE {table} ({columns}, checksum INTEGER{_KEYS.get(table, '')})"
        for table, columns in COLUMNS.items()
    },
    "totals": "CREATE TABLE totals (name TEXT PRIMARY KEY, checksum INTEGER)",
}
"""Statements that create the tables; ``totals`` has the sum of the checksums of every other one."""

CHECKSUM_BITS = (1 << 62) - 1
"""Checksums and their sums have 62 bits, so that SQLite can add two of them."""

_SEPARATION_JSON = ("pair", "classes", "by_class", "by_part")
_COMMAND_JSON = ("settings", "lacks", "models", "recipes", "versions")


def compute_checksum(table: str, rowid: int, values: Sequence[Any]) -> int:
    """Checksum of a row as it is stored: of its table, its place and all its columns.

    >>> compute_checksum("t", 1, ["a", b"b"]) == compute_checksum("t", 1, ["a", "b"])
    False
    """
    return int(_hash(_ENCODER.encode([table, rowid, values]).encode()), 16) & CHECKSUM_BITS


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


_ENCODER = json.JSONEncoder(check_circular=False, default=lambda blob: [_hash(blob)])


def encode_points(points: Points) -> dict[str, Any]:
    """Points as values by column."""
    return {
        "id": points.id,
        "classes": json.dumps(points.classes),
        "rows": _pack(points.rows),
        "y": _pack(points.y),
    }


def decode_points(row: Mapping[str, Any]) -> Points:
    """Points in a row."""
    classes = tuple(json.loads(row["classes"]))
    return Points(row["id"], classes, _unpack(row["rows"]), _unpack(row["y"]))


def encode_cell(record: Record) -> dict[str, Any]:
    """Fields of a record as values by column; ``correct`` is the sum of the hits, as a check."""
    return {
        **_fields(record),
        "points": record.points.id,
        "correct": int(record.hits.sum()),
        "hits": _pack(record.hits),
        "predictions": None if record.predictions is None else _pack(record.predictions),
        "versions": json.dumps(record.versions),
    }


def decode_cell(row: dict[str, Any], points: Points) -> Record:
    """Record in a row, measured on these points."""
    correct, hits, predictions = row.pop("correct"), _unpack(row["hits"]), row["predictions"]
    if int(hits.sum()) != correct:
        raise sqlite3.DatabaseError(f"cell {row['key']} does not add up")
    changes = {
        "points": points,
        "hits": hits,
        "predictions": None if predictions is None else _unpack(predictions),
        "versions": json.loads(row["versions"]),
    }
    return Record(**row | changes)


def encode_separation(separation: SeparationRecord) -> dict[str, Any]:
    """Fields of a separation as values by column."""
    nearest = separation.nearest
    return {
        **_fields(separation),
        **{name: json.dumps(getattr(separation, name)) for name in _SEPARATION_JSON},
        "nearest": None if nearest is None else zlib.compress(nearest.tobytes()),
    }


def decode_separation(row: dict[str, Any]) -> SeparationRecord:
    """Separation in a row."""
    changes = {name: json.loads(row[name]) for name in _SEPARATION_JSON}
    changes |= {name: tuple(changes[name]) for name in ("pair", "classes")}
    if row["nearest"] is not None:
        changes["nearest"] = np.frombuffer(zlib.decompress(row["nearest"]))
    return SeparationRecord(**row | changes)


def encode_suite(suite: SuiteRecord) -> dict[str, Any]:
    """Fields of a suite as values by column."""
    return {**_fields(suite), "specs": json.dumps(suite.specs)}


def decode_suite(row: dict[str, Any]) -> SuiteRecord:
    """Suite in a row."""
    return SuiteRecord(**{**row, "specs": tuple(json.loads(row["specs"]))})


def encode_grouping(grouping: GroupingRecord) -> dict[str, Any]:
    """Fields of a grouping as values by column."""
    changes = {"labels": json.dumps(grouping.labels), "codes": _pack(grouping.codes)}
    return _fields(grouping) | changes


def decode_grouping(row: dict[str, Any]) -> GroupingRecord:
    """Grouping in a row."""
    changes = {"labels": tuple(json.loads(row["labels"])), "codes": _unpack(row["codes"])}
    return GroupingRecord(**row | changes)


def encode_command(command: CommandRecord) -> dict[str, Any]:
    """Fields of a command as values by column."""
    return _fields(command) | {name: json.dumps(getattr(command, name)) for name in _COMMAND_JSON}


def decode_command(row: dict[str, Any]) -> CommandRecord:
    """Command in a row."""
    changes = {name: json.loads(row[name]) for name in _COMMAND_JSON}
    if not all(isinstance(changes[name], dict) for name in ("settings", "lacks", "models")):
        raise ValueError(f"command {row['id']} has no settings by name")
    return CommandRecord(**row | changes | {"recipes": tuple(changes["recipes"])})


def encode_failure(failure: FailureRecord) -> dict[str, Any]:
    """Fields of a failure as values by column."""
    return _fields(failure)


def decode_failure(row: dict[str, Any]) -> FailureRecord:
    """Failure in a row."""
    return FailureRecord(**row)


def _fields(
    record: Record
    | SeparationRecord
    | SuiteRecord
    | GroupingRecord
    | CommandRecord
    | FailureRecord,
) -> dict[str, Any]:
    """Values by field."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _pack(values: IntArray) -> bytes:
    """Compressed integers in the smallest type that holds them, its name in front."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    small = values.astype(np.int64 if least < 0 else np.min_scalar_type(most))
    return small.dtype.str.encode().ljust(4) + zlib.compress(small.tobytes(), 6)


def _unpack(blob: bytes) -> IntArray:
    values = np.frombuffer(zlib.decompress(blob[4:]), dtype=blob[:4].decode().strip())
    return values.astype(np.int64)
