"""The results file: records in SQLite, so that no cell is measured twice."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, ShaketableError, StoreError
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Points, Record, Records, SuiteRecord
from shaketable.separations.record import SeparationRecord

SCHEMA = 2
"""Version of the tables below; a file with another one is refused."""

_APPLICATION = 0x5348414B  # "SHAK": tells our files from other SQLite files

_TABLES = """
CREATE TABLE points (id TEXT PRIMARY KEY, classes TEXT, rows BLOB, y BLOB);
CREATE TABLE cells (
    key TEXT PRIMARY KEY, points TEXT REFERENCES points(id),
    data TEXT, fingerprint TEXT, model TEXT, recipe TEXT, model_id TEXT, train TEXT,
    corruption TEXT, bounds TEXT, draws TEXT, noise TEXT, dtype TEXT,
    k INTEGER, seed INTEGER, run INTEGER,
    correct INTEGER, hits BLOB, predictions BLOB, versions TEXT, created TEXT, seconds REAL
);
CREATE TABLE separations (
    fingerprint TEXT, norm REAL, two_r REAL, pair TEXT, classes TEXT, by_class TEXT, by_part TEXT,
    nearest BLOB, PRIMARY KEY (fingerprint, norm)
);
CREATE TABLE suites (
    fingerprint TEXT, name TEXT, metric TEXT, derived TEXT, specs TEXT,
    PRIMARY KEY (fingerprint, name, specs)
);
"""
"""Columns have the names of the fields of `Points`, `Record`, `SeparationRecord`, `SuiteRecord`."""

_SEPARATION_JSON = ("pair", "classes", "by_class", "by_part")


class Store:
    """A results file: a cell is written once, in one transaction, and never measured again.

    Parameters
    ----------
    path
        SQLite file, created if missing; None keeps everything in memory.
    must_exist
        Raise an error if the file is missing: for commands that only read.
    """

    def __init__(self, path: str | Path | None = None, *, must_exist: bool = False) -> None:
        self.path = ":memory:" if path is None else str(path)
        if must_exist and not Path(self.path).is_file():
            what = "is a folder" if Path(self.path).is_dir() else "does not exist"
            raise InputError(f"results file {self.path!r} {what}; check the path")
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=30)
            try:
                self._open(writable=not must_exist)
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was added is on disk already."""
        self._db.close()

    @property
    def in_memory(self) -> bool:
        """Whether there is no file."""
        return self.path == ":memory:"

    def keys(self) -> set[str]:
        """Keys of all cells in the file."""
        with self._errors():
            return {key for (key,) in self._db.execute("SELECT key FROM cells")}

    def add(self, records: Iterable[Record]) -> None:
        """Write cells in one transaction; either all are on disk afterwards, or none."""
        with self._errors(), self._db:
            for record in records:
                self._insert("points", _encode_points(record.points), or_else="IGNORE")
                self._insert("cells", _encode_cell(record))

    def add_separation(self, separation: SeparationRecord) -> None:
        """Write the separation of a data set in one norm."""
        with self._errors(), self._db:
            self._insert("separations", _encode_separation(separation))

    def add_suite(self, suite: SuiteRecord) -> None:
        """Write which corruptions a suite has on some data."""
        with self._errors(), self._db:
            self._insert("suites", {**_fields(suite), "specs": json.dumps(suite.specs)})

    def separation(self, fingerprint: str, norm: float) -> SeparationRecord | None:
        """Separation of these data in this norm; None if it was never measured."""
        matches = (s for s in self._separations() if (s.fingerprint, s.norm) == (fingerprint, norm))
        return next(matches, None)

    def records(self, keys: Iterable[str] | None = None) -> Records:
        """All cells in the order they were added, or those named, in the order given."""
        ordered = None if keys is None else list(keys)
        by_key = {cell.key: cell for cell in self._cells(ordered)}
        cells = tuple(by_key[key] for key in (by_key if ordered is None else ordered))
        fingerprints = {cell.fingerprint for cell in cells}
        return Records(
            cells,
            tuple(s for s in self._separations() if s.fingerprint in fingerprints),
            tuple(s for s in self._suites() if s.fingerprint in fingerprints),
        )

    def _open(self, *, writable: bool) -> None:
        """Check that it is a results file of this version, and create the tables of a new one."""
        if writable:  # one process at a time; a file that cannot be written fails before any work
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if writable and (application, version, tables) == (0, 0, 0):
            for statement in _TABLES.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        elif application != _APPLICATION:
            raise StoreError(f"results file {self.path!r} is no shaketable file; name another file")
        elif version != SCHEMA:
            raise StoreError(
                f"results file {self.path!r} must have schema version {SCHEMA}, got {version}: it "
                "was made by another version of shaketable; use that version or a new file"
            )
        elif writable:
            self._db.execute(f"PRAGMA user_version = {SCHEMA}")  # the write that fails if any does
        self._db.commit()

    def _insert(self, table: str, row: Mapping[str, Any], *, or_else: str = "REPLACE") -> None:
        """Insert a row, given as values by column; `or_else` says what if its key is there."""
        places = ", ".join(f":{column}" for column in row)
        self._db.execute(
            f"INSERT OR {or_else} INTO {table} ({', '.join(row)}) VALUES ({places})", row
        )

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Rows in the order they were added, as values by column."""
        cursor = self._db.execute(f"SELECT * FROM {table} ORDER BY rowid")
        columns = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(columns, row, strict=True))

    def _cells(self, keys: Iterable[str] | None) -> Iterator[Record]:
        """Cells in the order they were added; all of them, or those named."""
        wanted = None if keys is None else set(keys)
        with self._errors():
            points = {row["id"]: _decode_points(row) for row in self._rows("points")}
            for row in self._rows("cells"):
                if wanted is None or row["key"] in wanted:
                    yield _decode_cell(row, points[row["points"]])

    def _separations(self) -> list[SeparationRecord]:
        with self._errors():
            return [_decode_separation(row) for row in self._rows("separations")]

    def _suites(self) -> list[SuiteRecord]:
        with self._errors():
            return [
                SuiteRecord(**{**row, "specs": tuple(json.loads(row["specs"]))})
                for row in self._rows("suites")
            ]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite and of damaged blobs into a `StoreError` with a remedy."""
        try:
            yield
        except sqlite3.OperationalError as error:
            remedies = {
                "readonly": "make it writable, or name another file",
                "full": "free some space and run again: what was measured before is kept",
                "disk I/O": "check the disk and its limits: what was measured before is kept",
                "unable to open": "check that its folder exists and can be written to",
                "locked": "another process is writing to it; wait for that to end",
            }
            word = next((word for word in remedies if word in str(error)), "")
            raised = StoreError(
                f"results file {self.path!r}: {error}; {remedies.get(word, 'check the file')}"
            )
            if word in ("full", "locked", "disk I/O"):  # the file itself is fine
                raised.exit_code = ShaketableError.exit_code
            raise raised from error
        except (sqlite3.DatabaseError, zlib.error, json.JSONDecodeError, KeyError) as error:
            raise StoreError(
                f"results file {self.path!r} is damaged or not a results file ({error}); "
                "restore it from a copy or name another file"
            ) from error


