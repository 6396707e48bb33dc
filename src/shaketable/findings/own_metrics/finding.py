"""The finding: metrics without a finding of their own, installed or asked for, of every model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict

from shaketable.core.errors import InputError
from shaketable.findings.finding import FINDINGS, METRICS, FindingKind, is_own_metric
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.quantities import Case, find_quantity
from shaketable.findings.series import ModelJson
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson
from shaketable.views.blocks import Block, Column, Heading, Sentence, Table
from shaketable.views.terminal import Displayed


class OwnMetricJson(ModelJson, EstimateWithMethodJson):
    """A metric of one model, in per cent."""

    metric: str


class OwnMetricsJson(TypedDict):
    """Metrics of other packages, and of users."""

    own_metrics: Annotated[
        list[OwnMetricJson],
        "Metrics of other installed packages, and the one that --metric names as module:function.",
    ]


@dataclass(frozen=True, eq=False)
class OwnMetrics(Displayed):
    """Metrics of every model, and why some have no value."""

    values: tuple[tuple[str, Case[object], Estimate], ...]
    """Name of the metric, the model and the value."""
    problems: tuple[str, ...] = ()

    def json(self) -> OwnMetricsJson:
        """Return all values in per cent."""
        return {
            "own_metrics": [
                {
                    "metric": name,
                    "model": case.first.model,
                    "label": case.label,
                    "data": case.first.data,
                    **value.json_with_method(),
                }
                for name, case, value in self.values
            ]
        }

    def blocks(self) -> list[Block]:
        """Return one row per metric and model, and a sentence for every problem."""
        columns = Column("metric"), Column("model"), Column("value", "rate")
        rows = [(name, case.label, value) for name, case, value in self.values]
        return [
            Heading("Own metrics", "own-metrics", "Own metrics"),
            *([Table("own metrics, with 95 % intervals", columns, rows)] if rows else []),
            *map(Sentence, self.problems),
        ]


def find(groups: RecordGroups) -> OwnMetrics | None:
    """Compute what is installed, and what was asked for; None if that is nothing.

    An installed metric that fails disturbs no other result; one that was asked for is an error.
    """
    asked = groups.metric if is_own_metric(groups.metric) else ""
    values, problems = list[tuple[str, Case[object], Estimate]](), list[str]()
    for name in dict.fromkeys([asked] * bool(asked) + [*METRICS]):
        try:
            quantity = find_quantity(name, name)
            cases = quantity.list_cases(groups, "")
            values += [(name, case, quantity.estimate(case.source)) for case in cases]
        except InputError as error:
            if name == asked:
                raise
            problems.append(str(error))
    return OwnMetrics(tuple(values), tuple(problems)) if values or problems else None


FINDINGS.add("own_metrics", FindingKind(find, json=OwnMetricsJson))
