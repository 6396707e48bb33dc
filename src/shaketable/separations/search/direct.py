"""Search among few points: the distance of every pair.

Measures are those of `blocks`, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from shaketable.core.types import FloatArray, IntArray
from shaketable.separations.search.blocks import NO_ROW, measure_in_threads
from shaketable.separations.search.question import Answer, Question

_PAIR, _VALUE = 100, 1  # ns to compare two points, and per value of theirs
_START, _FEATURES = 30e6, 40e3  # ns to prepare a search by features, and per dimension


def suits(question: Question) -> bool:
    """Whether comparing every pair is the faster way, by an estimate of both costs.

    The start of the other way counts three times: it also has to be compiled once.

    >>> suits(Question(np.zeros((6, 100_000)), np.arange(6), 2.0))
    True
    >>> suits(Question(np.zeros((60_000, 3072), np.uint8), np.arange(60_000) % 10, 2.0))
    False
    """
    n, d = question.x.shape
    pairs = n * (n - 1) // 2
    return bool(pairs * (_PAIR + _VALUE * d) <= _START + _FEATURES * d)


def search(question: Question) -> Answer:
    """Answer as `search.search` does."""
    pairs = _list_pairs(question)
    values = measure_in_threads(question.x, pairs, question.p)
    values[np.isnan(values)] = math.inf  # differences beyond the range of float64
    nearest = np.where(question.asked, math.inf, -1.0)
    opponent = np.full(question.n, NO_ROW)
    for own in pairs.T:
        np.minimum.at(nearest, own, values)
    for own, other in (pairs.T, pairs[:, ::-1].T):
        tied = values == nearest[own]
        np.minimum.at(opponent, own[tied], other[tied])
    classes, parts = question.class_codes, question.part_codes
    by_class, by_part = np.full((int(classes.max()) + 1,) * 2, math.inf), np.full(3, math.inf)
    np.minimum.at(by_class, (classes[pairs[:, 0]], classes[pairs[:, 1]]), values)
    np.minimum.at(by_part, parts[pairs].sum(axis=1), values)
    closest, rows = _choose_closest(values, pairs, question.closest)
    squared = question.p == 2 and question.x.dtype == np.uint8
    return Answer(nearest, opponent, by_class, by_part, closest, rows, squared=squared)


def pairs_within(question: Question, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `search.pairs_within`."""
    pairs = _list_pairs(question)
    values = measure_in_threads(question.x, pairs, question.p)
    within: IntArray = pairs[values <= radius[pairs].max(axis=1)]
    return within


def _list_pairs(question: Question) -> IntArray:
    """Rows of all pairs of different groups, the point of the lower group first."""
    group = question.group
    pairs: IntArray = np.column_stack(np.triu_indices(question.n, 1))
    pairs = pairs[group[pairs[:, 0]] != group[pairs[:, 1]]]
    swapped = group[pairs[:, 0]] > group[pairs[:, 1]]
    pairs[swapped] = pairs[swapped, ::-1]
    return pairs


def _choose_closest(values: FloatArray, pairs: IntArray, count: int) -> tuple[FloatArray, IntArray]:
    """Measures and rows, the lower first, of the closest pairs; ties in the order of the rows."""
    count = min(count, int(np.isfinite(values).sum()))
    if not count:
        return np.empty(0), np.empty((0, 2), np.int64)
    near = np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
    rows = np.sort(pairs[near], axis=1)
    order = np.lexsort((rows[:, 1], rows[:, 0], values[near]))[:count]
    return values[near][order], rows[order]
