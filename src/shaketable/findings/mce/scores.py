"""Scores: every model under every suite that has a metric, in the numbers that all views show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from shaketable.core.errors import UndefinedError
from shaketable.core.norms import norm_title, norm_to_json, pnorm_level
from shaketable.core.spec import parse_call
from shaketable.corruptions.published import find_published_folder
from shaketable.evaluation.records import Record, Records, SuiteRecord
from shaketable.findings.mce.numbers import (
    SUITE_METRICS,
    error_change,
    mce_alexnet,
    mean_error,
    mean_error_difference,
    relative_mce_alexnet,
)
from shaketable.findings.mscr.numbers import accuracy
from shaketable.findings.series import Series, clean_beside
from shaketable.findings.subjects import subjects, told_apart
from shaketable.findings.suite_results import SuiteResult, meets_same_suite, suite_results
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_brief

TITLES = {"mce_lp": "mCE_Lp", "ice": "iCE", "mce": "mCE", "mce_15": "mCE_15", "mce_xn": "mCE_xN"}
"""Metrics of suites as people know them."""


@dataclass(frozen=True, eq=False)
class Level:
    """One corruption of a suite."""

    number: int
    """Its place in the ladder; 10 for the strongest of ten, also where weaker ones are left out."""
    result: SuiteResult

    @property
    def spec(self) -> str:
        """The corruption's spec."""
        return self.result.first.corruption

    @property
    def size(self) -> float:
        """Size of the noise, or the severity."""
        return _level(self.result.first)[2]

    @cached_property
    def error(self) -> Estimate:
        """Share of wrong answers."""
        return _mean_error(self.result)

    @cached_property
    def change(self) -> Estimate:
        """Error minus the error on clean points."""
        return error_change(self.result)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Corruptions of one norm or kind, the weakest first."""

    title: str
    """Norm for people, or name of the kind."""
    p: float | None
    """Order of the norm; None for other kinds."""
    levels: tuple[Level, ...]
    result: SuiteResult

    @cached_property
    def mean(self) -> Estimate:
        """Mean error over its levels."""
        return _mean_error(self.result)


@dataclass(frozen=True, eq=False)
class Score:
    """One model under one suite."""

    label: str
    result: SuiteResult

    @property
    def first(self) -> Record:
        """One of its cells, for what all have in common."""
        return self.result.first

    @property
    def metric(self) -> str:
        """Name of the suite's metric, for people."""
        return TITLES[self.result.suite.metric]

    @cached_property
    def value(self) -> Estimate | None:
        """The suite's metric; None where it is undefined."""
        try:
            return _no_negative_zero(SUITE_METRICS[self.result.suite.metric](self.result))
        except UndefinedError:
            return None

    @cached_property
    def mean(self) -> Estimate:
        """Mean error over the whole suite."""
        return _mean_error(self.result)

    @cached_property
    def clean(self) -> Estimate:
        """Error on clean points."""
        right = accuracy(clean_beside(self.result.series[0]))
        return replace(right, value=1 - right.value, low=1 - right.high, high=1 - right.low)

    @cached_property
    def ladders(self) -> tuple[Ladder, ...]:
        """The suite norm by norm; other kinds of corruptions the worst first."""
        parts: dict[tuple[str, float | None], list[Series]] = {}
        for s in sorted(self.result.series, key=lambda s: _level(s.first)[1:]):
            title, p, _ = _level(s.first)
            parts.setdefault((title, None if p < 0 else p), []).append(s)
        most = max(map(len, parts.values()))
        found = [self._ladder(*key, part, most - len(part)) for key, part in parts.items()]
        return tuple(sorted(found, key=lambda f: -f.mean.value if f.p is None else f.p))

    def _ladder(self, title: str, p: float | None, part: list[Series], left_out: int) -> Ladder:
        levels = (
            Level(number, replace(self.result, series=(s,)))
            for number, s in enumerate(part, start=left_out + 1)
        )
        return Ladder(title, p, tuple(levels), replace(self.result, series=tuple(part)))

    @cached_property
    def against_alexnet(self) -> dict[str, Estimate]:
        """ImageNet's own metrics, where the benchmark's 15 kinds were met at 224 pixels."""
        calls = [parse_call(s.first.corruption) for s in self.result.series]
        if self.result.suite.metric not in ("mce", "mce_15") or any(
            "imagenet" not in call.args for call in calls
        ):
            return {}
        return {
            "mCE relative to AlexNet's": mce_alexnet(self.result),
            "relative mCE": relative_mce_alexnet(self.result),
        }

    @property
    def worst(self) -> Ladder:
        """The norm or kind with the highest mean error as measured."""
        return max(self.ladders, key=lambda ladder: ladder.mean.value)

    @property
    def meaning(self) -> str:
        """What the metric says, in words that claim no more than its interval."""
        return self._ice_meaning() if self.result.suite.metric == "ice" else self._mean_meaning()

    def __str__(self) -> str:
        signed = self.result.suite.metric == "ice"
        value = "undefined" if self.value is None else format_brief(self.value, signed=signed)
        return f"{self.metric} {value}: {self.meaning}"

    def _mean_meaning(self) -> str:
        words = (
            f"mean error over {len(self.result.series)} corruptions, "
            f"against {format_brief(self.clean)} on clean points"
        )
        for name, value in self.against_alexnet.items():
            words += f"; {name} {value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
        if self.worst.mean.value <= self.clean.value:
            return words
        what, kind = ("norms", " noise") if self.worst.p is not None else ("kinds", "")
        highest = f"{self.worst.title}{kind}, {format_brief(self.worst.mean)}"
        return f"{words}; the highest of {len(self.ladders)} {what}, as measured, is {highest}"

    def _ice_meaning(self) -> str:
        kind = "noises derived from ones" if self.result.suite.derived else "noises"
        noises = f"{len(self.result.series)} {kind} published as imperceptible"
        value = self.value
        if value is None:
            return (
                "there is no error on clean points to compare with; the mean error under "
                f"{noises} is {format_brief(self.mean)}"
            )
        if value.low > 0 or value.high < 0:
            word = "more" if value.low > 0 else "fewer"
            return (
                f"under {noises} it makes {abs(value.value):.2%} {word} errors than on clean "
                "points (0 would be as many)"
            )
        return (
            f"no change shown; under {noises} it may make up to {-value.low:.2%} fewer or "
            f"{value.high:.2%} more errors than on clean points (0 would be as many)"
        )

    def json(self) -> dict[str, Any]:
        """Score as an object, in per cent."""
        cell, suite, value = self.first, self.result.suite, self.value
        return {
            "model": cell.model,
            "label": self.label,
            "data": cell.data,
            "suite": suite.name,
            "derived": suite.derived or None,
            "published": find_published_folder(suite.specs) or None,
            "metric_name": suite.metric,
            "metric": None if value is None else {**value.json(), "method": value.method},
            "meaning": self.meaning,
            **{name: value.json() for name, value in self.against_alexnet.items()},
            "clean": self.clean.json(),
            "ladders": [
                {"name": part.title, **_order(part.p), **part.mean.json()} for part in self.ladders
            ],
            "cells": [
                {
                    "corruption": level.spec,
                    **_order(part.p),
                    ("severity" if part.p is None else "epsilon"): level.size,
                    "error": level.error.json(),
                }
                for part in self.ladders
                for level in part.levels
            ],
            "n": cell.n,
            "k": cell.k,
            "draws": cell.draws,
            "noise": cell.noise,
            "seed": cell.seed,
            "bounds": cell.bounds,
        }


