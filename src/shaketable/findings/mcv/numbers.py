"""The metrics: mCV of one model, and the difference in CV of two."""

from __future__ import annotations

from shaketable.evaluation.records import Records
from shaketable.findings.choosing import choose_suite_result
from shaketable.findings.mcv.stability import Stability
from shaketable.findings.mcv.stability import cv_difference as _cv_difference
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics.estimate import Estimate


def mcv(records: Records | SuiteResult) -> Stability:
    r"""mCV: mean accuracy over all sets of a suite, and how much it varies from set to set (CV).

    .. math:: \mu = \frac{1}{S} \sum_s a_s, \quad
              CV = \frac{1}{\mu} \sqrt{\frac{1}{S} \sum_s (a_s - \mu)^2}

    Dai & Berleant (2022), Eq. 1 to 4, as fractions; over runs, of the mean accuracies. Mean and CV
    have intervals; the clean, the lowest and the highest accuracy are included. A low CV means
    steady, not good.

    Parameters
    ----------
    records
        Of one model under a suite of sets, or its result.

    Returns
    -------
    Stability
        Mean and CV, with their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(200, 2))
    >>> suite = st.grid(["gaussian(0.05)", "gaussian(0.2)"], ["scaling(1.1)"])
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), suite)
    >>> print(st.metrics.mcv(records).cv)
    0.0638 (95 % interval 0.0366 to 0.0835)
    """
    return Stability(choose_suite_result(records, "mcv"))


def cv_difference(first: Records | SuiteResult, second: Records | SuiteResult) -> Estimate:
    """CV of the first model over a suite's sets minus that of the second, paired.

    Positive: the first one varies more.

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
    >>> x = np.random.default_rng(0).uniform(size=(200, 2))
    >>> suite = st.grid(["gaussian(0.05)", "gaussian(0.2)"], ["scaling(1.1)"])
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), suite)
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> print(st.metrics.cv_difference(a, b))
    0.0113 (95 % interval -0.0154 to 0.0393)
    """
    return _cv_difference(*(choose_suite_result(r, "mcv") for r in (first, second)))
