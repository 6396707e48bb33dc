"""Compiled loops over pairs of points: lower bounds first, distances only if these do not decide.

Points stand at *positions*, in an order that keeps near points together; 64 positions form a tile.
A pair passes four stages, each closer to its distance: the boxes of tiles, coarse features (one
point against 64 in vector registers), the pair's fine features, and the points themselves.

A *limit* is a measure (see `distances`) in the units of the features, rounded up so that no lower
bound of that measure exceeds it. The functions hold no lock and start no threads: callers give
every thread its own range.
"""
# numba compiles these functions from the types of a call, so they carry no annotations, and takes
# no nested data, so they have many arguments
# mypy: ignore-errors
# ruff: noqa: ARG001, PLR0912, PLR0915, PLR0917, PLW3301

import math
from typing import NamedTuple

import numba
import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import overload

from shaketable.core.compiling import INNER, compiled, inner
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.distances import REORDER, at

LANES = 64
"""Positions of a tile."""

BOX, FEW, COARSE = 4, 16, 32
"""Numbers of features: for the boxes of tiles, and for the first and second look at points."""


class Units(NamedTuple):
    """How to convert a measure into a limit."""

    bound: float  # norm of the lower bound: 1 or 2
    squared: bool  # whether measures are squares
    scale: float  # units of the features per unit of distance
    slack: float  # largest error by which rounding can raise a lower bound
    fine_scale: float = 1.0  # units of the fine features per unit of the coarse ones
    fine_slack: float = 0.0  # the same error for fine features


class Sketch(NamedTuple):
    """Features of the points at their positions, whose distances are lower bounds."""

    rows: IntArray  # of every position
    group: IntArray  # of every position, ascending; only pairs of different groups count
    classes: IntArray  # of every position, ascending: row and column in `Best.by_class`
    parts: IntArray  # of every position, 0 or 1
    coarse: Array  # BOX + FEW + COARSE features of every position, each set gives a bound
    tiles: Array  # the same by tile, with the 64 values of a feature side by side
    fine: Array  # more features of every position
    low: Array  # least of each of the BOX features in every tile
    high: Array  # largest of them
    units: Units


class Best(NamedTuple):
    """Least measures so far in a range of positions (a) and an equal or later one (b)."""

    nearest_a: FloatArray  # from every position to its nearest opponent
    opponent_a: IntArray  # row of that opponent
    limit_a: Array  # limit of that measure
    nearest_b: FloatArray
    opponent_b: IntArray
    limit_b: Array  # for whole tiles
    by_class: FloatArray  # between two classes
    first_classes: tuple[int, int]  # classes of its first row and column
    by_part: FloatArray  # within part 0, between the parts, within part 1
    closest: FloatArray  # of the closest pairs
    closest_rows: IntArray
    pairs: IntArray  # if not empty: room for the rows of all pairs within the bounds, then fixed


_START, _END = BOX + FEW, BOX + FEW + COARSE
_MIDDLE = (_START + _END) // 2  # loops of 16 turns are unrolled and vectorised; longer ones are not


@compiled
def limit_of(value, units):
    """Limit of a measure: a lower bound above it proves that the distance is larger."""
    if value < 0:
        return -1.0
    distance = math.sqrt(value) if units.squared else value
    limit = distance * units.scale + units.slack
    return limit * limit if units.bound == 2 else limit


@inner
def _any_within(bound, point, tile, limit, limits):
    """Whether by the FEW features any pair of a point and a tile may be within its limit."""
    within = np.int32(0)
    for k in range(LANES):
        far = np.float32(0)
        for c in range(BOX, BOX + FEW):
            gap = point[c] - tile[c, k]
            far += gap * gap if bound == 2 else abs(gap)
        within = np.int32(within + np.int32((far <= limit) | (far <= limits[k])))
    return within > 0


@inner
def _which_within(bound, point, tile, limit, limits):
    """Bits of the pairs of a point and a tile that by the COARSE features may be within limits."""
    bits = np.uint64(0)
    for k in range(LANES):
        far = np.float32(0)
        for c in range(_START, _MIDDLE):
            gap = point[c] - tile[c, k]
            far += gap * gap if bound == 2 else abs(gap)
        for c in range(_MIDDLE, _END):
            gap = point[c] - tile[c, k]
            far += gap * gap if bound == 2 else abs(gap)
        bits |= np.uint64((far <= limit) | (far <= limits[k])) << np.uint64(k)
    return bits


def lower_bound(bound, fine, q, t, limit):
    """Lower bound from the fine features of two positions, or any number above `limit`."""
    raise NotImplementedError("compiled code only")


