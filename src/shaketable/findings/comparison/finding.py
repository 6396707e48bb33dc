"""The finding: paired differences in accuracy of models, on clean points and everywhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, groupby
from typing import Annotated, NotRequired, TypedDict

import numpy as np

from shaketable.core.checks import list_names
from shaketable.evaluation.records import Record
from shaketable.findings.comparison.view import make_blocks
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.findings.mscr.numbers import estimate_accuracy_difference
from shaketable.findings.series import allow_for_looks, find_unit, meets_same_noise
from shaketable.findings.subjects import choose_reference
from shaketable.statistics import intervals
from shaketable.statistics.difference import Difference, DifferenceJson, excludes_zero, is_shown
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

MAX_PAIRS = 10
"""Of more models than make so many pairs, each is compared with one reference only."""


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


class ComparisonJson(TypedDict):
    """Paired differences in accuracy."""

    accuracy_differences: Annotated[
        list[GapJson],
        "Accuracy of the first model minus that of the second, per pair and corruption.",
    ]
    mean_accuracy_differences: Annotated[
        list[MeanGapJson], "The same on average over all corruptions that a pair shares."
    ]
    accuracy_rankings: NotRequired[
        Annotated[
            list[RankingJson],
            "Of three models or more, each two of which are compared: which may be the most "
            "accurate.",
        ]
    ]


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


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """All pairs of models, on clean points and under every corruption."""

    pairs: tuple[Pair, ...]

    @cached_property
    def conditions(self) -> list[Condition]:
        """All conditions of the pairs, in order."""
        return list(dict.fromkeys(gap.condition for pair in self.pairs for gap in pair.gaps))

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Which models may be the most accurate, of three or more on the same data."""
        return rank_models(self.pairs)

    def json(self) -> ComparisonJson:
        """Return every difference, and the means over corruptions, in percentage points."""
        compute_gaps(self.pairs)
        means = [pair.json() for pair in self.pairs]
        return {
            "accuracy_differences": [gap.json() for pair in self.pairs for gap in pair.gaps],
            "mean_accuracy_differences": [mean for mean in means if mean is not None],
            "accuracy_rankings": [ranking.json() for ranking in self.rankings],
        }

    def blocks(self) -> list[Block]:
        """Return the answer, then all differences."""
        compute_gaps(self.pairs)
        return make_blocks(self)


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


def find(groups: RecordGroups) -> Comparison | None:
    """Take the finding from records; None without two models under the same noise."""
    pairs = [
        pair
        for conditions in group_by_data(groups.conditions)
        for pair in make_pairs(conditions, _choose_pairs(conditions, groups.reference))
    ]
    return Comparison(tuple(pairs)) if pairs else None


