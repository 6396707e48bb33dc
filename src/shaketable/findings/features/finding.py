"""The finding: how much accuracy every fitted model loses under noise in each feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypedDict

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
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.series import ModelJson
from shaketable.findings.subjects import make_suite_labels
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate, EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class ShownLossJson(EstimateJson):
    """Clean accuracy minus the accuracy under noise, in percentage points."""

    shown: Annotated[
        bool,
        "Whether accuracy is lost, with 95 % confidence for all losses on these data together.",
    ]


class FeatureLossJson(TypedDict):
    """A model under noise in one feature."""

    feature: str
    noise: Annotated[str, "Spec of the noise, without the column."]
    corruption: Annotated[str, "Spec."]
    accuracy: EstimateJson
    loss: ShownLossJson


class ModelLossesJson(ModelJson):
    """A fitted model under one noise in every feature that it suits."""

    n: Annotated[int, "Number of points."]
    k: Annotated[int, "Draws per point."]
    clean: EstimateJson
    noise: Annotated[str, "Spec of the noise, without the column."]
    most_fragile: Annotated[
        list[str],
        "With 95 % confidence, the feature with the largest loss under this noise is among these; "
        "empty if no loss is shown.",
    ]
    features: Annotated[list[FeatureLossJson], "The largest loss as measured first."]


class FeaturesJson(TypedDict):
    """Losses of all models."""

    feature_losses: Annotated[
        list[ModelLossesJson],
        "Accuracy that every fitted model loses under noise in one feature at a time; one entry "
        "per model and noise.",
    ]


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

    def json(self) -> ModelLossesJson:
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

    def json(self) -> FeaturesJson:
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
    FindingKind(
        find,
        json=FeaturesJson,
        metrics={METRIC: feature_losses},
        suite_metrics=(METRIC,),
    ),
)
