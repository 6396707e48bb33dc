"""The finding: errors of every model under every suite that is scored by its mean error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shaketable.findings.finding import FINDINGS, FindingKind, Methods, Section
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce import numbers
from shaketable.findings.mce.scores import Scoreboard, make_boards
from shaketable.views.terminal import Displayed


@dataclass(frozen=True, eq=False)
class SuiteErrors(Displayed):
    """Scoreboards of all suites."""

    boards: tuple[Scoreboard, ...]

    def json(self) -> dict[str, Any]:
        """Return scores and their differences, in per cent."""
        boards = [b for board in self.boards for b in (board, *board.parts)]
        return {
            "suites": [score.json() for board in boards for score in board.scores],
            "suite_differences": [
                {"suite": board.suite.name, **d.json()}
                for board in boards
                for d in board.differences
            ],
        }

    def print(self) -> None:
        """Print one table per model and suite."""
        from shaketable.findings.mce.table import print_board

        for board in self.boards:
            print_board(board)

    def sections(self, methods: Methods) -> list[Section]:
        """Return one section per suite."""
        from shaketable.findings.mce.section import make_sections  # loads the charts

        return make_sections(self, methods)


def find(groups: RecordGroups) -> SuiteErrors | None:
    """Take the finding from records; None if no such suite was evaluated completely."""
    boards = make_boards(groups)
    return SuiteErrors(tuple(boards)) if boards else None


FINDINGS.add(
    "mce",
    FindingKind(
        find,
        metrics={
            "mce_lp": numbers.mce_lp,
            "mce_lp_difference": numbers.mce_lp_difference,
            "ice": numbers.ice,
            "mce": numbers.mce,
            "mce_15": numbers.mce_15,
            "mce_xn": numbers.mce_xn,
            "mce_alexnet": numbers.mce_alexnet,
            "relative_mce_alexnet": numbers.relative_mce_alexnet,
        },
        suite_metrics=tuple(numbers.SUITE_METRICS),
        order=30,
    ),
)
