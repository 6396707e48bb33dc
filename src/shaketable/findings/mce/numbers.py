"""Metrics of one model under a whole suite: mCE_Lp, iCE, the variants of mCE, differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import parse_call
from shaketable.core.types import IntArray
from shaketable.evaluation.records import Record, Records
from shaketable.findings.choosing import choose_suite_result
from shaketable.findings.series import allow_for_looks, refuse_shared
from shaketable.findings.suite_results import SuiteResult, meets_same_suite, share_suite_points
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def mce_lp(records: Records | SuiteResult) -> Estimate:
    r"""mCE_Lp: mean error under p-norm noise of 9 norms and 10 sizes each.

    .. math:: \frac{1}{90} \sum_{p, \epsilon} E_{p, \epsilon}

    Siedel et al. (2024), Section 4.1, as a fraction (per cent in the paper). Lower is better.
    `method` names the suite and the number of its corruptions, which is below 90 if sizes were
    derived for points with few values.

    Parameters
    ----------
    records
        Of one model under a suite such as ``pnorm``, or its result.

    Returns
    -------
    Estimate
        The mean error, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(50, 8, 8))
    >>> bright = x.mean(axis=(1, 2)) > 0.5
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2)) > 0.5, (x, bright), st.suite("pnorm"),
    ...                       k=1, bounds=(0, 1))
    >>> print(st.metrics.mce_lp(records))
    0.0681 (95 % interval 0.0382 to 0.1346)
    """
    return mean_error(choose_suite_result(records, "mce_lp"))


def mce(records: Records | SuiteResult) -> Estimate:
    r"""Plain mCE: mean error over the 19 common corruptions, 5 severities each.

    .. math:: \frac{1}{95} \sum_{c, s} E_{c, s}

    Siedel et al. (2024), Eq. 3, as a fraction. Lower is better. The mCE of ImageNet-C is defined
    differently: see `mce_alexnet`.

    Parameters
    ----------
    records
        Of one model under ``common-19``, or its result.

    Returns
    -------
    Estimate
        The mean error, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    >>> x[::2] //= 2  # dark images
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2, 3)) > 0.37, (x, [False, True] * 2),
    ...                       st.suite("common-19"))
    >>> print(st.metrics.mce(records))
    0.045 (95 % interval 0.000 to 0.989)
    """
    return mean_error(choose_suite_result(records, "mce"))


def mce_15(records: Records | SuiteResult) -> Estimate:
    """Mean error over the 15 common corruptions of the benchmark, not normalised.

    Records of all 19 hold these 15 too.

    Parameters
    ----------
    records
        Of one model under ``common-15`` or ``common-19``, or its result.

    Returns
    -------
    Estimate
        The mean error, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    >>> x[::2] //= 2  # dark images
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2, 3)) > 0.37, (x, [False, True] * 2),
    ...                       st.suite("common-15"))
    >>> print(st.metrics.mce_15(records))
    0.057 (95 % interval 0.000 to 0.987)
    """
    return mean_error(choose_suite_result(records, "mce_15"))


def mce_xn(records: Records | SuiteResult) -> Estimate:
    """Plain mCE_xN: mean error over the 15 common corruptions that are not pixel noise.

    Records of all 19 hold these 15 too.

    Parameters
    ----------
    records
        Of one model under ``common-xn`` or ``common-19``, or its result.

    Returns
    -------
    Estimate
        The mean error, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    >>> x[::2] //= 2  # dark images
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2, 3)) > 0.37, (x, [False, True] * 2),
    ...                       st.suite("common-xn"))
    >>> print(st.metrics.mce_xn(records))
    0.057 (95 % interval 0.000 to 0.987)
    """
    return mean_error(choose_suite_result(records, "mce_xn"))


def mce_alexnet(records: Records | SuiteResult) -> Estimate:
    r"""The mCE of ImageNet-C: mean over 15 corruptions of the error relative to AlexNet's.

    .. math:: \frac{1}{15} \sum_c \frac{\sum_s E_{c, s}}{\sum_s E^{AlexNet}_{c, s}}

    Hendrycks & Dietterich (2019). 1: as many errors as AlexNet. For images of 224 pixels only.
    AlexNet's errors are those on the published images, which were saved as JPEG of quality 85 after
    the corruption: compare with them on these (``published=``), or on images made with ``jpeg=85``.

    Parameters
    ----------
    records
        Of one model under ``common-15`` or ``common-19``, or its result.

    Returns
    -------
    Estimate
        Error relative to AlexNet's, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
    >>> x[0] //= 2  # a dark image
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2, 3)) > 0.37, (x, [False, True]),
    ...                       st.suite("common-15"))
    >>> print(st.metrics.mce_alexnet(records))
    0.13 (95 % interval 0.00 to 1.29)
    """
    return _compare_with_alexnet(_choose_benchmark(records), clean=0.0)


def relative_mce_alexnet(records: Records | SuiteResult) -> Estimate:
    r"""Relative mCE of ImageNet-C: growth of the error against AlexNet's growth, over 15 kinds.

    .. math:: \frac{1}{15} \sum_c \frac{\sum_s E_{c, s} - E_{clean}}
              {\sum_s E^{AlexNet}_{c, s} - E^{AlexNet}_{clean}}

    Hendrycks & Dietterich (2019), with AlexNet's clean error of 43.5 %.

    Parameters
    ----------
    records
        Of one model under ``common-15`` or ``common-19``, or its result.

    Returns
    -------
    Estimate
        Growth of the error relative to AlexNet's, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
    >>> x[0] //= 2  # a dark image
    >>> records = st.evaluate(lambda x: x.mean(axis=(1, 2, 3)) > 0.37, (x, [False, True]),
    ...                       st.suite("common-15"))
    >>> print(st.metrics.relative_mce_alexnet(records))
    0.37 (95 % interval -3.26 to 3.26)
    """
    return _compare_with_alexnet(_choose_benchmark(records), clean=_ALEXNET_CLEAN)


_ALEXNET = {
    "gaussian_noise": 0.886428, "shot_noise": 0.894468, "impulse_noise": 0.922640,
    "defocus_blur": 0.819880, "glass_blur": 0.826268, "motion_blur": 0.785948,
    "zoom_blur": 0.798360, "snow": 0.866816, "frost": 0.826572, "fog": 0.819324,
    "brightness": 0.564592, "contrast": 0.853204, "elastic_transform": 0.646056,
    "pixelate": 0.717840, "jpeg_compression": 0.606500,
}  # fmt: skip

_ALEXNET_CLEAN = 0.435


def _choose_benchmark(records: Records | SuiteResult) -> SuiteResult:
    """Return the result of the benchmark's 15 corruptions: of their own suite, or out of all 19."""
    result = choose_suite_result(records, "mce_15")
    chosen = tuple(s for s in result.series if parse_call(s.first.corruption).name in _ALEXNET)
    return replace(result, series=chosen)


