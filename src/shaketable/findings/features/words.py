"""Sentences about fragile features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.core.checks import list_names
from shaketable.core.spec import parse_call
from shaketable.views.numbers import format_entry

if TYPE_CHECKING:
    from shaketable.findings.features.finding import FeatureBoard, ModelLosses

CHART = (
    "Accuracy lost under noise in one column at a time, in percentage points, with 95 % intervals, "
    "one dot per model. The column with the largest mean loss is at the top."
)

APART = (
    "features under different noise are ranked apart, as a loss depends on the size of the noise; "
    "for one ranking name one noise that suits all columns, such as swap(0.1)"
)


def describe_model(model: ModelLosses) -> str:
    """Say which feature is most fragile, or which ones may be."""
    number = len(model.losses)
    top, size = model.losses[0], format_entry(model.losses[0].value)
    loss = f"{size} percentage points of accuracy are lost"
    if number == 1:
        seen = loss if model.most_fragile else f"no loss is shown; as measured it is {size} points"
        return f"{model.label}: under {model.noise} in {top.feature} {seen}"
    if not model.most_fragile:
        return (
            f"{model.label}: no loss is shown under {model.noise} in any of {number} features; the "
            f"largest as measured is {size} percentage points in {top.feature}"
        )
    names = [loss.feature for loss in model.most_fragile]
    most = f"{model.label}: the most fragile of {number} features under {model.noise}"
    if len(names) == 1:
        return f"{most} is {top.feature}: {loss}"
    return (
        f"{most} as measured is {top.feature}: {loss}; with 95 % confidence it is one of "
        f"{len(names)}: {list_names(names)}"
    )


def note_unnoticed(board: FeatureBoard) -> str:
    """Say under noise in which numbers no answer of any model changes; empty if there is none.

    A model that uses a column of few values may miss noise that does not reach the next value.
    """
    if parse_call(board.noise).name in ("swap", "missing", "typo"):
        return ""
    names = [r.feature for r in board.rows if all(loss.is_unnoticed for loss in board.at(r))]
    if not names:
        return ""
    return (
        f"no answer changes under {board.noise} in {list_names(names)}: models do not use such a "
        "column, or the noise does not reach its next value, as swap(0.1) does"
    )


def describe_judging(board: FeatureBoard) -> str:
    """Say for how many losses together a claim holds."""
    if board.judged == 1:
        return "lost: the 95 % interval excludes 0"
    return f"lost: shown with 95 % confidence for all {board.judged} losses together (Bonferroni)"
