"""The finding: metrics of every training regime, and paired differences from a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.evaluation.records import AS_GIVEN
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Grouping, RecordGroups
from shaketable.findings.regimes import view
from shaketable.findings.regimes.members import MemberGroup, form_groups, list_members
from shaketable.findings.regimes.tables import RegimeTable, RegimeTableJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

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