def _fields(record: Record | SeparationRecord | SuiteRecord) -> dict[str, Any]:
    """Values by field."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _encode_points(points: Points) -> dict[str, Any]:
    """Points as values by column."""
    return {
        "id": points.id,
        "classes": json.dumps(points.classes),
        "rows": _pack(points.rows),
        "y": _pack(points.y),
    }


def _decode_points(row: Mapping[str, Any]) -> Points:
    classes = tuple(json.loads(row["classes"]))
    return Points(row["id"], classes, _unpack(row["rows"]), _unpack(row["y"]))


def _encode_cell(record: Record) -> dict[str, Any]:
    """Fields of a record as values by column; ``correct`` is the sum of the hits, as a check."""
    return {
        **_fields(record),
        "points": record.points.id,
        "correct": int(record.hits.sum()),
        "hits": _pack(record.hits),
        "predictions": None if record.predictions is None else _pack(record.predictions),
        "versions": json.dumps(record.versions),
    }


def _decode_cell(row: dict[str, Any], points: Points) -> Record:
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


def _encode_separation(separation: SeparationRecord) -> dict[str, Any]:
    """Fields of a separation as values by column."""
    nearest = separation.nearest
    return {
        **_fields(separation),
        **{name: json.dumps(getattr(separation, name)) for name in _SEPARATION_JSON},
        "nearest": None if nearest is None else zlib.compress(nearest.tobytes()),
    }


def _decode_separation(row: dict[str, Any]) -> SeparationRecord:
    changes = {name: json.loads(row[name]) for name in _SEPARATION_JSON}
    changes |= {name: tuple(changes[name]) for name in ("pair", "classes")}
    if row["nearest"] is not None:
        changes["nearest"] = np.frombuffer(zlib.decompress(row["nearest"]))
    return SeparationRecord(**row | changes)


def _pack(values: IntArray) -> bytes:
    """Compressed integers in the smallest type that holds them, its name in front."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    small = values.astype(np.int64 if least < 0 else np.min_scalar_type(most))
    return small.dtype.str.encode().ljust(4) + zlib.compress(small.tobytes(), 6)


def _unpack(blob: bytes) -> IntArray:
    values = np.frombuffer(zlib.decompress(blob[4:]), dtype=blob[:4].decode().strip())
    return values.astype(np.int64)
