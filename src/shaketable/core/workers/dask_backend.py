"""A Dask cluster: one that runs somewhere, or one that is started on this machine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from shaketable.core.errors import InputError, WorkerError, describe_error
from shaketable.core.workers.joblib_backend import shield_workers_from_interrupts
from shaketable.core.workers.packing import (
    Reply,
    Sent,
    lose_workers,
    pack,
    work_packed,
)
from shaketable.core.workers.tasks import BACKENDS, Outcome, Task

R = TypeVar("R")

_PATIENCE = 30  # seconds to wait for the scheduler, and for a first worker
_PER_THREAD = 3  # tasks under way for every thread of a worker: the next ones wait there
_LOOK = 5  # seconds between looks at the number of workers
_TRIES = 10  # how often a task is sent again because what it needs was lost


class DaskBackend:
    """Workers of a Dask cluster, which runs the tasks of a lost one again.

    Dask itself runs the tasks of a lost worker again, three times at most, and starts local workers
    anew. If the last worker that had the data was lost, data and tasks are sent again.
    """

    def __init__(self, address: str | None, workers: int) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise InputError(
                "backend dask needs dask.distributed, which is not installed; pip install "
                "'shaketable[dask]'"
            ) from error
        self._distributed = distributed
        self._cluster: Any = None
        self._client: Any = None
        self._sent: Sent[Any] = Sent()
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are ours
        try:
            if address is None:
                with shield_workers_from_interrupts(enabled=True):
                    self._cluster = distributed.LocalCluster(
                        n_workers=workers if workers > 0 else _count_cores(),
                        threads_per_worker=1,
                        memory_limit=None,
                        dashboard_address=":0",  # another cluster may have the usual port
                        silence_logs=logging.CRITICAL,
                    )
            self._client = distributed.Client(
                self._cluster or address, timeout=_PATIENCE, set_as_default=False
            )
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            where = "on this machine" if address is None else f"at {address!r}"
            self.close()
            raise WorkerError(
                f"no Dask cluster {where} ({describe_error(error)}); check the address, and that "
                "it has workers"
            ) from error

    def run(self, tasks: Iterable[Task[R]]) -> Generator[Outcome[R], None, None]:
        """Yield the outcomes of tasks; see `Backend`."""
        waiting = iter(tasks)
        running: dict[Any, tuple[Task[R], int, Sent[Any]]] = {}
        finished = self._distributed.as_completed(
            loop=self._client.loop, with_results=True, raise_errors=False
        )
        room, looked = self._count_room(), time.monotonic()
        try:
            while True:
                for task in islice(waiting, max(0, room - len(running))):
                    future = self._submit(task)
                    running[future] = (task, 1, self._sent)
                    finished.add(future)
                if not running:
                    return
                future, reply = next(finished)  # fetched in the background
                task, tries, sent = running.pop(future)
                if isinstance(reply, Reply):
                    yield Outcome(task, reply.result, reply.error)
                elif future.status == "cancelled" and tries < _TRIES:
                    self._check_connection()
                    if sent is self._sent:  # not sent again since then
                        self._sent = Sent()
                    again = self._submit(task)
                    running[again] = (task, tries + 1, self._sent)
                    finished.add(again)
                else:
                    yield Outcome(task, error=self._explain(task, future))
                if time.monotonic() > looked + _LOOK:
                    room, looked = self._count_room(), time.monotonic()
        except (OSError, TimeoutError) as error:
            raise _lose_connection(describe_error(error)) from error
        finally:
            if running:
                with suppress(OSError, TimeoutError):
                    self._client.cancel(list(running), force=True)

    def close(self) -> None:
        """Leave the cluster, and stop it if it was started here."""
        self._sent = Sent()
        for opened in (self._client, self._cluster):
            if opened is not None:
                opened.close()

    def _submit(self, task: Task[Any]) -> Any:
        shared = self._sent.share(
            task, lambda thing: self._client.scatter([thing], broadcast=True, hash=False)[0]
        )
        return self._client.submit(work_packed, pack(task), shared, pure=False)

    def _count_room(self) -> int:
        """Number of tasks that are to be under way."""
        return _PER_THREAD * max(1, int(sum(self._client.nthreads().values())))

    def _explain(self, task: Task[Any], future: Any) -> WorkerError:
        """Error of a task that Dask gave up."""
        if future.status == "cancelled":
            return lose_workers(task, f"{_TRIES} times, with the data")
        error = future.exception()
        if isinstance(error, self._distributed.KilledWorker):
            return lose_workers(task, "again and again")
        return WorkerError(f"{task.name}: Dask failed to run it ({describe_error(error)})")

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise _lose_connection(self._client.status)


BACKENDS.add("dask", DaskBackend)


def _lose_connection(why: str) -> WorkerError:
    return WorkerError(
        f"the connection to the Dask scheduler was lost ({why}); check that it runs, and run again"
    )


def _count_cores() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
