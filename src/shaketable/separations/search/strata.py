"""Search among points of which only those of the same stratum are opponents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shaketable.core.types import Array, IntArray
from shaketable.separations.search.answer import Answer
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import search

_FEW = 100  # points that are compared pair by pair, as preparing another way takes longer


def search_strata(question: Question, strata: IntArray) -> Answer:
    """Answer as `search`, but only pairs of points of the same stratum count.

    Points without an opponent have an infinite distance and the row -1.
    """
    n, size = question.n, int(question.class_codes.max()) + 1
    nearest = np.where(question.asked, math.inf, -1.0)
    opponent = np.full(n, -1, np.int64)
    by_class, by_part = np.full((size, size), math.inf), np.full(3, math.inf)
    closest: list[tuple[float, int, int]] = []
    for rows in _list_mixed(strata, question.group):
        answer = _answer_one(question, rows)
        asked = question.asked[rows]
        nearest[rows], opponent[rows[asked]] = answer.nearest, rows[answer.opponent[asked]]
        m = len(answer.by_class)
        np.minimum(by_class[:m, :m], answer.by_class, out=by_class[:m, :m])
        np.minimum(by_part, answer.by_part, out=by_part)
        pairs = rows[answer.closest_rows].tolist()
        found = [(d, i, j) for d, (i, j) in zip(answer.closest.tolist(), pairs, strict=True)]
        closest = sorted([*closest, *found])[: question.closest]
    distances = np.array([d for d, _, _ in closest])
    pairs = np.array([(i, j) for _, i, j in closest], np.int64).reshape(-1, 2)
    return Answer(nearest, opponent, by_class, by_part, distances, pairs)


def _list_mixed(strata: IntArray, group: IntArray) -> Iterator[IntArray]:
    """Rows of every stratum with points of several groups, ascending."""
    order = np.argsort(strata, kind="stable")
    ends = np.flatnonzero(np.diff(strata[order])) + 1
    for rows in np.split(order, ends):
        if (group[rows] != group[rows[0]]).any():
            yield rows


def _answer_one(question: Question, rows: IntArray) -> Answer:
    def take(values: Array | None) -> Array | None:
        return None if values is None else values[rows]

    part = replace(
        question,
        x=question.x[rows],
        group=question.group[rows],
        nearest_of=take(question.nearest_of),
        classes=take(question.classes),
        parts=take(question.parts),
        progress=False,
    )
    if len(rows) > _FEW:
        return search(part)
    from shaketable.separations.search import direct  # compiled code, slow to load

    return direct.search(part)