@overload(lower_bound, jit_options={**INNER, "fastmath": REORDER})
def _lower_bound(bound, fine, q, t, limit):
    return _bound_of_codes if fine.dtype == numba.uint8 else _bound_of_floats


def _bound_of_codes(bound, fine, q, t, limit):
    total = np.int32(0)
    for block in range(fine.shape[1]):
        for c in range(LANES):
            a, b = np.int32(fine[q, block, c]), np.int32(fine[t, block, c])
            total = np.int32(total + abs(np.int32(a - b)))
        if total > limit:
            break
    return np.float32(total)


def _bound_of_floats(bound, fine, q, t, limit):
    total = np.float32(0)
    for block in range(fine.shape[1]):
        part = np.float32(0)
        for c in range(LANES):
            gap = fine[q, block, c] - fine[t, block, c]
            part += gap * gap
        total += part
        if total > limit:
            break
    return total


@inner
def _add_gap(bound, total, low, high, other_low, other_high):
    """Add the gap between two ranges of one feature to a lower bound."""
    gap = max(np.float32(0), np.float32(other_low) - np.float32(high))
    gap = max(gap, np.float32(low) - np.float32(other_high))
    return total + (gap * gap if bound == 2 else gap)


@inner
def insert(closest, closest_rows, value, i, j):
    """Insert a pair into the list of the closest, which is sorted by measure, then by rows."""
    k = closest.size - 1
    while k >= 0:
        later = value < closest[k]
        if value == closest[k]:
            later = i < closest_rows[k, 0] or (i == closest_rows[k, 0] and j < closest_rows[k, 1])
        if not later:
            break
        if k + 1 < closest.size:
            closest[k + 1] = closest[k]
            closest_rows[k + 1, 0] = closest_rows[k, 0]
            closest_rows[k + 1, 1] = closest_rows[k, 1]
        closest[k] = value
        closest_rows[k, 0] = i
        closest_rows[k, 1] = j
        k -= 1


@inner
def loosest(limits, first, last):
    """Largest of some limits."""
    loose = limits[first]
    for k in range(first + 1, last):
        loose = max(loose, limits[k])
    return loose


@inner
def loosest_classes(by_class, rows, columns, most):
    """Largest of the measures between two ranges of classes and of another."""
    for row in range(rows[0], rows[1] + 1):
        for column in range(columns[0], columns[1] + 1):
            most = max(most, by_class[row, column])
    return most


@inner
def _which_near(bound, tile, low, high, box, limit, limits, first):
    """Bits of the points of a tile that may be within limits of the points in another's box."""
    bits = np.uint64(0)
    for k in range(LANES):
        gap = np.float32(0)
        for c in range(BOX):
            gap = _add_gap(bound, gap, tile[c, k], tile[c, k], low[c, box], high[c, box])
        near = (gap <= limit) | (gap <= np.float32(limits[at(first, k)]))
        bits |= np.uint64(near) << np.uint64(k)
    return bits


