"""Errors under suites, in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from shaketable.findings.mce.scores import Ladder, Scoreboard
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_lines, print_table


def print_board(board: Scoreboard) -> None:
    """Print the errors of every model under one suite, and paired differences."""
    for score in board.scores:
        cell = score.first
        title = (
            f"{score.label} on {cell.data}: error in %, suite {board.suite.name} ({board.sizes}), "
            f"{cell.n} test points, {cell.k} {'draw' if cell.k == 1 else 'draws'} each"
        )
        if board.levels == 1:
            levels = [level for ladder in score.ladders for level in ladder.levels]
            rows = [[x.spec, format_entry(x.error), format_entry(x.change)] for x in levels]
            header = ["noise", "error, %", "change against clean, points"]
            print_table(title, header, [["clean", format_entry(score.clean), ""], *rows])
        else:
            steps = range(1, board.levels + 1)
            kind = "kind" if score.ladders[0].p is None else "norm"
            rows = [_make_row(ladder, steps) for ladder in score.ladders]
            print_table(title, [kind, "mean", *map(str, steps)], rows, spaces=2)
        print_lines(f"{score.label}: {score}")
        print_lines(
            *(f"{s.label}: {s}" for p in board.parts for s in p.scores if s.label == score.label)
        )
    for each in (board, *board.parts):
        for d in each.differences:
            print_lines(
                f"{each.scores[0].metric} of {d.first} minus {d.second}, on the same points and "
                f"noise: {format_entry(d.value)} percentage points; {d.words}"
            )


def _make_row(ladder: Ladder, steps: Iterable[int]) -> list[str]:
    errors = {level.number: f"{100 * level.error.value:.1f}" for level in ladder.levels}
    mean = f"{100 * ladder.mean.value:.2f}"
    return [ladder.title, mean, *(errors.get(step, "-") for step in steps)]