def group_by_data(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """Group conditions by their data, in their order."""
    by_data: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_data.setdefault(condition.first.fingerprint, []).append(condition)
    return list(by_data.values())


def make_pairs(conditions: Sequence[Condition], chosen: Iterable[tuple[str, str]]) -> list[Pair]:
    """Compare the models with these labels, which are judged together, on the same data."""
    shared = {
        pair: [c for c in conditions if set(pair) <= c.series.keys() and _has_interval(c)]
        for pair in chosen
    }
    kinds = Counter(c.is_clean for common in shared.values() for c in common)
    pairs = sum(map(bool, shared.values()))
    return [
        Pair(*pair, tuple(Gap(c, *pair, kinds[c.is_clean]) for c in common), pairs)
        for pair, common in shared.items()
        if common
    ]


def _choose_pairs(conditions: Sequence[Condition], reference: str) -> list[tuple[str, str]]:
    """Return the pairs of labels to compare.

    Models as given are compared with each other, or with the reference if there are many. Of a
    study, models with the same training noise are compared, and every training noise with the
    first one of the same model.
    """
    models = {label: s.first for c in conditions for label, s in c.series.items()}
    fitted = [label for label, cell in models.items() if cell.train_epsilon is None]
    pairs = list(combinations(fitted, 2))
    if len(pairs) > MAX_PAIRS:
        base, _ = choose_reference(fitted, reference if reference in fitted else "")
        pairs = [(label, base) for label in fitted if label != base]
    studied = [(label, cell) for label, cell in models.items() if cell.train_epsilon is not None]
    weakest: dict[str, str] = {}
    for label, cell in sorted(studied, key=lambda item: item[1].train_epsilon or 0.0):
        weakest.setdefault(cell.recipe, label)
    for (a, first), (b, second) in combinations(studied, 2):
        to_weakest = first.recipe == second.recipe and weakest[first.recipe] in (a, b)
        if first.train == second.train or to_weakest:
            pairs.append((a, b))
    return pairs


def _has_interval(condition: Condition) -> bool:
    """Whether differences have an interval: not for one run in which all points share noise."""
    series = next(iter(condition.series.values()))
    return series.runs > 1 or not series.first.shares_draws


class RankingJson(TypedDict):
    """Which of several models may be the most accurate."""

    data: str
    under: str
    most_accurate: Annotated[list[str], "Models than which none is shown to be more accurate."]
    less_accurate: list[str]


@dataclass(frozen=True)
class Ranking:
    """Models that are compared with each other, by whether one is shown to be better."""

    data: str
    under: str
    """On what: ``clean points``, a corruption, or the average over several."""
    best: tuple[str, ...]
    """Labels of the models than which none is shown to be better, as measured the best first."""
    worse: tuple[str, ...]
    """Labels of the others, in the same order."""

    @property
    def words(self) -> str:
        """Which models may be the most accurate, as a sentence."""
        if not self.worse:
            return f"{self.under}: all differences between {_join(self.best)} may be chance"
        if len(self.best) == 1:
            return f"{self.under}: {self.best[0]} is the most accurate, before {_join(self.worse)}"
        are = "is less accurate" if len(self.worse) == 1 else "are less accurate"
        return (
            f"{self.under}: the most accurate is one of {_join(self.best)}, whose differences may "
            f"be chance; {_join(self.worse)} {are}"
        )

    def json(self) -> RankingJson:
        """Return the models by whether one is shown to be better."""
        return {
            "data": self.data,
            "under": self.under,
            "most_accurate": list(self.best),
            "less_accurate": list(self.worse),
        }


def rank_models(pairs: Iterable[Pair]) -> list[Ranking]:
    """Rank models of which each two are compared: on clean points, and under corruptions.

    Differences are judged together, so the most accurate model is among those than which none is
    shown to be better, with the same confidence as every difference. Of several corruptions, the
    mean counts. Two models are a pair, and need no ranking.
    """
    by_data = groupby(pairs, key=lambda pair: pair.gaps[0].condition.first.fingerprint)
    rankings: list[Ranking | None] = []
    for _, of_data in by_data:
        same = list(of_data)
        n = len({label for pair in same for label in (pair.first, pair.second)})
        if n < 3 or len(same) < n * (n - 1) // 2:
            continue
        rankings.append(_rank(same, "on clean points", _compare_clean))
        conditions = {gap.condition.noise: None for pair in same for gap in pair.corrupted}
        if len(conditions) == 1:
            rankings.append(_rank(same, f"under {next(iter(conditions))}", _compare_corrupted))
        elif conditions:
            under = f"on average over {len(conditions)} corruptions"
            rankings.append(_rank(same, under, _compare_means))
    return [ranking for ranking in rankings if ranking is not None]


def _compare_clean(pair: Pair) -> tuple[float, bool] | None:
    gap = pair.clean
    return None if gap is None else (gap.value.value, gap.shown)


def _compare_corrupted(pair: Pair) -> tuple[float, bool] | None:
    return (pair.corrupted[0].value.value, pair.corrupted[0].shown) if pair.corrupted else None


def _compare_means(pair: Pair) -> tuple[float, bool] | None:
    return None if pair.mean is None else (pair.mean.value, pair.mean_shown)


def _rank(
    pairs: Sequence[Pair], under: str, compare: Callable[[Pair], tuple[float, bool] | None]
) -> Ranking | None:
    """Rank by the difference of each pair and whether it is shown; None if one has none."""
    ahead: dict[str, float] = {}
    beaten: set[str] = set()
    for pair in pairs:
        difference = compare(pair)
        if difference is None:
            return None
        value, shown = difference
        ahead[pair.first] = ahead.get(pair.first, 0.0) + value
        ahead[pair.second] = ahead.get(pair.second, 0.0) - value
        if shown:
            beaten.add(pair.second if value > 0 else pair.first)
    order = sorted(ahead, key=lambda label: -ahead[label])  # that of the accuracies
    return Ranking(
        pairs[0].gaps[0].condition.first.data,
        under,
        tuple(label for label in order if label not in beaten),
        tuple(label for label in order if label in beaten),
    )


def _join(labels: Sequence[str]) -> str:
    if len(labels) > 5:
        return list_names(labels)
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last


FINDINGS.add("comparison", FindingKind(find, json=ComparisonJson))
