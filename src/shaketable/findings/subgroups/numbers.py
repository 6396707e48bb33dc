"""Accuracy and error probability of the points of every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import GroupingRecord, Points, Record, Records
from shaketable.findings.choosing import choose_series
from shaketable.findings.series import allow_for_looks, bound_error, find_unit, refuse_shared
from shaketable.statistics import groups
from shaketable.statistics.difference import excludes_zero, is_shown
from shaketable.statistics.estimate import Estimate

CLASS = "class"
"""Name of the grouping by class, which all data have."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Points of a cell in groups: by class, or by the values of a column."""

    by: str
    """Name of the column; ``class`` for classes."""
    labels: tuple[str, ...]
    """Names of the groups that have points."""
    codes: IntArray
    """Group of every point, an index into `labels`."""
    unseen: tuple[str, ...]
    """Names of the groups without a point: nothing is known about them."""
    is_class: bool = False


def split_by_class(points: Points) -> Partition:
    """Return the points by class."""
    partition = _drop_unseen(CLASS, [str(label) for label in points.classes], points.y)
    return replace(partition, is_class=True)


def split_by_column(points: Points, grouping: GroupingRecord) -> Partition:
    """Return the points by the values of a column."""
    return _drop_unseen(grouping.name, grouping.labels, grouping.codes[points.rows])


def _drop_unseen(by: str, labels: Sequence[str], codes: IntArray) -> Partition:
    seen, codes = np.unique(codes, return_inverse=True)
    unseen = np.setdiff1d(np.arange(len(labels)), seen)
    names = [tuple(labels[i] for i in places) for places in (seen, unseen)]
    return Partition(by, names[0], codes, names[1])


@dataclass(frozen=True, eq=False)
class Group:
    """One group of points of one model under one corruption, or of clean points."""

    label: str
    n: int
    """Number of points."""
    accuracy: Estimate
    error: Estimate
    """Probability of a wrong answer, with a one-sided 95 % upper bound."""
    gap: Estimate | None
    """Accuracy minus that of all other points; None if there are no others."""
    shown: bool
    """Whether the gap differs from 0, among all that are judged together."""


@dataclass(frozen=True, eq=False)
class Breakdown:
    """One model under one corruption, or on clean points, by groups of points."""

    cell: Record
    noise: str
    """Name of the corruption."""
    at_eps_min: bool
    partition: Partition
    judged: int
    """Number of gaps by this column that are judged together."""

    @property
    def compared(self) -> int:
        """Number of different gaps; two groups have the same one, with opposite signs."""
        n = len(self.partition.labels)
        return n if n > 2 else n - 1

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups, the one with the most errors as measured first."""
        counts, labels = self._counts, self.partition.labels
        gaps: list[Estimate | None] = [None] * len(labels)
        shown = [False] * len(labels)
        if self.compared:
            # of all groups at once, as there may be a thousand; see `is_shown`
            strict = 1 - 0.05 / self.judged
            gaps = [*groups.differences_from_others(counts)]
            shown = list(
                map(excludes_zero, groups.differences_from_others(counts, confidence=strict))
            )
        listed = [
            Group(*each)
            for each in zip(
                labels,
                counts.sum(axis=1).astype(int).tolist(),
                groups.group_shares(counts),
                groups.group_error_bounds(counts),
                gaps,
                shown,
                strict=True,
            )
        ]
        if find_unit([self.cell]) is not None:
            listed = [self._allow_for_looks(group) for group in listed]
        return tuple(sorted(listed, key=lambda group: (-group.error.value, -group.error.high)))

    def _allow_for_looks(self, group: Group) -> Group:
        """Return a group with intervals that hold where a stopping rule stopped."""
        chosen = self.partition.codes == self.partition.labels.index(group.label)
        n = min(group.n, self.cell.n - group.n) or group.n  # of the smaller part
        gap = None if group.gap is None else allow_for_looks(group.gap, [self.cell], n=n)
        return replace(
            group,
            accuracy=allow_for_looks(group.accuracy, [self.cell], n=group.n),
            error=bound_error(self.cell.hits[chosen], self.cell),
            gap=gap,
            shown=gap is not None and is_shown(gap, self.judged),
        )

    @property
    def worst(self) -> Group:
        """The group with the most errors, as measured."""
        return self.groups[0]

    @cached_property
    def upper(self) -> float:
        """Highest bound: with 95 % confidence the probability of an error is lower in every group.

        The bound of the group that is worst in truth holds with this confidence, and no bound is
        higher than the highest, so none has to be widened for their number.
        """
        return max(group.error.high for group in self.groups)

    def find(self, label: str) -> Group:
        """Return the group of this name."""
        return next(group for group in self.groups if group.label == label)

    @cached_property
    def _counts(self) -> FloatArray:
        codes, labels = self.partition.codes, self.partition.labels
        return groups.count_by_group(self.cell.hits, self.cell.k, codes, len(labels))


def group_accuracy(
    records: Records, *, by: str = CLASS, corruption: str = "clean"
) -> dict[str, Estimate]:
    """Accuracy of every group of points of one fitted model: by class, or by a column.

    Columns are those that the model was evaluated with, as in ``evaluate(…, by="sex")``.

    Parameters
    ----------
    records
        Of one fitted model.
    by
        ``class``, or a column that the model was evaluated with.
    corruption
        Spec of the corruption.

    Returns
    -------
    dict[str, Estimate]
        Accuracy of every group, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.6, (x, np.where(x[:, 0] > 0.5, 1, 0)), "clean")
    >>> print(st.metrics.group_accuracy(records)["1"])
    0.800 (95 % interval 0.663 to 0.900)
    """
    breakdown = _choose(records, "group_accuracy", by, corruption)
    return {group.label: group.accuracy for group in breakdown.groups}


def group_error_probability(
    records: Records, *, by: str = CLASS, corruption: str = "clean"
) -> dict[str, Estimate]:
    """Probability of a wrong answer in every group of points, with one-sided 95 % upper bounds.

    Parameters
    ----------
    records
        Of one fitted model.
    by
        ``class``, or a column that the model was evaluated with.
    corruption
        Spec of the corruption.

    Returns
    -------
    dict[str, Estimate]
        Share of wrong answers in every group; ``high`` is the bound.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.6, (x, np.where(x[:, 0] > 0.5, 1, 0)), "clean")
    >>> print(st.metrics.group_error_probability(records)["0"])
    0.0000 (95 % interval 0.0000 to 0.0582)
    """
    breakdown = _choose(records, "group_error_probability", by, corruption)
    return {group.label: group.error for group in breakdown.groups}


def _choose(records: Records, metric: str, by: str, corruption: str) -> Breakdown:
    series = choose_series(records, metric, corruption=corruption, needs_clean=False)
    refuse_shared(series.first, over_runs=False)
    cell = series.first
    known = {g.name: g for g in records.groupings if g.fingerprint == cell.fingerprint}
    if by not in (CLASS, *known):
        raise unknown_name("column to group by", by, (CLASS, *known))
    points = cell.points
    partition = split_by_column(points, known[by]) if by in known else split_by_class(points)
    return Breakdown(cell, cell.corruption, series.at_eps_min, partition, len(partition.labels))
