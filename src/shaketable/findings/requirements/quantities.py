"""What can be required: metrics of records, each with its cases, values and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, guard_foreign
from shaketable.core.spec import (
    parse_call,
    split_top_level,
    split_weight,
    strip_brackets,
)
from shaketable.evaluation.records import Record, Records
from shaketable.findings.choosing import list_ways, matches
from shaketable.findings.confidence import numbers as confidence
from shaketable.findings.finding import METRICS, is_own_metric, list_metrics
from shaketable.findings.groups import RecordGroups, get_model, label_models
from shaketable.findings.mce import numbers as mce
from shaketable.findings.mcv.numbers import Stability, subtract_cvs
from shaketable.findings.measures import numbers as measures
from shaketable.findings.mscr import numbers as mscr
from shaketable.findings.rare.numbers import RareRisk, get_setting, list_risks
from shaketable.findings.series import Series, get_pairing
from shaketable.findings.subjects import distinguish, list_noise_facts
from shaketable.findings.suite_results import SuiteResult, take_part
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.independent import subtract_independent

_Source = TypeVar("_Source")


@dataclass(frozen=True, eq=False)
class Case(Generic[_Source]):
    """One model under what a requirement is about."""

    label: str
    """The model; unique among the records."""
    under: str
    """The corruption or the suite."""
    source: _Source
    """What the metric is computed from."""
    first: Record
    runs: int
    pairing: object
    """What two cases must share so that their difference is paired."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One model, or two, that a requirement is about, and what was measured."""

    model: str
    case: Case[Any]
    estimate: Estimate
    n: int
    """Number of points that it is about."""
    part: str = ""
    groups: int = 1
    fewest: int | None = None
    smallest: str = ""
    measured: str = ""


class Quantity(Protocol[_Source]):
    """A metric that can be required."""

    @property
    def is_rate(self) -> bool:
        """Whether people write it as a fraction too: 0.85 for 85 %."""

    @property
    def scale(self) -> int:
        """What a limit is divided by: 100 for per cent, 1 for what is no share."""

    def list_cases(self, groups: RecordGroups, under: str) -> list[Case[_Source]]:
        """Return one case per model and setting that the records hold."""

    def estimate(self, source: _Source) -> Estimate:
        """Compute the metric."""

    def subtract(self, first: _Source, second: _Source) -> Estimate | None:
        """Compute the metric of the first minus that of the second; None if it is not known how."""


@dataclass(frozen=True)
class SeriesQuantity:
    """A metric of one model under one corruption."""

    compute: Callable[..., Estimate]
    """Of a series; of metrics that have classes also ``label=``."""
    compute_difference: Callable[..., Estimate] | None
    """Of two series, likewise; None if it is not known how."""
    default: str = "clean"
    """Without brackets: ``clean`` points, noise of size ``eps_min``, or every ``corruption``."""
    is_rate: bool = True
    has_classes: bool = False
    """Whether there is one value per class."""
    needs_answers: bool = False
    """Whether hits alone do not tell it."""
    scale: int = 100
    """What a limit is divided by: 100 for per cent, 1 for what is no share."""

    def take_label(self, label: Any) -> SeriesQuantity:
        """Return the same metric of one class."""
        if label is None:
            return self
        subtract = self.compute_difference
        return replace(
            self,
            compute=partial(self.compute, label=label),
            compute_difference=None if subtract is None else partial(subtract, label=label),
        )

    def list_cases(self, groups: RecordGroups, under: str) -> list[Case[Series]]:
        """Return one case per model under the corruption; `under` empty stands for the default."""
        is_wanted = self._choose(groups, under)
        return [
            Case(label, condition.noise, s, s.first, s.runs, get_pairing(s))
            for condition in groups.conditions
            for label, s in condition.series.items()
            if is_wanted(s)
        ]

    def _choose(self, groups: RecordGroups, under: str) -> Callable[[Series], bool]:
        if not under and self.default == "eps_min":
            return lambda s: s.at_eps_min
        if not under and self.default == "corruption":
            return lambda s: not s.first.is_clean
        spec = under or self.default
        exact = any(matches(s, spec) for s in groups.series)
        return (lambda s: matches(s, spec)) if exact else (lambda s: is_completed(s, spec))

    def estimate(self, source: Series) -> Estimate:
        """Compute the metric."""
        return self.compute(source)

    def subtract(self, first: Series, second: Series) -> Estimate | None:
        """Compute the paired difference; None for metrics without one."""
        return None if self.compute_difference is None else self.compute_difference(first, second)


