"""Entries of a study: mean and spread over runs, by training noise and test noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypedDict

from shaketable.core.norms import NormJson
from shaketable.findings.mscr.numbers import estimate_accuracy_difference
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.study import view
from shaketable.findings.subjects import Subject, get_training_size
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson


class TrainedJson(TypedDict):
    """A model of a study, its setting and its training noise."""

    model: str
    data: str
    norm: NormJson | None
    k: int
    seed: int
    draws: str
    bounds: str
    train_eps: float | None


class OverRunsJson(TypedDict):
    """Mean and spread over runs, in per cent; null where it is undefined."""

    mean: float | None
    sd: Annotated[float | None, "Standard deviation over runs; null for one run."]
    runs: int
    low: float | None
    high: float | None


class StudyMSCRJson(TrainedJson, OverRunsJson):
    """MSCR of a model of a study."""


class StudyAccuracyJson(StudyMSCRJson):
    """Accuracy of a model of a study under one test noise."""

    test_eps: float | None


@dataclass(frozen=True, eq=False)
class StudyEntry:
    """An accuracy or an MSCR of a study: mean and standard deviation over runs, as fractions."""

    subject: Subject
    train_eps: float
    test_eps: float | None
    """None for MSCR."""
    estimate: Estimate | None
    """None if MSCR is undefined."""
    sd: float | None
    """None for a single run."""
    runs: int
    k: int
    """Draws per point; 1 on clean points."""

    def accuracy_json(self) -> StudyAccuracyJson:
        """Return an accuracy in per cent."""
        return {**self._trained_json(), "test_eps": self.test_eps, **self._values_json()}

    def mscr_json(self) -> StudyMSCRJson:
        """Return an MSCR in per cent."""
        return {**self._trained_json(), **self._values_json()}

    def _trained_json(self) -> TrainedJson:
        cell = self.subject.first
        return {
            "model": self.subject.label,
            "data": cell.data,
            "norm": self.subject.norm_json,
            "k": self.k,
            "seed": cell.setting.seed,
            "draws": cell.setting.draws,
            "bounds": cell.setting.bounds,
            "train_eps": self.train_eps,
        }

    def _values_json(self) -> OverRunsJson:
        e = self.estimate
        return {
            "mean": None if e is None else 100 * e.value,
            "sd": None if self.sd is None else 100 * self.sd,
            "runs": self.runs,
            "low": None if e is None else 100 * e.low,
            "high": None if e is None else 100 * e.high,
        }


def list_accuracies(subject: Subject) -> list[StudyEntry]:
    """Return the accuracies of a study, one entry per training noise and test noise."""
    return [
        StudyEntry(
            subject,
            train_eps=s.first.train_epsilon or 0.0,
            test_eps=s.first.epsilon,
            estimate=s.accuracy,
            sd=float(s.accuracies.std(ddof=1)) if s.runs > 1 else None,
            runs=s.runs,
            k=s.first.k,
        )
        for s in subject.all_series
        if s.first.epsilon is not None
    ]


def list_mscr(subject: Subject) -> list[StudyEntry]:
    """Return the MSCR values of a study, one entry per training noise."""
    return [
        StudyEntry(
            subject,
            train_eps=s.first.train_epsilon or 0.0,
            test_eps=None,
            estimate=s.change,
            sd=_compute_sd(s),
            runs=s.runs,
            k=s.first.k,
        )
        for s in subject.at_eps_min
    ]


def _compute_sd(series: Series) -> float | None:
    if series.runs == 1 or series.change is None:
        return None
    return float(series.relative_losses.std(ddof=1))


Position = Literal["below", "on", "above", "off"]


class RowOptimumJson(TypedDict):
    """The best training noise of one test noise."""

    model: str
    data: str
    norm: NormJson | None
    test_eps: float
    best: Annotated[float, "Training noise, as measured."]
    may_be_best: Annotated[list[float], "Training noises that are not shown to be worse."]
    position: Annotated[
        Position | None,
        "Against the diagonal; below is less noise in training than in test; null without training "
        "noise of this size.",
    ]
    over_diagonal: Annotated[
        EstimateWithMethodJson | None,
        "Accuracy of the best minus that on the diagonal, in percentage points.",
    ]


@dataclass(frozen=True, eq=False)
class RowOptimum:
    """The best training noise under one test noise."""

    subject: Subject
    levels: tuple[Series, ...]
    """The model under the test noise, one series per training noise, the weakest first."""
    judged: int
    """Number of differences in the matrix that are judged together."""

    @property
    def test_eps(self) -> float:
        """Size of the test noise."""
        return self.levels[0].first.epsilon or 0.0

    @cached_property
    def best(self) -> Series:
        """The series with the highest mean accuracy as measured."""
        return max(self.levels, key=lambda s: s.accuracy.value)

    @cached_property
    def candidates(self) -> tuple[Series, ...]:
        """Series that may be the best."""
        return tuple(
            s
            for s in self.levels
            if s is self.best
            or not is_shown(estimate_accuracy_difference(s, self.best), self.judged)
        )

    @property
    def diagonal(self) -> Series | None:
        """The series with the same noise in training and test; None if there is none.

        Noise of the same size in another norm is other noise.
        """
        return next((s for s in self.levels if s.first.train == s.first.corruption), None)

    @property
    def position(self) -> Position | None:
        """Where the best training noise lies against the diagonal; None without a diagonal.

        ``below``: there is less noise in training than in test; ``on``: it may be the same;
        ``off``: it is not the same, but may be either.
        """
        if self.diagonal is None:
            return None
        if self.diagonal in self.candidates:
            return "on"
        sides = {get_training_size(s) < self.test_eps for s in self.candidates}
        if len(sides) > 1:
            return "off"
        return "below" if sides == {True} else "above"

    @cached_property
    def over_diagonal(self) -> Estimate | None:
        """Accuracy of the best as measured minus that on the diagonal, paired; None if it is it."""
        if self.diagonal is None or self.diagonal is self.best:
            return None
        return estimate_accuracy_difference(self.best, self.diagonal)

    @property
    def words(self) -> str:
        """Where it lies, in words."""
        return view.describe_position(self.position)

    def json(self) -> RowOptimumJson:
        """Return sizes of noise, and the difference from the diagonal in percentage points."""
        over = self.over_diagonal
        return {
            "model": self.subject.label,
            "data": self.subject.first.data,
            "norm": self.subject.norm_json,
            "test_eps": self.test_eps,
            "best": get_training_size(self.best),
            "may_be_best": [get_training_size(s) for s in self.candidates],
            "position": self.position,
            "over_diagonal": None if over is None else over.json_with_method(),
        }


def list_optima(subject: Subject) -> list[RowOptimum]:
    """Return the row optima of a model, by test noise; only rows with two training noises."""
    rows: dict[float, list[Series]] = {}
    for s in subject.all_series:
        if s.first.epsilon is not None and (s.runs > 1 or not s.first.shares_draws):
            row = rows.setdefault(s.first.epsilon, [])
            if not row or meets_same_noise(s, row[0]):
                row.append(s)
    kept = {size: row for size, row in rows.items() if len(row) > 1}
    judged = sum(len(row) - 1 for row in kept.values())
    return [RowOptimum(subject, tuple(kept[size]), judged) for size in sorted(kept)]
