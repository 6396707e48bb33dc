"""The finding: every fitted model by class and by group, on clean points and under corruptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, TypedDict

from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.evaluation.records import Points, Record
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.series import ConditionJson, ModelJson
from shaketable.findings.subgroups.numbers import (
    Breakdown,
    Group,
    Partition,
    group_accuracy,
    group_error_probability,
    split_by_class,
    split_by_column,
)
from shaketable.findings.subgroups.view import make_blocks
from shaketable.statistics.estimate import BoundJson, EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

MAX_CORRUPTIONS, MAX_ENTRIES = 8, 400
"""Of more corruptions than these, or of more corruptions times groups, a model is broken down under
those of size eps_min and the worst only; with very many groups, under one corruption."""


class GroupGapJson(EstimateJson):
    """Accuracy of a group minus that of all other points."""

    shown: Annotated[
        bool,
        "Whether it differs from 0, with 95 % confidence for all differences of its kind together.",
    ]


class GroupJson(TypedDict):
    """One group of points."""

    group: Annotated[str, "Value of the column, or class."]
    n: Annotated[int, "Number of points."]
    accuracy: EstimateJson
    error_probability: BoundJson
    difference_from_others: Annotated[
        GroupGapJson | None,
        "Accuracy minus that of all other points, in percentage points; null if there are none.",
    ]


class BreakdownJson(ModelJson, ConditionJson):
    """A fitted model by the groups of one column, or by class."""

    by: Annotated[str, "Column that rows are grouped by, or class."]
    n: Annotated[int, "Number of points."]
    worst: Annotated[str, "Group with the most errors, as measured."]
    upper: Annotated[float, "Bound of the probability of a wrong answer that holds in each group."]
    groups: Annotated[list[GroupJson], "The group with the most errors first."]
    without_test_points: Annotated[list[str], "Groups about which nothing is known."]


class SubgroupsJson(TypedDict):
    """All models by group."""

    groups: Annotated[
        list[BreakdownJson],
        "Every fitted model by the groups of every column and by class, on clean points and under "
        "corruptions.",
    ]


@dataclass(frozen=True, eq=False)
class ModelGroups:
    """One fitted model by the groups of one column."""

    label: str
    clean: Breakdown | None
    """On clean points; None if these were not evaluated with it."""
    corrupted: tuple[Breakdown, ...]
    """Under corruptions, that of size eps_min first, else the worst first."""

    @cached_property
    def chosen(self) -> Breakdown:
        """What tables show: under the first corruption, or on clean points if there is none."""
        first = next(iter(self.corrupted), self.clean)
        assert first is not None, "a model has a cell"
        return first

    @property
    def all(self) -> list[Breakdown]:
        """On clean points and under corruptions."""
        return [*([self.clean] if self.clean else []), *self.corrupted]

    def find_clean(self, group: Group) -> Group | None:
        """Return the same group on clean points; None if these were not evaluated."""
        return None if self.clean is None else self.clean.find(group.label)

    def json(self) -> list[BreakdownJson]:
        """Return all numbers in per cent, one entry per corruption."""
        return [_breakdown_json(self.label, breakdown) for breakdown in self.all]


@dataclass(frozen=True, eq=False)
class GroupBoard:
    """All fitted models on the same data, by the groups of one column."""

    data: str
    by: str
    is_class: bool
    models: tuple[ModelGroups, ...]

    @property
    def judged(self) -> int:
        """Largest number of gaps that are judged together."""
        return max(b.judged for model in self.models for b in model.all)

    @cached_property
    def noises(self) -> list[str]:
        """Names of the corruptions that tables show."""
        return list(dict.fromkeys(model.chosen.noise for model in self.models))

    @property
    def unseen(self) -> tuple[str, ...]:
        """Groups without a test point."""
        return self.models[0].chosen.partition.unseen


@dataclass(frozen=True, eq=False)
class Subgroups(Displayed):
    """Every fitted model by class and by group."""

    boards: tuple[GroupBoard, ...]
    """Those of columns first, classes last."""

    def json(self) -> SubgroupsJson:
        """Return every model by every column, in per cent."""
        return {"groups": [e for board in self.boards for m in board.models for e in m.json()]}

    def blocks(self) -> list[Block]:
        """Return the worst group of every model, then all groups."""
        return make_blocks(self.boards)


def find(groups: RecordGroups) -> Subgroups | None:
    """Take the finding from records; None without a fitted model whose points have own noise."""
    by_data: dict[str, list[Condition]] = {}
    for condition in groups.conditions:
        by_data.setdefault(condition.first.fingerprint, []).append(condition)
    boards = []
    for fingerprint, conditions in by_data.items():
        columns = [g for g in groups.records.groupings if g.fingerprint == fingerprint]
        splits = [lambda points, g=g: split_by_column(points, g) for g in columns]
        for split in (*splits, split_by_class):
            models = _break_down(groups, conditions, split)
            if models:
                first = models[0].chosen
                by, is_class = first.partition.by, first.partition.is_class
                boards.append(GroupBoard(first.cell.data, by, is_class, models))
    boards.sort(key=lambda board: board.is_class)
    return Subgroups(tuple(boards)) if boards else None


def _break_down(
    groups: RecordGroups, conditions: Sequence[Condition], split: Any
) -> tuple[ModelGroups, ...]:
    """Return all models by one column; gaps of the same kind are judged together."""
    partitions: dict[str, Partition] = {}

    def split_once(points: Points) -> Partition:
        if points.id not in partitions:
            partitions[points.id] = split(points)
        return partitions[points.id]

    found: dict[str, list[Breakdown]] = {}
    for label in _list_labels(conditions):
        own = [c for c in conditions if label in c.series and is_bounded(c.series[label])]
        if own:
            number = len(split_once(own[0].first.points).labels)
            most = min(MAX_CORRUPTIONS, MAX_ENTRIES // number)
            found[label] = [
                Breakdown(s.first, c.noise, s.at_eps_min, split_once(s.first.points), 1)
                for c in choose_conditions(groups, own, most)
                for s in [c.series[label]]
            ]
    judged = {
        is_clean: sum(
            b.compared for listed in found.values() for b in listed if _is_clean(b.cell) == is_clean
        )
        for is_clean in (True, False)
    }
    result = []
    for label, listed in found.items():
        ready = [replace(b, judged=max(1, judged[_is_clean(b.cell)])) for b in listed]
        clean = next((b for b in ready if _is_clean(b.cell)), None)
        result.append(ModelGroups(label, clean, tuple(b for b in ready if not _is_clean(b.cell))))
    return tuple(result)


def _list_labels(conditions: Iterable[Condition]) -> list[str]:
    return list(dict.fromkeys(label for c in conditions for label in c.series))


def choose_conditions(
    groups: RecordGroups, conditions: Sequence[Condition], most: int
) -> list[Condition]:
    """Return clean points, and the corruptions under which a model is broken down, in order.

    That of size eps_min comes first, then the one with the most errors of all models. Noise in one
    column at a time has a finding of its own, so only the worst is taken, if there is nothing else.
    """
    clean = [c for c in conditions if c.is_clean][:1]
    noisy = [c for c in conditions if not c.is_clean]
    single = {spec for s in groups.records.suites if s.metric == METRIC for spec in s.specs}
    noisy.sort(key=lambda c: (not c.at_eps_min, c.mean_accuracy))
    noisy = [c for c in noisy if c.first.corruption not in single] or noisy[:1]
    if len(noisy) > most:
        worst = next((c for c in noisy if not c.at_eps_min), None)
        noisy = [c for c in noisy if c.at_eps_min or c is worst][: max(1, most)]
    return clean + noisy


def _is_clean(cell: Record) -> bool:
    return cell.is_clean


def _breakdown_json(label: str, breakdown: Breakdown) -> BreakdownJson:
    cell = breakdown.cell
    return {
        "model": cell.model,
        "label": label,
        "data": cell.data,
        "by": breakdown.partition.by,
        "corruption": cell.corruption,
        "at_eps_min": breakdown.at_eps_min,
        "k": cell.k,
        "n": cell.n,
        "worst": breakdown.worst.label,
        "upper": 100 * breakdown.upper,
        "groups": [_group_json(group) for group in breakdown.groups],
        "without_test_points": list(breakdown.partition.unseen),
    }


def _group_json(group: Group) -> GroupJson:
    gap = group.gap
    return {
        "group": group.label,
        "n": group.n,
        "accuracy": group.accuracy.json(),
        "error_probability": group.error.bound_json(),
        "difference_from_others": None if gap is None else {**gap.json(), "shown": group.shown},
    }


FINDINGS.add(
    "subgroups",
    FindingKind(
        find,
        json=SubgroupsJson,
        metrics={
            "group_accuracy": group_accuracy,
            "group_error_probability": group_error_probability,
        },
    ),
)
