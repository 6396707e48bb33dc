"""Records in the groups that findings are taken from, each formed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from shaketable.core.errors import either
from shaketable.evaluation.records import AS_GIVEN, Records
from shaketable.findings.conditions import Condition, group_conditions
from shaketable.findings.series import Series, group_series
from shaketable.findings.subjects import Subject, group_subjects
from shaketable.findings.suite_results import SuiteResult, group_suites

GROUPINGS = ("regime", "network")
"""What models can be grouped by, besides patterns."""

Grouping: TypeAlias = str | Mapping[str, str]
"""What models are grouped by: ``regime``, ``network``, or patterns of their names, by group."""


@dataclass(frozen=True, eq=False)
class RecordGroups:
    """Records with their series, suite results and subjects.

    Findings that take these share their estimates: a `Series` computes its own once.
    """

    records: Records
    scored: frozenset[str] = frozenset()
    """Metrics of suites that have a finding of their own."""
    reference: str = ""
    """Label of the model that others are compared with, where a finding needs one."""
    baseline: str = ""
    """Label of the group of models that others are compared with; empty for the default."""
    group_by: Grouping = "regime"
    """How models are grouped where a finding averages over them."""

    @cached_property
    def series(self) -> list[Series]:
        """Every model under every corruption."""
        return group_series(self.records)

    @cached_property
    def suite_results(self) -> list[SuiteResult]:
        """Every model under every suite whose corruptions were all evaluated."""
        return group_suites(self.records, self.series)

    @cached_property
    def subjects(self) -> list[Subject]:
        """Every model in every setting, without the corruptions of scored suites."""
        scored = [r for r in self.suite_results if r.suite.metric in self.scored]
        return group_subjects(self.records, self.series, scored)

    @cached_property
    def with_most_copies(self) -> RecordGroups:
        """The same, of studies that were repeated with several k only that with the largest.

        Else one network would count as several, and a regime as a mean over several k.
        """
        studied = [c for c in self.records if c.train != AS_GIVEN]
        copies: Counter[tuple[str, ...]] = Counter()  # of every model
        for c in studied:
            copies[c.fingerprint, c.recipe] = max(copies[c.fingerprint, c.recipe], c.k)
        most: Counter[tuple[str, ...]] = Counter()  # of all models of the same name
        for c in studied:
            name = c.fingerprint, c.model, c.train
            most[name] = max(most[name], copies[c.fingerprint, c.recipe])
        kept = tuple(
            c
            for c in self.records
            if c.train == AS_GIVEN
            or copies[c.fingerprint, c.recipe] == most[c.fingerprint, c.model, c.train]
        )
        if len(kept) == len(self.records):
            return self
        return replace(self, records=replace(self.records, cells=kept))

    @cached_property
    def conditions(self) -> list[Condition]:
        """Every corruption, also those of suites, with the models under it."""
        return group_conditions(self.series)

    @cached_property
    def fixed_parts(self) -> list[str]:
        """One sentence per data set whose test points are the same in all runs of a study."""
        points: dict[tuple[str, str], set[str]] = {}
        for s in self.series:
            if s.runs > 1:  # of a study
                data = s.first.data, s.first.fingerprint
                points.setdefault(data, set()).update(c.points.order for c in s.noisy)
        return [
            f"{data} has a fixed test part, so runs differ only in training and noise, and the "
            "intervals cover only these"
            for (data, _), ids in points.items()
            if len(ids) == 1
        ]

    @cached_property
    def unfinished(self) -> list[str]:
        """One sentence per suite that no model was evaluated under completely."""
        complete = {result.suite for result in self.suite_results}
        sentences = []
        for suite in self.records.suites:
            specs = {c.corruption for c in self.records if c.fingerprint == suite.fingerprint}
            count = len(specs & set(suite.specs))
            if suite not in complete and count:
                sentences.append(
                    f"suite {suite.name} is not finished, {count} of {len(suite.specs)} "
                    "corruptions were evaluated, so it has no metric; run the same again with the "
                    f"same {either('--store', 'store=')}"
                )
        return sentences
