"""The finding: accuracies, MSCR, error probabilities and differences of models."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Annotated, NotRequired, TypedDict

from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mscr import numbers, view
from shaketable.findings.series import ConditionJson, ModelJson, Series, meets_same_noise
from shaketable.findings.subjects import Subject
from shaketable.statistics.difference import Difference, DifferenceJson
from shaketable.statistics.estimate import BoundJson, Estimate, EstimateWithMethodJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class AccuracyJson(ConditionJson, EstimateWithMethodJson):
    """Accuracy under one corruption, in per cent."""


class ErrorProbabilityJson(TypedDict):
    """Probability of a wrong answer under noise of size eps_min."""

    overall: BoundJson
    by_class: dict[str, BoundJson]
    least_provable_per_point: Annotated[
        float,
        "Lowest error probability of a single point that this number of draws can prove, in per "
        "cent.",
    ]
    classes_without_test_points: list[str]


class MSCRJson(TypedDict):
    """MSCR of a model, and what it means."""

    mscr: EstimateWithMethodJson | None
    verdict: str
    error_probability: NotRequired[ErrorProbabilityJson]


class RobustnessOfModelJson(ModelJson, MSCRJson):
    """A fitted model under the noise of one norm."""

    norm: Annotated[str, "Title of the norm, such as L-inf; empty for corruptions without one."]
    eps_min: Annotated[float | None, "Half the class separation; null if it was not measured."]
    n: Annotated[int, "Number of test points."]
    k: int
    runs: Annotated[int, "Number of trainings; 1 for a model as given."]
    seed: int
    bounds: str
    cells: Annotated[
        list[AccuracyJson], "Accuracy under every corruption outside of suites, in per cent."
    ]


class RobustnessJson(TypedDict, total=False):
    """Accuracies and MSCR; empty without a fitted model."""

    models: Annotated[
        list[RobustnessOfModelJson], "Fitted models, one entry per model and norm of the noise."
    ]
    mscr_differences: Annotated[
        list[DifferenceJson], "MSCR of the first model minus that of the second."
    ]


@dataclass(frozen=True, eq=False)
class Robustness(Displayed):
    """Accuracies and MSCR of every model in every setting.

    Models of studies are included for verdicts and differences; their tables are in `Study`.
    """

    subjects: tuple[Subject, ...]
    _differences: dict[tuple[Series, Series], Estimate | None] = field(default_factory=dict)

    @cached_property
    def fitted(self) -> tuple[Subject, ...]:
        """Models that were evaluated as given, not trained by a study."""
        return tuple(s for s in self.subjects if not s.is_study)

    @cached_property
    def undefined(self) -> list[str]:
        """Labels of models without an MSCR because they get no clean point right."""
        return [s.label for s in self.subjects if any(m.change is None for m in s.at_eps_min)]

    @cached_property
    def differences(self) -> list[Difference]:
        """Paired differences in MSCR of every two models that were evaluated as given."""
        return [
            Difference(a.label, b.label, value, "keeps more of its accuracy")
            for a, b in combinations((s for s in self.fitted if len(s.at_eps_min) == 1), 2)
            if (value := self.difference(a.at_eps_min[0], b.at_eps_min[0])) is not None
        ]

    def difference(self, first: Series, second: Series) -> Estimate | None:
        """MSCR of the first minus that of the second; None if undefined or not paired."""
        pair = first, second
        if pair not in self._differences:
            value = None
            if meets_same_noise(first, second) and first.change and second.change:
                try:
                    value = numbers.mscr_difference(first, second)
                except InputError:  # undefined in one of several runs
                    value = None
            self._differences[pair] = value
        return self._differences[pair]

    def verdict(self, subject: Subject) -> str:
        """Return what the MSCR of a model means, or why there is none."""
        if len(subject.at_eps_min) != 1:
            return view.NOT_MEASURED
        change = subject.at_eps_min[0].change
        return view.UNDEFINED if change is None else view.describe_mscr(change)

    def check_defined(self) -> None:
        """Raise `UndefinedError` for models that classify no clean point correctly."""
        if self.undefined:
            raise UndefinedError(
                f"MSCR is undefined for {', '.join(self.undefined)}: a clean accuracy of 0 leaves "
                "nothing to lose; check that the model's labels are the data's"
            )

    def json(self) -> RobustnessJson:
        """Return the models as given and their differences; accuracies and errors in per cent."""
        if not self.fitted:
            return {}
        return {
            "models": [self._model_json(subject) for subject in self.fitted],
            "mscr_differences": [d.json() for d in self.differences],
        }

    def blocks(self) -> list[Block]:
        """Return verdicts, accuracies and differences."""
        return view.make_blocks(self)

    def _model_json(self, subject: Subject) -> RobustnessOfModelJson:
        cell = subject.first
        return {
            "model": cell.model,
            "label": subject.label,
            "norm": subject.norm,
            "eps_min": subject.eps_min,
            "data": cell.data,
            "n": cell.n,
            "k": cell.k,
            "runs": max(s.runs for s in subject.all_series),
            "seed": cell.setting.seed,
            "bounds": cell.setting.bounds,
            "cells": [
                {**s.condition_json(), **s.accuracy.json_with_method()} for s in subject.all_series
            ],
            **self._mscr_json(subject),
        }

    def _mscr_json(self, subject: Subject) -> MSCRJson:
        if len(subject.at_eps_min) != 1:
            return {"mscr": None, "verdict": self.verdict(subject)}
        (series,) = subject.at_eps_min
        result: MSCRJson = {
            "mscr": None if series.change is None else series.change.json_with_method(),
            "verdict": self.verdict(subject),
        }
        if series.runs == 1:  # of one model, not of several trainings
            error = series.error_probability
            result["error_probability"] = {
                "overall": error.overall.bound_json(),
                "by_class": {str(label): e.bound_json() for label, e in error.by_class.items()},
                "least_provable_per_point": 100 * error.least_provable,
                "classes_without_test_points": [str(label) for label in error.unseen],
            }
        return result


def find(groups: RecordGroups) -> Robustness | None:
    """Take the finding from records; None if there are no models."""
    return Robustness(tuple(groups.subjects)) if groups.subjects else None


FINDINGS.add(
    "mscr",
    FindingKind(
        find,
        json=RobustnessJson,
        metrics={
            "accuracy": numbers.accuracy,
            "accuracy_difference": numbers.accuracy_difference,
            "relative_loss": numbers.relative_loss,
            "mscr": numbers.mscr,
            "mscr_difference": numbers.mscr_difference,
            "error_probability": numbers.error_probability,
        },
    ),
)
