"""Entries of a study: mean and spread over runs, by training noise and test noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict

from shaketable.core.norms import NormJson
from shaketable.findings.series import Series
from shaketable.findings.subjects import Subject
from shaketable.statistics.estimate import Estimate


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
