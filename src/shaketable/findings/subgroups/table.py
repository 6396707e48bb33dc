"""Groups of points, in the terminal."""

from __future__ import annotations

from shaketable.findings.subgroups import words
from shaketable.findings.subgroups.finding import GroupBoard, ModelGroups, Subgroups
from shaketable.findings.subgroups.numbers import Group
from shaketable.views.numbers import format_bound, format_entry, format_percent
from shaketable.views.terminal import print_lines, print_table

MAX_ROWS = 20
"""Groups of a model that are listed at most, the worst first."""


def print_groups(finding: Subgroups) -> None:
    """Print one table per column and one of classes; without a column, a sentence per model."""
    if all(board.is_class for board in finding.boards):
        lines = [words.describe_model(m) for board in finding.boards for m in board.models]
        print_lines("", *lines)
        return
    for board in finding.boards:
        _print_board(board)


def _print_board(board: GroupBoard) -> None:
    names = len(board.models) > 1
    noises = len(board.noises) > 1
    under = "" if noises else f", under {board.noises[0]}"
    header = [
        *(["model"] if names else []),
        board.by,
        "points",
        *(["noise"] if noises else []),
        "clean accuracy, %",
        "accuracy, %",
        "wrong answer, %",
        "minus other points",
    ]
    rows = [
        [
            *([model.label] if names else []),
            group.label,
            str(group.n),
            *([model.chosen.noise] if noises else []),
            *_format_numbers(model, group),
        ]
        for model in board.models
        for group in model.chosen.groups[:MAX_ROWS]
    ]
    if not any(model.corrupted for model in board.models):
        place = header.index("clean accuracy, %")
        header, rows = _drop(header, place), [_drop(row, place) for row in rows]
    print_table(
        f"by {board.by}{under}, the worst first; last column: accuracy minus that of all other "
        f"points, in percentage points; * {words.describe_judging(board)}",
        header,
        rows,
    )
    more = max(len(model.chosen.groups) for model in board.models) - MAX_ROWS
    if more > 0:
        print_lines(f"{more} more groups have fewer errors and are not listed: --json or --report")
    print_lines(*map(words.describe_model, board.models))
    if unseen := words.describe_unseen(board):
        print_lines(unseen)


def _format_numbers(model: ModelGroups, group: Group) -> list[str]:
    clean = model.find_clean(group)
    bound = f"{format_percent(group.error)}, below {format_bound(group.error.high)}"
    gap = "" if group.gap is None else format_entry(group.gap, signed=True)
    return [
        "" if clean is None else format_entry(clean.accuracy),
        format_entry(group.accuracy),
        bound.replace("%", ""),
        gap + (" *" if group.shown else "  "),
    ]


def _drop(row: list[str], place: int) -> list[str]:
    return [*row[:place], *row[place + 1 :]]
