"""Ray: a cluster that runs somewhere, or one that is started on this machine."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from shaketable.core.errors import InputError, WorkerError, describe_error
from shaketable.core.workers.packing import (
    Packed,
    Reply,
    Sent,
    lose_workers,
    pack,
    work_packed,
)
from shaketable.core.workers.tasks import BACKENDS, Outcome, Task

R = TypeVar("R")

_PER_CORE = 2  # tasks under way for every core of the cluster
_RETRIES = 3  # how often a task runs again whose worker was lost


class RayBackend:
    """Workers of a Ray cluster, which runs the tasks of a lost one again."""

    def __init__(self, address: str | None, workers: int) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise InputError(
                "backend ray needs Ray, which is not installed; pip install 'shaketable[ray]'"
            ) from error
        self._ray, self._started = ray, not ray.is_initialized()
        if self._started:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send them
            options: dict[str, Any] = {"address": address}
            if address is None:
                cores = workers if workers > 0 else None
                options = {"address": "local", "num_cpus": cores, "include_dashboard": False}
            try:
                with _keep_signals():
                    ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
            except (OSError, ValueError, RuntimeError) as error:
                where = "on this machine" if address is None else f"at {address!r}"
                raise WorkerError(
                    f"no Ray cluster {where} ({describe_error(error)}); check the address"
                ) from error
        self._sent: Sent[Any] = Sent()
        self._work = ray.remote(max_retries=_RETRIES)(_work_shared)

    def run(self, tasks: Iterable[Task[R]]) -> Generator[Outcome[R], None, None]:
        """Yield the outcomes of tasks; see `Backend`."""
        ray, waiting = self._ray, iter(tasks)
        running: dict[Any, Task[R]] = {}
        try:
            while True:
                room = _PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
                for task in islice(waiting, max(0, room - len(running))):
                    running[self._submit(task)] = task
                if not running:
                    return
                finished, _ = ray.wait(list(running))
                task = running.pop(finished[0])
                try:
                    reply: Reply = ray.get(finished[0])
                except ray.exceptions.RayError as error:
                    yield Outcome(task, error=self._explain(task, error))
                else:
                    yield Outcome(task, reply.result, reply.error)
        except ConnectionError as error:
            raise WorkerError(
                f"the connection to Ray was lost ({describe_error(error)}); check that it runs, "
                "and run again"
            ) from error
        finally:
            for pending in running:
                ray.cancel(pending, force=True)

    def close(self) -> None:
        """Leave the cluster, and stop it if it was started here."""
        self._sent = Sent()
        if self._started:
            self._ray.shutdown()

    def _submit(self, task: Task[Any]) -> Any:
        shared = self._sent.share(task, self._ray.put)
        gpus = int(task.uses_gpu and self._ray.cluster_resources().get("GPU", 0) >= 1)
        return self._work.options(num_gpus=gpus).remote(pack(task), shared)

    def _explain(self, task: Task[Any], error: Exception) -> WorkerError:
        """Error of a task that Ray gave up."""
        if isinstance(error, self._ray.exceptions.RayTaskError):
            return WorkerError(f"{task.name}: Ray failed to run it ({describe_error(error)})")
        return lose_workers(task, f"{_RETRIES + 1} times")


BACKENDS.add("ray", RayBackend)

_have: dict[str, object] = {}  # objects that this worker has, by the ID of their handle


def _work_shared(packed: Packed, shared: Sequence[Any]) -> Reply:
    """Do a task in a worker of Ray, which reads what tasks share once."""
    ray: Any = import_module("ray")
    wanted = {handle.hex(): handle for handle in shared}
    for name in set(_have) - set(wanted):
        del _have[name]
    for name in set(wanted) - set(_have):
        _have[name] = ray.get(wanted[name])
    return work_packed(packed, [_have[handle.hex()] for handle in shared])


@contextmanager
def _keep_signals() -> Iterator[None]:
    """Put the handlers of signals back that Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
