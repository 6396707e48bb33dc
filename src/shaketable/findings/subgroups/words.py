"""Sentences about groups of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaketable.views.numbers import format_bound, format_percent

if TYPE_CHECKING:
    from shaketable.findings.subgroups.finding import GroupBoard, ModelGroups

CHART = (
    "Accuracy of every group of points with its 95 % interval, one dot per model. The group with "
    "the most errors is at the top; small groups have wide intervals."
)


def describe_model(model: ModelGroups) -> str:
    """Say which group is worst, whether it is shown to be, and what holds in every group."""
    breakdown = model.chosen
    worst, by = breakdown.worst, breakdown.partition.by
    under = "on clean points" if model.clean is breakdown else f"under {breakdown.noise}"
    number = len(breakdown.groups)
    below = f"below {format_bound(breakdown.upper)} with 95 % confidence"
    value = f"probability of a wrong answer {format_percent(worst.error)} {under}"
    if worst.error.value == 0:
        return f"{model.label}: no error {under} in any of {number} groups by {by}; in each {below}"
    if worst.gap is None:
        return f"{model.label}: {by} {worst.label} only: {value}, {below}"
    chance = "" if worst.shown else "; that it is worse than the others may be chance"
    return (
        f"{model.label}: the worst {by} is {worst.label}: {value}{chance}; in each of {number} "
        f"groups {below}"
    )


def describe_judging(board: GroupBoard) -> str:
    """Say for how many differences together a claim holds."""
    if board.judged == 1:
        return "differs from the other points: the 95 % interval excludes 0"
    return (
        "differs from the other points: shown with 95 % confidence for up to "
        f"{board.judged} differences by {board.by} together (Bonferroni)"
    )


def describe_unseen(board: GroupBoard) -> str:
    """Say about which groups nothing is known; empty if there are none."""
    if not board.unseen:
        return ""
    return f"no test point is of {board.by} {', '.join(board.unseen)}: nothing is known about it"
