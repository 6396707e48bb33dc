"""The finding: measures beyond accuracy of every fitted model, clean and under every corruption."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypedDict

from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.findings.confusion.finding import list_by_model
from shaketable.findings.finding import FINDINGS, FindingKind, is_own_metric
from shaketable.findings.groups import RecordGroups, get_model, label_models
from shaketable.findings.measures import numbers
from shaketable.findings.measures.numbers import Measure, get_measure
from shaketable.findings.measures.view import make_blocks
from shaketable.findings.series import ConditionJson, ModelJson, Series
from shaketable.findings.subgroups.finding import MAX_CORRUPTIONS, choose_conditions
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate, EstimateJson, EstimateWithMethodJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

MAX_CLASSES = 12
"""Classes up to which measures of every class are listed."""

DEFAULT = "balanced_accuracy"
"""The measure that is shown first if none is chosen."""

_ASKED = re.compile(r"\s*(?P<name>\w+)\s*(?:\[(?:class\s+)?(?P<label>.+)\])?\s*", re.DOTALL)
_SUITE_METRICS = ("mce", "mce_15", "mce_xn", "mce_lp")

MeasureJson = TypedDict(
    "MeasureJson",
    {
        "measure": Annotated[str, "Name, such as balanced_accuracy or recall."],
        "class": Annotated[str | None, "Class, for measures of one; null for all points."],
        "unit": Annotated[str, "per cent, or empty for what is no share, such as the log loss."],
        "value": Annotated[EstimateWithMethodJson | None, "Null if it is undefined."],
        "has_interval": Annotated[
            bool, "Whether the limits are those of an interval: a class of few points has none."
        ],
        "difference": Annotated[
            EstimateJson | None, "Value minus that on clean points, paired; null on clean points."
        ],
        "relative_loss": Annotated[
            EstimateJson | None,
            "Change relative to the clean value, in per cent; null where it is not defined.",
        ],
    },
)


class ModelMeasuresJson(ModelJson, ConditionJson):
    """Measures of a fitted model under one corruption."""

    n: Annotated[int, "Number of points."]
    measures: list[MeasureJson]


class SuiteMeasureJson(ModelJson):
    """Mean over a suite of 1 minus a measure: mCE, where the papers mean accuracy."""

    suite: str
    measure: str
    mean_error: EstimateWithMethodJson


class MeasuresJson(TypedDict):
    """All models."""

    measures: Annotated[
        list[ModelMeasuresJson],
        "Measures beyond accuracy of every fitted model on clean points and under corruptions.",
    ]
    suite_measures: list[SuiteMeasureJson]


@dataclass(frozen=True, eq=False)
class MeasuredValue:
    """One measure of one fitted model under one corruption, or on clean points."""

    measure: Measure
    series: Series
    noise: str
    label: Any = None
    """Class, for measures of one; None for the mean over classes, or for all points."""

    @property
    def scale(self) -> int:
        """100 if it is shown in per cent."""
        return 100 if self.measure.is_share else 1

    @property
    def title(self) -> str:
        """Name of the measure, with the class."""
        title, label = self.measure.title, self.label
        if not self.measure.per_class:
            return title
        classes = self.series.first.points.classes
        if label is None and self.measure.needs == "all scores" and len(classes) == 2:
            label = classes[1]
        return f"mean {title}" if label is None else f"{title} of class {label}"

    @cached_property
    def value(self) -> Estimate | None:
        """The measure; None if it is undefined."""
        return _try(numbers.estimate_measure, self.series, self.measure.name, label=self.label)

    @cached_property
    def clean(self) -> Estimate | None:
        """The same on clean points."""
        clean = self.series.on_clean
        return _try(numbers.estimate_measure, clean, self.measure.name, label=self.label)

    @cached_property
    def difference(self) -> Estimate | None:
        """Value minus that on clean points, paired; None on clean points."""
        if self.series.first.is_clean:
            return None
        pair = self.series, self.series.on_clean
        return _try(numbers.subtract_measures, *pair, self.measure.name, label=self.label)

    @cached_property
    def relative_loss(self) -> Estimate | None:
        """Change relative to the clean value; None where it is not defined."""
        if self.series.first.is_clean:
            return None
        return _try(numbers.estimate_loss, self.series, self.measure.name, label=self.label)

    def json(self) -> MeasureJson:
        """Return all numbers, shares in per cent."""
        value = self.value
        return {
            "measure": self.measure.name,
            "class": None if self.label is None else str(self.label),
            "unit": "per cent" if self.measure.is_share else "",
            "value": None
            if value is None
            else {**_write(value, self.scale), "method": value.method},
            "has_interval": value is not None and numbers.has_interval(value),
            "difference": _write(self.difference, self.scale) if self.difference else None,
            "relative_loss": self.relative_loss.json() if self.relative_loss else None,
        }


@dataclass(frozen=True, eq=False)
class ModelMeasures:
    """One fitted model on clean points and under every corruption."""

    label: str
    clean: Series
    corrupted: tuple[tuple[str, Series], ...]
    """Every corruption by its name."""
    chosen: tuple[tuple[str, Series], ...]
    """Corruptions whose details are shown: that of size eps_min first, else the worst first."""

    def find_worst(self, name: str, label: str | None) -> MeasuredValue:
        """Return a measure under the corruption that is worst for it, as measured."""
        values = [self.measure(name, *each, label) for each in self.corrupted]
        sign = 1 if get_measure(name).larger_is_better else -1
        known = [(sign * v.value.value, i) for i, v in enumerate(values) if v.value is not None]
        return values[min(known)[1]] if known else self.measure(name, "clean", self.clean, label)

    @cached_property
    def names(self) -> list[str]:
        """Measures that the answers on record tell, without those that are the same."""
        cells = [self.clean.first, *(s.first for _, s in self.corrupted)]
        names = ["balanced_accuracy", "f1", "precision", "matthews"]
        if all(c.answers is not None and c.answers.has_scores for c in cells):
            names += ["top_5"] * (len(cells[0].points.classes) > 5) + ["log_loss", "brier"]
        if all(c.answers is not None and c.answers.scores is not None for c in cells):
            names += ["auc", "average_precision"]
        return names

    def measure(self, name: str, noise: str, series: Series, label: Any = None) -> MeasuredValue:
        """Return one measure under one corruption."""
        return MeasuredValue(get_measure(name), series, noise, label)

    def list_by_class(self, noise: str, series: Series) -> list[MeasuredValue]:
        """Return precision, recall and F1 of every class with points, unless there are many."""
        points = series.first.points
        if len(points.classes) > MAX_CLASSES:
            return []
        return [
            self.measure(name, noise, series, label)
            for code, label in enumerate(points.classes)
            if (points.y == code).any()
            for name in ("precision", "recall", "f1")
        ]


@dataclass(frozen=True, eq=False)
class SuiteMeasure:
    """A measure of one fitted model over a suite."""

    label: str
    result: SuiteResult
    name: str

    @cached_property
    def mean_error(self) -> Estimate:
        """Mean over the suite of 1 minus the measure."""
        return numbers.estimate_mean_error(self.result, self.name)


@dataclass(frozen=True, eq=False)
class Measures(Displayed):
    """Measures beyond accuracy of all fitted models."""

    models: tuple[ModelMeasures, ...]
    suites: tuple[SuiteMeasure, ...]
    asked: tuple[str, str | None] | None = None
    """Measure that is the headline, and its class; None if none was asked for."""

    @property
    def headline(self) -> tuple[str, str | None]:
        """The measure that is shown first, and its class."""
        return self.asked or (DEFAULT, None)

    def json(self) -> MeasuresJson:
        """Return every model under every corruption."""
        return {
            "measures": [entry for model in self.models for entry in self._list_json(model)],
            "suite_measures": [
                {
                    "model": each.result.first.model,
                    "label": each.label,
                    "data": each.result.first.data,
                    "suite": each.result.suite.name,
                    "measure": each.name,
                    "mean_error": each.mean_error.json_with_method(),
                }
                for each in self.suites
            ],
        }

    def _list_json(self, model: ModelMeasures) -> list[ModelMeasuresJson]:
        detailed = {id(model.clean), *(id(series) for _, series in model.chosen)}
        name, label = self.headline
        result: list[ModelMeasuresJson] = []
        for noise, series in (("clean", model.clean), *model.corrupted):
            values = [model.measure(each, noise, series) for each in model.names]
            if label is not None or name not in model.names:
                values.insert(0, model.measure(name, noise, series, label))
            if id(series) in detailed:
                values += model.list_by_class(noise, series)
            result.append(
                {
                    "model": series.first.model,
                    "label": model.label,
                    "data": series.first.data,
                    **series.condition_json(),
                    "n": series.first.n,
                    "measures": [value.json() for value in values],
                }
            )
        return result

    def blocks(self) -> list[Block]:
        """Return the headline measure, then all of them, and those of every class."""
        return make_blocks(self)


def find(groups: RecordGroups) -> Measures | None:
    """Take the finding from records; None without a fitted model whose answers were kept."""
    models = [
        ModelMeasures(label, clean[0], tuple(noisy), tuple(chosen))
        for label, conditions in list_by_model(groups).items()
        if (clean := [c.series[label] for c in conditions if c.is_clean])
        for noisy in [[(c.noise, c.series[label]) for c in conditions if not c.is_clean]]
        for chosen in [
            [
                (c.noise, c.series[label])
                for c in choose_conditions(groups, conditions, MAX_CORRUPTIONS)
                if not c.is_clean
            ]
        ]
    ]
    asked = read_asked(groups.metric)
    if asked is not None:
        check_asked(*asked, [model.clean for model in models])
    name = asked[0] if asked and asked[1] is None else DEFAULT
    measure = get_measure(name)
    suites = (
        _list_suites(groups, {m.label for m in models}, name)
        if (measure.is_share and measure.larger_is_better)
        else []
    )
    return Measures(tuple(models), tuple(suites), asked) if models else None


def read_asked(text: str) -> tuple[str, str | None] | None:
    """Return the measure, and the class, that ``--metric`` names; None for accuracy.

    None also for a metric of another package, which `findings.own_metrics` shows.

    >>> read_asked("recall[fraud]"), read_asked("f1"), read_asked("accuracy")
    (('recall', 'fraud'), ('f1', None), None)
    """
    match = _ASKED.fullmatch(text)
    if (
        not text
        or is_own_metric(text)
        or (match and match["name"] == "accuracy" and not match["label"])
    ):
        return None
    if match is None:
        raise InputError(
            f"metric must be the name of a measure, such as f1 or recall[CLASS], got {text!r}"
        )
    measure = get_measure(match["name"])
    if match["label"] and not measure.per_class:
        raise InputError(f"metric {measure.name} is not one of a class, got {text!r}")
    return measure.name, match["label"]


def check_asked(name: str, label: str | None, clean: Sequence[Series]) -> None:
    """Raise an `InputError` if the answers on record do not tell the measure that was asked for."""
    if not clean:
        raise InputError(
            f"metric {name} needs what a fitted model answered, and the records keep hits alone; "
            "evaluate with " + either("--record answers", "record='answers'")
        )
    for series in clean:
        numbers.check_needs(series.first, name)
        if label is not None:
            numbers.find_code(series.first, name, label)


def _list_suites(groups: RecordGroups, labels: set[str], name: str) -> list[SuiteMeasure]:
    names = label_models(groups.series)
    return [
        SuiteMeasure(label, result, name)
        for result in groups.suite_results
        if result.suite.metric in _SUITE_METRICS
        and (label := names[get_model(result.series[0])]) in labels
        and all(cell.answers is not None for s in result.series for cell in s.noisy)
    ]


def _try(function: Callable[..., Estimate], *args: Any, **options: Any) -> Estimate | None:
    try:
        return function(*args, **options)
    except UndefinedError:
        return None


def _write(estimate: Estimate, scale: int) -> EstimateJson:
    value, low, high = (scale * each for each in (estimate.value, estimate.low, estimate.high))
    return {"mean": value, "low": low, "high": high}


FINDINGS.add(
    "measures",
    FindingKind(
        find,
        json=MeasuresJson,
        metrics={
            "balanced_accuracy": numbers.balanced_accuracy,
            "measure": numbers.measure,
            "measure_difference": numbers.measure_difference,
            "measure_loss": numbers.measure_loss,
            "mean_measure_error": numbers.mean_measure_error,
        },
    ),
)
