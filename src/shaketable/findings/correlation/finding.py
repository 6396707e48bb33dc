"""The finding: correlations of all metrics over the models on the same data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, TypedDict

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import split_top_level
from shaketable.evaluation.records import Records
from shaketable.findings.correlation import view
from shaketable.findings.correlation.numbers import (
    Correlation,
    CorrelationJson,
    Values,
    correlate_all,
    group_by_data,
    list_values,
    make_correlation,
)
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.statistics.difference import judge_together
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

METRICS = ("error", "mscr", "mce", "mce_lp", "ice", "mean_accuracy", "cv")
"""Metrics that are correlated, if models have them."""

MIN_MODELS = 10
"""Models on the same data from which the finding is shown."""


class JudgedCorrelationJson(CorrelationJson):
    """Two metrics over the models on the same data, judged with others."""

    shown: Annotated[bool, "Whether Spearman's is other than 0, all judged together (Holm)."]


class AskedCorrelationsJson(TypedDict):
    """Correlations that were asked for, one per data set."""

    correlations: list[CorrelationJson]


class CorrelationsJson(TypedDict, total=False):
    """Correlations of all metrics, or of those that were asked for."""

    correlations: Annotated[
        list[CorrelationJson], "Correlations that were asked for, one per data set."
    ]
    metric_correlations: Annotated[
        list[JudgedCorrelationJson],
        "Correlations of every two metrics over ten models or more on the same data.",
    ]


@dataclass(frozen=True, eq=False)
class Correlations(Displayed):
    """Every two metrics over the models on the same data."""

    pairs: tuple[Correlation, ...]

    @cached_property
    def shown(self) -> list[bool]:
        """Whether each is other than 0, judged together."""
        return judge_together([pair.spearman for pair in self.pairs])

    @property
    def judged(self) -> str:
        """How they are judged, in words."""
        n = len(self.pairs)
        if n == 1:
            return "other than 0: the 95 % interval excludes 0"
        return f"other than 0, with 95 % confidence for all {n} together (Holm)"

    def json(self) -> CorrelationsJson:
        """Return every pair of metrics."""
        pairs = zip(self.pairs, self.shown, strict=True)
        return {"metric_correlations": [{**pair.json(), "shown": shown} for pair, shown in pairs]}

    def blocks(self) -> list[Block]:
        """Return a table and charts of all pairs of metrics."""
        return view.make_blocks(self.pairs, self.shown, self.judged)


class AskedCorrelations(Correlations):
    """The two metrics that were asked for, over the models on every data set."""

    def json(self) -> CorrelationsJson:
        """Return the correlation on every data set."""
        return {"correlations": [pair.json() for pair in self.pairs]}

    def blocks(self) -> list[Block]:
        """Return one row per data set, what it means, and the chart."""
        return view.make_blocks(self.pairs)

    def plot(self) -> Chart:
        """Draw one metric against the other, one dot per model and one panel per data set."""
        from shaketable.findings.correlation.charts import scatter_chart  # slow to load

        return scatter_chart(self.pairs)


def find_asked_correlations(records: Records, metrics: str) -> AskedCorrelations:
    """Correlate two metrics, with a comma between them, on every data set.

    `InputError` is raised if none has enough models with both.
    """
    names = split_top_level(metrics, ",")
    if len(names) != 2 or not all(names):
        raise InputError(
            f"two metrics are correlated, with a comma between them, such as mscr,mce; got "
            f"{metrics!r}"
        )
    return AskedCorrelations(tuple(correlate_all(RecordGroups(records), *names)))


def find(groups: RecordGroups) -> Correlations | None:
    """Take the finding from records; None with fewer than ten models on the same data."""
    groups = groups.with_most_copies
    if len({(s.first.recipe, s.first.train) for s in groups.series}) < MIN_MODELS:
        return None
    pairs = tuple(_list_pairs(groups))
    return Correlations(pairs) if pairs else None


def _list_pairs(groups: RecordGroups) -> Iterator[Correlation]:
    values: dict[str, Values] = {}
    for metric in METRICS:
        try:
            values[metric] = list_values(groups, metric)
        except InputError:  # it has several values per model, or none with an interval
            continue
    for first, second in combinations(values, 2):
        for data, (models, left_out) in group_by_data([values[first], values[second]]).items():
            if len(models) >= MIN_MODELS:
                pair = make_correlation(data, first, second, models, left_out)
                try:
                    _ = pair.spearman
                except UndefinedError:  # all models have the same value
                    continue
                yield pair


FINDINGS.add("correlation", FindingKind(find, json=CorrelationsJson))
