"""The finding: worst cases that a results file holds, or that were just computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from shaketable.adversary.kept import list_records, restore
from shaketable.adversary.worst_case import WorstCase, WorstCaseJson
from shaketable.data.dataset import Dataset
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.results import Results
from shaketable.findings.results import find as find_all
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class WorstCasesJson(TypedDict):
    """Worst cases."""

    worst_cases: Annotated[
        list[WorstCaseJson], "Adversarial accuracies; of models that were attacked alike, together."
    ]


@dataclass(frozen=True, eq=False)
class WorstCases(Displayed):
    """Worst cases of models; those that were attacked alike are in one."""

    found: tuple[WorstCase, ...]

    def json(self) -> WorstCasesJson:
        """Return all of them; accuracies are percentages."""
        return {"worst_cases": [each.json() for each in self.found]}

    def blocks(self) -> list[Block]:
        """Return verdicts, accuracies, differences, examples and attacks of all."""
        return [block for each in self.found for block in each.blocks()]

    def with_data(self, data: Dataset) -> WorstCases:
        """Return the same with the data, of which adversarial examples are then shown."""
        return WorstCases(
            tuple(
                replace(each, data=data)
                if each.data is None and each.fingerprint == data.fingerprint
                else each
                for each in self.found
            )
        )


def find(groups: RecordGroups) -> WorstCases | None:
    """Take the worst cases from records; None where they hold none."""
    found = restore(groups.records.attacks)
    return WorstCases(tuple(found)) if found else None


def make_results(
    found: WorstCase, notes: Iterable[str] = (), commands: Iterable[CommandRecord] = ()
) -> Results:
    """Return all findings of a worst case that was just computed, for its page."""
    data = () if found.data is None else (DataRecord.of(found.data),)
    records = Records((), attacks=tuple(list_records(found)), data=data, commands=tuple(commands))
    results = find_all(records, notes=notes)
    return results.with_findings(worst_case=WorstCases((found,)))


def join(results: Results, found: WorstCase) -> Results:
    """Return results of a file with a worst case that was just computed, which shows more."""
    computed = {record.key for record in list_records(found)}
    others = restore(a for a in results.records.attacks if a.key not in computed)
    return results.with_findings(worst_case=WorstCases((found, *others)))


FINDINGS.add("worst_case", FindingKind(find, json=WorstCasesJson, needs_cells=False))
