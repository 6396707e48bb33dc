"""Correlation of two metrics over the models of some records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.evaluation.records import Records
from shaketable.findings.correlation import view
from shaketable.findings.finding import is_own_metric, list_metrics
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.quantities import QUANTITIES, Case, find_quantity
from shaketable.statistics.correlation import LEAST, compute_reliability, pearson, spearman
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart

_METRIC = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*(?:[\w.]*:\w+)?)\s*(?:\[(?P<under>.*)\])?\s*", re.DOTALL
)


class CorrelatedValueJson(TypedDict):
    """A metric of a model with its 95 % interval, in per cent."""

    value: float
    low: float
    high: float


class CoefficientJson(CorrelatedValueJson):
    """A number from -1 to 1, with its 95 % interval."""

    method: str


class ReliabilityJson(TypedDict):
    """Least share of the variance between models that is not error of measurement."""

    first: float
    second: float


class CorrelatedModelJson(TypedDict):
    """Both metrics of a model, in per cent."""

    model: str
    first: CorrelatedValueJson
    second: CorrelatedValueJson


class CorrelationJson(TypedDict):
    """Two metrics over the models on the same data."""

    data: str
    first: str
    second: str
    spearman: CoefficientJson
    pearson: CoefficientJson
    reliability: ReliabilityJson
    answer: str
    models: list[CorrelatedModelJson]
    left_out: list[str]


@dataclass(frozen=True, eq=False)
class Correlation(Displayed):
    """Two metrics of the same models on the same data.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(200, 1))
    >>> models = {str(t): lambda x, t=t: x[:, 0] > t for t in (0.5, 0.52, 0.6, 0.7)}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), "linf(0.2)", k=2)
    >>> found = st.correlate(records, "accuracy", "accuracy[linf(0.2)]")
    >>> len(found.models), "spearman" in found.json(), type(found.plot()).__name__
    (4, True, '_LayerChart')
    """

    data: str
    first: str
    """Name of a metric, such as ``mscr`` or ``accuracy[linf(0.1)]``."""
    second: str
    models: tuple[str, ...]
    values: tuple[tuple[Estimate, Estimate], ...]
    """Both metrics of every model."""
    left_out: tuple[str, ...] = ()
    """Models that have only one of the two."""

    @cached_property
    def spearman(self) -> Estimate:
        """Rank correlation, for values of any distribution."""
        return spearman(*self._columns)

    @cached_property
    def pearson(self) -> Estimate:
        """Linear correlation, for values that are jointly normal."""
        return pearson(*self._columns)

    @cached_property
    def reliability(self) -> tuple[float, float]:
        """Least share of the spread of each metric that is not error of measurement."""
        first, second = ([pair[i] for pair in self.values] for i in (0, 1))
        return compute_reliability(first), compute_reliability(second)

    @property
    def words(self) -> str:
        """Whether the two metrics order models alike, as far as it is shown."""
        return view.describe(self)

    @property
    def _columns(self) -> tuple[Any, Any]:
        first, second = np.array([(a.value, b.value) for a, b in self.values]).T
        return first, second

    def json(self) -> CorrelationJson:
        """Return both correlations, and the metrics of every model in per cent.

        Returns
        -------
        dict
            Both correlations, and the values of all models.
        """
        return {
            "data": self.data,
            "first": self.first,
            "second": self.second,
            "spearman": _estimate_json(self.spearman),
            "pearson": _estimate_json(self.pearson),
            "reliability": {"first": self.reliability[0], "second": self.reliability[1]},
            "answer": self.words,
            "models": [
                {"model": model, "first": _percent_json(a), "second": _percent_json(b)}
                for model, (a, b) in zip(self.models, self.values, strict=True)
            ],
            "left_out": list(self.left_out),
        }

    def blocks(self) -> list[Block]:
        """Return both correlations, what they mean, and the chart."""
        return view.make_blocks([self])

    def plot(self) -> Chart:
        """Draw one metric against the other, one dot per model.

        Returns
        -------
        Chart
            The chart.
        """
        from shaketable.findings.correlation.charts import scatter_chart  # slow to load

        return scatter_chart([self])


def correlate(records: Records, first: str, second: str) -> Correlation:
    """Correlate two metrics over all models of the records, on one data set.

    Parameters
    ----------
    records
        Of four models or more. Of a study, a model is its mean over runs; of studies with several
        k, those with the largest count.
    first, second
        Names of metrics, such as ``mscr``, ``mce``, ``mce_lp``, ``error`` or ``cv``; a corruption
        or a suite may follow in brackets, as in ``accuracy[linf(0.1)]``.

    Returns
    -------
    Correlation
        Both correlations with their intervals, and the values of every model.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(200, 1))
    >>> models = {str(t): lambda x, t=t: x[:, 0] > t for t in (0.5, 0.52, 0.6, 0.7)}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), "linf(0.2)", k=2)
    >>> print(st.correlate(records, "accuracy", "accuracy[linf(0.2)]").spearman)
    0.80 (95 % interval -0.82 to 1.00)
    """
    found = correlate_all(RecordGroups(records), first, second)
    if len(found) > 1:
        names = ", ".join(repr(c.data) for c in found)
        raise InputError(
            f"metrics are correlated over models on the same data, got {names}; pass "
            f"records.select(data={found[0].data!r})"
        )
    return found[0]


def correlate_all(groups: RecordGroups, first: str, second: str) -> list[Correlation]:
    """Correlate two metrics on every data set that has enough models with both."""
    sides = [_list_values(groups.with_most_copies, metric) for metric in (first, second)]
    by_data = group_by_data(sides)
    counts = {data: len(models) for data, (models, _) in by_data.items()}
    found = [
        make_correlation(data, first, second, models, left_out)
        for data, (models, left_out) in by_data.items()
        if len(models) >= LEAST
    ]
    if not found:
        most = max(counts.values(), default=0)
        raise InputError(
            f"a correlation needs {LEAST} models or more with both {first} and {second} on the "
            f"same data, got {most}; evaluate more models with the same "
            f"{either('--store', 'store=')}"
        )
    return found


Values = dict[tuple[str, str], dict[str, Estimate]]
"""Estimates by data, a fingerprint and a name, and by the models' labels."""


