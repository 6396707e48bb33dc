"""Scores: every model under every suite that is scored by its mean error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, TypedDict, cast

from shaketable.core.errors import UndefinedError
from shaketable.core.norms import NormJson, norm_title, norm_to_json
from shaketable.core.spec import parse_call
from shaketable.corruptions.published import find_published_folder
from shaketable.evaluation.records import Record, SuiteRecord
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce import view
from shaketable.findings.mce.numbers import (
    SUITE_METRICS,
    error_change,
    mce_alexnet,
    mean_error,
    mean_error_difference,
    relative_mce_alexnet,
)
from shaketable.findings.series import ModelJson, Series
from shaketable.findings.subjects import make_suite_labels
from shaketable.findings.suite_results import PARTS, SuiteResult, meets_same_suite, take_part
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate, EstimateJson, EstimateWithMethodJson

TITLES = {"mce_lp": "mCE_Lp", "ice": "iCE", "mce": "mCE", "mce_15": "mCE_15", "mce_xn": "mCE_xN"}
"""Metrics of suites as the papers write them."""


class OfNormJson(TypedDict, total=False):
    """Norm of noise; without it for other corruptions."""

    p: NormJson


class LadderJson(OfNormJson, EstimateJson):
    """Mean error of a norm or kind."""

    name: str


class LevelSizeJson(OfNormJson, total=False):
    """Severity of a corruption, or norm and size of noise."""

    severity: int
    epsilon: float


class LevelJson(LevelSizeJson):
    """Error under one corruption of a suite."""

    corruption: str
    k: int
    error: EstimateJson


AlexNetJson = TypedDict(
    "AlexNetJson",
    {"mCE relative to AlexNet's": EstimateJson, "relative mCE": EstimateJson},
    total=False,
)


class ScoreJson(ModelJson, AlexNetJson):
    """Score of a model under a suite."""

    suite: str
    part_of: Annotated[str | None, "Evaluated suite, if the score is that of a part of it."]
    derived: Annotated[str | None, "How the sizes were derived; null for published sizes."]
    published: Annotated[
        str | None, "Published set that was read; null if the images were generated."
    ]
    metric_name: str
    metric: EstimateWithMethodJson | None
    meaning: str
    clean: Annotated[EstimateJson, "Error on clean points."]
    ladders: Annotated[list[LadderJson], "Mean error of every norm or kind."]
    cells: list[LevelJson]
    n: int
    k: int
    seed: int
    draws: str
    noise: Annotated[str, "Where noise was drawn: cpu or device."]
    bounds: str


@dataclass(frozen=True, eq=False)
class Level:
    """One corruption of a suite."""

    number: int
    """Its place in the ladder; the strongest of ten is 10 even if weaker ones are left out."""
    result: SuiteResult

    @property
    def spec(self) -> str:
        """The corruption's spec."""
        return self.result.first.corruption

    @property
    def size(self) -> float:
        """Size of the noise, or the severity."""
        return _parse_level(self.result.first)[2]

    @cached_property
    def error(self) -> Estimate:
        """Share of wrong answers."""
        return _estimate_mean_error(self.result)

    @cached_property
    def change(self) -> Estimate:
        """Error minus the error on clean points."""
        return error_change(self.result)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Corruptions of one norm or kind, the weakest first."""

    title: str
    """Name of the norm or of the kind."""
    p: float | None
    """Order of the norm; None for other kinds."""
    levels: tuple[Level, ...]
    result: SuiteResult

    @cached_property
    def mean(self) -> Estimate:
        """Mean error over its levels."""
        if len(self.levels) == 1:
            return self.levels[0].error
        return _estimate_mean_error(self.result)


@dataclass(frozen=True, eq=False)
class Score:
    """One model under one suite."""

    label: str
    result: SuiteResult

    @property
    def first(self) -> Record:
        """One of its cells, for settings that all cells share."""
        return self.result.first

    @property
    def metric(self) -> str:
        """Name of the suite's metric as the papers write it."""
        return TITLES[self.result.suite.metric]

    @cached_property
    def value(self) -> Estimate | None:
        """The suite's metric; None if it is undefined."""
        try:
            return _remove_negative_zero(SUITE_METRICS[self.result.suite.metric](self.result))
        except UndefinedError:
            return None

    @cached_property
    def mean(self) -> Estimate:
        """Mean error over the whole suite."""
        return _estimate_mean_error(self.result)

    @cached_property
    def change(self) -> Estimate:
        """Mean error minus the error on clean points, paired by point."""
        return error_change(self.result)

    @cached_property
    def clean(self) -> Estimate:
        """Error on clean points."""
        return self.result.series[0].on_clean.accuracy.subtract_from(1)

    @cached_property
    def ladders(self) -> tuple[Ladder, ...]:
        """One ladder per norm, in order of p, or per kind of corruption, the worst first."""
        parts: dict[tuple[str, float | None], list[Series]] = {}
        for s in sorted(self.result.series, key=lambda s: _parse_level(s.first)[1:]):
            title, p, _ = _parse_level(s.first)
            parts.setdefault((title, None if p < 0 else p), []).append(s)
        most = max(map(len, parts.values()))
        ladders = [self._make_ladder(*key, part, most - len(part)) for key, part in parts.items()]
        return tuple(sorted(ladders, key=lambda x: -x.mean.value if x.p is None else x.p))

    def _make_ladder(
        self, title: str, p: float | None, part: list[Series], left_out: int
    ) -> Ladder:
        levels = (
            Level(number, replace(self.result, series=(s,)))
            for number, s in enumerate(part, start=left_out + 1)
        )
        return Ladder(title, p, tuple(levels), replace(self.result, series=tuple(part)))

    @cached_property
    def against_alexnet(self) -> dict[str, Estimate]:
        """Metrics of ImageNet-C, if its 15 kinds were evaluated on images of 224 pixels."""
        calls = [parse_call(s.first.corruption) for s in self.result.series]
        if self.result.suite.metric not in ("mce", "mce_15") or any(
            "imagenet" not in call.args for call in calls
        ):
            return {}
        return {
            "mCE relative to AlexNet's": mce_alexnet(self.result),
            "relative mCE": relative_mce_alexnet(self.result),
        }

    @cached_property
    def worst(self) -> Ladder:
        """The norm or kind with the highest mean error as measured."""
        return max(self.ladders, key=lambda ladder: ladder.mean.value)

    @cached_property
    def meaning(self) -> str:
        """Sentence about the metric that claims no more than its interval."""
        return view.describe_score(self)

    def __str__(self) -> str:
        return f"{self.metric} {view.format_metric(self)}: {self.meaning}"

    def json(self) -> ScoreJson:
        """Return all numbers in per cent."""
        cell, suite, value = self.first, self.result.suite, self.value
        return {
            "model": cell.model,
            "label": self.label,
            "data": cell.data,
            "suite": suite.name,
            "part_of": self.result.part_of or None,
            "derived": suite.derived or None,
            "published": find_published_folder(suite.specs) or None,
            "metric_name": suite.metric,
            "metric": None if value is None else value.json_with_method(),
            "meaning": self.meaning,
            **cast(AlexNetJson, {name: e.json() for name, e in self.against_alexnet.items()}),
            "clean": self.clean.json(),
            "ladders": [
                {"name": part.title, **_norm_json(part.p), **part.mean.json()}
                for part in self.ladders
            ],
            "cells": [
                {
                    "corruption": level.spec,
                    **_size_json(part.p, level.size),
                    "k": level.result.first.k,
                    "error": level.error.json(),
                }
                for part in self.ladders
                for level in part.levels
            ],
            "n": cell.n,
            "k": cell.k,
            "draws": cell.setting.draws,
            "noise": cell.setting.noise,
            "seed": cell.setting.seed,
            "bounds": cell.setting.bounds,
        }


