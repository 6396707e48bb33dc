"""Tables of training regimes: one row per group of models, one column per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Annotated, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.evaluation.records import AS_GIVEN
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Grouping, RecordGroups
from shaketable.findings.regimes import view
from shaketable.findings.regimes.numbers import (
    CLEAN,
    SUITE_METRICS,
    Member,
    MemberGroup,
    count_runs,
    estimate_difference,
    estimate_mean,
    form_groups,
    list_members,
    pair_members,
)
from shaketable.statistics.difference import adjust_p_values, compute_p_value, judge_together
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson
from shaketable.statistics.independent import average_independent
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class CleanTestJson(EstimateWithMethodJson):
    """Clean accuracy of a group minus the baseline's, and its tests."""

    group: str
    p_value: float
    p_adjusted: Annotated[float, "Adjusted for the number of groups by Holm's procedure."]
    shown: bool


class CleanAccuracyJson(TypedDict):
    """Whether noise in training raises clean accuracy."""

    answer: str | None
    differences: Annotated[
        list[CleanTestJson], "Clean accuracy minus the baseline's, in percentage points, paired."
    ]


class RegimeDifferenceJson(EstimateWithMethodJson):
    """Difference of a group from the baseline."""

    shown: Annotated[
        bool, "Whether it is other than 0, judged together with the other groups (Holm)."
    ]


class RegimeMetricJson(TypedDict):
    """One metric of a group."""

    metric_name: str
    value: EstimateWithMethodJson | None
    difference: Annotated[
        RegimeDifferenceJson | None,
        "From the baseline, in percentage points, paired; null if unknown.",
    ]


class RegimeRowJson(TypedDict):
    """All metrics of a group."""

    group: str
    models: list[str]
    runs: int
    metrics: list[RegimeMetricJson]


class RegimeTableJson(TypedDict):
    """Metrics of all groups."""

    networks: list[str]
    data: list[str]
    baseline: Annotated[str | None, "Group that others are compared with; null for none."]
    rows: list[RegimeRowJson]
    clean_accuracy: CleanAccuracyJson


@dataclass(frozen=True, eq=False)
class CleanTest:
    """Clean accuracy of one group minus that of the baseline, among all groups of a table."""

    label: str
    value: Estimate
    p_value: float
    p_adjusted: float
    """Adjusted for the number of groups by Holm's procedure."""

    @property
    def shown(self) -> bool:
        """Whether the difference is other than 0."""
        return self.p_adjusted <= 0.05

    def json(self) -> CleanTestJson:
        """Return the difference in percentage points, and p-values."""
        return {
            "group": self.label,
            **self.value.json_with_method(),
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "shown": self.shown,
        }


