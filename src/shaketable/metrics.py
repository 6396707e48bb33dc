"""Metrics: pure functions from records to numbers with intervals; no model is ever seen here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable import statistics
from shaketable.errors import InputError, UndefinedError
from shaketable.groups import (
    Series,
    SuiteResult,
    meets_same_noise,
    meets_same_suite,
    refuse_shared,
    relative_change,
    series,
    suite_results,
)
from shaketable.records import Records
from shaketable.spec import parse_call
from shaketable.stability import Stability
from shaketable.stability import cv_difference as _cv_difference
from shaketable.statistics import Estimate
from shaketable.types import FloatArray, IntArray

__all__ = [
    "METRICS",
    "SUITE_METRICS",
    "ErrorProbability",
    "Series",
    "Stability",
    "SuiteResult",
    "accuracy",
    "cv_difference",
    "error_change",
    "error_probability",
    "ice",
    "mce",
    "mce_15",
    "mce_alexnet",
    "mce_lp",
    "mce_lp_difference",
    "mce_xn",
    "mcv",
    "mean_error",
    "mean_error_difference",
    "meets_same_noise",
    "meets_same_suite",
    "mscr",
    "mscr_difference",
    "relative_change",
    "relative_loss",
    "relative_mce_alexnet",
    "series",
    "suite_results",
    "verdict",
]


def accuracy(records: Records | Series, *, corruption: str = "clean") -> Estimate:
    """Share of points, or of noisy draws, that are classified correctly."""
    s = _one(records, lambda s: s.first.corruption == corruption, "accuracy")
    hits = [cell.hits for cell in s.noisy]
    if s.runs == 1:
        refuse_shared(s.first)
        return statistics.clustered(hits[0], s.first.k)
    return statistics.over_runs(hits, s.first.k)


def relative_loss(records: Records | Series, *, corruption: str | None = None) -> Estimate:
    """Accuracy won or lost under one corruption, relative to the clean accuracy.

    `corruption` may be left out when the records hold only one.
    """
    s = _one(records, _noise_named(corruption), "relative_loss")
    clean, hits = [cell.hits for cell in s.clean], [cell.hits for cell in s.noisy]
    if s.runs == 1:
        refuse_shared(s.first)
        return statistics.relative_change(clean[0], hits[0], s.first.k)
    return statistics.relative_change_over_runs(clean, hits, s.first.k)


def mscr(records: Records | Series) -> Estimate:
    r"""MSCR: avoidable accuracy lost under noise of size eps_min, relative to the clean accuracy.

    .. math:: (a_{\epsilon_{min}} - a_0) / a_0

    Siedel et al. (2022), Eq. 2; over runs, the mean of the ratios (Algorithm 1). Negative:
    avoidable accuracy lost. 0: as robust as the data allow. Positive: the noise helps. With several
    corruptions on record, the one whose size is the data's recorded eps_min counts.
    """
    s = _mscr_series(records)
    estimate = relative_loss(s)
    if s.at_eps_min:
        return estimate
    taken = f"{estimate.method}; {s.first.corruption}, the only noise on record, taken for eps_min"
    return replace(estimate, method=taken)


def mscr_difference(first: Records | Series, second: Records | Series) -> Estimate:
    """MSCR of the first model minus that of the second, paired: both met the same noise."""
    a, b = _mscr_series(first), _mscr_series(second)
    if not meets_same_noise(a, b):
        raise InputError(
            "mscr_difference needs two models that met the same noise on the same points in the "
            "same runs; evaluate both with the same data, corruption, k, runs and seed"
        )
    k = a.first.k
    if a.runs == 1:
        refuse_shared(a.first)
        one, two = ((s.clean[0].hits, s.noisy[0].hits) for s in (a, b))
        return statistics.difference(one, two, k)
    first_runs, second_runs = (
        ([c.hits for c in s.clean], [c.hits for c in s.noisy]) for s in (a, b)
    )
    return statistics.difference_over_runs(first_runs, second_runs, k)


def mce_lp(records: Records | SuiteResult) -> Estimate:
    r"""mCE_Lp: mean error under p-norm noise of 9 norms and 10 sizes each.

    .. math:: \frac{1}{90} \sum_{p, \epsilon} E_{p, \epsilon}

    Siedel et al. (2024), Section 4.1; as a fraction, where the paper has per cent. Lower is better.
    `method` names the suite and the number of its corruptions, which is less than 90 where sizes
    were derived for points of few values.
    """
    return mean_error(_suite_result(records, "mce_lp"))


def mce(records: Records | SuiteResult) -> Estimate:
    r"""Plain mCE: mean error over the 19 common corruptions, 5 severities each.

    .. math:: \frac{1}{95} \sum_{c, s} E_{c, s}

    Siedel et al. (2024), Eq. 3; as a fraction. Lower is better. The mCE of ImageNet-C is another
    number: see `mce_alexnet`.
    """
    return mean_error(_suite_result(records, "mce"))


def mce_15(records: Records | SuiteResult) -> Estimate:
    """Mean error over the 15 common corruptions of the benchmark, normalised by nothing."""
    return mean_error(_suite_result(records, "mce_15"))


def mce_xn(records: Records | SuiteResult) -> Estimate:
    """Plain mCE_xN: mean error over the 15 common corruptions that are not pixel noise."""
    return mean_error(_suite_result(records, "mce_xn"))


def mce_alexnet(records: Records | SuiteResult) -> Estimate:
    r"""The mCE of ImageNet-C: mean over 15 corruptions of the error relative to AlexNet's.

    .. math:: \frac{1}{15} \sum_c \frac{\sum_s E_{c, s}}{\sum_s E^{AlexNet}_{c, s}}

    Hendrycks & Dietterich (2019). 1: as many errors as AlexNet. For pictures of 224 pixels alone.
    """
    return _against_alexnet(_benchmark(records), clean=0.0)


def relative_mce_alexnet(records: Records | SuiteResult) -> Estimate:
    r"""Relative mCE of ImageNet-C: growth of the error against AlexNet's growth, over 15 kinds.

    .. math:: \frac{1}{15} \sum_c \frac{\sum_s E_{c, s} - E_{clean}}
              {\sum_s E^{AlexNet}_{c, s} - E^{AlexNet}_{clean}}

    Hendrycks & Dietterich (2019), with AlexNet's clean error of 43.5 %.
    """
    return _against_alexnet(_benchmark(records), clean=_ALEXNET_CLEAN)


_ALEXNET = {
    "gaussian_noise": 0.886428, "shot_noise": 0.894468, "impulse_noise": 0.922640,
    "defocus_blur": 0.819880, "glass_blur": 0.826268, "motion_blur": 0.785948,
    "zoom_blur": 0.798360, "snow": 0.866816, "frost": 0.826572, "fog": 0.819324,
    "brightness": 0.564592, "contrast": 0.853204, "elastic_transform": 0.646056,
    "pixelate": 0.717840, "jpeg_compression": 0.606500,
}  # fmt: skip
_ALEXNET_CLEAN = 0.435


def _benchmark(records: Records | SuiteResult) -> SuiteResult:
    """Return the 15 of the benchmark: their own suite, or out of all 19."""
    if isinstance(records, SuiteResult):
        result = records
    else:
        met = {r.suite.metric for r in suite_results(records)}
        result = _suite_result(records, "mce_15" if "mce_15" in met else "mce")
    mine = tuple(s for s in result.series if parse_call(s.first.corruption).name in _ALEXNET)
    return replace(result, series=mine)


def _against_alexnet(result: SuiteResult, *, clean: float) -> Estimate:
    calls = [parse_call(s.first.corruption) for s in result.series]
    if any("imagenet" not in call.args for call in calls):
        raise InputError(
            "errors are compared with AlexNet's on pictures of 224 x 224 pixels alone; for other "
            "sizes use mce_15, which is normalised by nothing"
        )
    refuse_shared(result.first)
    if result.series[0].runs > 1:
        raise InputError(
            "errors are compared with AlexNet's for one fitted model, got several runs"
        )
    k, weight = result.first.k, np.array([1 / (_ALEXNET[c.name] - clean) for c in calls])
    errors = np.array([1 - s.first.hits / k for s in result.series])
    if clean:
        errors = errors - (1 - result.series[0].clean[0].hits)
    values = weight @ errors / len(calls)
    least = -weight.mean() if clean else 0.0
    estimate = statistics.mean_of_values(values, low=least, high=float(weight.mean()))
    how = "growth of the error relative to AlexNet's" if clean else "error relative to AlexNet's"
    return replace(estimate, method=f"{how}, {result.method}; {estimate.method}")


def mean_error(result: SuiteResult) -> Estimate:
    """Mean error over a suite, or a part of one."""
    _, errors = result.errors()
    if len(errors) == 1:
        refuse_shared(result.first)
        estimate = statistics.clustered(errors[0], result.draws)
    else:
        estimate = statistics.over_runs(errors, result.draws)
    return replace(estimate, method=f"{result.method}; {estimate.method}")


def ice(records: Records | SuiteResult) -> Estimate:
    r"""iCE: how much the error grows, relative to the clean error, under imperceptible noise.

    .. math:: \Bigl(\frac{1}{n} \sum_{i=1}^n E_i - E_{clean}\Bigr) / E_{clean}

    Siedel et al. (2024), Eq. 4, with the brackets that match its Table 3. 0: noise that nobody sees
    changes nothing; 0.1: a tenth more errors. Undefined for a model without an error on clean
    points.
    """
    result = _suite_result(records, "ice")
    clean, errors = result.errors()
    if not all(run.any() for run in clean):
        raise UndefinedError(
            "iCE is undefined at a clean error of 0: there is nothing to compare with; measure on "
            "more points"
        )
    if len(errors) == 1:
        refuse_shared(result.first)
        estimate = statistics.relative_change(clean[0], errors[0], result.draws)
    else:
        estimate = statistics.relative_change_over_runs(clean, errors, result.draws)
    return replace(estimate, method=f"{result.method}; {estimate.method}")


def mce_lp_difference(first: Records | SuiteResult, second: Records | SuiteResult) -> Estimate:
    """mCE_Lp of the first model minus that of the second, paired: both met the same noise.

    Positive: the first one makes more errors.
    """
    return mean_error_difference(*(_suite_result(r, "mce_lp") for r in (first, second)))


def mean_error_difference(first: SuiteResult, second: SuiteResult) -> Estimate:
    """Mean error of the first model under a suite minus that of the second, paired."""
    if not meets_same_suite(first, second):
        raise InputError(
            "a difference needs two models that met the same suite on the same points in the same "
            "runs; evaluate both with the same data, suite, draws, k, runs and seed"
        )
    return _error_difference(first, first.errors()[1], second.errors()[1])


def error_change(result: SuiteResult) -> Estimate:
    """Mean error under a suite, or a part of it, minus the error on clean points, paired."""
    clean, errors = result.errors()
    return _error_difference(result, errors, [result.draws * run for run in clean])


def _error_difference(
    result: SuiteResult, first: list[IntArray], second: list[IntArray]
) -> Estimate:
    """Difference of two mean errors, paired, from wrong answers in the draws of `result`."""
    if len(first) == 1:
        refuse_shared(result.first)
        return statistics.mean_difference(first[0], second[0], result.draws)
    return statistics.mean_difference_over_runs(first, second, result.draws)


def mcv(records: Records | SuiteResult) -> Stability:
    r"""mCV: mean accuracy over all sets of a suite, and how much it varies from set to set (CV).

    .. math:: \mu = \frac{1}{S} \sum_s a_s, \quad
              CV = \frac{1}{\mu} \sqrt{\frac{1}{S} \sum_s (a_s - \mu)^2}

    Dai & Berleant (2022), Eq. 1 to 4, for one fitted model; both with intervals, beside the clean,
    the lowest and the highest accuracy. As fractions; a low CV is steady, not good.
    """
    return Stability(_suite_result(records, "mcv"))


def cv_difference(first: Records | SuiteResult, second: Records | SuiteResult) -> Estimate:
    """CV of the first model over a suite's sets minus that of the second, paired.

    Positive: the first one varies more.
    """
    return _cv_difference(*(_suite_result(r, "mcv") for r in (first, second)))


@dataclass(frozen=True, eq=False)
class ErrorProbability:
    """How likely a wrong answer is under this noise, with one-sided upper bounds."""

    overall: Estimate
    by_class: dict[Any, Estimate]
    by_point: FloatArray
    """Upper bound for every point by itself; k draws prove little: see `least_provable`."""
    least_provable: float
    """Bound for a point that was never wrong: the best that k draws can show."""
    k: int
    unseen: tuple[Any, ...]
    """Classes without a test point: nothing is known about them."""


def error_probability(
    records: Records | Series, *, corruption: str | None = None
) -> ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds.

    Overall and per class for new points of the same kind (fixed model); per point for new noise on
    that very point.
    """
    s = _one(records, _noise_named(corruption), "error_probability")
    if s.runs > 1:
        raise InputError("error_probability is about one fitted model, got several runs of a study")
    refuse_shared(s.first)
    cell = s.first
    y = cell.points.y
    return ErrorProbability(
        overall=statistics.error_upper_bound(cell.hits, cell.k),
        by_class={
            label: statistics.error_upper_bound(cell.hits[y == code], cell.k)
            for code, label in enumerate(cell.points.classes)
            if (y == code).any()
        },
        by_point=statistics.point_error_upper_bound(cell.hits, cell.k),
        least_provable=float(statistics.point_error_upper_bound(np.array([cell.k]), cell.k)[0]),
        k=cell.k,
        unseen=tuple(
            label for code, label in enumerate(cell.points.classes) if not (y == code).any()
        ),
    )


