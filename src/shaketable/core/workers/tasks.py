"""Tasks, where they run, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError, ShaketableError, WorkerError, describe_error
from shaketable.core.importing import check_trusted
from shaketable.core.registry import Registry

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Task(Protocol[R_co]):
    """Something to be done by a worker."""

    @property
    def name(self) -> str:
        """What it does, for messages."""

    @property
    def shared(self) -> tuple[object, ...]:
        """Objects that it refers to and that other tasks have too; a worker gets them once."""

    @property
    def uses_gpu(self) -> bool:
        """Whether it runs on a GPU where there is one."""

    def work(self, report: Callable[[str], None]) -> R_co:
        """Do it; `report` is called with what is being done, for messages."""


@dataclass(frozen=True, eq=False)
class Outcome(Generic[R]):
    """What came of a task: its result, or why there is none."""

    task: Task[R]
    result: R | None = None
    error: ShaketableError | None = None

    def get(self) -> R:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # a task may return None


class Backend(Protocol):
    """Where tasks run; made from an address, or None, and a number of workers, -1: one per core."""

    def run(self, tasks: Iterable[Task[R]]) -> Generator[Outcome[R], None, None]:
        """Yield the outcomes of tasks as they are finished; close it to stop the others."""

    def close(self) -> None:
        """Stop what was started."""


MakeBackend: TypeAlias = Callable[[str | None, int], Backend]


def _admit(name: str, backend: Any) -> MakeBackend:
    if not callable(backend):
        raise InputError(
            f"backend {name!r} must be called with an address and a number of workers, got "
            f"{backend!r}; name a class or a function"
        )
    return backend  # type: ignore[no-any-return]


BACKENDS: Registry[MakeBackend] = Registry(
    "backend",
    admit=_admit,
    homes=(
        "shaketable.core.workers.joblib_backend",
        "shaketable.core.workers.dask_backend",
        "shaketable.core.workers.ray_backend",
    ),
)

_current: ContextVar[Backend | None] = ContextVar("backend", default=None)


@contextmanager
def cluster(
    backend: str, address: str | None = None, *, workers: int | None = None
) -> Iterator[Backend]:
    """Let the tasks of studies, evaluations, separations and adversaries run on a cluster.

    Objects that tasks share, such as the data, stay on its workers until the context ends.

    Parameters
    ----------
    backend
        ``dask``, ``ray``, or ``joblib`` for processes of this machine; or one of another package.
    address
        Where the cluster is, such as ``tcp://scheduler:8786`` (Dask) or ``ray://head:10001`` (Ray).
        By default one is started on this machine, and stopped at the end.
    workers
        Number of processes, if it is started here; by default, or if it is -1, one per core.

    Yields
    ------
    Backend
        What runs the tasks.

    Examples
    --------
    >>> import shaketable as st
    >>> with st.cluster("joblib", workers=1):
    ...     records = st.study("iris", "1nn", runs=1, k=1)
    """
    if workers != -1 and workers is not None:
        workers = check_whole("workers", workers, least=1)
    if address is not None:  # what answers there sends pickles
        check_trusted("address", address)
    opened = BACKENDS.get(backend)(address, -1 if workers is None else workers)
    before = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(before)
        opened.close()


@contextmanager
def use_cluster(named: str | None, workers: int | None = None) -> Iterator[None]:
    """Send the tasks within to a cluster that is named as ``dask`` or ``dask=ADDRESS``, if any."""
    if named is None:
        yield
        return
    backend, _, address = named.partition("=")
    with cluster(backend, address or None, workers=workers):
        yield


def on_cluster() -> bool:
    """Whether tasks run where `cluster` says."""
    return _current.get() is not None


def run_tasks(
    tasks: Iterable[Task[R]], n_jobs: int | None = None
) -> Generator[Outcome[R], None, None]:
    """Yield the outcomes of tasks as they are finished; close it to stop the workers.

    They run where `cluster` says, else in `n_jobs` processes, as in joblib.

    Raises
    ------
    WorkerError
        If a process of joblib is killed or exits, or the connection to a cluster is lost.
    """
    backend = _current.get()
    if backend is None:
        from shaketable.core.workers.joblib_backend import JoblibBackend

        backend = JoblibBackend(None, n_jobs)
    yield from backend.run(tasks)


def attempt(
    task: Task[R], report: Callable[[str], None]
) -> tuple[R | None, ShaketableError | None]:
    """Do a task, and return its result or its error."""
    try:
        return task.work(report), None
    except ShaketableError as error:
        return None, error
    except Exception as error:  # of ours, or memory ran out
        failure = WorkerError(f"{task.name}: {describe_error(error)}")
        failure.__cause__ = error
        return None, failure