@dataclass(frozen=True)
class SuiteQuantity:
    """A metric of one model under a whole suite."""

    metric: str
    """Metric of the suites that it is computed from."""
    compute: Callable[[SuiteResult], Estimate]
    compute_difference: Callable[[SuiteResult, SuiteResult], Estimate] | None = None
    is_rate: bool = True
    scale: int = 100

    def list_cases(self, groups: RecordGroups, under: str) -> list[Case[SuiteResult]]:
        """Return one case per model and suite; `under` chooses a suite by name."""
        labels = label_models(groups.series)
        results = [r for r in self._list_results(groups) if not under or r.suite.name == under]
        names = [(labels[get_model(r.series[0])], r.suite.name) for r in results]
        return [
            Case(
                name[0],
                name[1] if names.count(name) == 1 else _name_setting(r, results),
                r,
                r.first,
                r.series[0].runs,
                tuple(map(get_pairing, r.series)),
            )
            for name, r in zip(names, results, strict=True)
        ]

    def _list_results(self, groups: RecordGroups) -> list[SuiteResult]:
        """Return the results of suites with the metric, else the parts of larger suites."""
        of_suites = [r for r in groups.suite_results if r.suite.metric == self.metric]
        parts = (take_part(r, self.metric) for r in groups.suite_results)
        return of_suites or [part for part in parts if part is not None]

    def estimate(self, source: SuiteResult) -> Estimate:
        """Compute the metric."""
        return self.compute(source)

    def subtract(self, first: SuiteResult, second: SuiteResult) -> Estimate | None:
        """Compute the paired difference; None for metrics without one."""
        return None if self.compute_difference is None else self.compute_difference(first, second)


@dataclass(frozen=True)
class ForeignQuantity:
    """A metric of another package or of a user: a function of one model's records."""

    name: str
    compute: Callable[..., Any]
    is_rate: bool = True
    scale: int = 100

    def list_cases(self, groups: RecordGroups, under: str) -> list[Case[Records]]:
        """Return one case per model."""
        if under:
            raise InputError(f"metric {self.name} takes nothing in brackets, got {under!r}")
        labels = label_models(groups.series)
        cells: dict[tuple[str, str, str], dict[str, Record]] = {}
        for s in groups.series:
            cells.setdefault(get_model(s), {}).update({c.key: c for c in (*s.clean, *s.noisy)})
        return [
            Case(
                labels[model],
                "all on record",
                replace(groups.records, cells=tuple(found.values())),
                next(iter(found.values())),
                len({c.run for c in found.values()}),
                None,
            )
            for model, found in cells.items()
        ]

    def estimate(self, source: Records) -> Estimate:
        """Compute the metric; whatever its code raises becomes an `InputError`."""
        with guard_foreign(f"metric {self.name!r} failed: {{error}}; correct it or its package"):
            value = self.compute(source)
        if not isinstance(value, Estimate):
            raise InputError(
                f"metric {self.name!r} must return an Estimate to be required, got "
                f"{type(value).__name__}"
            )
        return value

    def subtract(self, first: Records, second: Records) -> Estimate | None:  # noqa: ARG002
        """Return None: differences are not known."""
        return None


