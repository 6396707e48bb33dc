"""Tasks in worker processes: one line for whatever ends them, and none is left behind."""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from shaketable.core.checks import list_names
from shaketable.core.errors import WorkerError

R_co = TypeVar("R_co", covariant=True)


class Task(Protocol[R_co]):
    """Something to be done in a worker process."""

    def work(self, report: Callable[[str], None]) -> R_co:
        """Do it; `report` is called with what is being done, for messages."""


def run_tasks(tasks: Sequence[Task[R_co]], n_jobs: int | None) -> Generator[R_co, None, None]:
    """Yield the results of tasks as they are finished; close it to stop the workers.

    Raises a `WorkerError` that says what was being done if a worker is killed or exits.
    """
    import joblib  # 0.1 s

    several = joblib.effective_n_jobs(n_jobs) > 1
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with TemporaryDirectory(prefix="shaketable-") as folder:
        with _shield_workers_from_interrupts(enabled=several):
            finished = parallel(joblib.delayed(_work)(task, folder) for task in tasks)
        try:
            for result in finished:  # noqa: UP028  (closed below, without warnings)
                yield result
        except BrokenExecutor as error:
            raise _explain(error, folder) from error
        finally:
            with warnings.catch_warnings():  # of results that are not used
                warnings.simplefilter("ignore")
                finished.close()


def _work(task: Task[R_co], folder: str) -> R_co:
    """Do a task, and keep what is being done in a file of this process while it lasts."""
    place = Path(folder, str(os.getpid()))

    def report(doing: str) -> None:
        with suppress(OSError):  # on another machine, or the disk is full
            place.write_text(doing, encoding="utf-8")

    result = task.work(report)
    with suppress(OSError):
        place.unlink()
    return result


def _explain(error: BrokenExecutor, folder: str) -> WorkerError:
    """Error that says how a worker ended, and what it and the others were doing."""
    codes = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    if codes is None:  # a task, or the model in it, could not be read
        cause = str(error.__cause__ or error).strip(' \n"').rpartition("\n")[2]
        return WorkerError(f"a worker process could not read its task ({cause}); use --jobs 1")
    doing = sorted(file.read_text(encoding="utf-8") for file in Path(folder).iterdir())
    what = f" while at work: {list_names(doing, ' | ')}" if doing else ""
    return WorkerError(
        f"a worker process was killed or exited ({codes[1]}){what}; if memory ran out, use fewer "
        "processes (--jobs)"
    )


@contextmanager
def _shield_workers_from_interrupts(*, enabled: bool) -> Iterator[None]:
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
