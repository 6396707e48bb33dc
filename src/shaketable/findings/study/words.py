"""Captions of the charts of studies, and sentences about the best training noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shaketable.core.checks import list_names

if TYPE_CHECKING:
    from shaketable.findings.study.optima import Position, RowOptimum

LADDER = (
    "One line per training noise, bars are 95 % intervals over runs; the dashed line is eps_min."
)
MATRIX = (
    "Mean over runs. Dots and bold numbers mark the best training noise for each test noise; "
    "outlined entries have the same noise in training and test."
)
TRADEOFF = (
    "One point per training noise, joined in order of its size, with 95 % intervals. In the shaded "
    "part, both are higher than with the weakest training noise (square); a curve that only falls "
    "is a trade-off."
)
RUNS = (
    "The mean over an increasing number of runs, with its 95 % interval. If a line still moves at "
    "its end, more runs are needed."
)

_POSITIONS = {
    "below": ("below the diagonal", " (less noise in training than in test)"),
    "above": ("above the diagonal", " (more noise in training than in test)"),
    "off": ("not on the diagonal", ""),
    "on": ("maybe on the diagonal", " (as much noise in training as in test)"),
    None: ("no training noise of this size", ""),
}


def describe_position(position: Position | None) -> str:
    """Say where the best training noise lies against the diagonal."""
    return "".join(_POSITIONS[position])


def describe_optima(optima: Sequence[RowOptimum]) -> str:
    """Say where the best training noise lies, for all test noises of a model together."""
    known = [o for o in optima if o.position is not None]
    if not known:
        return ""
    parts = []
    for position in ("below", "above", "off", "on"):
        sizes = [o.subject.level(o.test_eps) for o in known if o.position == position]
        if sizes:
            place, meaning = _POSITIONS[position]
            parts.append(f"{place} for test noise {list_names(sizes)}{meaning}")
    return (
        f"where does the best training noise lie? {'; '.join(parts)}; 95 % confidence for all "
        f"{len(optima)} test noises and their training noises together (Bonferroni)"
    )
