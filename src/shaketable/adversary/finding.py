"""The finding: worst cases that a results file holds, or that were just computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

import numpy as np

from shaketable.adversary.avoidable import Avoidable, WorstCaseJson
from shaketable.adversary.kept import list_records, restore
from shaketable.adversary.worst_case import WorstCase
from shaketable.data.dataset import Dataset
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.results import Results
from shaketable.findings.results import find as find_all
from shaketable.findings.summary.problems import Problem
from shaketable.statistics.intervals import mean_share
from shaketable.views.blocks import Block
from shaketable.views.numbers import format_distance
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
        """Return all of them; accuracies are percentages. Errata are noted by `Results`, once."""
        return {"worst_cases": [{**each.json(), "notes": each.notes} for each in self.found]}

    def blocks(self) -> list[Block]:
        """Return verdicts, accuracies, differences, examples and attacks of all."""
        return [block for each in self.found for block in each.blocks()]

    def list_problems(self) -> list[Problem]:
        """Return what every model loses to an adversary although 1-NN would keep it."""
        return [
            _describe(each, model, max(lost, key=lambda a: a.lost / a.of))
            for each in self.found
            for model in each.models
            if (lost := [a for a in each.avoidable(model) if a.lost])
        ]

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


def _describe(found: WorstCase, model: str, avoidable: Avoidable) -> Problem:
    lost, of = avoidable.lost, avoidable.of
    share = mean_share(np.repeat([1, 0], [lost, of - lost]), 1)
    at = f"{found.norm} epsilon {format_distance(avoidable.at.epsilon)}"
    text = (
        f"{model} loses {lost} of {of} correct answers to an adversary within {at} "
        f"({avoidable.at.title}), which 1-NN keeps"
    )
    return Problem("worst case", model, text, "worst-case", share)


def find(groups: RecordGroups) -> WorstCases | None:
    """Take the worst cases from records; None where they hold none."""
    found = [each.beside(groups.records) for each in restore(groups.records.attacks)]
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
    every = [each.beside(results.records) for each in (found, *others)]
    return results.with_findings(worst_case=WorstCases(tuple(every)))


FINDINGS.add("worst_case", FindingKind(find, json=WorstCasesJson, needs_cells=False))