def verdict(value: Estimate) -> str:
    """Meaning of an MSCR, in words that claim no more than its interval."""
    loss = f"{abs(value.value):.2%}"
    span = f"95 % interval {value.low:+.2%} to {value.high:+.2%}"
    if value.high < 0:
        return (
            f"Not robust: noise too small to change any point's class costs it {loss} of its "
            f"accuracy ({span}). This loss is avoidable."
        )
    if value.low > 0:
        return f"Robust: noise of this size even raises its accuracy by {loss} ({span})."
    return (
        f"No loss shown, but one of up to {-value.low:.2%} is possible: its accuracy changes by "
        f"{round(value.value, 4) + 0.0:+.2%} under noise of this size ({span})."
    )


METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": accuracy,
    "relative_loss": relative_loss,
    "mscr": mscr,
    "mscr_difference": mscr_difference,
    "error_probability": error_probability,
    "mce_lp": mce_lp,
    "mce_lp_difference": mce_lp_difference,
    "ice": ice,
    "mce": mce,
    "mce_15": mce_15,
    "mce_xn": mce_xn,
    "mce_alexnet": mce_alexnet,
    "relative_mce_alexnet": relative_mce_alexnet,
    "mcv": mcv,
    "cv_difference": cv_difference,
}
"""Metrics by name."""

