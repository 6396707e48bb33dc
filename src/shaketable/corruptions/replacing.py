"""Values replaced by chance, each by itself: compiled."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numba
import numpy as np

from shaketable.corruptions.rows import over_rows
from shaketable.corruptions.streams import fill_halves
from shaketable.types import Array, FloatArray, KeyArray

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_ALL = 1 << 32


def replaced(x: Array, keys: KeyArray, half: float, first: FloatArray, second: FloatArray) -> Array:
    """Copy of `x` with every value replaced with probability ``2 * half``.

    Half of the replaced values are those of `first`, half those of `second`, one a column. For a
    key the places of a smaller `half` are among those of a larger one.
    """
    flat = np.ascontiguousarray(x.reshape(len(x), -1))
    out, part = np.empty_like(flat), round(half * _ALL)
    columns = first.astype(x.dtype), second.astype(x.dtype)
    over_rows(_fill_replaced, flat, keys, out, settings=(*columns, part, _ALL - part))
    return out.reshape(x.shape)


@_compiled
def _fill_replaced(x, keys, out, first, second, below, above):
    """Replace by 32 bits a value: values 2i and 2i + 1 take the halves of word i of their key."""
    n = x.shape[1]
    words = np.empty((n + 1) // 2, np.uint64)
    halves = np.empty(2 * len(words), np.uint32)
    for row in range(len(keys)):
        key, old, new = keys[row], x[row], out[row]
        fill_halves(key, words, halves)
        for c in range(n):
            bits = np.int64(halves[c])
            new[c] = first[c] if bits < below else second[c] if bits >= above else old[c]
