"""The finding: whether models are as sure as they are right, clean and under corruptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, TypedDict

from shaketable.data.dataset import LabelJson
from shaketable.findings.confidence.calibration import Bin, Calibration
from shaketable.findings.confidence.numbers import (
    BINS,
    SURE,
    calibration_error,
    count_sure_errors,
    has_scores,
    read_sureness,
    select_accuracy,
    selective_accuracy,
    share_sure,
    share_sure_errors,
    sure_and_wrong,
)
from shaketable.findings.confidence.view import make_blocks
from shaketable.findings.confusion.finding import list_by_model
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.series import ConditionJson, ModelJson, Series, allow_for_looks
from shaketable.findings.subgroups.finding import MAX_CORRUPTIONS, choose_conditions
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate, EstimateJson
from shaketable.statistics.intervals import mean_of_values
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

REFUSED = tuple(q / 10 for q in range(10))
"""Shares of answers that are refused, of the curve of selective accuracy."""


class CalibrationGapJson(EstimateJson):
    """Calibration error minus that on clean points, in percentage points."""

    shown: Annotated[
        bool,
        "Whether it differs from 0, with 95 % confidence for all models and corruptions together.",
    ]


BinJson = TypedDict(
    "BinJson",
    {
        "from": Annotated[float, "Confidence at which the bin begins, in per cent."],
        "to": Annotated[float, "Confidence at which it ends."],
        "share": Annotated[float, "Share of all answers that are in it."],
        "confidence": Annotated[float, "Mean confidence of these."],
        "accuracy": EstimateJson,
    },
)


class SelectiveJson(TypedDict):
    """Accuracy if the least sure answers are refused."""

    refused: Annotated[float, "Share of answers that is refused, in per cent."]
    accuracy: EstimateJson


ClassCountJson = TypedDict("ClassCountJson", {"class": LabelJson, "count": int})


class ConfidenceJson(ModelJson, ConditionJson):
    """How sure a fitted model is, and whether it is right."""

    n: Annotated[int, "Number of points."]
    accuracy: EstimateJson
    mean_confidence: Annotated[float, "Mean score of the class that was answered, in per cent."]
    overconfidence: Annotated[
        EstimateJson, "Mean confidence minus accuracy, in percentage points; above 0: too sure."
    ]
    bins: Annotated[int, "Number of bins of confidence, of equal width from 0 to 1."]
    calibration_error_l1: Annotated[
        EstimateJson, "Mean distance of confidence and accuracy in bins, debiased."
    ]
    calibration_error_l2: Annotated[
        EstimateJson, "Root of the mean squared distance of confidence and accuracy, debiased."
    ]
    difference_from_clean: Annotated[
        CalibrationGapJson | None,
        "Calibration error, l1, minus that on clean points, paired; null on clean points.",
    ]
    sure_above: Annotated[float, "Confidence above which an answer is sure, in per cent."]
    sure_and_wrong: Annotated[
        EstimateJson | None, "Share of wrong answers that are sure; null if none is wrong."
    ]
    sure_errors: Annotated[EstimateJson, "Share of all answers that are sure and wrong."]
    sure_errors_by_class: Annotated[
        list[ClassCountJson], "Answers that are sure and wrong, by true class, most first."
    ]
    disagreeing: Annotated[
        int, "Answers where another class has a higher score than the one that was answered."
    ]
    reliability: Annotated[list[BinJson], "Bins that hold answers."]
    selective_accuracy: list[SelectiveJson]


class ConfidencesJson(TypedDict):
    """All models with scores."""

    confidence: Annotated[
        list[ConfidenceJson],
        "Whether models are as sure as they are right: every fitted model that gives scores, on "
        "clean points and under corruptions.",
    ]


@dataclass(frozen=True, eq=False)
class Numbers:
    """All numbers of one fitted model under one corruption."""

    mean_confidence: float
    excess: Estimate
    """Mean confidence minus accuracy."""
    l1: Estimate
    l2: Estimate
    difference: Estimate | None
    """Calibration error, l1, minus that on clean points; None on clean points."""
    sure_and_wrong: Estimate | None
    """Share of wrong answers that are sure; None if none is wrong."""
    sure_errors: Estimate
    """Share of all answers that are sure and wrong."""
    sure_errors_by_class: list[tuple[Any, int]]
    """Number of answers that are sure and wrong, by true class, most first."""
    bins: list[Bin]
    selective: dict[float, Estimate]
    """Accuracy by the share of answers that is refused."""
    answers: int
    disagreeing: int
    """Answers where another class has a higher score than the one that was answered."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """How sure one fitted model is under one corruption, or on clean points."""

    series: Series
    noise: str
    judged: int = 1
    """Number of differences that are judged together."""

    @cached_property
    def numbers(self) -> Numbers:
        """All numbers, computed in one go: answers may be many."""
        answers = self.series.first.answers
        assert answers is not None
        sureness = read_sureness(self.series, "confidence")
        calibration = Calibration(sureness.confidence, sureness.right, BINS)

        def hold(estimate: Estimate) -> Estimate:
            return allow_for_looks(estimate, self.series.noisy)

        return Numbers(
            float(sureness.confidence.mean()),
            hold(mean_of_values(sureness.excess, low=-1, high=1)),
            hold(calibration.estimate("l1")),
            hold(calibration.estimate("l2")),
            None if self.is_clean else hold(self._subtract_clean(calibration)),
            None if sureness.right.all() else hold(share_sure(sureness)),
            hold(share_sure_errors(sureness)),
            count_sure_errors(sureness, self.series.first.points),
            [replace(b, accuracy=hold(b.accuracy)) for b in calibration.list_bins()],
            {refused: hold(select_accuracy(sureness, refused)) for refused in REFUSED},
            sureness.right.size,
            int(answers.disagrees.sum()),
        )

    def _subtract_clean(self, calibration: Calibration) -> Estimate:
        sureness = read_sureness(self.series.on_clean, "confidence")
        clean = Calibration(sureness.confidence, sureness.right, BINS)
        return calibration.subtract(clean, "l1")

    @cached_property
    def is_shown(self) -> bool:
        """Whether the calibration error differs from that on clean points."""
        difference = self.numbers.difference
        return difference is not None and is_shown(difference, self.judged)

    @property
    def is_clean(self) -> bool:
        """Whether the points are clean."""
        return self.series.first.is_clean

    @property
    def accuracy(self) -> Estimate:
        """Share of right answers."""
        return self.series.accuracy

    @property
    def place(self) -> str:
        """Where the answers were given, in words."""
        return "on clean points" if self.is_clean else f"under {self.noise}"


@dataclass(frozen=True, eq=False)
class ModelConfidence:
    """One fitted model on clean points and under corruptions."""

    label: str
    clean: Confidence
    corrupted: tuple[Confidence, ...]
    """That of size eps_min first, else the worst first."""

    @property
    def all(self) -> tuple[Confidence, ...]:
        """On clean points and under corruptions."""
        return self.clean, *self.corrupted

    @property
    def worst(self) -> Confidence:
        """The corruption with the most errors; clean points if there is none."""
        return min(self.corrupted, key=lambda c: c.series.first.accuracy, default=self.clean)


@dataclass(frozen=True, eq=False)
class Confidences(Displayed):
    """Whether models are as sure as they are right."""

    models: tuple[ModelConfidence, ...]

    def json(self) -> ConfidencesJson:
        """Return every model under every corruption, in per cent."""
        return {"confidence": [_entry_json(m.label, c) for m in self.models for c in m.all]}

    def blocks(self) -> list[Block]:
        """Return how sure models are, then diagrams and curves."""
        return make_blocks(self.models)


def find(groups: RecordGroups) -> Confidences | None:
    """Take the finding from records; None without a fitted model that gave scores."""
    found: list[ModelConfidence] = []
    for label, conditions in list_by_model(groups).items():
        chosen = [
            Confidence(c.series[label], c.noise)
            for c in choose_conditions(groups, conditions, MAX_CORRUPTIONS)
            if has_scores(c.series[label].first)
        ]
        if chosen and chosen[0].is_clean:
            found.append(ModelConfidence(label, chosen[0], tuple(chosen[1:])))
    judged = sum(len(model.corrupted) for model in found)
    ready = [
        replace(m, corrupted=tuple(replace(c, judged=judged) for c in m.corrupted)) for m in found
    ]
    return Confidences(tuple(ready)) if ready else None


def _entry_json(label: str, confidence: Confidence) -> ConfidenceJson:
    cell, found = confidence.series.first, confidence.numbers
    gap, sure = found.difference, found.sure_and_wrong
    return {
        "model": cell.model,
        "label": label,
        "data": cell.data,
        **confidence.series.condition_json(),
        "n": cell.n,
        "accuracy": confidence.accuracy.json(),
        "mean_confidence": 100 * found.mean_confidence,
        "overconfidence": found.excess.json(),
        "bins": BINS,
        "calibration_error_l1": found.l1.json(),
        "calibration_error_l2": found.l2.json(),
        "difference_from_clean": None
        if gap is None
        else {**gap.json(), "shown": confidence.is_shown},
        "sure_above": 100 * SURE,
        "sure_and_wrong": None if sure is None else sure.json(),
        "sure_errors": found.sure_errors.json(),
        "sure_errors_by_class": [
            {"class": label, "count": count} for label, count in found.sure_errors_by_class
        ],
        "disagreeing": found.disagreeing,
        "reliability": [_bin_json(each) for each in found.bins],
        "selective_accuracy": [
            {"refused": 100 * refused, "accuracy": accuracy.json()}
            for refused, accuracy in found.selective.items()
        ],
    }


def _bin_json(each: Bin) -> BinJson:
    return {
        "from": 100 * each.low,
        "to": 100 * each.high,
        "share": 100 * each.share,
        "confidence": 100 * each.confidence,
        "accuracy": each.accuracy.json(),
    }


FINDINGS.add(
    "confidence",
    FindingKind(
        find,
        json=ConfidencesJson,
        metrics={
            "calibration_error": calibration_error,
            "sure_and_wrong": sure_and_wrong,
            "selective_accuracy": selective_accuracy,
        },
    ),
)
