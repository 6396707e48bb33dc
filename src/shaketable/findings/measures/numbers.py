"""Measures beyond accuracy of one fitted model: under a corruption, paired, relative to clean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, UndefinedError, either
from shaketable.core.types import BoolArray
from shaketable.evaluation.answers import MOST_SCORES, Answers
from shaketable.evaluation.records import Record, Records
from shaketable.findings.choosing import choose_series
from shaketable.findings.measures import formulas
from shaketable.findings.measures.formulas import Sample
from shaketable.findings.series import (
    Series,
    allow_for_looks,
    meets_same_noise,
    refuse_shared,
    share_points,
)
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.influence import (
    FEWEST,
    Influence,
    average_influences,
    estimate_by_influence,
)

Needs = Literal["answers", "scores", "all scores"]

_NO_INTERVAL = "no interval"
_TOP = re.compile(r"top_([1-9]\d*)")


@dataclass(frozen=True)
class Measure:
    """A measure, and what it is computed from."""

    name: str
    title: str
    needs: Needs = "answers"
    per_class: bool = False
    """Whether it is one of a class, or the mean over classes if none is named."""
    larger_is_better: bool = True
    least: float = 0.0
    most: float = 1.0

    @property
    def is_share(self) -> bool:
        """Whether it lies in [0, 1]."""
        return (self.least, self.most) == (0.0, 1.0)


MEASURES: Mapping[str, Measure] = {
    m.name: m
    for m in (
        Measure("balanced_accuracy", "balanced accuracy"),
        Measure("precision", "precision", per_class=True),
        Measure("recall", "recall", per_class=True),
        Measure("f1", "F1", per_class=True),
        Measure("matthews", "Matthews correlation", least=-1.0),
        Measure("top_5", "top-5 accuracy", "scores"),
        Measure("log_loss", "log loss", "scores", larger_is_better=False, most=float("inf")),
        Measure("brier", "Brier score", "scores", larger_is_better=False, most=2.0),
        Measure("auc", "AUC", "all scores", per_class=True),
        Measure("average_precision", "average precision", "all scores", per_class=True),
    )
}
"""All measures by name; ``top_N`` has any number."""


def get_measure(name: str) -> Measure:
    """Return the measure of a name.

    >>> get_measure("top_3").title
    'top-3 accuracy'
    """
    if match := _TOP.fullmatch(name):
        return Measure(name, f"top-{match[1]} accuracy", "scores")
    if name not in MEASURES:
        raise unknown_name("measure", name, MEASURES)
    return MEASURES[name]


def is_measure(name: str) -> bool:
    """Whether a measure has this name."""
    return name in MEASURES or _TOP.fullmatch(name) is not None


def has_interval(estimate: Estimate) -> bool:
    """Whether an estimate has an interval: it has none where a class has too few points."""
    return _NO_INTERVAL not in estimate.method


def estimate_measure(
    series: Series, name: str, *, label: Any = None, rows: BoolArray | None = None
) -> Estimate:
    """Return a measure of one fitted model under the corruption of a series.

    `label` names a class for measures that have one; `rows` chooses points.
    """
    measure, cell = get_measure(name), _get_cell(series, name)
    influence = linearise(cell, name, label=label, rows=rows)
    why = explain_no_interval(cell, name, label=label, rows=rows)
    ends = measure.least, measure.most
    n = None if rows is None else int(np.sum(rows))
    return allow_for_looks(_finish(influence, cell.k, *ends, why), series.noisy, n=n)


def subtract_measures(
    first: Series, second: Series, name: str, *, label: Any = None, rows: BoolArray | None = None
) -> Estimate:
    """Return a measure of the first model minus that of the second, paired by point and noise.

    The two may also be one model under a corruption and on clean points.
    """
    same_model = first.clean and [*first.clean] == [*second.noisy]
    if not (same_model or meets_same_noise(first, second)):
        raise InputError(
            f"a difference of {name} needs two models evaluated under the same noise on the same "
            "points; evaluate both with the same data, corruption, k and seed"
        )
    if rows is None:
        first, second = share_points(first, second)
    cells = _get_cell(first, name), _get_cell(second, name)
    a, b = (linearise(cell, name, label=label, rows=rows) for cell in cells)
    why = _explain_all(cells, name, label, rows)
    span = get_measure(name).most - get_measure(name).least
    n = None if rows is None else int(np.sum(rows))
    estimate = _finish(a - b, cells[0].k, -span, span, why)
    return allow_for_looks(estimate, first.noisy, second.noisy, n=n)


def estimate_loss(series: Series, name: str, *, label: Any = None) -> Estimate:
    """Return the change of a measure under the corruption relative to its clean value, paired.

    Negative: the measure is lower than on clean points. For accuracy at eps_min this is MSCR.
    """
    _refuse_unbounded(name, "a relative loss")
    cells = _get_cell(series, name), _get_cell(series.on_clean, name)
    noisy, clean = (linearise(cell, name, label=label) for cell in cells)
    if not clean.value > 0:
        raise UndefinedError(
            f"the relative loss of {name} is undefined at a clean value of 0: there is nothing to "
            "lose; take the difference"
        )
    why = _explain_all(cells, name, label, None)
    change = noisy.relate(clean)
    estimate = _finish(change, cells[0].k, -1.0, 1 / clean.value - 1 if why else float("inf"), why)
    return allow_for_looks(estimate, series.noisy)


def estimate_mean_error(result: SuiteResult, name: str, *, label: Any = None) -> Estimate:
    """Return the mean over a suite of 1 minus a measure; for accuracy this is mCE."""
    _refuse_unbounded(name, "a mean error")
    cells = [_get_cell(s, name) for s in result.series]
    mean = average_influences([linearise(cell, name, label=label) for cell in cells])
    why = _explain_all(cells, name, label, None)
    estimate = allow_for_looks(
        _finish(mean, result.draws, 0.0, 1.0, why).subtract_from(1), result.series[0].noisy
    )
    return replace(estimate, method=f"{result.method}; {estimate.method}")


def _refuse_unbounded(name: str, what: str) -> None:
    measure = get_measure(name)
    if not (measure.is_share and measure.larger_is_better):
        raise UndefinedError(
            f"{what} of {name} is not defined: it is one of measures in [0, 1] where larger is "
            "better; take the difference"
        )


def _finish(influence: Influence, k: int, least: float, most: float, why: str) -> Estimate:
    if why:
        return Estimate(influence.value, least, most, 0.95, why, lambda *_: (least, most))
    return estimate_by_influence(influence, k, least=least, most=most)


def _explain_all(cells: Sequence[Record], name: str, label: Any, rows: BoolArray | None) -> str:
    each = (explain_no_interval(cell, name, label=label, rows=rows) for cell in cells)
    return next(filter(None, each), "")


def linearise(
    cell: Record, name: str, *, label: Any = None, rows: BoolArray | None = None
) -> Influence:
    """Return a measure of a cell with the influence of every point; those used last are kept."""
    sample, code = _get_sample(cell, name, rows), find_code(cell, name, label)
    if not len(sample.y):
        raise UndefinedError(f"{name} of no points is undefined; choose at least one point")
    if code is not None and not sample.count(code) and name != "precision":
        raise UndefinedError(f"{name}[{label}] is undefined: no test point is of class {label}")
    if name in ("auc", "average_precision"):
        _check_both(sample, name, code)
    if rows is not None:
        return _compute(sample, name, code)
    assert cell.answers is not None
    return _compute_once(cell.answers, sample.classes, name, code)


_TABLES: Mapping[str, Callable[..., formulas.Table]] = {
    "precision": formulas.tabulate_precision,
    "recall": formulas.tabulate_recall,
    "f1": formulas.tabulate_f1,
}
_SCORES = {"auc": formulas.measure_auc, "average_precision": formulas.measure_average_precision}
_OTHERS = {
    "balanced_accuracy": formulas.measure_balanced_accuracy,
    "matthews": formulas.measure_matthews,
    "log_loss": formulas.measure_log_loss,
    "brier": formulas.measure_brier,
}


def _compute(sample: Sample, name: str, code: int | None) -> Influence:
    if name in _TABLES:
        if code is None:
            return formulas.measure_macro(sample, _TABLES[name])
        return formulas.measure_class(sample, _TABLES[name], code)
    if name in _SCORES:
        if code is None:
            return formulas.measure_each(sample, _SCORES[name])
        return _SCORES[name](sample, code)
    if match := _TOP.fullmatch(name):
        return formulas.measure_top(sample, int(match[1]))
    return _OTHERS[name](sample)


@lru_cache(maxsize=256)
def _compute_once(answers: Answers, classes: int, name: str, code: int | None) -> Influence:
    return _compute(_make_sample(answers, classes, name), name, code)


def explain_no_interval(
    cell: Record, name: str, *, label: Any = None, rows: BoolArray | None = None
) -> str:
    """Say why a measure has no interval; empty if it has one.

    Measures of classes, and means over classes, need ten points of each; the precision also ten
    points at which the class was answered; the Matthews correlation ten points outside the
    largest class, and ten with an answer other than the most frequent one.
    """
    sample, code = _get_sample(cell, name, rows), find_code(cell, name, label)
    sizes = np.bincount(sample.y, minlength=sample.classes)
    labels = cell.points.classes
    if name == "matthews":
        usual = labels[sizes.argmax()]
        few = (
            (f"points outside class {usual}", len(sample.y) - sizes.max()),
            ("points with another answer than the most frequent one", sample.count_unusual()),
        )
        return next((f"fewer than ten {what}: {_NO_INTERVAL}" for what, n in few if n < FEWEST), "")
    if name != "balanced_accuracy" and not get_measure(name).per_class:
        return ""
    if code is not None:
        codes = [code]
        if name in _SCORES and len(sample.y) - sizes[code] < FEWEST:
            return f"fewer than ten points outside class {labels[code]}: {_NO_INTERVAL}"
    elif name in _TABLES:
        codes = sample.present.tolist()
    else:
        codes = np.flatnonzero(sizes).tolist()
    for each in codes:
        if sizes[each] < FEWEST:
            return f"fewer than ten points of class {labels[each]}: {_NO_INTERVAL}"
        if name == "precision" and sample.count_answered(each) < FEWEST:
            return f"fewer than ten points with the answer {labels[each]}: {_NO_INTERVAL}"
    return ""


def _get_cell(series: Series, name: str) -> Record:
    if series.runs > 1:
        raise InputError(
            f"{name} is about one fitted model, got {series.runs} runs of a study; pass "
            "records.select(run=0), or take_runs(1) of the series"
        )
    refuse_shared(series.first, over_runs=False)
    return series.first


def check_needs(cell: Record, name: str) -> None:
    """Raise an `InputError` if a cell does not keep what a measure needs."""
    measure, answers = get_measure(name), cell.answers
    if answers is None:
        raise InputError(
            f"{name} needs answers, and {cell.model} under {cell.corruption} keeps hits alone; "
            "evaluate again with " + either("--record answers", "record='answers'")
        )
    if measure.needs != "answers" and not answers.has_scores:
        raise InputError(
            f"{name} needs scores, and {cell.model} returns labels; pass a model with "
            "predict_proba, or one that returns scores"
        )
    if measure.needs == "all scores" and answers.scores is None:
        raise InputError(
            f"{name} needs all scores, which are kept for up to {MOST_SCORES} classes that are "
            f"those of the data, got {len(cell.points.classes)}; take log_loss or top_5"
        )


def _get_sample(cell: Record, name: str, rows: BoolArray | None) -> Sample:
    check_needs(cell, name)
    assert cell.answers is not None
    sample = _make_sample(cell.answers, len(cell.points.classes), name)
    if rows is None:
        return sample
    chosen = np.asarray(rows, dtype=bool)
    if chosen.shape != sample.y.shape:
        raise InputError(
            f"rows must have one entry per point, {len(sample.y)}, got shape {chosen.shape}; pass "
            "a boolean mask of the points"
        )
    arrays = {
        each: value[chosen]
        for each, value in vars(sample).items()
        if isinstance(value, np.ndarray) and each not in ("confusion", "present")
    }
    return Sample(classes=sample.classes, **arrays)


def _make_sample(answers: Answers, classes: int, name: str) -> Sample:
    sample = Sample(answers.y, answers.predicted, classes)
    if get_measure(name).needs == "answers":
        return sample
    return replace(
        sample,
        scores=answers.scores,
        true_score=answers.true_score,
        rank=answers.rank,
        squares=answers.squares,
    )


def find_code(cell: Record, name: str, label: Any) -> int | None:
    """Return the code of a class of a measure; None for all classes."""
    if label is None:
        return None
    if not get_measure(name).per_class:
        raise InputError(f"{name} is not one of a class, got label {label!r}; leave label out")
    labels = [*cell.points.classes]
    for known in (labels, [str(each) for each in labels]):
        if label in known:
            return known.index(label)
    raise unknown_name("class", str(label), [str(each) for each in labels])


def _check_both(sample: Sample, name: str, code: int | None) -> None:
    codes = [code] if code is not None else range(sample.classes)
    if not any(formulas.has_both(sample, each) for each in codes):
        raise UndefinedError(
            f"{name} is undefined: all points are of one class; it needs points of two classes"
        )


def balanced_accuracy(records: Records | Series, *, corruption: str = "clean") -> Estimate:
    """Mean over classes of the share of right answers, so that rare classes count as others do.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    corruption
        Spec of the corruption.

    Returns
    -------
    Estimate
        The balanced accuracy, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.9, (x, x[:, 0] > 0.8), "clean")
    >>> st.metrics.accuracy(records).value, st.metrics.balanced_accuracy(records).value
    (0.9, 0.75)
    """
    return measure(records, "balanced_accuracy", corruption=corruption)


def measure(
    records: Records | Series, name: str, *, corruption: str = "clean", label: Any = None
) -> Estimate:
    """Any measure of answers by its name, such as ``recall``, ``matthews``, ``auc`` or ``top_5``.

    All draws of all points count alike, so on clean points it is scikit-learn's. Names are
    ``balanced_accuracy``, ``precision``, ``recall``, ``f1``, ``matthews``, ``top_N``, ``log_loss``,
    ``brier``, ``auc`` and ``average_precision``. The Brier score of two classes is half the sum
    over both, as in ``sklearn.metrics.brier_score_loss``.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    name
        Name of the measure.
    corruption
        Spec of the corruption.
    label
        Class, for precision, recall, F1, AUC and average precision; None for the mean over classes,
        of AUC and average precision with two classes for the second one.

    Returns
    -------
    Estimate
        The measure, with its interval; a class with fewer than ten points has none, and the limits
        are those of the whole range.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.6, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> st.metrics.measure(records, "recall", label=True).value
    0.8
    >>> print(st.metrics.measure(records, "f1", label=True, corruption="linf(0.1)"))
    0.889 (95 % interval 0.815 to 0.940)
    """
    series = choose_series(records, name, corruption=corruption, needs_clean=False)
    return estimate_measure(series, name, label=label)


def measure_difference(
    first: Records | Series,
    second: Records | Series,
    name: str,
    *,
    corruption: str = "clean",
    label: Any = None,
) -> Estimate:
    """Measure of the first model minus that of the second, paired: same points, same noise.

    Parameters
    ----------
    first, second
        Records of one fitted model each, on the same points with the same noise.
    name
        Name of the measure, as in `measure`.
    corruption
        Spec of the corruption.
    label
        Class, for measures of one.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), "clean")
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> round(st.metrics.measure_difference(a, b, "balanced_accuracy").value, 3)
    0.1
    """
    a, b = (
        choose_series(r, name, corruption=corruption, needs_clean=False) for r in (first, second)
    )
    return subtract_measures(a, b, name, label=label)


def measure_loss(
    records: Records | Series, name: str, *, corruption: str | None = None, label: Any = None
) -> Estimate:
    """Measure gained or lost under a corruption, relative to its clean value, paired by point.

    For accuracy at eps_min this is MSCR; the papers mean accuracy. It is defined for measures in
    [0, 1] where larger is better.

    Parameters
    ----------
    records
        Of one fitted model, with answers.
    name
        Name of the measure, as in `measure`.
    corruption
        Spec of the corruption; None if there is only one.
    label
        Class, for measures of one.

    Returns
    -------
    Estimate
        The relative change, with its interval; negative if something is lost.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> round(st.metrics.measure_loss(records, "balanced_accuracy").value, 3)
    -0.042
    """
    series = choose_series(records, name, corruption=corruption)
    return estimate_loss(series, name, label=label)


def mean_measure_error(result: SuiteResult, name: str, *, label: Any = None) -> Estimate:
    """Mean over a suite of 1 minus a measure: mCE, where the papers mean accuracy.

    It is defined for measures in [0, 1] where larger is better.

    Parameters
    ----------
    result
        One model under a suite; see `metrics.suite_results`.
    name
        Name of the measure, as in `measure`.
    label
        Class, for measures of one.

    Returns
    -------
    Estimate
        The mean error, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(100, 2))
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), st.suite("mscr-2d"), k=2)
    >>> (result,) = st.metrics.suite_results(records)
    >>> round(st.metrics.mean_measure_error(result, "balanced_accuracy").value, 4)
    0.0181
    """
    return estimate_mean_error(result, name, label=label)