@dataclass(frozen=True, eq=False)
class Scoreboard:
    """All models under one suite on the same data."""

    suite: SuiteRecord
    scores: tuple[Score, ...]

    @property
    def sizes(self) -> str:
        """Where the sizes of its noise are from."""
        if self.suite.metric in ("mce_lp", "ice"):
            return f"sizes {self.suite.derived}" if self.suite.derived else "published sizes"
        if folder := find_published_folder(self.suite.specs):
            return f"published pictures from {folder}"
        made = self.suite.derived or "generated with the published severities"
        frost = [parse_call(spec) for spec in self.suite.specs if spec.startswith("frost(")]
        if not frost:
            return made
        return f"{made}; frost from {frost[0].options.get('textures', 'textures of our own')}"

    @property
    def data(self) -> str:
        """Name of the data."""
        return self.scores[0].first.data

    @property
    def labels(self) -> list[str]:
        """Names of the models."""
        return [score.label for score in self.scores]

    @property
    def levels(self) -> int:
        """Sizes that a norm has at most."""
        return max(ladder.levels[-1].number for ladder in self.scores[0].ladders)

    @cached_property
    def differences(self) -> list[Difference]:
        """Paired differences in mean errors; there are none in iCE."""
        if self.suite.metric == "ice":
            return []
        return [
            Difference(
                a.label, b.label, mean_error_difference(a.result, b.result),
                "makes fewer errors", lower_is_better=True,
            )
            for a, b in combinations(self.scores, 2)
            if meets_same_suite(a.result, b.result)
        ]  # fmt: skip


