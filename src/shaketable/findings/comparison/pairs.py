"""Pairs of models under the same noise: their paired differences in accuracy, judged together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from shaketable.evaluation.records import Record
from shaketable.findings.groups import Condition
from shaketable.findings.mscr.numbers import estimate_accuracy_difference
from shaketable.findings.series import allow_for_looks, find_unit, meets_same_noise
from shaketable.statistics import intervals
from shaketable.statistics.difference import Difference, DifferenceJson, excludes_zero, is_shown
from shaketable.statistics.estimate import Estimate


class GapJson(DifferenceJson):
    """Difference of a pair under one corruption."""

    data: str
    corruption: str
    k: int
    seed: int
    shown: Annotated[bool, "Whether the difference is shown among all that are judged together."]


class MeanGapJson(DifferenceJson):
    """Mean difference of a pair over corruptions."""

    data: str
    corruptions: int
    shown: bool


@dataclass(frozen=True, eq=False)
class Gap:
    """Accuracy of the first model minus that of the second under one condition."""

    condition: Condition
    first: str
    second: str
    judged: int
    """Number of differences of its kind on these data, which are judged together."""

    @cached_property
    def value(self) -> Estimate:
        """The difference with its own 95 % interval."""
        first, second = (self.condition.series[label] for label in (self.first, self.second))
        return estimate_accuracy_difference(first, second)

    @cached_property
    def shown(self) -> bool:
        """Whether it differs from 0; see `is_shown`."""
        return is_shown(self.value, self.judged)

    @property
    def better(self) -> str:
        """Label of the model that is shown to be more accurate; empty if none is."""
        if not self.shown:
            return ""
        return self.first if self.value.value > 0 else self.second

    def json(self) -> GapJson:
        """Return the difference in percentage points."""
        cell = self.condition.first
        return {
            "data": cell.data,
            "corruption": cell.corruption,
            "k": cell.k,
            "seed": cell.setting.seed,
            **_difference_json(self.first, self.second, self.value),
            "shown": self.shown,
        }


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models under all conditions that they share."""

    first: str
    second: str
    gaps: tuple[Gap, ...]
    judged: int
    """Number of pairs on these data, whose means are judged together."""

    @property
    def clean(self) -> Gap | None:
        """Difference on clean points; None if it is not known."""
        return next((gap for gap in self.gaps if gap.condition.is_clean), None)

    @cached_property
    def corrupted(self) -> tuple[Gap, ...]:
        """Differences under corruptions."""
        return tuple(gap for gap in self.gaps if not gap.condition.is_clean)

    @cached_property
    def mean(self) -> Estimate | None:
        """Mean difference over several corruptions, each with the same weight.

        None for one corruption, for models of several runs, and if corruptions have other points.
        """
        cells = [gap.condition.series[self.first].noisy for gap in self.corrupted]
        points = {cell.points.id for runs in cells for cell in runs}
        if len(cells) < 2 or len(points) > 1 or any(len(runs) > 1 for runs in cells):
            return None
        pairs = [
            [gap.condition.series[label].first for label in (self.first, self.second)]
            for gap in self.corrupted
        ]
        n = min(cell.n for pair in pairs for cell in pair)  # all are of one order
        values = np.mean([(a.hits[:n] - b.hits[:n]) / a.k for a, b in pairs], axis=0)
        e = intervals.mean_of_values(values, low=-1, high=1)
        e = allow_for_looks(e, *([cell] for cell in pairs[0]), n=n)
        return replace(e, method=f"mean over {len(pairs)} corruptions, paired by point; {e.method}")

    @cached_property
    def mean_shown(self) -> bool:
        """Whether the mean differs from 0; see `is_shown`."""
        return self.mean is not None and is_shown(self.mean, self.judged)

    def at(self, condition: Condition) -> Gap | None:
        """Return the difference under a condition; None if the two do not share it."""
        return next((gap for gap in self.gaps if gap.condition is condition), None)

    def count_better(self, label: str) -> int:
        """Return the number of corruptions under which a model is shown to be more accurate.

        An empty label counts the corruptions under which neither is.
        """
        return sum(gap.better == label for gap in self.corrupted)

    @property
    def largest(self) -> Gap:
        """The largest difference in either direction, as measured."""
        return max(self.gaps, key=lambda gap: abs(gap.value.value))

    def json(self) -> MeanGapJson | None:
        """Return the mean difference in percentage points; None if there is none."""
        if self.mean is None:
            return None
        return {
            "data": self.gaps[0].condition.first.data,
            "corruptions": len(self.corrupted),
            **_difference_json(self.first, self.second, self.mean),
            "shown": self.mean_shown,
        }


def _difference_json(first: str, second: str, value: Estimate) -> DifferenceJson:
    return Difference(first, second, value, "is more accurate").json()


def compute_gaps(pairs: Iterable[Pair]) -> None:
    """Compute the differences of many pairs of fitted models at once, in a fraction of the time."""
    alike: dict[tuple[int, int, int], list[tuple[Gap, Record, Record]]] = {}
    for gap in (gap for pair in pairs for gap in pair.gaps if "value" not in vars(gap)):
        series = [gap.condition.series[label] for label in (gap.first, gap.second)]
        a, b = (s.first for s in series)
        is_stopped = any(find_unit(s.noisy) is not None for s in series)
        if series[0].runs == 1 and not is_stopped and meets_same_noise(*series):
            alike.setdefault((id(gap.condition), gap.judged, a.k), []).append((gap, a, b))
    for (_, judged, k), group in alike.items():
        first, second = [a.hits for _, a, _ in group], [b.hits for _, _, b in group]
        values, strict = (
            intervals.mean_differences(first, second, k, confidence=confidence)
            for confidence in (0.95, 1 - 0.05 / judged)
        )
        for (gap, _, _), value, narrow in zip(group, values, strict, strict=True):
            shown = excludes_zero(value) and excludes_zero(narrow)
            vars(gap).update(value=value, shown=shown)  # the cached properties


def group_by_data(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """Group conditions by their data, in their order."""
    by_data: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_data.setdefault(condition.first.fingerprint, []).append(condition)
    return list(by_data.values())


def make_pairs(conditions: Sequence[Condition], chosen: Iterable[tuple[str, str]]) -> list[Pair]:
    """Compare the models with these labels, which are judged together, on the same data."""
    shared = {
        pair: [c for c in conditions if set(pair) <= c.series.keys() and has_interval(c)]
        for pair in chosen
    }
    kinds = Counter(c.is_clean for common in shared.values() for c in common)
    pairs = sum(map(bool, shared.values()))
    return [
        Pair(*pair, tuple(Gap(c, *pair, kinds[c.is_clean]) for c in common), pairs)
        for pair, common in shared.items()
        if common
    ]


def has_interval(condition: Condition) -> bool:
    """Whether differences have an interval: not for one run in which all points share noise."""
    series = next(iter(condition.series.values()))
    return series.runs > 1 or not series.first.shares_draws
