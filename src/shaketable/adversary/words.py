"""Captions and sentences of the worst case."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shaketable.core.norms import norm_title
from shaketable.views.numbers import format_distance

if TYPE_CHECKING:
    from shaketable.adversary.worst_case import Avoidable, WorstCase

WORST_CASE = (
    "One line per constraint, bars are 95 % intervals. Standard accuracy may have to fall from "
    "eps_min on, the dashed line; genuine accuracy need not."
)
MAP = (
    "Colours are the model's labels, dots the points in the colour of their own labels, grey lines "
    "the borders of Voronoi cells. Each cross is a misclassified point, joined to the point it was "
    "found for."
)
NO_ROOM = "no point has room"
"""Stands for an accuracy when every region is empty."""

NOT_COMPARABLE = "attacked by other means: not comparable"
"""Why the difference of two upper bounds says nothing about the models."""


def write_eps_min(worst: WorstCase, write: Callable[[float], str] = format_distance) -> str:
    """Value of eps_min, or why there is none."""
    if worst.eps_min is not None:
        return write(worst.eps_min)
    return "0: classes touch" if worst.data.table is None else "undefined: no opponents"


def describe_avoidable(avoidable: Avoidable) -> str:
    """How many correct answers are lost that 1-NN on the same points keeps, in a sentence."""
    a = avoidable.at
    where = f"({a.name}, epsilon {format_distance(a.epsilon)})"
    if avoidable.lost:
        kept = f"which {norm_title(a.p)} 1-NN on the attacked points keeps"
        return f"{avoidable.lost} of {avoidable.of} correct answers lost, {kept} {where}"
    known = "proven" if a.proven else "which does not prove that none can be"
    return f"none of {avoidable.of} correct answers lost, {known} {where}"
