r"""Marks of points: on which side of many splits they are.

A *split* is a column with two values, a *level* apart. A point is marked low if its value is at
most the lower one, and high if it is at least the upper one. Two points on different sides of a
split are at least a level apart in L-inf, as rounding is monotonic even as measured. If a level is
at least the distance that is wanted, 64 such splits are decided by two AND of 64-bit words.

Splits are chosen for each of a few levels. That and the choice of the levels affect only the speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.features import rank_on_curve
from shaketable.separations.search.kernels import BOX, LANES
from shaketable.separations.search.mark_kernels import WORDS, Marks, mark_rows
from shaketable.separations.search.question import Question

_SHARES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95, 0.99, 1)  # of distances below a level
_SPLITS, _FEWER = 512, 128  # largest numbers of splits of each level
_MARK_BYTES = 1 << 29  # memory of all marks, unless there are only the fewer splits
_STEP = 16  # see `Marks.step`, for points by row
_BYTES = 256  # of the columns of a point that are compared before all others
_COLUMNS = 1024  # columns that are tried as splits
_PLACES = 16  # places of a split that are tried in every column
_PAIRS = 1024  # pairs of points by which splits are chosen
_POINTS = 128  # points by which the places of splits are chosen
_SHARE = 0.75  # how much less a pair counts that a split already decides


class Order(NamedTuple):
    """An order of the points: by group, then so that near ones are together, or by row."""

    rows: IntArray
    columns: IntArray
    """Columns of the values by which near points are together."""
    step: int
    """See `Marks`."""


def arrange(question: Question, sample: FloatArray, distances: FloatArray) -> Order:
    """Order points for marks.

    If most pairs of points are equally far apart, then many points are equally near, of which the
    first is wanted: points by row let all that come after it be left out.

    Parameters
    ----------
    distances
        Distances of random pairs of points, ascending.
    """
    x, parts = question.x, question.part_codes
    level = float(distances[len(distances) // 100]) if len(distances) else 0.0
    with threadpool_limits(1, user_api="blas"):  # small products
        splits = _choose_splits(sample, level, _FEWER, whole=False)
    columns = np.resize([*dict.fromkeys([*splits.columns.tolist(), 0])][:BOX], BOX)
    mostly_tied = len(distances) > 0 and distances[len(distances) // 2] == distances[-1]
    if question.nearest_of is not None and mostly_tied:
        return Order(np.lexsort((parts, question.group)), columns, _STEP)
    curve = rank_on_curve(x[:, columns])
    return Order(np.lexsort((curve, parts, question.group)), columns, 1)


def mark(
    question: Question, sample: FloatArray, order: Order, wanted: FloatArray, *, finest: bool
) -> Marks:
    """Mark all points for levels that suit the distances that are wanted.

    Parameters
    ----------
    sample
        Points by which splits are chosen.
    wanted
        What is wanted of pairs of points: distances of some of them, or an estimate.
    finest
        Whether to use more splits, and columns, which pays where many pairs are near enough.
    """
    x, n, rows = question.x, question.n, order.rows
    whole = x.dtype == np.uint8
    levels = _choose_levels(wanted, whole)
    most = _SPLITS if finest else _FEWER
    while most > _FEWER and n * len(levels) * most // 4 > _MARK_BYTES:
        most //= 2
    with threadpool_limits(1, user_api="blas"):
        splits = [_choose_splits(sample, level, most, whole) for level in levels]
    counts = np.array([len(split.columns) for split in splits], np.int64)
    length = -(-int(counts.max(initial=0)) // (32 * WORDS)) * WORDS
    tiles = -(-n // LANES)
    places = rows[np.minimum(np.arange(tiles * LANES), n - 1)].reshape(tiles, LANES)
    words = np.zeros((tiles, len(levels), length, LANES), np.uint64)
    if length:
        padded = [[np.resize(side, 32 * length) for side in split] for split in splits]
        sides = [np.array(side) for side in zip(*padded, strict=True)]
        run_over_rows(mark_rows, places, words, settings=(x, counts, *sides))
    columns = np.empty(0, np.int64)
    if finest and splits:
        columns = splits[len(splits) // 2].columns[: _BYTES // x.itemsize]
    starts, parts = np.arange(0, n, LANES), question.part_codes[rows]
    box = x[:, order.columns][rows].astype(np.float64)
    return Marks(
        rows=rows,
        group=question.group[rows],
        classes=question.class_codes[rows],
        parts=parts,
        levels=levels,
        words=words,
        fine=np.ascontiguousarray(x[:, columns][rows]).view(np.uint8),
        box=box,
        low=np.minimum.reduceat(box, starts),
        high=np.maximum.reduceat(box, starts),
        step=order.step,
        first_row=np.minimum.reduceat(rows, starts),
        tile_parts=np.column_stack([f.reduceat(parts, starts) for f in (np.minimum, np.maximum)]),
    )


def _choose_levels(distances: FloatArray, whole: bool) -> FloatArray:
    """Some of the distances, ascending, and a value that is next to the largest."""
    distances = distances[(distances >= 0) & np.isfinite(distances)]
    if not len(distances):
        return distances
    most = distances.max()
    above = min(np.floor(most) + 1, 255) if whole else np.nextafter(most, np.inf)
    levels = np.unique([*np.quantile(distances, _SHARES, method="lower"), above])
    return levels[levels <= (255 if whole else np.finfo(float).max)]


class _Splits(NamedTuple):
    columns: IntArray
    low: Array
    high: Array


def _choose_splits(sample: FloatArray, level: float, most: int, whole: bool) -> _Splits:
    """Splits of a level, those first that decide most pairs of a sample."""
    random = np.random.default_rng(2)
    tried = np.sort(random.permutation(sample.shape[1])[:_COLUMNS])
    columns, low, high = _place_splits(sample[:, tried], level)
    values, columns = sample[:, tried[columns]], tried[columns]
    first, second = random.integers(0, len(sample), (2, _PAIRS))
    is_high, is_low = values >= high, values <= low
    apart = (is_high[first] & is_low[second]) | (is_low[first] & is_high[second])
    order = _rank(apart.astype(np.float32), most)
    low, high = low[order], high[order]
    if whole:  # no upper value is above 255: such a split would decide nothing
        low, high = low.astype(np.uint8), np.ceil(high).astype(np.uint8)
    return _Splits(columns[order], low, high)


def _place_splits(values: FloatArray, level: float) -> tuple[IntArray, FloatArray, FloatArray]:
    """Places of splits in columns of values; several in every column if there are few."""
    points = values[:: -(-len(values) // _POINTS)]
    places = np.sort(points, axis=0)[:: -(-len(points) // _PLACES)]
    above = _add(places, level)
    shares = [
        (points <= low).mean(axis=0) * (points >= high).mean(axis=0)
        for low, high in zip(places, above, strict=True)
    ]
    count = min(len(places), -(-_SPLITS // values.shape[1]))
    best = np.argsort(-np.array(shares), axis=0, kind="stable")[:count]
    low, high = (np.take_along_axis(side, best, axis=0).ravel() for side in (places, above))
    return np.tile(np.arange(values.shape[1]), count), low, high


def _add(low: FloatArray, level: float) -> FloatArray:
    """Least values found whose rounded difference from lower ones is at least a level."""
    with np.errstate(over="ignore"):
        high = low + level
        return np.where(high - low < level, np.nextafter(high, np.inf), high)


def _rank(apart: Array, most: int) -> IntArray:
    """Splits in the order in which each decides the most pairs that are still open."""
    still_open = np.ones(len(apart), np.float32)
    left = np.ones(apart.shape[1], np.float32)
    order: list[int] = []
    while len(order) < most:
        gain = (still_open @ apart) * left
        count = min(1 + len(order) // 8, most - len(order))
        best = np.argsort(-gain, kind="stable")[:count]
        best = best[gain[best] > 0]
        if not len(best):
            break
        order += best.tolist()
        left[best] = 0
        still_open *= np.prod(1 - _SHARE * apart[:, best], axis=1)
    return np.array(order, np.int64)