@dataclass(frozen=True, eq=False)
class RegimeTable:
    """Metrics of groups of models, and how they differ from those of a baseline, paired."""

    by: Grouping
    groups: tuple[MemberGroup, ...]
    baseline: str
    """Label of the group that others are compared with; empty for none."""

    @cached_property
    def metrics(self) -> list[str]:
        """Metrics that some model has, in the order of the published table."""
        known = dict.fromkeys(x for g in self.groups for m in g.members for x in m.measurements)
        first = (CLEAN, *SUITE_METRICS)
        return [*(x for x in first if x in known), *(x for x in known if x not in first)]

    @cached_property
    def values(self) -> dict[tuple[str, str], Estimate]:
        """Mean of a metric over the models of a group, by label and metric."""
        found = {}
        for group, metric in product(self.groups, self.metrics):
            value = self._estimate_value(group, metric)
            if value is not None:
                found[group.label, metric] = value
        return found

    @cached_property
    def differences(self) -> dict[tuple[str, str], Estimate]:
        """The same minus the baseline's, paired."""
        found = {}
        for base in (g for g in self.groups if g.label == self.baseline):
            for group, metric in product(self.groups, self.metrics):
                value = None if group is base else self._estimate_difference(group, base, metric)
                if value is not None:
                    found[group.label, metric] = value
        return found

    @cached_property
    def shown(self) -> set[tuple[str, str]]:
        """The differences that are other than 0, those of one metric judged together."""
        shown: set[tuple[str, str]] = set()
        for metric in self.metrics:
            keys = [key for key in self.differences if key[1] == metric]
            verdicts = judge_together([self.differences[key] for key in keys])
            shown |= {key for key, verdict in zip(keys, verdicts, strict=True) if verdict}
        return shown

    @cached_property
    def clean_tests(self) -> list[CleanTest]:
        """Differences in clean accuracy, judged together."""
        gaps = {
            label: value.subtract_from(0)
            for (label, metric), value in self.differences.items()
            if metric == CLEAN
        }
        p_values = [compute_p_value(gap) for gap in gaps.values()]
        adjusted = adjust_p_values(p_values)
        return [CleanTest(*x) for x in zip(gaps, gaps.values(), p_values, adjusted, strict=True)]

    @property
    def clean_words(self) -> str:
        """Whether noise in training raises clean accuracy; empty without a baseline."""
        return view.describe_clean(self)

    @property
    def is_balanced(self) -> bool:
        """Whether all groups have the same networks, or regimes, on the same data."""
        return len({frozenset(map(self._get_part, g.members)) for g in self.groups}) == 1

    @property
    def name(self) -> str:
        """Names of the networks, or regimes, and of the data."""
        return view.name_members(self)

    @property
    def title(self) -> str:
        """Over what the table is averaged, in words."""
        return view.describe_members(self)

    @property
    def judged(self) -> str:
        """How differences are judged, in words."""
        return view.describe_judging(len(self.groups) - 1)

    def list_parts(self) -> list[RegimeTable]:
        """Return one table per data set and network, or regime; none if this is the only one."""
        members = [m for group in self.groups for m in group.members]
        parts = dict.fromkeys(map(self._get_part, members))
        if len(parts) < 2:
            return []
        tables = []
        for part in parts:
            kept = (
                MemberGroup(g.label, tuple(m for m in g.members if self._get_part(m) == part))
                for g in self.groups
            )
            groups = tuple(g for g in kept if g.members)
            labels = [g.label for g in groups]
            baseline = self.baseline if self.baseline in labels else ""
            tables.append(RegimeTable(self.by, groups, baseline))
        return tables

    def count_runs(self, group: MemberGroup) -> int:
        """Return the number of runs of a group's models, the least of all data."""
        return min(
            count_runs([m.measurements[CLEAN] for m in members]) for members in _by_data(group)
        )

    def json(self) -> RegimeTableJson:
        """Return rows with values and differences in per cent, and the tests of clean accuracy."""
        return {
            "networks": list(dict.fromkeys(m.network for g in self.groups for m in g.members)),
            "data": list(dict.fromkeys(m.data for g in self.groups for m in g.members)),
            "baseline": self.baseline or None,
            "rows": [self._row_json(group) for group in self.groups],
            "clean_accuracy": {
                "answer": self.clean_words or None,
                "differences": [test.json() for test in self.clean_tests],
            },
        }

    def _row_json(self, group: MemberGroup) -> RegimeRowJson:
        entries: list[RegimeMetricJson] = []
        for metric in self.metrics:
            key = group.label, metric
            value, difference = self.values.get(key), self.differences.get(key)
            entries.append(
                {
                    "metric_name": metric,
                    "value": None if value is None else value.json_with_method(),
                    "difference": None
                    if difference is None
                    else {**difference.json_with_method(), "shown": key in self.shown},
                }
            )
        models = [m.model for m in group.members]
        runs = self.count_runs(group)
        return {"group": group.label, "models": models, "runs": runs, "metrics": entries}

    def _get_part(self, member: Member) -> tuple[str, str]:
        if not isinstance(self.by, str):
            return member.fingerprint, ""
        return member.fingerprint, member.network if self.by == "regime" else member.regime

    def _estimate_value(self, group: MemberGroup, metric: str) -> Estimate | None:
        estimates = []
        for members in _by_data(group):
            known = [m.measurements[metric] for m in members if metric in m.measurements]
            if known:
                estimates.append(estimate_mean(known))
        return self._average(estimates, group.members)

    def _estimate_difference(
        self, group: MemberGroup, base: MemberGroup, metric: str
    ) -> Estimate | None:
        estimates, used = [], []
        for members in _by_data(group):
            others = base.on(members[0].fingerprint)
            pair = pair_members(
                [m for m in members if metric in m.measurements],
                [m for m in others if metric in m.measurements],
                self.by,
            )
            if all(pair):
                first, second = ([m.measurements[metric] for m in side] for side in pair)
                estimates.append(estimate_difference(first, second))
                used += pair[0]
        return self._average(estimates, used)

    def _average(
        self, estimates: Sequence[Estimate | None], members: Sequence[Member]
    ) -> Estimate | None:
        """Average over data sets; None if there is no value on one of them."""
        known = [e for e in estimates if e is not None]
        if not known or len(known) < len(estimates):
            return None
        mean = average_independent(known)
        over = view.describe_average(members)
        return replace(mean, method=f"{over}; {mean.method}") if over else mean