@dataclass(frozen=True, eq=False)
class Scoreboard:
    """All models under one suite on the same data."""

    suite: SuiteRecord
    scores: tuple[Score, ...]
    parts: tuple[Scoreboard, ...] = ()
    """Boards of suites that this one contains, such as common-15 in common-19."""

    @cached_property
    def sizes(self) -> str:
        """Source of the sizes of its corruptions."""
        if self.suite.metric in ("mce_lp", "ice"):
            return f"sizes {self.suite.derived}" if self.suite.derived else "published sizes"
        if folder := find_published_folder(self.suite.specs):
            return f"published images from {folder}"
        parts = [self.suite.derived or "generated with the published severities"]
        calls = [parse_call(spec) for spec in self.suite.specs]
        if frost := [call for call in calls if call.name == "frost"]:
            parts.append(f"frost from {frost[0].options.get('textures', 'generated textures')}")
        if calls and (quality := calls[0].options.get("jpeg")):
            parts.append(f"then JPEG of quality {quality:g}")
        return "; ".join(parts)

    @property
    def of_norms(self) -> bool:
        """Whether its corruptions are p-norm noise."""
        return self.scores[0].ladders[0].p is not None

    @property
    def data(self) -> str:
        """Name of the data."""
        return self.scores[0].first.data

    @property
    def labels(self) -> list[str]:
        """Names of the models."""
        return [score.label for score in self.scores]

    @cached_property
    def levels(self) -> int:
        """Largest number of levels of any norm or kind."""
        return max(ladder.levels[-1].number for ladder in self.scores[0].ladders)

    @cached_property
    def differences(self) -> list[Difference]:
        """Paired differences in mean error of every two models; none for iCE."""
        if self.suite.metric == "ice":
            return []
        return [
            Difference(
                a.label,
                b.label,
                mean_error_difference(a.result, b.result),
                "makes fewer errors",
                lower_is_better=True,
            )
            for a, b in combinations(self.scores, 2)
            if meets_same_suite(a.result, b.result)
        ]