@dataclass(frozen=True)
class RareQuantity:
    """The probability of a wrong answer under noise, which the command ``risk`` measures."""

    is_rate: bool = False
    scale: int = 1

    def list_cases(self, groups: RecordGroups, under: str) -> list[Case[RareRisk]]:
        """Return one case per model and corruption; `under` chooses a corruption by its spec."""
        no_cell: Any = None
        return [
            Case(risk.label, risk.record.corruption, risk, no_cell, 1, get_setting(risk))
            for risk in list_risks(groups.records.rare)
            if not under or risk.is_under(under, groups.records)
        ]

    def estimate(self, source: RareRisk) -> Estimate:
        """Return the mean over the points."""
        return source.mean

    def subtract(self, first: RareRisk, second: RareRisk) -> Estimate:
        """Return the difference of the means, with the interval of independent ones."""
        return subtract_independent(first.mean, second.mean)


def _accuracy(series: Series) -> Estimate:
    return series.accuracy


def _error(series: Series) -> Estimate:
    return series.accuracy.subtract_from(1)


def _error_difference(first: Series, second: Series) -> Estimate:
    return mscr.estimate_accuracy_difference(second, first)


def _relative_loss(series: Series) -> Estimate:
    return series.relative_loss


def _mean_accuracy_difference(first: SuiteResult, second: SuiteResult) -> Estimate:
    return mce.mean_error_difference(second, first)


QUANTITIES: Mapping[str, SeriesQuantity | SuiteQuantity | RareQuantity] = {
    "accuracy": SeriesQuantity(_accuracy, mscr.estimate_accuracy_difference, "clean"),
    "error": SeriesQuantity(_error, _error_difference, "clean"),
    "error_probability": SeriesQuantity(_error, _error_difference, "corruption"),
    "relative_loss": SeriesQuantity(_relative_loss, mscr.mscr_difference, "corruption", False),
    "mscr": SeriesQuantity(_relative_loss, mscr.mscr_difference, "eps_min", False),
    "mce_lp": SuiteQuantity("mce_lp", mce.mean_error, mce.mean_error_difference),
    "mce": SuiteQuantity("mce", mce.mean_error, mce.mean_error_difference),
    "mce_15": SuiteQuantity("mce_15", mce.mean_error, mce.mean_error_difference),
    "mce_xn": SuiteQuantity("mce_xn", mce.mean_error, mce.mean_error_difference),
    "ice": SuiteQuantity("ice", mce.ice, is_rate=False),
    "mce_alexnet": SuiteQuantity("mce_15", mce.mce_alexnet),
    "relative_mce_alexnet": SuiteQuantity("mce_15", mce.relative_mce_alexnet),
    "mean_accuracy": SuiteQuantity("mcv", lambda r: Stability(r).mean, _mean_accuracy_difference),
    "cv": SuiteQuantity("mcv", lambda r: Stability(r).cv, subtract_cvs),
    "calibration_error": SeriesQuantity(
        confidence.estimate_calibration, confidence.subtract_calibration, needs_answers=True
    ),
    "risk": RareQuantity(),
    "sure_and_wrong": SeriesQuantity(confidence.estimate_sure_and_wrong, None, needs_answers=True),
    "selective_accuracy": SeriesQuantity(
        confidence.estimate_selective_accuracy, None, needs_answers=True
    ),
}
"""Our metrics that can be required, by name."""

_RELATIVE = {"relative_loss": "corruption", "mscr": "eps_min"}
_SUITES_OF_ERRORS = ("mce", "mce_15", "mce_xn", "mce_lp")

_INSTEAD = {
    "mcv": "it has two numbers: require cv or mean_accuracy",
    "flip_size": "it has one number per size: require error or relative_loss under a size",
    **dict.fromkeys(
        ("group_accuracy", "group_error_probability", "feature_losses"),
        "it has one number per group or feature: require accuracy, error or relative_loss",
    ),
    **dict.fromkeys(
        ("measure", "measure_difference", "measure_loss", "mean_measure_error"),
        "require the measure by its name, such as recall, or its form, such as mscr.recall",
    ),
    **{
        f"{name}_difference": f"write difference(FIRST, SECOND).{name}"
        for name in ("accuracy", "mscr", "mce_lp", "cv")
    },
}


