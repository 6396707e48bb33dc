"""Accuracy lost under noise in one column at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from shaketable.corruptions.suites.per_feature import METRIC, split_column
from shaketable.evaluation.records import Records
from shaketable.findings.choosing import choose_suite_result
from shaketable.findings.series import Series, allow_for_looks, refuse_shared
from shaketable.findings.suite_results import SuiteResult
from shaketable.statistics import intervals
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate


@dataclass(frozen=True, eq=False)
class FeatureLoss:
    """One model under noise in one column."""

    feature: str
    noise: str
    """The noise, without the column."""
    series: Series
    judged: int
    """Number of losses on these data that are judged together."""

    @property
    def accuracy(self) -> Estimate:
        """Accuracy under the noise."""
        return self.series.accuracy

    @cached_property
    def value(self) -> Estimate:
        """Clean accuracy minus the accuracy under the noise, paired by point."""
        clean, noisy = self.series.clean[0], self.series.first
        e = intervals.mean_difference(clean.hits * noisy.k, noisy.hits, noisy.k)
        return allow_for_looks(e, [noisy])

    @cached_property
    def is_unnoticed(self) -> bool:
        """Whether every answer is right or wrong as it was, in all draws."""
        noisy = self.series.first
        return np.array_equal(self.series.clean[0].hits * noisy.k, noisy.hits)

    @cached_property
    def shown(self) -> bool:
        """Whether accuracy is lost, among all losses that are judged together."""
        return self.value.value > 0 and is_shown(self.value, self.judged)


def make_losses(result: SuiteResult, judged: int) -> dict[str, tuple[FeatureLoss, ...]]:
    """Return the losses in all columns by noise, each the largest as measured first.

    A loss depends on the size of the noise, so losses under different noise have no common ranking.
    """
    refuse_shared(result.first, over_runs=False)
    losses: dict[str, list[FeatureLoss]] = {}
    for series in result.series:
        feature, noise = split_column(series.first.corruption)
        losses.setdefault(noise, []).append(FeatureLoss(feature, noise, series, judged))
    return {
        noise: tuple(sorted(each, key=lambda loss: -loss.value.value))
        for noise, each in losses.items()
    }


def choose_most_fragile(losses: tuple[FeatureLoss, ...]) -> tuple[FeatureLoss, ...]:
    """Return the losses that may be the largest: with 95 % confidence, the largest is among them.

    Each is compared with the largest as measured, paired by point. The one that is largest in truth
    is left out only if another one is shown to be larger, and all these errors together have a
    probability of at most 5 % (Bonferroni).
    """
    top, *others = losses
    cell = top.series.first

    def compare(loss: FeatureLoss) -> Estimate:
        e = intervals.mean_difference(loss.series.first.hits, cell.hits, cell.k)
        return allow_for_looks(e, [cell])

    return (top, *(loss for loss in others if not is_shown(compare(loss), len(others))))


def feature_losses(records: Records | SuiteResult) -> dict[str, Estimate]:
    """Accuracy that one fitted model loses under noise in one column at a time, the largest first.

    The model was evaluated with ``st.corruptions.per_feature(data)``. Losses under
    different noise, such as that of numbers and that of categories, are ranked one after the
    other. Keys are names of columns or, if there are several kinds of noise per column, specs.

    Parameters
    ----------
    records
        Of one model under a suite of `per_feature`, or its result.

    Returns
    -------
    dict[str, Estimate]
        Loss of every column, as a fraction.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> data = st.make_dataset(np.random.default_rng(0).normal(size=(60, 2)), [0, 1] * 30)
    >>> records = st.evaluate(lambda x: (x[:, 1] > 0).astype(int), data,
    ...                       st.corruptions.per_feature(data, "jitter(1)"), k=1)
    >>> list(st.metrics.feature_losses(records))
    ['0', '1']
    """
    result = choose_suite_result(records, METRIC)
    losses = list(chain.from_iterable(make_losses(result, len(result.series)).values()))
    names = [loss.feature for loss in losses]
    if len(set(names)) < len(names):
        names = [loss.series.first.corruption for loss in losses]
    return {name: loss.value for name, loss in zip(names, losses, strict=True)}