def _compare_with_alexnet(result: SuiteResult, *, clean: float) -> Estimate:
    calls = [parse_call(s.first.corruption) for s in result.series]
    if any("imagenet" not in call.args for call in calls):
        raise InputError(
            "errors are compared with AlexNet's on images of 224 x 224 pixels only; for other "
            "sizes use mce_15, which is not normalised"
        )
    refuse_shared(result.first, over_runs=False)
    if result.series[0].runs > 1:
        raise InputError(
            f"errors are compared with AlexNet's for one fitted model, got {result.series[0].runs} "
            "runs; pass records.select(run=0)"
        )
    k, weight = result.first.k, np.array([1 / (_ALEXNET[c.name] - clean) for c in calls])
    errors = np.array([1 - s.first.hits / k for s in result.series])
    if clean:
        errors = errors - (1 - result.series[0].clean[0].hits)
    values = weight @ errors / len(calls)
    least = -weight.mean() if clean else 0.0
    estimate = intervals.mean_of_values(values, low=least, high=float(weight.mean()))
    estimate = allow_for_looks(estimate, result.series[0].noisy)
    what = "growth of the error relative to AlexNet's" if clean else "error relative to AlexNet's"
    return replace(estimate, method=f"{what}, {result.method}; {estimate.method}")


def mean_error(result: SuiteResult) -> Estimate:
    """Mean error over a suite, or a part of it.

    Parameters
    ----------
    result
        One model under a suite; see `metrics.suite_results`.

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
    >>> print(st.metrics.mean_error(st.metrics.suite_results(records)[0]))
    0.0163 (95 % interval 0.0024 to 0.0572)
    """
    _, errors = result.errors()
    if len(errors) == 1:
        refuse_shared(result.first)
        estimate = intervals.mean_share(errors[0], result.draws)
    else:
        estimate = intervals.mean_share_over_runs(errors, result.draws)
    estimate = allow_for_looks(estimate, result.series[0].noisy)
    return replace(estimate, method=f"{result.method}; {estimate.method}")