SUITE_METRICS: dict[str, Callable[[SuiteResult], Estimate]] = {
    "mce_lp": mce_lp, "ice": ice, "mce": mce, "mce_15": mce_15, "mce_xn": mce_xn,
}  # fmt: skip
"""Metrics of a whole suite, by the name that suites know them by."""


def _noise_named(corruption: str | None) -> Callable[[Series], bool]:
    if corruption is None:
        return lambda s: s.first.corruption != "clean"
    return lambda s: s.first.corruption == corruption


def _mscr_series(records: Records | Series) -> Series:
    if isinstance(records, Series):
        return records
    marked = any(s.at_eps_min for s in series(records))
    return _one(records, (lambda s: s.at_eps_min) if marked else _noise_named(None), "mscr")


def _one(records: Records | Series, wanted: Callable[[Series], bool], metric: str) -> Series:
    if isinstance(records, Series):
        return records
    found = [s for s in series(records) if wanted(s)]
    if len(found) != 1:
        raise InputError(
            f"{metric} needs exactly one model under one corruption, got {_listing(found)}; choose "
            "with records.select(model=…) or metrics.series(records)"
        )
    return found[0]


def _suite_result(records: Records | SuiteResult, metric: str) -> SuiteResult:
    if isinstance(records, SuiteResult):
        return records
    found = [r for r in suite_results(records) if r.suite.metric == metric]
    if len(found) != 1:
        names = _listing(f"{r.first.model} under {r.suite.name}" for r in found)
        raise InputError(
            f"{metric} needs exactly one model under one whole suite, got {names}; evaluate it "
            f"with a suite for {metric} (shaketable list suites), or choose with "
            "records.select(model=…) or metrics.suite_results(records)"
        )
    return found[0]


def _listing(found: Iterable[object]) -> str:
    names = [str(one) for one in found]
    return (
        "; ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"
    )
