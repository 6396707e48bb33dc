"""Answers a question in the way that suits the data.

Every pair of few points, k-d trees in few dimensions, compiled loops over blocks, or a device.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import FloatArray, IntArray
from shaketable.separations.search.answer import Answer
from shaketable.separations.search.question import Question
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
