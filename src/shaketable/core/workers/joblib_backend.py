"""Worker processes that joblib starts: one line for whatever ends them, and none is left behind."""

from __future__ import annotations

import os
import re
import signal
import traceback
import warnings
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError, ShaketableError, WorkerError, either
from shaketable.core.workers.tasks import BACKENDS, Outcome, Task, attempt

R = TypeVar("R")


class JoblibBackend:
    """Processes of this machine, or wherever a surrounding ``joblib.parallel_config`` sends tasks.

    A process that is killed or exits ends them all, with a `WorkerError` that says what was being
    done.
    """

    def __init__(self, address: str | None, workers: int | None) -> None:
        if address is not None:
            raise InputError(f"backend joblib has no address, got {address!r}; leave it out")
        self.n_jobs = workers

    def run(self, tasks: Iterable[Task[R]]) -> Generator[Outcome[R], None, None]:
        """Yield the outcomes of tasks; see `Backend`."""
        import joblib  # 0.1 s

        several = joblib.effective_n_jobs(self.n_jobs) > 1
        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        running: dict[int, Task[R]] = {}

        def send(folder: str) -> Iterator[object]:
            for place, task in enumerate(tasks):
                running[place] = task
                yield joblib.delayed(_work)(place, task, folder, os.getpid())

        with TemporaryDirectory(prefix="shaketable-") as folder:
            with shield_workers_from_interrupts(enabled=several):
                finished = parallel(send(folder))
            try:
                for place, result, error in finished:
                    yield Outcome(running.pop(place), result, error)
            except BrokenExecutor as error:
                raise _explain(error, folder) from error
            finally:
                with warnings.catch_warnings():  # of results that are not used
                    warnings.simplefilter("ignore")
                    finished.close()

    def close(self) -> None:
        """Leave the processes to joblib, which reuses them and stops them when they are idle."""


BACKENDS.add("joblib", JoblibBackend)


def _work(
    place: int, task: Task[R], folder: str, parent: int
) -> tuple[int, R | None, ShaketableError | None]:
    """Do a task, and keep what is being done in a file of this process while it lasts."""
    path = Path(folder, str(os.getpid()))

    def report(doing: str) -> None:
        with suppress(OSError):  # on another machine, or the disk is full
            path.write_text(doing, encoding="utf-8")

    result, error = attempt(task, report)
    with suppress(OSError):
        path.unlink()
    if error is not None and os.getpid() != parent:  # its traceback stays in this process
        error.add_note("".join(traceback.format_exception(error)))
    return place, result, error


def _explain(error: BrokenExecutor, folder: str) -> WorkerError:
    """Error that says how a worker ended, and what it and the others were doing."""
    codes = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    if codes is None:  # a task, or the model in it, could not be read
        cause = str(error.__cause__ or error).strip(' \n"').rpartition("\n")[2]
        return WorkerError(
            f"a worker process could not read its task ({cause}); use "
            + either("--jobs 1", "n_jobs=1")
        )
    doing = sorted(filter(None, map(_read_report, Path(folder).iterdir())))
    what = f" while at work: {list_names(doing, ' | ')}" if doing else ""
    return WorkerError(
        f"a worker process was killed or exited ({codes[1]}){what}; if memory ran out, use fewer "
        f"processes ({either('--jobs', 'n_jobs=')})"
    )


def _read_report(path: Path) -> str:
    """Return what a worker reported last; "" if it was about to, or has just finished."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


@contextmanager
def shield_workers_from_interrupts(*, enabled: bool) -> Iterator[None]:
    """Start workers that ignore Ctrl-C: the parent receives it, and stops them.

    A blocked signal stays pending for the parent, and is blocked in its children for good.
    """
    if not enabled or not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    with suppress(ImportError, AttributeError):
        # joblib's helper processes unblock the signal when they start, so they start first
        from multiprocessing import resource_tracker

        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