def _by_data(group: MemberGroup) -> list[list[Member]]:
    return [group.on(data) for data in dict.fromkeys(m.fingerprint for m in group.members)]


CLEAN_REGIME = "clean"


class RegimePartJson(RegimeTableJson):
    """The same for one data set and network alone."""

    part: Annotated[str, "Its network, or regime, and data."]


class AllRegimesJson(RegimeTableJson):
    """Metrics of every group of models, averaged over networks and data sets."""

    group_by: Annotated[
        str | dict[str, str], "regime, network, or patterns of models' names by group."
    ]
    parts: Annotated[
        list[RegimePartJson],
        "The same for every data set and network alone; empty if there is one.",
    ]


class RegimesJson(TypedDict):
    """Training regimes."""

    regimes: Annotated[
        AllRegimesJson,
        "Metrics of every training regime, or other group of models, averaged over networks and "
        "data sets.",
    ]


@dataclass(frozen=True, eq=False)
class Regimes(Displayed):
    """Metrics of every training regime, averaged over networks and data sets."""

    table: RegimeTable

    @cached_property
    def parts(self) -> list[RegimeTable]:
        """The same for every data set and network; none if there is only one."""
        return self.table.list_parts()

    def json(self) -> RegimesJson:
        """Return the table and its parts, in per cent."""
        by = self.table.by
        return {
            "regimes": {
                "group_by": by if isinstance(by, str) else dict(by),
                **self.table.json(),
                "parts": [{"part": part.name, **part.json()} for part in self.parts],
            }
        }

    def blocks(self) -> list[Block]:
        """Return values and differences of all groups, and the answer on clean accuracy."""
        return view.make_blocks(self)


def find(groups: RecordGroups) -> Regimes | None:
    """Take the finding from records; None if they hold fewer than two groups of models."""
    groups = groups.with_most_copies
    by = groups.group_by
    formed = form_groups(list_members(groups), by)
    if by == "regime":
        formed = _leave_out_names(formed, groups)
    if len(formed) < 2:
        if groups.baseline or by != "regime":
            raise InputError(
                f"records must hold two groups of models to compare, got {len(formed)}; evaluate "
                "models with other training, or leave out "
                + either("--baseline and --group", "baseline= and group=")
            )
        return None
    return Regimes(RegimeTable(by, tuple(formed), choose_baseline(formed, by, groups.baseline)))


def _leave_out_names(formed: list[MemberGroup], groups: RecordGroups) -> list[MemberGroup]:
    """Leave out models given fitted whose name may only look as if it named a regime.

    It does name one if there is a baseline, as in ``resnet9(clean)`` and ``resnet9(C1)``.
    """
    given = {c.model for c in groups.records if c.train == AS_GIVEN}
    clean = [m.model for g in formed if g.label == CLEAN_REGIME for m in g.members]
    if groups.baseline or not given.isdisjoint(clean):
        return formed
    kept = (
        MemberGroup(g.label, tuple(m for m in g.members if m.model not in given)) for g in formed
    )
    return [group for group in kept if group.members]


def choose_baseline(formed: Sequence[MemberGroup], by: Grouping, baseline: str) -> str:
    """Return the label of the group that others are compared with; empty for none.

    By default it is the regime ``clean``; of other groups, the first.
    """
    labels = [group.label for group in formed]
    if baseline:
        if baseline not in labels:
            raise unknown_name("baseline", baseline, labels)
        return baseline
    if by == "regime":
        return CLEAN_REGIME if CLEAN_REGIME in labels else ""
    return labels[0]


FINDINGS.add("regimes", FindingKind(find, json=RegimesJson))
