"""The finding: a verdict on every model, how models rank, and the largest problems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypedDict

from shaketable.findings.comparison.finding import find as find_comparison
from shaketable.findings.comparison.ranking import Ranking
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import ModelJson
from shaketable.findings.summary.numbers import Board, Line, Verdict, make_boards
from shaketable.findings.summary.problems import Problem, list_problems
from shaketable.findings.summary.view import make_blocks
from shaketable.statistics.estimate import EstimateJson, EstimateWithMethodJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    from shaketable.findings.requirements.check import Decision


class WorstJson(TypedDict):
    """The corruption with the most wrong answers, as measured."""

    corruption: str
    mean: Annotated[float, "Share of wrong answers, in per cent."]
    upper: Annotated[
        float | None, "Bound that holds under each corruption; null for means over runs."
    ]


class VerdictJson(ModelJson):
    """What is said first about a model."""

    verdict: Verdict
    basis: Annotated[str, "eps_min; suite; or worst, of all noises that were measured."]
    under: Annotated[str, "The noise, or the suite."]
    change: Annotated[
        EstimateWithMethodJson | None,
        "Change of accuracy that decides, below 0 if accuracy is lost; at eps_min relative to "
        "clean points (MSCR), in per cent, else in percentage points; null if undefined.",
    ]
    clean: Annotated[EstimateJson, "Accuracy on clean points."]
    near_guessing: Annotated[bool, "Whether its clean accuracy is near guessing."]
    hurts_most: Annotated[WorstJson | None, "Null if there is one corruption only."]


class ProblemJson(TypedDict):
    """Something that the data show to be wrong."""

    kind: str
    label: str
    text: str
    points: Annotated[
        EstimateJson | None, "Accuracy lost, or errors in excess, in percentage points."
    ]


class AnswersJson(TypedDict):
    """Verdicts and problems."""

    verdicts: list[VerdictJson]
    problems: Annotated[list[ProblemJson], "The largest problems that are shown, at most five."]


class SummaryJson(TypedDict):
    """What is said first."""

    summary: Annotated[AnswersJson, "A verdict on every model, and the largest problems."]


@dataclass(frozen=True, eq=False)
class Summary(Displayed):
    """What is said first: verdicts, rankings and problems, from the numbers of other findings."""

    groups: RecordGroups
    decisions: tuple[Decision, ...] = ()
    """Decisions on requirements, if there are some; see `decide`."""
    undecided: int = 0
    """Number of requirements that the records cannot decide."""
    others: tuple[Problem, ...] = ()
    """Problems that other findings list; see `include`."""

    @cached_property
    def boards(self) -> list[Board]:
        """Verdicts on all models, by what they are based on."""
        return make_boards(self.groups)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Which models are shown to be more accurate than which."""
        found = self.groups.take(find_comparison)
        return found.rankings if found else []

    @cached_property
    def problems(self) -> list[Problem]:
        """The largest problems that are shown."""
        return list_problems(self.groups, self.boards, self.decisions, self.others)

    def decide(self, decisions: Iterable[Decision], undecided: int = 0) -> Summary:
        """Return the summary with decisions on requirements, which have a section `requirements`.

        Models have a column with the number that is met; those not met are problems. `undecided` is
        the number of requirements that were not measured.
        """
        return replace(self, decisions=tuple(decisions), undecided=undecided)

    def include(self, problems: Iterable[Problem]) -> Summary:
        """Return the summary with problems that other findings list."""
        return replace(self, others=tuple(problems))

    def json(self) -> SummaryJson:
        """Return verdicts and problems, in per cent."""
        return {
            "summary": {
                "verdicts": [_verdict_json(b, line) for b in self.boards for line in b.lines],
                "problems": [
                    {
                        "kind": p.kind,
                        "label": p.label,
                        "text": p.text,
                        "points": None if p.size is None else p.size.json(),
                    }
                    for p in self.problems
                ],
            }
        }

    def blocks(self) -> list[Block]:
        """Return verdicts and rankings, then problems and their pictures."""
        return make_blocks(self)


def _verdict_json(board: Board, line: Line) -> VerdictJson:
    change, worst = line.change, line.worst
    return {
        "model": line.clean.first.model,
        "label": line.label,
        "data": board.data,
        "verdict": line.verdict,
        "basis": board.basis.name,
        "under": line.under,
        "change": None if change is None else change.json_with_method(),
        "clean": line.clean.accuracy.json(),
        "near_guessing": line.is_guessing,
        "hurts_most": None
        if worst is None
        else {
            "corruption": worst.series.first.corruption,
            "mean": 100 * worst.error.value,
            "upper": 100 * worst.error.high if worst.bounded else None,
        },
    }


def find(groups: RecordGroups) -> Summary | None:
    """Take the finding from records; None if there are no models."""
    return Summary(groups) if groups.conditions else None


FINDINGS.add("summary", FindingKind(find, json=SummaryJson))
