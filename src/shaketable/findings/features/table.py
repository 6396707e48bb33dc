"""Losses by feature, in the terminal."""

from __future__ import annotations

from shaketable.findings.features import words
from shaketable.findings.features.finding import FeatureBoard
from shaketable.findings.features.numbers import FeatureLoss
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table

MAX_ROWS = 20
"""Features that are listed at most."""


def print_board(board: FeatureBoard) -> None:
    """Print the losses of all models, the largest mean first, and the most fragile features."""
    print_table(
        f"{board.data}: accuracy lost under {board.noise} in one feature at a time, in percentage "
        f"points; * {words.describe_judging(board)}",
        ["feature", *(model.label for model in board.models)],
        [[loss.feature, *map(_format, board.at(loss))] for loss in board.rows[:MAX_ROWS]],
    )
    if more := len(board.rows[MAX_ROWS:]):
        print_lines(f"{more} more features have smaller losses: --json or --report")
    print_lines(*(model.words for model in board.models))
    if note := words.note_unnoticed(board):
        print_lines(note)


def _format(loss: FeatureLoss) -> str:
    return format_entry(loss.value, signed=True) + (" *" if loss.shown else "  ")
