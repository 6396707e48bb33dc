"""Metrics of one model under one corruption: accuracy, relative loss, MSCR, error probability."""

from __future__ import annotations

from dataclasses import replace

from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.findings.choosing import choose_series
from shaketable.findings.series import (
    ErrorProbability,
    Series,
    allow_for_looks,
    group_series,
    meets_same_noise,
    refuse_shared,
    share_points,
)
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate


def accuracy(records: Records | Series, *, corruption: str = "clean") -> Estimate:
    """Share of points, or of noisy draws, that are classified correctly.

    Parameters
    ----------
    records
        Of one model; over several runs, the mean.
    corruption
        Spec of the corruption.

    Returns
    -------
    Estimate
        The accuracy, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> print(st.metrics.accuracy(records, corruption="linf(0.1)"))
    0.9580 (95 % interval 0.9315 to 0.9767)
    """
    return choose_series(records, "accuracy", corruption=corruption, needs_clean=False).accuracy


def relative_loss(records: Records | Series, *, corruption: str | None = None) -> Estimate:
    """Accuracy gained or lost under one corruption, relative to the clean accuracy.

    `corruption` may be left out when the records hold only one.

    Parameters
    ----------
    records
        Of one model; over several runs, the mean.
    corruption
        Spec of the corruption; None if there is only one.

    Returns
    -------
    Estimate
        The relative change, with its interval; negative if accuracy is lost.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> print(st.metrics.relative_loss(records))
    -0.0420 (95 % interval -0.0676 to -0.0095)
    """
    return choose_series(records, "relative_loss", corruption=corruption).relative_loss


def mscr(records: Records | Series, *, corruption: str | None = None) -> Estimate:
    r"""MSCR: avoidable accuracy lost under noise of size eps_min, relative to the clean accuracy.

    .. math:: (a_{\epsilon_{min}} - a_0) / a_0

    Siedel et al. (2022), Eq. 2; over runs, the mean of the ratios (Algorithm 1). Negative:
    avoidable accuracy lost. 0: as robust as the data allow. Positive: the noise helps. If the
    records hold several corruptions, it is computed for the one of size eps_min; if there are
    several of this size, `corruption` chooses one, such as ``l2(eps_min)``.

    Parameters
    ----------
    records
        Of one model; over several runs, the mean.
    corruption
        Spec of the noise; None for the only one of size eps_min.

    Returns
    -------
    Estimate
        MSCR, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.51, (x, x[:, 0] > 0.5), "linf(eps_min)")
    >>> print(st.metrics.mscr(records))
    0.0000 (95 % interval -0.0298 to 0.0307)
    """
    series = _choose_mscr_series(records, "mscr", corruption)
    estimate = series.relative_loss
    if series.at_eps_min:
        return estimate
    chosen = "the only noise on record" if corruption is None else "as named"
    caveat = f"{series.first.corruption}, {chosen}, taken for eps_min"
    return replace(estimate, method=f"{estimate.method}; {caveat}")


def accuracy_difference(
    first: Records | Series, second: Records | Series, *, corruption: str = "clean"
) -> Estimate:
    """Accuracy of the first model minus that of the second, paired: same points, same noise.

    Positive: the first one is right more often.

    Parameters
    ----------
    first, second
        Records of one model each, on the same points with the same noise.
    corruption
        Spec of the corruption.

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
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> print(st.metrics.accuracy_difference(a, b, corruption="linf(0.1)"))
    0.0580 (95 % interval 0.0174 to 0.1053)
    """
    a, b = (
        choose_series(r, "accuracy_difference", corruption=corruption, needs_clean=False)
        for r in (first, second)
    )
    return estimate_accuracy_difference(a, b)


def estimate_accuracy_difference(first: Series, second: Series) -> Estimate:
    """Accuracy of the first series minus that of the second, paired."""
    _refuse_unpaired(first, second, "accuracy_difference")
    first, second = share_points(first, second)
    a, b = ([cell.hits for cell in s.noisy] for s in (first, second))
    k = first.first.k
    if len(a) == 1:
        refuse_shared(first.first)
        estimate = intervals.mean_difference(a[0], b[0], k)
    else:
        estimate = intervals.mean_difference_over_runs(a, b, k)
    return allow_for_looks(estimate, first.noisy, second.noisy)


def mscr_difference(
    first: Records | Series, second: Records | Series, *, corruption: str | None = None
) -> Estimate:
    """MSCR of the first model minus that of the second, paired: same points, same noise.

    Parameters
    ----------
    first, second
        Records of one model each, on the same points with the same noise.
    corruption
        Spec of the noise; None for the only one of size eps_min.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.51}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), "linf(eps_min)")
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> print(st.metrics.mscr_difference(a, b))
    0.0000 (95 % interval -0.0300 to 0.0300)
    """
    a, b = (_choose_mscr_series(r, "mscr_difference", corruption) for r in (first, second))
    _refuse_unpaired(a, b, "mscr_difference")
    a, b = share_points(a, b)
    k = a.first.k
    if a.runs == 1:
        refuse_shared(a.first)
        of_first, of_second = ((s.clean[0].hits, s.noisy[0].hits) for s in (a, b))
        estimate = intervals.change_difference(of_first, of_second, k)
    else:
        first_runs, second_runs = (
            ([c.hits for c in s.clean], [c.hits for c in s.noisy]) for s in (a, b)
        )
        estimate = intervals.change_difference_over_runs(first_runs, second_runs, k)
    return allow_for_looks(estimate, a.noisy, b.noisy)


def _refuse_unpaired(first: Series, second: Series, metric: str) -> None:
    if not meets_same_noise(first, second):
        raise InputError(
            f"{metric} needs two models evaluated under the same noise on the same points "
            "in the same runs; evaluate both with the same data, corruption, k, runs and seed"
        )


def error_probability(
    records: Records | Series, *, corruption: str | None = None
) -> ErrorProbability:
    """Probability of a wrong answer under one corruption, with one-sided 95 % upper bounds.

    The overall and per-class bounds hold for new points of the same distribution and a fixed model;
    the bound of a point holds for new noise on that point.

    Parameters
    ----------
    records
        Of one fitted model.
    corruption
        Spec of the corruption; None if there is only one.

    Returns
    -------
    ErrorProbability
        Bounds overall, of every class and of every point.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), "linf(0.1)")
    >>> print(st.metrics.error_probability(records).overall)
    0.0420 (95 % interval 0.0000 to 0.0640)
    """
    return choose_series(
        records, "error_probability", corruption=corruption, needs_clean=False
    ).error_probability


def _choose_mscr_series(records: Records | Series, metric: str, corruption: str | None) -> Series:
    if isinstance(records, Series):
        return records
    known = any(s.at_eps_min for s in group_series(records, needs_clean=False))
    return choose_series(
        records,
        metric,
        corruption=corruption,
        wanted=lambda s: s.at_eps_min if known else not s.first.is_clean,
    )
