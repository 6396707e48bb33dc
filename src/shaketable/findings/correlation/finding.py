"""The finding: correlations of all metrics over the models on the same data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from shaketable.core.errors import InputError, UndefinedError
from shaketable.findings.correlation import view
from shaketable.findings.correlation.numbers import (
    Correlation,
    Values,
    group_by_data,
    list_values,
    make_correlation,
)
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.statistics.difference import judge_together
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

METRICS = ("error", "mscr", "mce", "mce_lp", "ice", "mean_accuracy", "cv")
"""Metrics that are correlated, if models have them."""

MIN_MODELS = 10
"""Models on the same data from which the finding is shown."""


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

    def json(self) -> dict[str, Any]:
        """Return every pair of metrics."""
        pairs = zip(self.pairs, self.shown, strict=True)
        return {"metric_correlations": [{**pair.json(), "shown": shown} for pair, shown in pairs]}

    def blocks(self) -> list[Block]:
        """Return a table and charts of all pairs of metrics."""
        return view.make_blocks(self.pairs, self.shown, self.judged)


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


FINDINGS.add("correlation", FindingKind(find, order=49))
