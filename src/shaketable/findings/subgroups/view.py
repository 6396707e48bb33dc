"""What is shown of groups of points: the worst of every model, a chart and a table per column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shaketable.views.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Entry,
    Heading,
    Sentence,
    Table,
)
from shaketable.views.numbers import format_percent, say_below
from shaketable.views.text import join_distinct

if TYPE_CHECKING:
    from shaketable.findings.subgroups.finding import GroupBoard, ModelGroups
    from shaketable.views import drawing

MAX_GROUPS = 30
"""Groups of a model that are listed at most, the worst first."""

_ABOUT = (
    "Accuracy, probability of a wrong answer with its one-sided upper bound of 95 % confidence, "
    "and accuracy minus that of all other points in percentage points. Intervals are for one group "
    "at a time."
)
_CHART = (
    "Accuracy of every group of points with its 95 % interval, one dot per model. The group with "
    "the most errors is at the top; small groups have wide intervals."
)


def make_blocks(boards: Sequence[GroupBoard]) -> list[Block]:
    """Return one part per column, and classes last.

    Tables of classes are details unless a column was named to group by, too.
    """
    several = len({board.data for board in boards}) > 1
    is_detail = all(board.is_class for board in boards)
    return [
        Heading("Which class or group has the most errors?", "groups", "Groups"),
        Sentence(_ABOUT, level="detail"),
        *(
            block
            for board in boards
            for block in _show_board(board, board.data if several else "", is_detail=is_detail)
        ),
    ]


def _show_board(board: GroupBoard, data: str, *, is_detail: bool) -> list[Block]:
    def draw() -> drawing.Chart:
        from shaketable.findings.subgroups.charts import groups_chart  # slow to import

        return groups_chart(board)

    on_data = f", {data}" if data else ""
    rows = list(_list_rows(board))
    table = Table(
        f"by {board.by}, under {join_distinct(board.noises)}, the worst group first{on_data}",
        (
            Column("model"),
            Column(board.by, quantity="group"),
            Column("points", "count"),
            Column("noise"),
            Column("clean accuracy", "rate"),
            Column("accuracy", "rate"),
            Column("wrong answer", "bound"),
            Column("difference from other points", "points", "percentage points"),
        ),
        rows,
        level="detail" if is_detail else "summary",
        limit=len(rows),
        shown=_describe_judging(board),
    )
    more = max(len(model.chosen.groups) for model in board.models) - MAX_GROUPS
    left_out = f"of every model, the {more} groups with the fewest errors are left out"
    unseen = f"no test point is of {board.by} {', '.join(board.unseen)}: nothing is known about it"
    return [
        Heading(f"By {board.by}{on_data}", level="detail"),
        *(Sentence(describe_model(model), model.label) for model in board.models),
        Chart(draw, _CHART),
        table,
        *([Sentence(left_out, tone="quiet", level=table.level)] if more > 0 else []),
        *([Sentence(unseen)] if board.unseen else []),
    ]


def _list_rows(board: GroupBoard) -> Iterator[list[Cell]]:
    for model in board.models:
        for group in model.chosen.groups[:MAX_GROUPS]:
            clean = model.find_clean(group) if model.corrupted else None
            yield [
                model.label if len(board.models) > 1 else "",
                group.label,
                group.n,
                model.chosen.noise if len(board.noises) > 1 else "",
                clean.accuracy if clean else None,
                group.accuracy,
                group.error,
                Entry(group.gap, shown=group.shown),
            ]


def describe_model(model: ModelGroups) -> str:
    """Say which group is worst, whether it is shown to be, and what holds in every group."""
    breakdown = model.chosen
    worst, by, number = breakdown.worst, breakdown.partition.by, len(breakdown.groups)
    under = "on clean points" if model.clean is breakdown else f"under {breakdown.noise}"
    below = say_below(breakdown.upper)
    value = f"probability of a wrong answer {format_percent(worst.error)} {under}"
    if worst.error.value == 0:
        bound = f"; wrong answers in each: {below} with 95 % confidence" if below else ""
        return f"no error {under} in any of {number} groups by {by}{bound}"
    if worst.gap is None:
        bound = f", {below} with 95 % confidence" if below else ""
        return f"{by} {worst.label} only: {value}{bound}"
    chance = "" if worst.shown else ", but the difference from the others may be chance"
    bound = f"; with 95 % confidence it is {below} in each of {number} groups" if below else ""
    return f"the worst {by} is {worst.label}: {value}{chance}{bound}"


def _describe_judging(board: GroupBoard) -> str:
    """Say for how many differences together a claim holds."""
    if board.judged == 1:
        return "the group differs from the other points: the 95 % interval excludes 0"
    return (
        "the group differs from the other points: shown with 95 % confidence for up to "
        f"{board.judged} differences by {board.by} together (Bonferroni)"
    )