def _find_measure(name: str) -> SeriesQuantity | SuiteQuantity | None:
    """Return a measure beyond accuracy, or its relative loss, MSCR or mCE; None for other names.

    >>> _find_measure("top_3").scale, _find_measure("mscr.recall").default, _find_measure("mscr.x")
    (100, 'eps_min', None)
    """
    form, _, inner = name.rpartition(".")
    if not measures.is_measure(inner):
        return None
    measure = measures.get_measure(inner)
    by_class = measure.per_class
    if not form:
        return SeriesQuantity(
            partial(measures.estimate_measure, name=inner),
            partial(measures.subtract_measures, name=inner),
            is_rate=measure.is_share,
            has_classes=by_class,
            needs_answers=True,
            scale=100 if measure.is_share else 1,
        )
    if form in _RELATIVE:
        loss = partial(measures.estimate_loss, name=inner)
        return SeriesQuantity(loss, None, _RELATIVE[form], False, by_class, needs_answers=True)
    if form in _SUITES_OF_ERRORS:
        return SuiteQuantity(form, partial(measures.estimate_mean_error, name=inner))
    return None


def find_quantity(name: str, requirement: str) -> Quantity[Any]:
    """Return what a name stands for: one of ours, or a metric of another package."""
    if (known := QUANTITIES.get(name) or _find_measure(name)) is not None:
        return known
    if name in _INSTEAD:
        raise InputError(f"requirement {requirement!r}: {name} is no single rate; {_INSTEAD[name]}")
    metrics = {key: metric for key, metric in list_metrics().items() if key not in _INSTEAD}
    if name in metrics:
        return ForeignQuantity(name, metrics[name])
    if is_own_metric(name):
        return ForeignQuantity(name, METRICS.get(name))
    names = {*QUANTITIES, *measures.MEASURES, *metrics}
    raise unknown_name(f"metric in requirement {requirement!r}:", name, names)


def find_scale(name: str) -> int:
    """Return what limits of a metric are divided by; 100, per cent, for one that is unknown."""
    try:
        return find_quantity(name, name).scale
    except InputError:
        return 100


def is_completed(series: Series, spec: str) -> bool:
    """Whether the data have only added arguments to a spec, such as the size of images."""
    ways = list_ways(spec, series.get_eps_min)
    return any(_begins_with(series.first.corruption, way) for way in ways)


def _begins_with(recorded: str, wanted: str) -> bool:
    for separator in "|+":
        there, asked = (split_top_level(spec, separator) for spec in (recorded, wanted))
        if len(there) > 1 or len(asked) > 1:
            return len(there) == len(asked) and all(map(_begins_with, there, asked))
    (weight, recorded), (other, wanted) = split_weight(recorded), split_weight(wanted)
    inside, within = strip_brackets(recorded), strip_brackets(wanted)
    if weight != other or (inside is None) != (within is None):
        return False
    if inside is not None and within is not None:
        return _begins_with(inside, within)
    try:
        full, call = parse_call(recorded), parse_call(wanted)
    except InputError:  # not a spec, such as the name of a set
        return False
    return (full.name, full.args[: len(call.args)], full.options) == (
        call.name,
        call.args,
        call.options,
    )


def _name_setting(result: SuiteResult, results: Sequence[SuiteResult]) -> str:
    """Return the name of the suite, with the settings in which its results differ."""
    names = [r.suite.name for r in results]
    labels = distinguish(names, [list_noise_facts(r.first) for r in results])
    return dict(zip(map(id, results), labels, strict=True))[id(result)]


def list_labels(groups: RecordGroups) -> Iterator[tuple[str, Record]]:
    """All models on record: their labels, each with one cell."""
    firsts = {get_model(s): s.first for s in reversed(groups.series)}
    for model, label in label_models(groups.series).items():
        yield label, firsts[model]
