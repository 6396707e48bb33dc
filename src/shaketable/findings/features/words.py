"""Sentences about fragile features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.core.checks import list_names
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.features.finding import FeatureBoard, ModelLosses

CHART = (
    "Accuracy lost under noise in one column at a time, in percentage points, with 95 % intervals, "
    "one dot per model. The column with the largest mean loss is at the top."
)


def describe_model(model: ModelLosses) -> str:
    """Say which feature is most fragile, or which ones may be."""
    number = len(model.losses)
    top, size = model.losses[0], format_entry(model.losses[0].value)
    if not model.most_fragile:
        return (
            f"{model.label}: in none of {number} features a loss is shown; the largest as measured "
            f"is {size} percentage points under {top.noise} in {top.feature}"
        )
    loss = f"{size} percentage points of accuracy are lost under {top.noise}"
    names = list(dict.fromkeys(loss.feature for loss in model.most_fragile))
    if len(names) == 1:
        return f"{model.label}: the most fragile feature is {top.feature}: {loss}"
    return (
        f"{model.label}: the most fragile feature as measured is {top.feature}: {loss}; with 95 % "
        f"confidence it is one of {len(names)}: {list_names(names)}"
    )


def describe_judging(board: FeatureBoard) -> str:
    """Say for how many losses together a claim holds."""
    if board.judged == 1:
        return "lost: the 95 % interval excludes 0"
    return f"lost: shown with 95 % confidence for all {board.judged} losses together (Bonferroni)"
