"""Arrays: checks of their values, blocks of rows, and arrays that long work keeps.

Arrays that are mapped from disk are read in blocks, so that they are never in memory at once.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array


def find_not_finite(values: Any) -> str:
    """Where the first value of an array or a tensor is that is NaN or infinite; empty if none is.

    Tensors that are not on the CPU are not looked at: that would make their device wait.

    >>> find_not_finite(np.array([[1.0, 2.0], [np.nan, 4.0]]))
    'nan in row 1 (from 0), value 0'
    """
    if hasattr(values, "detach"):
        values = values.detach()
        if values.device.type != "cpu":
            return ""
    if math.isfinite(values.min()) and math.isfinite(values.max()):
        return ""
    flat = values.reshape(len(values), -1)
    finite = flat.isfinite().numpy() if hasattr(values, "detach") else np.isfinite(flat)
    row, place = divmod(int(finite.argmin()), flat.shape[1])
    return f"{float(flat[row, place])} in row {row} (from 0), value {place}"


EXACT = 2**53
"""Float64 holds every whole number up to this size; beyond it, different ones become equal."""


def check_exact(x: Any, name: str, given: Any = None) -> None:
    """Raise `InputError` if an array or a tensor holds integers that float64 cannot tell apart.

    `given` is what it was made from: a list of such integers may be floats already.
    """
    if not len(x):
        return
    if isinstance(given, list | tuple) and x.dtype.kind == "f" and np.abs(x).max() > EXACT:
        whole = [v for v in np.array(given, object).ravel() if isinstance(v, int)]
        least, most = min(whole, default=0), max(whole, default=0)
    elif x.dtype.itemsize == 8 and "int" in str(x.dtype):
        least, most = int(x.min()), int(x.max())
    else:
        return
    if least < -EXACT or most > EXACT:
        raise InputError(
            f"{name} must hold integers of at most 2**53 in size, got {least} to {most}: they "
            "become float64, which cannot tell larger ones apart; subtract an offset first"
        )


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


class Parts(Protocol):
    """Where parts of long work are kept, such as an open results file (`Store`)."""

    def part(self, key: str) -> bytes | None:
        """Return what was kept last; None if there is nothing."""

    def add_part(self, key: str, content: bytes) -> None:
        """Keep a part, in place of what was kept before."""


def load_arrays(parts: Parts | None, key: str) -> dict[str, Array] | None:
    """Return the arrays of a part; None if it is not kept."""
    content = None if parts is None else parts.part(key)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def keep_arrays(parts: Parts | None, key: str, arrays: Mapping[str, Array]) -> None:
    """Keep arrays by name, if there is a place for them."""
    if parts is None:
        return
    stream, named = io.BytesIO(), dict[str, Any](arrays)
    np.savez_compressed(stream, **named)
    parts.add_part(key, stream.getvalue())
