"""Arrays in blocks of rows, so that those that are mapped from disk are never in memory at once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array

BLOCK_VALUES = 1 << 22
"""Values of a block: 32 MB of float64."""


def split_rows(x: Array) -> Iterator[Array]:
    """Yield an array in blocks of rows that hold at most `BLOCK_VALUES` values.

    >>> [len(block) for block in split_rows(np.zeros((5, BLOCK_VALUES // 2)))]
    [2, 2, 1]
    """
    step = max(1, BLOCK_VALUES * len(x) // max(1, x.size))
    for start in range(0, len(x), step):
        yield x[start : start + step]


def is_mapped(x: Array) -> bool:
    """Whether the values of an array are in a file that is mapped into memory.

    >>> is_mapped(np.zeros(3))
    False
    """
    base: object = x
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False


def check_fits_memory(x: Array, what: str, remedy: str) -> None:
    """Raise `InputError` if an array that stays on disk is larger than the memory of this machine.

    `what` needs all of its values at once.
    """
    memory = measure_memory()
    if memory is not None and is_mapped(x) and x.nbytes > memory:
        raise InputError(
            f"{what} needs all points in memory, and they have {x.nbytes / 2**30:.1f} GB, this "
            f"machine {memory / 2**30:.1f} GB; {remedy}"
        )


def measure_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
