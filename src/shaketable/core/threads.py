"""Compiled loops over many rows, run in threads.

The compiled functions release the interpreter lock (``nogil``) and work on each row on its own. The
threads are ours: those of numba abort under Python threads and after a fork.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from shaketable.core.types import Array

T = TypeVar("T")
R = TypeVar("R")

_LEAST_VALUES = 1 << 18  # a thread gets at least this many values
_thread = threading.local()


def run_over_rows(
    work: Callable[..., None], *arrays: Array, settings: tuple[Any, ...] = ()
) -> None:
    """Run a compiled ``work(*arrays, *settings)`` on all rows, one range of rows per task.

    Rows are independent, so the number of threads does not change the result. `work` writes its
    result into the last array.
    """
    n, size = len(arrays[-1]), arrays[-1].size
    parts = min(n, size // _LEAST_VALUES)
    threads = count_threads() if parts > 1 else 1
    if threads == 1:
        work(*arrays, *settings)
        return
    edges = np.linspace(0, n, min(parts, 4 * threads) + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:  # 0.1 ms, where joblib would take 5
        tasks = [
            pool.submit(work, *(array[start:end] for array in arrays), *settings)
            for start, end in pairwise(edges)
        ]
    for task in tasks:
        task.result()


def map_ahead(
    work: Callable[[T], R], items: Iterable[T], *, ahead: int
) -> Generator[R, None, None]:
    """Yield ``work(item)`` in order, while threads make up to `ahead` results in advance.

    There is one thread per core, which runs the compiled loops of its item alone. With `ahead` 0
    there are none, and every result is made when it is asked for.
    """
    if not ahead:
        yield from map(work, items)
        return
    waiting: deque[Future[R]] = deque()
    threads = min(ahead, count_threads())
    with ThreadPoolExecutor(threads, initializer=_work_alone) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _work_alone() -> None:
    """Keep the compiled loops of this thread in it: its siblings occupy the other cores."""
    _thread.alone = True


def count_threads() -> int:
    """Number of threads: OMP_NUM_THREADS, which joblib sets in its workers, else one per core.

    It is 1 in the threads of `map_ahead`.
    """
    if getattr(_thread, "alone", False):
        return 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