def group_by_data(
    sides: Sequence[Values],
) -> dict[tuple[str, str], tuple[dict[str, tuple[Estimate, Estimate]], list[str]]]:
    """Return the models that have both metrics by data, and those that have only one."""
    first, second = sides
    result = {}
    for data in dict.fromkeys([*first, *second]):
        a, b = first.get(data, {}), second.get(data, {})
        both = {label: (a[label], b[label]) for label in a if label in b}
        result[data] = both, [label for label in {**a, **b} if label not in both]
    return result


def make_correlation(
    data: tuple[str, str],
    first: str,
    second: str,
    models: dict[str, tuple[Estimate, Estimate]],
    left_out: Iterable[str],
) -> Correlation:
    """Return the correlation of two metrics of these models."""
    return Correlation(
        data[1], first, second, tuple(models), tuple(models.values()), tuple(left_out)
    )


def list_values(groups: RecordGroups, name: str, under: str = "") -> Values:
    """Return a metric of every model that has it; one that is undefined is left out."""
    quantity = find_quantity(name, name)
    values: Values = {}
    cases: dict[tuple[str, str, str], Case[Any]] = {}
    for case in quantity.list_cases(groups, under):
        data = case.first.fingerprint, case.first.data
        if (other := cases.setdefault((*data, case.label), case)) is not case:
            raise InputError(
                f"metric {name} of {case.label} has several values, under {other.under} and "
                f"{case.under}; choose one in brackets, as in {name}[{case.under}]"
            )
        try:
            values.setdefault(data, {})[case.label] = quantity.estimate(case.source)
        except UndefinedError:
            continue
    return values


def _list_values(groups: RecordGroups, metric: str) -> Values:
    """Return the values of a metric by its text, such as ``accuracy[linf(0.1)]``."""
    match = _METRIC.fullmatch(metric)
    known = {**QUANTITIES, **list_metrics()}
    if match is None or not (match["name"] in known or is_own_metric(match["name"])):
        raise unknown_name("metric", match["name"] if match else metric, QUANTITIES)
    values = list_values(groups, match["name"], match["under"] or "")
    if not values:
        models = list_names(groups.records.models)
        raise InputError(
            f"no model has a value of {metric}, got results of {models}; evaluate them with what "
            "it needs (shaketable list metrics)"
        )
    return values


def _estimate_json(e: Estimate) -> CoefficientJson:
    return {"value": e.value, "low": e.low, "high": e.high, "method": e.method}


def _percent_json(e: Estimate) -> CorrelatedValueJson:
    return {"value": 100 * e.value, "low": 100 * e.low, "high": 100 * e.high}