def ice(records: Records | SuiteResult) -> Estimate:
    r"""iCE: how much the error grows, relative to the clean error, under imperceptible noise.

    .. math:: \Bigl(\frac{1}{n} \sum_{i=1}^n E_i - E_{clean}\Bigr) / E_{clean}

    Siedel et al. (2024), Eq. 4, with the brackets that match its Table 3. 0: imperceptible noise
    changes nothing; 0.1: a tenth more errors. Undefined for a model without errors on clean points.

    Parameters
    ----------
    records
        Of one model under a suite such as ``ice``, or its result.

    Returns
    -------
    Estimate
        iCE, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(100, 8, 8))
    >>> bright = x.mean(axis=(1, 2)) > 0.5
    >>> records = st.evaluate(lambda x: x[:, ::2].mean(axis=(1, 2)) > 0.5, (x, bright),
    ...                       st.suite("ice"), k=1, bounds=(0, 1))
    >>> print(st.metrics.ice(records))
    0.000 (95 % interval -0.112 to 0.126)
    """
    result = choose_suite_result(records, "ice")
    clean, errors = result.errors()
    if not all(run.any() for run in clean):
        raise UndefinedError(
            "iCE is undefined at a clean error of 0, which nothing can be compared with; measure "
            "on more points"
        )
    if len(errors) == 1:
        refuse_shared(result.first)
        estimate = intervals.relative_change(clean[0], errors[0], result.draws)
    else:
        estimate = intervals.relative_change_over_runs(clean, errors, result.draws)
    estimate = allow_for_looks(estimate, result.series[0].noisy)
    return replace(estimate, method=f"{result.method}; {estimate.method}")


def mce_lp_difference(first: Records | SuiteResult, second: Records | SuiteResult) -> Estimate:
    """mCE_Lp of the first model minus that of the second, paired: same points, same noise.

    Positive: the first one makes more errors.

    Parameters
    ----------
    first, second
        Records, or results, of one model each under the same suite.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(50, 8, 8))
    >>> bright = x.mean(axis=(1, 2)) > 0.5
    >>> models = {"a": lambda x: x[:, ::2].mean(axis=(1, 2)) > 0.5,
    ...           "b": lambda x: x.mean(axis=(1, 2)) > 0.5}
    >>> records = st.evaluate(models, (x, bright), st.suite("pnorm"), k=1, bounds=(0, 1))
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> print(st.metrics.mce_lp_difference(a, b))
    0.145 (95 % interval 0.025 to 0.273)
    """
    return mean_error_difference(*(choose_suite_result(r, "mce_lp") for r in (first, second)))


def mean_error_difference(first: SuiteResult, second: SuiteResult) -> Estimate:
    """Mean error of the first model under a suite minus that of the second, paired.

    Parameters
    ----------
    first, second
        Two models under the same suite; see `metrics.suite_results`.

    Returns
    -------
    Estimate
        The difference, with its interval; positive if the first makes more errors.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(100, 2))
    >>> models = {"a": lambda x: x[:, 0] > 0.6, "b": lambda x: x[:, 0] > 0.5}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), st.suite("mscr-2d"), k=2)
    >>> print(st.metrics.mean_error_difference(*st.metrics.suite_results(records)))
    0.073 (95 % interval 0.014 to 0.143)
    """
    if not meets_same_suite(first, second):
        raise InputError(
            "a difference needs two models evaluated under the same suite on the same points in "
            "the same runs; evaluate both with the same data, suite, draws, k, runs and seed"
        )
    first, second = share_suite_points(first, second)
    errors = first.errors()[1], second.errors()[1]
    return _estimate_difference(first, *errors, second.series[0].noisy)


def error_change(result: SuiteResult) -> Estimate:
    """Mean error under a suite, or a part of it, minus the error on clean points, paired.

    Parameters
    ----------
    result
        One model under a suite; see `metrics.suite_results`.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(100, 2))
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), st.suite("mscr-2d"), k=2)
    >>> print(st.metrics.error_change(st.metrics.suite_results(records)[0]))
    0.0163 (95 % interval -0.0184 to 0.0524)
    """
    clean, errors = result.errors()
    return _estimate_difference(result, errors, [result.draws * run for run in clean])


def _estimate_difference(
    result: SuiteResult, first: list[IntArray], second: list[IntArray], *others: Sequence[Record]
) -> Estimate:
    """Difference of two mean errors, paired, from wrong answers in the draws of `result`.

    `others` are cells of another model, one per run.
    """
    if len(first) == 1:
        refuse_shared(result.first)
        estimate = intervals.mean_difference(first[0], second[0], result.draws)
    else:
        estimate = intervals.mean_difference_over_runs(first, second, result.draws)
    return allow_for_looks(estimate, result.series[0].noisy, *others)


SUITE_METRICS: dict[str, Callable[[SuiteResult], Estimate]] = {
    "mce_lp": mce_lp,
    "ice": ice,
    "mce": mce,
    "mce_15": mce_15,
    "mce_xn": mce_xn,
}
"""Metrics of a whole suite, by the name in `SuiteRecord.metric`."""
