"""Compiled loop over pairs of points that compares their marks, and few points themselves.

A query is compared with a tile of 64 points at a time: if one of its marks meets one of a point's,
the two are on different sides of a split, so at least a level apart (see `marks`).
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0912, PLR0915, PLR0917, PLW3301

from typing import NamedTuple

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from shaketable.core.compiling import compiled, inner
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.kernels import BOX, LANES, insert, loosest, loosest_classes

WORDS = 4
"""Words of marks that are compared at a time: two of points above splits, two of points below."""


class Marks(NamedTuple):
    """Marks of the points at their positions."""

    rows: IntArray  # of every position
    group: IntArray  # of every position, ascending; only pairs of different groups count
    classes: IntArray  # of every position, ascending: row and column in `Best.by_class`
    parts: IntArray  # of every position, 0 or 1
    levels: FloatArray  # ascending
    words: Array  # by tile, level, word and position in the tile: words for high and low in turns
    fine: Array  # bytes of some values of every position
    box: FloatArray  # BOX values of every position
    low: FloatArray  # least of each of them in every tile
    high: FloatArray  # largest of them
    step: int  # of the tiles that touch a query's, every so many are compared first
    first_row: IntArray  # least row of every tile
    tile_parts: IntArray  # least and largest part of every tile


@inner
def _find_level(levels, least, below):
    """Number of the first level that is at least one number and above another, from 1.

    0 if both are negative: nothing is wanted. One more than there are levels if none is enough.
    """
    if least < 0 and below < 0:
        return 0
    k = 0
    while k < levels.size and (levels[k] < least or levels[k] <= below):
        k += 1
    return k + 1


@inner
def _find_gap(low, high, other_low, other_high):
    """Largest gap between two boxes."""
    gap = 0.0
    for c in range(BOX):
        gap = max(gap, max(other_low[c] - high[c], low[c] - other_high[c]))
    return gap


@inner
def _which_agree(query, tile, word):
    """Bits of the points of a tile that share no mark with a query in the words from one on."""
    bits = np.uint64(0)
    for k in range(LANES):
        met = (query[word] & tile[word, k]) | (query[word + 1] & tile[word + 1, k])
        met |= (query[word + 2] & tile[word + 2, k]) | (query[word + 3] & tile[word + 3, k])
        bits |= np.uint64(met == 0) << np.uint64(k)
    return bits


@compiled
def mark_rows(places, words, x, counts, columns, low, high):
    """Mark the points of tiles, given by their rows, at the splits of every level."""
    for tile in range(places.shape[0]):
        for k in range(LANES):
            row = places[tile, k]
            for level in range(counts.size):
                for start in range(0, counts[level], 64):
                    above, below = np.uint64(0), np.uint64(0)
                    for c in range(start, min(start + 64, counts[level])):
                        value = x[row, columns[level, c]]
                        above |= np.uint64(value >= high[level, c]) << np.uint64(c - start)
                        below |= np.uint64(value <= low[level, c]) << np.uint64(c - start)
                    words[tile, level, start // 32, k] = above
                    words[tile, level, start // 32 + 1, k] = below


@compiled
def scan(marks, measure_rows, x, width, p, maximum, size, queries, targets, first, best, resume):
    """Compare positions `queries` with `targets`, and keep the least measures.

    Arguments and result are those of `kernels.compare`, except that only the queries' nearest
    opponents are looked for, and minima among pairs whose query comes first. Either some of the
    tiles that touch a query's are compared, which come `first`, or all others. `maximum` makes
    `measure_rows` measure in L-inf, and `size` is the number of bytes of a value.
    """
    count = 0
    levels, words = marks.levels, marks.words
    group, rows, classes, parts = marks.group, marks.rows, marks.classes, marks.parts
    nearest, opponent, radius = best.nearest_a, best.opponent_a, best.nearest_b
    closest, pairs = best.closest, best.pairs
    by_class, by_part = best.by_class, best.by_part
    row0, column0 = best.first_classes
    q0, t0 = queries[0], targets[0]
    length = words.shape[2]
    fine, fine_width = np.int64(marks.fine.ctypes.data), marks.fine.shape[1] // size
    loose, strict = np.empty(nearest.size, np.int64), np.empty(nearest.size, np.int64)
    for k in range(nearest.size):
        loose[k] = _find_level(levels, -1.0, nearest[k])
        strict[k] = _find_level(levels, nearest[k], -1.0)
    box, low, high = marks.box, marks.low, marks.high
    own = np.empty((levels.size, LANES, length), np.uint64)
    for q_tile in range(max(q0 // LANES, resume[0]), (queries[1] - 1) // LANES + 1):
        q_first, q_last = q_tile * LANES, min((q_tile + 1) * LANES, queries[1])
        for level in range(levels.size):
            for word in range(length):  # what is high meets what is low
                for k in range(LANES):
                    own[level, k, word] = words[q_tile, level, word ^ 1, k]
        start = resume[1] if q_tile == resume[0] else t0 // LANES
        for tile in range(start, (targets[1] - 1) // LANES + 1):
            t_first, t_last = tile * LANES, min((tile + 1) * LANES, targets[1])
            one_group = max(group[q_last - 1], group[t_last - 1]) == min(
                group[q_first], group[t_first]
            )
            gap = _find_gap(low[q_tile], high[q_tile], low[tile], high[tile])
            if one_group or (gap == 0 and tile % marks.step == 0) != first:
                continue
            if 0 < pairs.shape[0] < count + LANES * LANES:
                return count, q_tile, tile
            minima, shared = -1.0, 0
            if tile >= q_tile:
                least_part = marks.tile_parts[q_tile, 0] + marks.tile_parts[tile, 0]
                last_part = marks.tile_parts[q_tile, 1] + marks.tile_parts[tile, 1]
                for both in range(least_part, last_part + 1):
                    minima = max(minima, by_part[both])
                lines = classes[q_first] - row0, classes[q_last - 1] - row0
                columns = classes[t_first] - column0, classes[t_last - 1] - column0
                minima = loosest_classes(by_class, lines, columns, minima)
                shared = _find_level(levels, minima, closest[-1])
                minima = max(minima, closest[-1])
            if gap > max(minima, loosest(nearest, q_first - q0, q_last - q0)):
                continue
            for q in range(q_first, q_last):
                a = q - q0
                if _find_gap(box[q], box[q], low[tile], high[tile]) > max(minima, nearest[a]):
                    continue
                # a point that is as near as the nearest so far matters only if its row is lower
                level = loose[a] if marks.first_row[tile] < opponent[a] else strict[a]
                level = max(level, shared)
                if level == 0:
                    continue
                bits = ~np.uint64(0)
                if level <= levels.size:
                    word = 0
                    while bits and word < length:
                        bits &= _which_agree(
                            own[level - 1, q - q_first], words[tile, level - 1], word
                        )
                        word += WORDS
                while bits:
                    k = trailing_zeros(bits)
                    bits &= bits - np.uint64(1)
                    t = t_first + np.int64(k)
                    if t >= t_last or group[t] == group[q]:
                        continue
                    row, column = classes[q] - row0, classes[t] - column0
                    both = parts[q] + parts[t]
                    wanted = nearest[a]
                    if t > q:
                        wanted = max(
                            max(wanted, by_class[row, column]), max(by_part[both], closest[-1])
                        )
                    if (
                        fine_width
                        and measure_rows(fine, fine_width, q, t, maximum, wanted) > wanted
                    ):
                        continue
                    value = measure_rows(x, width, rows[q], rows[t], p, wanted)
                    if not value <= wanted:
                        continue
                    i, j = rows[q], rows[t]
                    if pairs.shape[0]:
                        if t > q or value > radius[t - t0]:  # else it is listed the other way round
                            pairs[count, 0], pairs[count, 1] = (i, j) if t > q else (j, i)
                            count += 1
                        continue
                    if value < nearest[a] or (value == nearest[a] and j < opponent[a]):
                        nearest[a] = value
                        opponent[a] = j
                        loose[a] = _find_level(levels, -1.0, value)
                        strict[a] = _find_level(levels, value, -1.0)
                    if t > q:
                        by_class[row, column] = min(by_class[row, column], value)
                        by_part[both] = min(by_part[both], value)
                        if value <= closest[-1]:
                            insert(closest, best.closest_rows, value, min(i, j), max(i, j))
    return count, -1, -1
