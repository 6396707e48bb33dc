"""Cells that fail: they are recorded with their error, and the others go on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, cast

from shaketable.core.errors import ShaketableError
from shaketable.core.workers.tasks import Outcome, Task
from shaketable.evaluation.cells import Cell
from shaketable.evaluation.records import FailureRecord, Record, Records
from shaketable.evaluation.store import Store

_HOPELESS = 3  # tasks that fail before any other has succeeded, after which all are given up


@dataclass(frozen=True)
class Measured:
    """What a task measured, and what it could not."""

    records: list[Record] = field(default_factory=list)
    failures: list[FailureRecord] = field(default_factory=list)

    def fail(self, cell: Cell, error: ShaketableError) -> None:
        """Record the error of a cell, of several that it left out the first."""
        text = " ".join(str(error).split())
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.failures.append(FailureRecord(cell.key, cell.data.fingerprint, text, now))


class CellTask(Task[Measured], Protocol):
    """A task that measures cells."""

    @property
    def cells(self) -> Sequence[Cell]:
        """The cells, at least one."""


def keep_outcomes(outcomes: Iterable[Outcome[Measured]], store: Store, *, resumed: bool) -> None:
    """Write what tasks measured, and why others failed.

    If the first three tasks fail, or all, the error of the first is raised, unless the work is
    `resumed`: then there are results to show.
    """
    failed: list[ShaketableError] = []
    for outcome in outcomes:
        measured = outcome.result or Measured()
        if outcome.error is not None:
            measured.fail(cast("CellTask", outcome.task).cells[0], outcome.error)
        store.add(measured.records)
        for failure in measured.failures:
            store.add_failure(failure)
        resumed = resumed or bool(measured.records)
        failed += [outcome.error] if outcome.error is not None else []
        if not resumed and len(failed) >= _HOPELESS:
            raise failed[0]
    if not resumed and failed:
        raise failed[0]


def check_complete(records: Records) -> None:
    """Raise an error if cells are missing because they failed."""
    if records.failures:
        number = len(records.failures)
        what = "1 failure" if number == 1 else f"{number} failures, the first"
        again = "; run the same command to try again what failed"
        if all(failure.is_lasting for failure in records.failures):
            again = ""
        raise ShaketableError(
            f"results are not complete: {what}: {records.failures[0].error}{again}"
        )
