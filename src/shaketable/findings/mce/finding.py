"""The finding: errors of every model under every suite that is scored by its mean error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict

from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce import numbers, view
from shaketable.findings.mce.scores import Scoreboard, ScoreJson, make_boards
from shaketable.statistics.difference import DifferenceJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class SuiteDifferenceJson(DifferenceJson):
    """Difference of two scores under one suite."""

    suite: str


class SuiteErrorsJson(TypedDict):
    """Scores under suites."""

    suites: Annotated[
        list[ScoreJson],
        "Scores of every model under every suite that is scored by its mean error.",
    ]
    suite_differences: Annotated[
        list[SuiteDifferenceJson], "Score of the first model minus that of the second."
    ]


@dataclass(frozen=True, eq=False)
class SuiteErrors(Displayed):
    """Scoreboards of all suites."""

    boards: tuple[Scoreboard, ...]

    def json(self) -> SuiteErrorsJson:
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

    def blocks(self) -> list[Block]:
        """Return one section per suite."""
        return view.make_blocks(self.boards)


def find(groups: RecordGroups) -> SuiteErrors | None:
    """Take the finding from records; None if no such suite was evaluated completely."""
    boards = make_boards(groups)
    return SuiteErrors(tuple(boards)) if boards else None


FINDINGS.add(
    "mce",
    FindingKind(
        find,
        json=SuiteErrorsJson,
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
    ),
)
