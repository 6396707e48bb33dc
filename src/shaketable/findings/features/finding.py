"""The finding: how much accuracy every fitted model loses under noise in each feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.findings.features.numbers import (
    FeatureLoss,
    choose_most_fragile,
    feature_losses,
    make_losses,
)
from shaketable.findings.features.view import make_blocks
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.labels import make_suite_labels
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


@dataclass(frozen=True, eq=False)
class ModelLosses:
    """One fitted model under the same noise in every column that it suits."""

    label: str
    losses: tuple[FeatureLoss, ...]
    """The largest as measured first."""

    @property
    def noise(self) -> str:
        """The noise, without a column."""
        return self.losses[0].noise

    @property
    def clean(self) -> Estimate:
        """Accuracy on clean points."""
        return self.losses[0].series.on_clean.accuracy

    @cached_property
    def most_fragile(self) -> tuple[FeatureLoss, ...]:
        """Losses that may be the largest, if any loss is shown; see `choose_most_fragile`."""
        return choose_most_fragile(self.losses) if self.losses[0].shown else ()

    @cached_property
    def by_spec(self) -> dict[str, FeatureLoss]:
        """Losses by corruption."""
        return {loss.series.first.corruption: loss for loss in self.losses}

    def json(self) -> dict[str, Any]:
        """Return all losses in percentage points."""
        cell = self.losses[0].series.first
        return {
            "model": cell.model,
            "label": self.label,
            "data": cell.data,
            "n": cell.n,
            "k": cell.k,
            "clean": self.clean.json(),
            "noise": self.noise,
            "most_fragile": [loss.feature for loss in self.most_fragile],
            "features": [
                {
                    "feature": loss.feature,
                    "noise": loss.noise,
                    "corruption": loss.series.first.corruption,
                    "accuracy": loss.accuracy.json(),
                    "loss": {**loss.value.json(), "shown": loss.shown},
                }
                for loss in self.losses
            ],
        }


@dataclass(frozen=True, eq=False)
class FeatureBoard:
    """All models on the same data, under the same noise in the same columns."""

    data: str
    models: tuple[ModelLosses, ...]

    @property
    def judged(self) -> int:
        """Number of losses that are judged together."""
        return self.models[0].losses[0].judged

    @cached_property
    def rows(self) -> list[FeatureLoss]:
        """Losses of the first model, by the mean loss of all models, the largest first."""
        return sorted(
            self.models[0].losses,
            key=lambda loss: -np.mean([other.value.value for other in self.at(loss)]),
        )

    @property
    def noise(self) -> str:
        """The noise, without a column."""
        return self.models[0].noise

    def at(self, loss: FeatureLoss) -> list[FeatureLoss]:
        """Return the losses of all models under the same corruption."""
        return [model.by_spec[loss.series.first.corruption] for model in self.models]


@dataclass(frozen=True, eq=False)
class Features(Displayed):
    """Losses of all models on all data."""

    boards: tuple[FeatureBoard, ...]

    def json(self) -> dict[str, Any]:
        """Return every model, in per cent."""
        return {"feature_losses": [model.json() for b in self.boards for model in b.models]}

    def blocks(self) -> list[Block]:
        """Return the most fragile features, then all losses."""
        return make_blocks(self.boards)


def find(groups: RecordGroups) -> Features | None:
    """Take the finding from records; None if no fitted model had noise in one column at a time."""
    results = [
        result
        for result in groups.suite_results
        if result.suite.metric == METRIC and all(map(is_bounded, result.series))
    ]
    by_noise: dict[tuple[object, ...], list[tuple[str, SuiteResult]]] = {}
    for label, result in zip(make_suite_labels(results), results, strict=True):
        key = (result.suite.fingerprint, *sorted(result.specs))
        by_noise.setdefault(key, []).append((label, result))
    boards = []
    for labelled in by_noise.values():
        judged = sum(len(result.series) for _, result in labelled)
        losses = {label: make_losses(result, judged) for label, result in labelled}
        for noise in losses[labelled[0][0]]:
            models = tuple(ModelLosses(label, each[noise]) for label, each in losses.items())
            boards.append(FeatureBoard(labelled[0][1].first.data, models))
    return Features(tuple(boards)) if boards else None


FINDINGS.add(
    "features",
    FindingKind(find, metrics={METRIC: feature_losses}, suite_metrics=(METRIC,)),
)
