"""The finding: which class turns into which, of every fitted model under every corruption."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from shaketable.findings.confusion.numbers import Confusion, Turn
from shaketable.findings.confusion.view import make_blocks
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.series import ConditionJson, ModelJson
from shaketable.findings.subgroups.finding import MAX_CORRUPTIONS, choose_conditions
from shaketable.statistics.estimate import EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

MAX_CLASSES = 12
"""Classes up to which all counts are listed."""


class TurnJson(TypedDict):
    """Points of one class that are answered with another one."""

    true: str
    answered: Annotated[str, "Class, or other for all classes that the data lack."]
    n: Annotated[int, "Number of points of the true class."]
    clean: Annotated[float, "Share of the class's answers on clean points, in per cent."]
    noisy: Annotated[float, "The same under the corruption."]
    difference: Annotated[
        EstimateJson | None,
        "Noisy minus clean in percentage points, paired; null of fewer than 10 points.",
    ]
    shown: Annotated[
        bool, "Whether it grows, with 95 % confidence for all pairs of classes together."
    ]


class ConfusionJson(ModelJson, ConditionJson):
    """Answers of a fitted model by true class."""

    classes: list[str]
    counts: Annotated[
        list[list[int]] | None,
        "Answers of each true class by answered class, the last for classes that the data lack; "
        "null with more than 12 classes.",
    ]
    growing: Annotated[list[TurnJson], "Pairs that grow most from clean points, largest first."]


class ConfusionsJson(TypedDict):
    """All models."""

    confusion: Annotated[
        list[ConfusionJson],
        "Which class turns into which: every fitted model on clean points and under corruptions.",
    ]


@dataclass(frozen=True, eq=False)
class ModelConfusion:
    """One fitted model on clean points and under corruptions."""

    label: str
    data: str
    clean: Confusion
    corrupted: tuple[Confusion, ...]
    """That of size eps_min first, else the worst first."""

    @property
    def worst(self) -> Confusion:
        """The corruption with the most errors; clean points if there is none."""
        return min(self.corrupted, key=lambda c: c.series.first.accuracy, default=self.clean)

    def json(self) -> list[ConfusionJson]:
        """Return all numbers, shares in per cent."""
        return [_confusion_json(self.label, c) for c in (self.clean, *self.corrupted)]


@dataclass(frozen=True, eq=False)
class Confusions(Displayed):
    """Which class turns into which, of all fitted models."""

    models: tuple[ModelConfusion, ...]

    def json(self) -> ConfusionsJson:
        """Return every model under every corruption."""
        return {"confusion": [entry for model in self.models for entry in model.json()]}

    def blocks(self) -> list[Block]:
        """Return the pairs that grow most, then all counts."""
        return make_blocks(self.models)


def find(groups: RecordGroups) -> Confusions | None:
    """Take the finding from records; None without a fitted model whose answers were kept."""
    found: list[ModelConfusion] = []
    for label, conditions in list_by_model(groups).items():
        chosen = [
            Confusion(c.series[label], c.noise)
            for c in choose_conditions(groups, conditions, MAX_CORRUPTIONS)
        ]
        first = chosen[0].series.first
        if first.is_clean:
            found.append(ModelConfusion(label, first.data, chosen[0], tuple(chosen[1:])))
    judged = sum(c.compared for model in found for c in model.corrupted)
    ready = [
        replace(m, corrupted=tuple(replace(c, judged=judged) for c in m.corrupted)) for m in found
    ]
    return Confusions(tuple(ready)) if ready else None


def list_by_model(groups: RecordGroups) -> dict[str, list[Condition]]:
    """Return the conditions of every fitted model whose answers were kept, by its label."""
    found: dict[str, list[Condition]] = {}
    for condition in groups.conditions:
        for label, series in condition.series.items():
            cells = (*series.noisy, *series.clean)
            if is_bounded(series) and all(cell.answers is not None for cell in cells):
                found.setdefault(label, []).append(condition)
    return found


def _confusion_json(label: str, confusion: Confusion) -> ConfusionJson:
    cell, few = confusion.series.first, len(confusion.labels) <= MAX_CLASSES
    return {
        "model": cell.model,
        "label": label,
        "data": cell.data,
        **confusion.series.condition_json(),
        "classes": confusion.labels,
        "counts": confusion.counts.tolist() if few else None,
        "growing": [_turn_json(turn) for turn in confusion.turns],
    }


def _turn_json(turn: Turn) -> TurnJson:
    return {
        "true": turn.true,
        "answered": turn.answered,
        "n": turn.n,
        "clean": 100 * turn.clean,
        "noisy": 100 * turn.noisy,
        "difference": None if turn.growth is None else turn.growth.json(),
        "shown": turn.shown,
    }


FINDINGS.add("confusion", FindingKind(find, json=ConfusionsJson))