def make_boards(groups: RecordGroups) -> list[Scoreboard]:
    """Return one board per suite that is scored by its mean error and was evaluated completely.

    A board also has those of the suites that are contained in its own and were not evaluated.
    """
    order = [(s.first.fingerprint, s.first.recipe) for s in groups.subjects]
    by_suite: dict[SuiteRecord, list[SuiteResult]] = {}
    for result in groups.suite_results:
        if result.suite.metric in SUITE_METRICS:
            by_suite.setdefault(result.suite, []).append(result)
    boards = []
    for suite, results in by_suite.items():
        results.sort(key=lambda r: order.index((r.first.fingerprint, r.first.recipe)))
        scores = tuple(map(Score, make_suite_labels(results), results))
        known = {s.metric for s in by_suite if s.fingerprint == suite.fingerprint}
        boards.append(Scoreboard(suite, scores, _make_parts(scores, known)))
    return boards


def _make_parts(scores: tuple[Score, ...], known: set[str]) -> tuple[Scoreboard, ...]:
    """Return boards for the metrics that parts of a suite have, except the known ones."""
    boards = []
    for metric in (metric for metric in PARTS if metric not in known):
        parts = [(score.label, take_part(score.result, metric)) for score in scores]
        part_scores = tuple(Score(label, part) for label, part in parts if part is not None)
        if part_scores:
            boards.append(Scoreboard(part_scores[0].result.suite, part_scores))
    return tuple(boards)


def _estimate_mean_error(result: SuiteResult) -> Estimate:
    """Return the mean error under a suite or a part of it."""
    return _remove_negative_zero(mean_error(result))


def _remove_negative_zero(e: Estimate) -> Estimate:
    return replace(e, low=e.low + 0.0)


def _parse_level(cell: Record) -> tuple[str, float, float]:
    """Return the name of the norm or kind, the norm's order (-1 for none), and size or severity."""
    if cell.level is not None:
        return norm_title(cell.level.p), *cell.level
    call = parse_call(cell.corruption)
    return call.name, -1.0, float(call.args[0])


def _norm_json(p: float | None) -> OfNormJson:
    return {} if p is None else {"p": norm_to_json(p)}


def _size_json(p: float | None, size: float) -> LevelSizeJson:
    return {"severity": int(size)} if p is None else {"p": norm_to_json(p), "epsilon": size}
