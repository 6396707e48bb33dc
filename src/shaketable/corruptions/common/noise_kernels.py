r"""Compiled loops for noise that is independent from value to value, drawn from tables.

Such noise on 8 bits is a distribution over 256 outcomes for each of 256 values. Walker's alias
method draws from each with two lookups: 256 columns of equal weight, each shared by at most two
outcomes. A draw takes 32 bits, the lower 8 for the column and the upper 24 for the place in it.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors

import numba
import numpy as np

from shaketable.corruptions.compiled.streams import fill_halves

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_COLUMN = 1 << 24  # weight of a column
_BYTE, _8 = np.uint32(255), np.uint32(8)


@_compiled
def fill_aliases(counts, table):
    """Fill alias tables of distributions in multiples of 2**-32, one per row (Vose's algorithm).

    `counts`, (distributions, 256), is overwritten; its rows sum to 2**32. The upper 24 bits of an
    entry of `table` are the number of places of the column's own outcome, the lower 8 bits are the
    outcome of all other places. This is exact.
    """
    small, large = np.empty(256, np.int64), np.empty(256, np.int64)
    for law in range(len(counts)):
        count, row = counts[law], table[law]
        less, more = 0, 0
        for k in range(256):
            if count[k] < _COLUMN:
                small[less], less = k, less + 1
            else:
                large[more], more = k, more + 1
        while less:
            less, k, other = less - 1, small[less - 1], large[more - 1]
            row[k] = count[k] << 8 | other
            count[other] -= _COLUMN - count[k]
            if count[other] < _COLUMN:
                small[less], less, more = other, less + 1, more - 1
        for i in range(more):
            row[large[i]] = large[i]  # a full column: the other outcome is its own


@_compiled
def fill_draws(images, keys, out, table):
    """Replace every value by a draw from its distribution; `images` and `out` are (n, values).

    Values 2i and 2i + 1 of an image take the lower and the upper half of word i of its key.
    """
    n, laws = images.shape[1], table.ravel()
    words = np.empty((n + 1) // 2, np.uint64)
    halves = np.empty(2 * len(words), np.uint32)
    for row in range(len(keys)):
        key, image, result = keys[row], images[row], out[row]
        fill_halves(key, words, halves)
        for j in range(n):
            bits = halves[j]
            entry = laws[np.uint32(image[j]) << _8 | bits & _BYTE]
            result[j] = np.uint8(bits) if bits >> _8 < entry >> _8 else np.uint8(entry)
