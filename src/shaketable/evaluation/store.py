"""The results file: records in SQLite, each cell written once and never computed again."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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


class Store:
    """A results file: cells go in once, one transaction each time, and are never computed again.

    Parameters
    ----------
    path
        SQLite file, made when missing; None keeps everything in memory.
    must_exist
        Refuse to make a new file: for commands that only read.
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

    def keys(self) -> set[str]:
        """Keys of all cells that are there."""
        with self._errors():
            return {key for (key,) in self._db.execute("SELECT key FROM cells")}

    def add(self, records: Iterable[Record]) -> None:
        """Write cells in one transaction; either all are on disk afterwards, or none."""
        with self._errors(), self._db:
            for record in records:
                p = record.points
                self._db.execute(
                    "INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?)",
                    (p.id, json.dumps(p.classes), _pack(p.rows), _pack(p.y)),
                )
                self._db.execute(
                    f"INSERT OR REPLACE INTO cells VALUES ({', '.join('?' * 22)})",
                    (
                        record.key, p.id, record.data, record.fingerprint, record.model,
                        record.recipe, record.model_id, record.train, record.corruption,
                        record.bounds,
                        record.draws, record.noise, record.dtype, record.k, record.seed, record.run,
                        int(record.hits.sum()), _pack(record.hits),
                        None if record.predictions is None else _pack(record.predictions),
                        json.dumps(record.versions), record.created, record.seconds,
                    ),
                )  # fmt: skip

    def add_separation(self, s: SeparationRecord) -> None:
        """Write what is known of a data set's separation."""
        with self._errors(), self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO separations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    s.fingerprint, s.norm, s.two_r, json.dumps(s.pair), json.dumps(s.classes),
                    json.dumps(s.by_class), json.dumps(s.by_part),
                    None if s.nearest is None else zlib.compress(s.nearest.tobytes()),
                ),
            )  # fmt: skip

    def add_suite(self, s: SuiteRecord) -> None:
        """Write which corruptions a suite has on some data."""
        with self._errors(), self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO suites VALUES (?, ?, ?, ?, ?)",
                (s.fingerprint, s.name, s.metric, s.derived, json.dumps(s.specs)),
            )

    def separation(self, fingerprint: str, norm: float) -> SeparationRecord | None:
        """Separation of these data in this norm, where it was measured before."""
        known = (s for s in self._separations() if (s.fingerprint, s.norm) == (fingerprint, norm))
        return next(known, None)

    def records(self, keys: Iterable[str] | None = None) -> Records:
        """All cells in the order they were added, or those named, in the order given."""
        ordered = None if keys is None else list(keys)
        found = {cell.key: cell for cell in self._cells(ordered)}
        cells = tuple(found[key] for key in (found if ordered is None else ordered))
        mine = {cell.fingerprint for cell in cells}
        return Records(
            cells,
            tuple(s for s in self._separations() if s.fingerprint in mine),
            tuple(s for s in self._suites() if s.fingerprint in mine),
        )

    def _open(self, *, writable: bool) -> None:
        """Check whose file it is, and make the tables of a new one."""
        if writable:  # one writer at a time looks and makes; and a file that cannot be written to
            self._db.execute("PRAGMA synchronous = NORMAL")  # is found now, not after the work
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

    def _cells(self, keys: Iterable[str] | None) -> Iterator[Record]:
        """Cells in the order they were added; all of them, or those named."""
        wanted = None if keys is None else set(keys)
        points: dict[str, Points] = {}
        with self._errors():
            for id_, classes, rows, y in self._db.execute("SELECT * FROM points"):
                points[id_] = Points(id_, tuple(json.loads(classes)), _unpack(rows), _unpack(y))
            cursor = self._db.execute("SELECT * FROM cells ORDER BY rowid")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                values = dict(zip(names, row, strict=True))
                if wanted is not None and values["key"] not in wanted:
                    continue
                correct = values.pop("correct")
                values["points"] = points[values["points"]]
                values["hits"] = _unpack(values["hits"])
                if int(values["hits"].sum()) != correct:
                    raise sqlite3.DatabaseError(f"cell {values['key']} does not add up")
                if values["predictions"] is not None:
                    values["predictions"] = _unpack(values["predictions"])
                values["versions"] = json.loads(values["versions"])
                yield Record(**values)

    def _separations(self) -> tuple[SeparationRecord, ...]:
        with self._errors():
            rows = self._db.execute("SELECT * FROM separations").fetchall()
            return tuple(_separation(*row) for row in rows)

    def _suites(self) -> tuple[SuiteRecord, ...]:
        with self._errors():
            rows = self._db.execute("SELECT * FROM suites ORDER BY rowid").fetchall()
            return tuple(
                SuiteRecord(fingerprint, name, metric, derived, tuple(json.loads(specs)))
                for fingerprint, name, metric, derived, specs in rows
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what SQLite and damaged blobs raise into one line with a remedy."""
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


def _separation(fingerprint: str, norm: float, two_r: float, *rest: Any) -> SeparationRecord:
    pair, classes, by_class, by_part, nearest = rest
    return SeparationRecord(
        fingerprint, norm, two_r, tuple(json.loads(pair)), tuple(json.loads(classes)),
        json.loads(by_class), json.loads(by_part),
        None if nearest is None else np.frombuffer(zlib.decompress(nearest)),
    )  # fmt: skip


def _pack(values: IntArray) -> bytes:
    """Compressed integers in the smallest type that holds them, its name in front."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    small = values.astype(np.int64 if least < 0 else np.min_scalar_type(most))
    return small.dtype.str.encode().ljust(4) + zlib.compress(small.tobytes(), 6)


def _unpack(blob: bytes) -> IntArray:
    values = np.frombuffer(zlib.decompress(blob[4:]), dtype=blob[:4].decode().strip())
    return values.astype(np.int64)
