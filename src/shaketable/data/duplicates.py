"""Rows of an array that are equal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shaketable.core.keys import digest, row_keys
from shaketable.core.types import Array, IntArray, KeyArray


def find_equal_rows(x: Array) -> list[IntArray]:
    """Row numbers of each group of equal rows, groups in order of their first row.

    Rows without an equal one are in no group. Rows are compared where their checksums agree, so
    the time grows with n log n.

    >>> find_equal_rows(np.array([[1.0], [0.0], [1.0], [-0.0]]))
    [array([0, 2]), array([1, 3])]
    """
    x = np.ascontiguousarray(x)
    sums = _compute_checksums(x)
    order = np.argsort(sums, kind="stable")
    ends = np.flatnonzero(np.diff(sums[order], append=~sums[order[-1]]))
    sizes = np.diff(ends, prepend=-1)
    groups: list[IntArray] = []
    for end, size in zip(ends[sizes > 1], sizes[sizes > 1], strict=True):
        rows = order[end + 1 - size : end + 1]
        while len(rows) > 1:  # once, unless different rows have the same checksum
            same = (x[rows] == x[rows[0]]).all(axis=1)
            groups += [rows[same]] if same.sum() > 1 else []
            rows = rows[~same]
    return sorted(groups, key=lambda rows: int(rows[0]))


def pair_clashes(groups: Iterable[IntArray], y: IntArray) -> list[tuple[int, int]]:
    """Pair every row with the first equal one of another class, given groups of equal rows."""
    pairs: set[tuple[int, int]] = set()
    for group in groups:
        same = y[group] == y[group[0]]
        first, other = int(group[0]), int(group[~same][0])
        pairs |= {(first, row) for row in group[~same].tolist()}
        pairs |= {(min(row, other), max(row, other)) for row in group[same].tolist()}
    return sorted(pairs)


def _compute_checksums(x: Array) -> KeyArray:
    """One number per row: the same for equal rows, different for almost all others."""
    words = -(-x.shape[1] * x.itemsize // 8)
    factors = row_keys(digest("checksum"), np.arange(words), np.arange(1))[:, 0] | np.uint64(1)
    sums = np.empty(len(x), np.uint64)
    step = max(1, (1 << 17) // words)
    for start in range(0, len(x), step):
        rows = x[start : start + step]
        # adding 0 turns -0.0, equal to 0.0, into the same bytes
        rows = rows if x.dtype == np.uint8 else rows + rows.dtype.type(0)
        padded = np.zeros((len(rows), words * 8), np.uint8)
        padded[:, : rows.shape[1] * x.itemsize] = rows.view(np.uint8).reshape(len(rows), -1)
        mixed = padded.view(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        sums[start : start + step] = (mixed * factors).sum(axis=1, dtype=np.uint64)
    return sums