def scoreboards(records: Records) -> list[Scoreboard]:
    """Every suite that has a metric and was met completely, with all models that met it."""
    order = [(s.first.fingerprint, s.first.recipe) for s in subjects(records)]
    found: dict[SuiteRecord, list[SuiteResult]] = {}
    for r in suite_results(records):
        if r.suite.metric in SUITE_METRICS:
            found.setdefault(r.suite, []).append(r)
    boards = []
    for results in found.values():
        results.sort(key=lambda r: order.index((r.first.fingerprint, r.first.recipe)))
        boards.append(Scoreboard(results[0].suite, tuple(map(Score, labels_of(results), results))))
    return boards


def unfinished(records: Records) -> list[str]:
    """Suites that no model met completely, such as after an interruption: a sentence each."""
    complete = {result.suite for result in suite_results(records)}
    sentences = []
    for suite in records.suites:
        met = {c.corruption for c in records if c.fingerprint == suite.fingerprint}
        count = len(met & set(suite.specs))
        if suite not in complete and count:
            sentences.append(
                f"suite {suite.name} is not finished, {count} of {len(suite.specs)} corruptions "
                "were met, so it has no metric; run the same command again with the same --store"
            )
    return sentences


def suites_json(boards: Sequence[Scoreboard]) -> dict[str, Any]:
    """Scores and their differences as one object; an empty one without suites."""
    if not boards:
        return {}
    return {
        "suites": [score.json() for board in boards for score in board.scores],
        "suite_differences": [
            {"suite": board.suite.name, **d.json()} for board in boards for d in board.differences
        ],
    }


def labels_of(results: Sequence[SuiteResult]) -> list[str]:
    """Name of every model, and whatever else tells it from others."""
    facts = [
        {
            "train": f"training noise {c.train}",
            "k": f"k = {c.k}",
            "seed": f"seed {c.seed}",
            "bounds": f"bounds {c.bounds}",
            "draws": f"{c.draws} draws",
            "noise": f"noise made on the {c.noise}",
        }
        for c in (r.first for r in results)
    ]
    return told_apart([r.first.model for r in results], facts)


def _mean_error(result: SuiteResult) -> Estimate:
    """Mean error under a suite or a part of it."""
    return _no_negative_zero(mean_error(result))


def _no_negative_zero(e: Estimate) -> Estimate:
    return replace(e, low=e.low + 0.0)


def _level(cell: Record) -> tuple[str, float, float]:
    """Norm or kind for people, the order of the norm (-1 for none), and size or severity."""
    level = pnorm_level(cell.corruption)
    if level is not None:
        return norm_title(level[0]), *level
    call = parse_call(cell.corruption)
    return call.name, -1.0, float(call.args[0])


def _order(p: float | None) -> dict[str, Any]:
    return {} if p is None else {"p": norm_to_json(p)}
