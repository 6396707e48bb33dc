"""The finding: probability of a wrong answer of every fitted model under every corruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypedDict

from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.findings.risk.view import make_blocks
from shaketable.findings.series import ConditionJson, ModelJson, Series, bound_errors
from shaketable.statistics.estimate import BoundJson, Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class RiskEntryJson(ConditionJson, BoundJson):
    """Probability of a wrong answer under one corruption, in per cent."""


class HighestRiskJson(TypedDict):
    """The corruption with the highest share of wrong answers, as measured."""

    corruption: str
    mean: float


class ModelRiskJson(ModelJson):
    """A fitted model under every corruption."""

    n: int
    corruptions: Annotated[int, "Number of corruptions."]
    highest: HighestRiskJson
    upper: Annotated[float, "Bound that holds under each of the corruptions."]
    cells: list[RiskEntryJson]


class RisksJson(TypedDict):
    """Probabilities of wrong answers."""

    error_probabilities: Annotated[
        list[ModelRiskJson],
        "Probability of a wrong answer of every fitted model under every corruption.",
    ]


@dataclass(frozen=True, eq=False)
class RiskEntry:
    """One model under one corruption."""

    noise: str
    series: Series

    @property
    def bound(self) -> Estimate:
        """Share of wrong answers, and its one-sided upper bound."""
        return self.series.error_bound

    def json(self) -> RiskEntryJson:
        """Return its numbers in per cent."""
        return {**self.series.condition_json(), **self.bound.bound_json()}


@dataclass(frozen=True, eq=False)
class ModelRisk:
    """One fitted model under all corruptions."""

    label: str
    clean: RiskEntry | None
    """On clean points; None if these were not evaluated with it."""
    entries: tuple[RiskEntry, ...]
    """Under every corruption; not empty."""

    @cached_property
    def highest(self) -> RiskEntry:
        """The corruption with the highest share of wrong answers, as measured."""
        return max(self.entries, key=lambda entry: entry.bound.value)

    @cached_property
    def upper(self) -> float:
        """Highest bound: with 95 % confidence the probability is lower under every corruption.

        The bound of the corruption that is worst in truth holds with this confidence, and no
        bound is higher than the highest, so none has to be widened for their number.
        """
        return max(entry.bound.high for entry in self.entries)

    @property
    def at_eps_min(self) -> list[RiskEntry]:
        """Under noise of size eps_min, one per norm and setting."""
        return [entry for entry in self.entries if entry.series.at_eps_min]

    def json(self) -> ModelRiskJson:
        """Return all numbers in per cent."""
        cell, highest = self.entries[0].series.first, self.highest
        return {
            "model": cell.model,
            "label": self.label,
            "data": cell.data,
            "n": cell.n,
            "corruptions": len(self.entries),
            "highest": {
                "corruption": highest.series.first.corruption,
                "mean": 100 * highest.bound.value,
            },
            "upper": 100 * self.upper,
            "cells": [e.json() for e in ([self.clean] if self.clean else []) + [*self.entries]],
        }


@dataclass(frozen=True, eq=False)
class Risks(Displayed):
    """Probability of a wrong answer of every fitted model."""

    models: tuple[ModelRisk, ...]

    def json(self) -> RisksJson:
        """Return every model under every corruption, in per cent."""
        return {"error_probabilities": [model.json() for model in self.models]}

    def blocks(self) -> list[Block]:
        """Return a summary of all models, then every bound."""
        return make_blocks(self.models)


def find(groups: RecordGroups) -> Risks | None:
    """Take the finding from records; None without a fitted model under a corruption."""
    conditions = groups.conditions
    for condition in conditions:
        bound_errors([s for s in condition.series.values() if is_bounded(s)])
    labels = dict.fromkeys(label for c in conditions for label in c.series)
    models = [risk for label in labels if (risk := _make_model(label, conditions)) is not None]
    return Risks(tuple(models)) if models else None


def _make_model(label: str, conditions: Sequence[Condition]) -> ModelRisk | None:
    """Return a model's risk; None if it was trained several times or never had its own noise."""
    found = [
        (c.is_clean, RiskEntry(c.noise, c.series[label])) for c in conditions if label in c.series
    ]
    usable = [(is_clean, e) for is_clean, e in found if is_bounded(e.series)]
    clean = next((entry for is_clean, entry in usable if is_clean), None)
    entries = tuple(entry for is_clean, entry in usable if not is_clean)
    return ModelRisk(label, clean, entries) if entries else None


def is_bounded(series: Series) -> bool:
    """Whether a bound can be computed: for one fitted model whose points have their own draws."""
    return series.runs == 1 and not series.first.shares_draws


FINDINGS.add("risk", FindingKind(find, json=RisksJson))
