"""The results file: records in SQLite, so that no cell is measured twice.

SQLite notices when its pages do not fit together, not when values in them change. So every row has
a checksum over all its columns, and every table the sum of these; rows are checked when they are
read, and the whole file when it is opened for writing.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from shaketable.core.errors import ShaketableError, StoreError
from shaketable.evaluation.attack_record import AttackRecord
from shaketable.evaluation.certificate_record import CertificateRecord
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.rare_record import RareRecord
from shaketable.evaluation.records import (
    FailureRecord,
    GroupingRecord,
    Points,
    Record,
    Records,
    SuiteRecord,
    copy_id,
)
from shaketable.evaluation.registrations import Registration, make_registration
from shaketable.evaluation.store_columns import (
    CHECKSUM_BITS,
    KEYS,
    NAMES,
    STATEMENTS,
    TABLES,
    Part,
    compute_checksum,
    decode,
    encode,
)
from shaketable.evaluation.store_guards import check_pages, check_path, explain_values
from shaketable.separations.separation import SeparationRecord

SCHEMA = 8
"""Version of the tables; files of other versions are refused."""

T = TypeVar("T")

_APPLICATION = 0x5348414B  # "SHAK": tells our files from other SQLite files


class Store:
    """A results file: a cell is written once, in one transaction, and never measured again.

    Parameters
    ----------
    path
        SQLite file, created if missing; None keeps everything in memory.
    must_exist
        Raise an error if the file is missing: for commands that only read.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> store, copy = Store(), Store()
    >>> store.add(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", name="step").cells)
    >>> found = store.everything()
    >>> copy.add(found.cells)
    >>> for separation in found.separations:
    ...     copy.add_separation(separation)
    >>> for suite in found.suites:
    ...     copy.add_suite(suite)
    >>> for grouping in found.groupings:
    ...     copy.add_grouping(grouping)
    >>> for failure in found.failures:
    ...     copy.add_failure(failure)
    >>> for data in found.data:
    ...     copy.add_data(data)
    >>> copy.add_results(found.beside_cells)
    >>> for command in store.commands():
    ...     copy.add_command(command)
    >>> [each.number for each in (copy.register("require = 'mscr >= -1'"), *copy.registrations())]
    [1, 1]
    >>> copy.rename({found.cells[0].recipe: "other"})
    >>> copy.add_part("search", b"half")
    >>> copy.part("search"), copy.keys() == store.keys(), copy.records().cells[0].model
    (b'half', True, 'other')
    >>> copy.list_unanswered()  # all cells have answers
    set()
    >>> copy.separation(found.cells[0].fingerprint, 2.0) is None
    True
    >>> copy.close()
    """

    def __init__(self, path: str | Path | None = None, *, must_exist: bool = False) -> None:
        self.path = ":memory:" if path is None else str(path)
        self.in_memory = path is None
        """Whether there is no file."""
        self._points: set[str] = set()  # IDs of those that were written
        if path is not None:
            check_path(self.path, must_exist=must_exist)
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
        """Keys of all cells in the file.

        Returns
        -------
        set[str]
            One key per cell.
        """
        with self._errors():
            return {key for (key,) in self._db.execute("SELECT key FROM cells NOT INDEXED")}

    def list_unanswered(self) -> set[str]:
        """Keys of cells of which only hits were kept.

        Returns
        -------
        set[str]
            One key per cell.
        """
        query = "SELECT key FROM cells NOT INDEXED WHERE answers IS NULL"
        with self._errors():
            return {key for (key,) in self._db.execute(query)}

    def add(self, records: Iterable[Record], *, instead_of: Iterable[str] = ()) -> None:
        """Write cells in one transaction; either all are on disk afterwards, or none.

        A cell that is in the file already, because another process was first, stays as it is,
        unless it has no answers and the new one has. The cells with the keys `instead_of` are
        deleted.

        Parameters
        ----------
        records
            Cells.
        instead_of
            Keys of cells that are deleted.
        """
        records = list(records)
        points = {record.points.id: record.points for record in records}
        cells = [encode(record) for record in records]
        with self._transaction("IMMEDIATE"):
            for key in instead_of:
                self._delete("cells", {"key": key})
            self._insert_points(points.values())
            for cell in cells:
                if cell["answers"] is not None:
                    self._delete("cells", {"key": cell["key"]}, "answers IS NULL")
                self._insert("cells", cell)
                self._delete("failures", {"key": cell["key"]})
        self._points |= set(points)

    def add_results(self, records: Iterable[AttackRecord | RareRecord | CertificateRecord]) -> None:
        """Write results beside the cells, each in place of an earlier one of the same.

        Parameters
        ----------
        records
            What attacks found, probabilities of rare failures, or certificates.
        """
        records = [*records]
        with self._transaction("IMMEDIATE"):
            self._insert_points(record.points for record in records)
            for record in records:
                table = next(name for name, kind in TABLES.items() if kind is type(record))
                self._delete(table, {"key": record.key})
                self._insert(table, encode(record))
        self._points |= {record.points.id for record in records}

    def rename(self, names: Mapping[str, str]) -> None:
        """Give the models of these recipes these names, in all of their cells.

        A copy of such a model under that name (`evaluate.add_model`) is deleted.

        Parameters
        ----------
        names
            Names by recipe.
        """
        with self._transaction("IMMEDIATE"):
            for recipe, name in names.items():
                self._delete("cells", {"recipe": copy_id(recipe, name)})
                for rowid, checksum in self._db.execute(
                    "SELECT rowid, checksum FROM cells WHERE recipe = ? AND model != ?",
                    [recipe, name],
                ).fetchall():
                    self._db.execute("UPDATE cells SET model = ? WHERE rowid = ?", [name, rowid])
                    self._add_to_total("cells", -checksum)
                    self._seal("cells", rowid)

    def add_separation(self, separation: SeparationRecord) -> None:
        """Write the separation of a data set in one norm, in place of an earlier one.

        Parameters
        ----------
        separation
            What was measured.
        """
        self._replace("separations", separation)

    def add_data(self, data: DataRecord) -> None:
        """Write facts about data, in place of earlier ones of the same data.

        Parameters
        ----------
        data
            The facts.
        """
        self._replace("data", data)

    def add_suite(self, suite: SuiteRecord) -> None:
        """Write which corruptions a suite has on some data, in place of an earlier record of it.

        Parameters
        ----------
        suite
            The suite and its corruptions.
        """
        self._replace("suites", suite)

    def add_grouping(self, grouping: GroupingRecord) -> None:
        """Write groups of the rows of some data, in place of earlier ones by the same column.

        Parameters
        ----------
        grouping
            The column and the group of every row.
        """
        self._replace("groupings", grouping)

    def add_command(self, command: CommandRecord) -> None:
        """Write by which command cells are made; the first record of the same stays.

        Parameters
        ----------
        command
            The command with its settings.
        """
        with self._transaction("IMMEDIATE"):
            self._insert("commands", encode(command))

    def commands(self) -> tuple[CommandRecord, ...]:
        """Commands by which cells were made, in the order they were added.

        Returns
        -------
        tuple[CommandRecord, ...]
            One record per command.
        """
        with self._transaction(), explain_values():
            return self._decode(CommandRecord, "commands")

    def register(self, text: str, *, created: str = "") -> Registration:
        """Write requirements and the time, unless the last registration has the same text.

        Parameters
        ----------
        text
            All that the file of requirements says.
        created
            When they were registered; by default now.

        Returns
        -------
        Registration
            The new registration, or the last one if it has this text.
        """
        with self._transaction("IMMEDIATE"), explain_values():
            known = self._decode(Registration, "registrations")
            if known and known[-1].text == text:
                return known[-1]
            made = make_registration(len(known) + 1, text, created)
            self._insert("registrations", encode(made))
        return made

    def registrations(self) -> tuple[Registration, ...]:
        """Requirements that were registered, the last ones at the end.

        Returns
        -------
        tuple[Registration, ...]
            One record per registration.
        """
        with self._transaction(), explain_values():
            return self._decode(Registration, "registrations")

    def add_failure(self, failure: FailureRecord) -> None:
        """Write why a cell could not be measured, until it is measured.

        Parameters
        ----------
        failure
            The cell and what went wrong.
        """
        self._replace("failures", failure)

    def add_part(self, key: str, content: bytes) -> None:
        """Write what long work has done so far, in place of what it had done before.

        Parameters
        ----------
        key
            Hash of all that the work depends on.
        content
            What was done.
        """
        self._replace("parts", Part(key=key, content=content))

    def part(self, key: str) -> bytes | None:
        """What `add_part` wrote last; None if there is nothing.

        Parameters
        ----------
        key
            Hash of all that the work depends on.

        Returns
        -------
        bytes | None
            What was done so far.
        """
        query = "SELECT rowid, checksum, key, content FROM parts WHERE key = ?"
        with self._transaction():
            row = self._db.execute(query, [key]).fetchone()
            if row is None:
                return None
            rowid, checksum, *values = row
            if checksum != compute_checksum("parts", rowid, values):
                raise sqlite3.DatabaseError(f"row {rowid} of table parts was changed")
        return bytes(values[1])

    def separation(self, fingerprint: str, norm: float) -> SeparationRecord | None:
        """Separation of these data in this norm; None if it was never measured.

        Parameters
        ----------
        fingerprint
            That of the data.
        norm
            Order of the norm.

        Returns
        -------
        SeparationRecord | None
            The separation.
        """
        with self._transaction():
            found = self._decode(SeparationRecord, "separations")
        return next((s for s in found if (s.fingerprint, s.norm) == (fingerprint, norm)), None)

    def records(self, keys: Iterable[str] | None = None) -> Records:
        """All cells in the order they were added, or those named, in the order given.

        Parameters
        ----------
        keys
            Keys of cells; None for all.

        Returns
        -------
        Records
            The cells, with what is known about their data and suites.
        """
        ordered = None if keys is None else list(keys)
        with self._transaction():
            everything = self._read(None if ordered is None else set(ordered))
            by_key = {cell.key: cell for cell in everything}
            cells = tuple(by_key[key] for key in (by_key if ordered is None else ordered))
        if ordered is None and not cells:
            return everything
        fingerprints = {cell.fingerprint for cell in cells}
        if ordered is None:
            fingerprints |= {each.fingerprint for each in everything.beside_cells}
        return Records(
            cells,
            tuple(s for s in everything.separations if s.fingerprint in fingerprints),
            tuple(s for s in everything.suites if s.fingerprint in fingerprints),
            notes=everything.notes if ordered is None else (),
            groupings=tuple(g for g in everything.groupings if g.fingerprint in fingerprints),
            failures=tuple(f for f in everything.failures if f.fingerprint in fingerprints),
            commands=everything.commands if ordered is None else (),
            attacks=everything.attacks if ordered is None else (),
            data=tuple(d for d in everything.data if d.fingerprint in fingerprints),
            source=everything.source,
            registrations=everything.registrations,
            rare=everything.rare if ordered is None else (),
            certificates=everything.certificates if ordered is None else (),
        )

    def everything(self) -> Records:
        """All cells, and all separations, suites and groupings, also of data without cells.

        Returns
        -------
        Records
            All that the file holds.
        """
        with self._transaction():
            return self._read()

    def _open(self, *, writable: bool) -> None:
        """Check that it is a results file that can be used, and create the tables of a new one."""
        if writable:  # one process at a time; a file that cannot be written fails before any work
            self._db.execute("PRAGMA synchronous = NORMAL")
        with self._transaction("IMMEDIATE" if writable else "DEFERRED"):
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            made = sorted(self._db.execute("SELECT name, sql FROM sqlite_master WHERE sql > ''"))
            if writable and (application, version, made) == (0, 0, []):
                self._create()
                return
            if application != _APPLICATION:
                raise StoreError(
                    f"results file {self.path!r} is no shaketable file; name another file"
                )
            if version != SCHEMA:
                raise StoreError(
                    f"results file {self.path!r} must have schema version {SCHEMA}, got {version}: "
                    "it was made by another version of shaketable; use that version or a new file"
                )
            if made != sorted(STATEMENTS.items()):  # no views or triggers, of the same name either
                raise sqlite3.DatabaseError("its tables have other columns")
            if writable:
                self._db.execute(f"PRAGMA user_version = {version}")  # fails if any write does
                check_pages(self._db)
                self._read(keys=())
                deque(self._rows("parts"), maxlen=0)

    def _create(self) -> None:
        """Create all tables, empty, and set the version of the file."""
        for statement in STATEMENTS.values():
            self._db.execute(statement)
        for table in NAMES:
            self._db.execute("INSERT INTO totals VALUES (?, 0)", [table])
        self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        self._db.execute(f"PRAGMA application_id = {_APPLICATION}")

    def _replace(self, table: str, record: Any) -> None:
        """Write a record in place of one with the same key."""
        row = encode(record)
        with self._transaction("IMMEDIATE"):
            self._delete(table, {name: row[name] for name in KEYS[table]})
            self._insert(table, row)

    def _insert_points(self, points: Iterable[Points]) -> None:
        for each in points:
            if each.id not in self._points:
                self._insert("points", encode(each))

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Insert a row, given as values by column, unless its key is there; add its checksum."""
        places = ", ".join(f":{column}" for column in row)
        cursor = self._db.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({places})", row
        )
        if cursor.rowcount == 0:
            return
        assert cursor.lastrowid is not None, "a row was inserted"
        self._seal(table, cursor.lastrowid)

    def _seal(self, table: str, rowid: int) -> None:
        """Write the checksum of a row, and add it to that of the table."""
        (stored,) = self._db.execute(  # SQLite converts some values, such as NaN
            f"SELECT {', '.join(NAMES[table])} FROM {table} WHERE rowid = ?", [rowid]
        )
        checksum = compute_checksum(table, rowid, stored)
        self._db.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", [checksum, rowid])
        self._add_to_total(table, checksum)

    def _delete(self, table: str, key: Mapping[str, Any], *conditions: str) -> None:
        """Delete the rows with these values, and for which these conditions hold."""
        where = " AND ".join([*(f"{column} = :{column}" for column in key), *conditions])
        checksums = self._db.execute(f"SELECT checksum FROM {table} WHERE {where}", key).fetchall()
        self._db.execute(f"DELETE FROM {table} WHERE {where}", key)
        for (checksum,) in checksums:
            self._add_to_total(table, -checksum)

    def _add_to_total(self, table: str, checksum: int) -> None:
        self._db.execute(
            f"UPDATE totals SET checksum = (checksum + ?) & {CHECKSUM_BITS} WHERE name = ?",
            [checksum, table],
        )

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Rows in the order they were added, as values by column; raises if any was changed.

        Call it in a transaction, and read to the end: lost rows are noticed there.
        """
        names, last, total = NAMES[table], 0, 0
        for rowid, checksum, *values in self._db.execute(
            f"SELECT rowid, checksum, {', '.join(names)} FROM {table} NOT INDEXED ORDER BY rowid"
        ):
            if rowid <= last or checksum != compute_checksum(table, rowid, values):
                raise sqlite3.DatabaseError(f"row {rowid} of table {table} was changed")
            last, total = rowid, total + checksum
            yield dict(zip(names, values, strict=True))
        kept = self._db.execute("SELECT checksum FROM totals WHERE name = ?", [table]).fetchone()
        if kept != (total & CHECKSUM_BITS,):
            raise sqlite3.DatabaseError(f"rows of table {table} are missing")

    def _read(self, keys: Collection[str] | None = None) -> Records:
        """Check all rows, and return what they hold; of the cells all, or those named."""
        with explain_values():
            points = {row["id"]: decode(Points, row) for row in self._rows("points")}
            data = self._decode(DataRecord, "data")
            return Records(
                tuple(
                    decode(Record, row | {"points": points[row["points"]]})
                    for row in self._rows("cells")
                    if keys is None or row["key"] in keys
                ),
                self._decode(SeparationRecord, "separations"),
                self._decode(SuiteRecord, "suites"),
                groupings=self._decode(GroupingRecord, "groupings"),
                failures=self._decode(FailureRecord, "failures"),
                commands=self._decode(CommandRecord, "commands"),
                data=data,
                notes=tuple(dict.fromkeys(note for each in data for note in each.notes)),
                source="" if self.in_memory else self.path,
                attacks=self._decode(AttackRecord, "attacks", points),
                registrations=self._decode(Registration, "registrations"),
                rare=self._decode(RareRecord, "rare", points),
                certificates=self._decode(CertificateRecord, "certificates", points),
            )

    def _decode(self, kind: type[T], table: str, points: Any = None) -> tuple[T, ...]:
        """Records of one kind, all that their table holds, with their points."""
        rows = self._rows(table)
        if points is not None:
            rows = (row | {"points": points[row["points"]]} for row in rows)
        return tuple(decode(kind, row) for row in rows)

    @contextmanager
    def _transaction(self, kind: str = "DEFERRED") -> Iterator[None]:
        """All that is read is of one moment, all that is written is on disk afterwards, or none."""
        with self._errors(), self._db:
            self._db.execute(f"BEGIN {kind}")
            yield

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite and of damaged rows into a `StoreError` with a remedy."""
        try:
            yield
        except (sqlite3.DatabaseError, KeyError, UnicodeError) as error:
            remedies = {
                "readonly": "make it writable, or name another file",
                "full": "free some space and run again: what was measured before is kept",
                "disk I/O": "check the disk and its limits: what was measured before is kept",
                "unable to open": "check that its folder exists and can be written to",
                "locked": "another process is writing to it; wait for that to end",
            }
            word = ""
            if isinstance(error, sqlite3.OperationalError):
                word = next((word for word in remedies if word in str(error)), "")
            if not word:
                raise StoreError(
                    f"results file {self.path!r} is damaged or not a results file ({error}); "
                    "restore it from a copy, or name another file and measure again"
                ) from error
            raised = StoreError(f"results file {self.path!r}: {error}; {remedies[word]}")
            if word in ("full", "locked", "disk I/O"):  # the file itself is fine
                raised.exit_code = ShaketableError.exit_code
            raise raised from error
