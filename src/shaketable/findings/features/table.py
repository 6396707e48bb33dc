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
    several = len(board.noises) > 1
    header = ["feature", *(["noise"] if several else []), *(m.label for m in board.models)]
    rows = [
        [loss.feature, *([loss.noise] if several else []), *map(_format, board.at(loss))]
        for loss in board.rows[:MAX_ROWS]
    ]
    under = "noise" if several else board.noises[0]
    print_table(
        f"{board.data}: accuracy lost under {under} in one feature at a time, in percentage "
        f"points; * {words.describe_judging(board)}",
        header,
        rows,
    )
    if more := len(board.rows[MAX_ROWS:]):
        print_lines(f"{more} more features have smaller losses: --json or --report")
    print_lines(*(model.words for model in board.models))


def _format(loss: FeatureLoss) -> str:
    return format_entry(loss.value, signed=True) + (" *" if loss.shown else "  ")
