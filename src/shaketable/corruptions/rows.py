"""Work on many rows, shared among threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from shaketable.core.types import Array
from shaketable.data.bounds import Bounds

_VALUES = 1 << 18  # a thread's share, at least


def over_rows(work: Callable[..., None], *arrays: Array, settings: tuple[Any, ...] = ()) -> None:
    """Run a compiled `work`(*arrays, *settings) on all rows, a range of them a thread.

    Rows are worked on one by one, so the number of threads changes nothing. The last array is the
    one that is written to.
    """
    n, size = len(arrays[-1]), arrays[-1].size
    parts = min(n, size // _VALUES, 4 * threads())
    if parts < 2 or threads() == 1:
        work(*arrays, *settings)
        return
    edges = np.linspace(0, n, parts + 1).astype(int)
    with ThreadPoolExecutor(threads()) as pool:  # 0.1 ms, where joblib would take 5
        tasks = [
            pool.submit(work, *(a[start:end] for a in arrays), *settings)
            for start, end in pairwise(edges)
        ]
    for task in tasks:
        task.result()


def threads() -> int:
    """One a core; or as many as OMP_NUM_THREADS says, which joblib sets in its workers."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_noise(flat: Array, noise: Array, scale: float, bounds: Bounds | None) -> Array:
    """``flat + scale * noise``, clipped to the bounds: one pass over the values."""
    from shaketable.corruptions.compiled.ziggurat import fill_sum  # compiled code, slow to load

    limits = (-math.inf, math.inf) if bounds is None else (bounds.low, bounds.high)
    out = np.empty_like(noise)
    over_rows(fill_sum, np.ascontiguousarray(flat), noise, out, settings=(float(scale), *limits))
    return out
