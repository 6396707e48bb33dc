"""Answers a question in the way that suits the data.

Every pair of few points, k-d trees in few dimensions, compiled loops over blocks, or a device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.question import Answer, Question
from shaketable.separations.search.trees import MAX_TREE_P

MAX_TREE_DIMENSION = 16
"""In more dimensions a k-d tree visits nearly every leaf; comparing blocks of points is faster."""

MAX_TREE_GROUPS = 100
"""Every group has a tree of its own, in which all points of other groups are looked up."""


def search(question: Question) -> Answer:
    """Find nearest opponents and least distances, exactly."""
    answer: Answer = _choose_way(question).search(question)
    return answer


def pairs_within(question: Question, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups that are within the radius of either point.

    Every pair is listed once, the point of the lower group first. Of the question only the points,
    their groups, the norm and where to search matter.

    Parameters
    ----------
    radius
        Radius around every point, (n,), as a measure (see `Answer`): such as ``answer.nearest`` of
        the same question. Within a negative radius there is nothing.
    """
    rows: IntArray = _choose_way(question).pairs_within(question, radius)
    return rows


def _choose_way(question: Question) -> ModuleType:
    """Return the module that answers a question."""
    if question.device is not None:
        _require_torch()
        from shaketable.separations.search import tensors

        return tensors
    if _suits_trees(question):
        from shaketable.separations.search import trees

        return trees
    from shaketable.separations.search import blocks, direct  # compile

    return direct if direct.suits(question) else blocks


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise InputError(
            "device needs torch, which is not installed; pip install 'shaketable[torch]'"
        ) from error


def _suits_trees(question: Question) -> bool:
    return (
        question.x.shape[1] <= MAX_TREE_DIMENSION
        and (1 <= question.p <= MAX_TREE_P or math.isinf(question.p))
        and len(np.unique(question.group)) <= MAX_TREE_GROUPS
    )


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