@compiled
def compare(sketch, measure_rows, x, width, p, queries, targets, touching, best, resume):
    """Compare positions `queries` with later positions `targets`, and keep the least measures.

    `measure_rows`, `x`, `width` and `p` are those of `blocks.Metric`.
    Only pairs of different groups count. Both ranges begin with a tile. Measures in `best` start
    as upper bounds and are lowered in place; those that are not wanted start at -1. Either the
    pairs of tiles whose boxes touch are compared, which hold the nearest points, or all others.
    Returns the number of pairs collected, and the tiles to resume from if there was no room for
    more, else -1.
    """
    count = 0
    units = sketch.units
    bound = units.bound
    coarse, tiles, group = sketch.coarse, sketch.tiles, sketch.group
    low, high, fine = sketch.low, sketch.high, sketch.fine
    rows, classes, parts = sketch.rows, sketch.classes, sketch.parts
    nearest_a, opponent_a, limit_a = best.nearest_a, best.opponent_a, best.limit_a
    nearest_b, opponent_b, limit_b = best.nearest_b, best.opponent_b, best.limit_b
    closest, pairs = best.closest, best.pairs
    by_class, by_part = best.by_class, best.by_part
    row0, column0 = best.first_classes
    fine_scale = np.float32(units.fine_scale)
    fine_slack = np.float32(units.fine_slack)
    q0, t0 = queries[0], targets[0]
    for k in range(nearest_a.size):
        limit_a[k] = limit_of(nearest_a[k], units)
    for k in range(nearest_b.size):
        limit_b[k] = limit_of(nearest_b[k], units)
    sieve = nearest_b[0] < 0  # else nearly every tile holds a pair within its limit
    limit = np.empty(1, tiles.dtype)
    last_tile = (targets[1] - 1) // LANES
    gaps = np.empty(last_tile + 1, np.float32)
    for q_tile in range(max(q0 // LANES, resume[0]), (queries[1] - 1) // LANES + 1):
        q_first, q_last = q_tile * LANES, min((q_tile + 1) * LANES, queries[1])
        first_tile = max(t0 // LANES, resume[1] if q_tile == resume[0] else q_tile)
        gaps[:] = 0
        for c in range(BOX):
            for tile in range(last_tile + 1):
                gaps[tile] = _add_gap(
                    bound, gaps[tile], low[c, q_tile], high[c, q_tile], low[c, tile], high[c, tile]
                )
        loose_a = loosest(limit_a, q_first - q0, q_last - q0)
        class_rows = classes[q_first] - row0, classes[q_last - 1] - row0
        for tile in range(first_tile, last_tile + 1):
            t_first, t_last = tile * LANES, min((tile + 1) * LANES, targets[1])
            one_group = group[q_first] == group[t_last - 1]  # they ascend
            if one_group or (gaps[tile] == 0) != touching:
                continue
            if 0 < pairs.shape[0] < count + LANES * LANES:
                return count, q_tile, tile
            columns = classes[t_first] - column0, classes[t_last - 1] - column0
            common = max(max(by_part[0], by_part[1]), max(by_part[2], closest[-1]))
            common = limit_of(loosest_classes(by_class, class_rows, columns, common), units)
            loose_b = loosest(limit_b, t_first - t0, t_last - t0)
            if gaps[tile] > max(common, max(loose_a, loose_b)):
                continue
            limits = limit_b[t_first - t0 : t_first - t0 + LANES]
            near = _which_near(
                bound,
                tiles[q_tile],
                low,
                high,
                tile,
                max(common, loose_b),
                limit_a,
                q_first - q0,
            )
            while near:
                q = q_first + np.int64(trailing_zeros(near))
                near &= near - np.uint64(1)
                if q >= q_last:
                    break
                limit[0] = max(common, limit_a[q - q0])
                if sieve and not _any_within(bound, coarse[q], tiles[tile], limit[0], limits):
                    continue
                bits = _which_within(bound, coarse[q], tiles[tile], limit[0], limits)
                while bits:
                    k = trailing_zeros(bits)
                    bits &= bits - np.uint64(1)
                    t = t_first + np.int64(k)
                    if t <= q or t >= t_last or group[t] == group[q]:
                        continue
                    most = max(limit[0], limits[k])
                    most = np.float32(most) * fine_scale + fine_slack
                    if lower_bound(bound, fine, q, t, most) > most:
                        continue
                    row, column = classes[q] - row0, classes[t] - column0
                    both = parts[q] + parts[t]
                    wanted = max(nearest_a[q - q0], nearest_b[t - t0])
                    wanted = max(
                        max(wanted, by_class[row, column]), max(by_part[both], closest[-1])
                    )
                    value = measure_rows(x, width, rows[q], rows[t], p, wanted)
                    if value <= wanted and pairs.shape[0]:
                        pairs[count, 0], pairs[count, 1] = rows[q], rows[t]
                        count += 1
                    elif value <= wanted:  # ties go to the lower rows
                        i, j, a, b = rows[q], rows[t], q - q0, t - t0
                        if value < nearest_a[a] or (value == nearest_a[a] and j < opponent_a[a]):
                            nearest_a[a] = value
                            opponent_a[a] = j
                            limit_a[a] = limit_of(value, units)
                        if value < nearest_b[b] or (value == nearest_b[b] and i < opponent_b[b]):
                            nearest_b[b] = value
                            opponent_b[b] = i
                            limit_b[b] = limit_of(value, units)
                        by_class[row, column] = min(by_class[row, column], value)
                        by_part[both] = min(by_part[both], value)
                        if value <= closest[-1]:
                            insert(closest, best.closest_rows, value, min(i, j), max(i, j))
    return count, -1, -1


@compiled
def sum_blocks(x, centre, scale, block, sums):
    """Add scale * (x - centre) over the columns of every block."""
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            sums[i, block[c]] += (np.float64(x[i, c]) - centre[c]) * scale


@compiled
def measure_pairs(measure_rows, x, width, p, pairs):
    """Measures of given pairs of rows."""
    values = np.empty(len(pairs))
    for k in range(len(pairs)):
        values[k] = measure_rows(x, width, pairs[k, 0], pairs[k, 1], p, np.inf)
    return values
