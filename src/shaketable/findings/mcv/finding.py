"""The finding: mean accuracy and its variation over the sets of suites, or of a table of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypedDict

from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mcv import numbers, view
from shaketable.findings.mcv.boards import MCVBoard, MCVBoardJson, make_boards
from shaketable.findings.mcv.variation import VariationTable, VariationTableJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart


class SetVariationJson(TypedDict):
    """Boards of all suites of sets."""

    mcv: Annotated[list[MCVBoardJson], "Mean and variation over the sets of every suite of sets."]


@dataclass(frozen=True, eq=False)
class SetVariation(Displayed):
    """Boards of all suites of sets."""

    boards: tuple[MCVBoard, ...]

    def json(self) -> SetVariationJson:
        """Return the boards; accuracies in per cent."""
        return {"mcv": [board.json() for board in self.boards]}

    def blocks(self) -> list[Block]:
        """Return the numbers of the mCV plot, differences and effects of every board."""
        return view.make_blocks(self.boards)

    def plot(self) -> Chart:
        """Draw the mCV plot, one panel per board."""
        from shaketable.findings.mcv.charts import mcv_plot  # slow to load

        return mcv_plot(self.boards)


@dataclass(frozen=True, eq=False)
class ScoreVariation(Displayed):
    """Mean and variation of the scores in any table, one row per model."""

    table: VariationTable
    title: str
    conditions: tuple[str, ...]
    """Empty if only summaries of the scores are known."""

    def json(self) -> VariationTableJson:
        """Return means, CVs and groups."""
        return self.table.json()

    def blocks(self) -> list[Block]:
        """Return one row per model."""
        names = list(self.conditions)
        shown = names if len(names) <= 10 else [*names[:9], f"and {len(names) - 9} more"]
        title = ": ".join(filter(None, (self.title, ", ".join(shown))))
        return view.make_score_blocks(self.table, title)

    def plot(self) -> Chart:
        """Draw the mCV plot."""
        from shaketable.findings.mcv.charts import table_plot  # slow to load

        return table_plot(self.table, title=self.title)


def find(groups: RecordGroups, *, suite: str = "") -> SetVariation | None:
    """Take the finding from records; None if no suite of sets was evaluated completely.

    `suite` chooses one suite by name, with any metric; by default all whose metric is mCV.
    """
    boards = make_boards(groups, suite=suite)
    return SetVariation(tuple(boards)) if boards else None


def find_asked(records: Records, *, reference: str = "", suite: str = "") -> SetVariation:
    """Take the finding from records, with the arguments of `find`; an error says why there is none.

    `reference` is the label of the model that the others are compared with.
    """
    groups = RecordGroups(records, reference=reference)
    if (finding := find(groups, suite=suite)) is not None:
        return finding
    for sentence in groups.unfinished:
        raise InputError(sentence)
    complete = [result.suite for result in groups.suite_results]
    if any(s.name == suite if suite else s.kind == "sets" for s in complete):
        raise UndefinedError(
            "no model classifies any point of any set correctly, so there is no CV; check that "
            "their labels are the data's"
        )
    names = dict.fromkeys(s.name for s in records.suites)
    remedy = "fill one with evaluate --suite two-factor --store FILE"
    if names:
        remedy = f"choose one on record with --suite: {', '.join(names)}"
    raise InputError(f"results must hold a complete suite of sets, such as two-factor; {remedy}")


FINDINGS.add(
    "mcv",
    FindingKind(
        find,
        json=SetVariationJson,
        metrics={"mcv": numbers.mcv, "cv_difference": numbers.cv_difference},
        suite_metrics=("mcv",),
    ),
)
