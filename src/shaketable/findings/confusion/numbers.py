"""Counts of answers by true class, and the pairs of classes whose confusion grows most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Record
from shaketable.findings.series import Series, allow_for_looks
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.intervals import mean_difference

FEW = 10
"""Points below which a class has no interval."""

MOST_PAIRS = 20
"""Pairs of classes that are listed at most."""

OTHER = "other"
"""Name of all classes that the data lack."""


def count_answers(cell: Record) -> IntArray:
    """Return how often each true class got each answer; the last column is for other classes."""
    assert cell.answers is not None
    classes = len(cell.points.classes)
    predicted = cell.answers.predicted.astype(np.int64)
    answered = np.where(predicted < 0, classes, predicted)
    places = cell.points.y[:, None] * (classes + 1) + answered
    counts = np.bincount(places.reshape(-1), minlength=classes * (classes + 1))
    return counts.reshape(classes, classes + 1)


@dataclass(frozen=True, eq=False)
class Turn:
    """Points of one class that are answered with another one."""

    true: str
    answered: str
    n: int
    """Number of points of the class."""
    clean: float
    """Share of the class's answers on clean points."""
    noisy: float
    growth: Estimate | None
    """Share under noise minus that on clean points; None of fewer than `FEW` points."""
    shown: bool
    """Whether it grows, among all pairs that are judged together."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """Answers of one fitted model under one corruption, or on clean points, by true class."""

    series: Series
    noise: str
    judged: int = 1
    """Number of pairs that are judged together."""

    @cached_property
    def counts(self) -> IntArray:
        """Number of answers, (true classes, answered classes and others)."""
        return count_answers(self.series.first)

    @cached_property
    def shares(self) -> FloatArray:
        """The same as shares of the answers of each true class; 0 for classes without points."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    @property
    def labels(self) -> list[str]:
        """Names of the classes."""
        return [str(label) for label in self.series.first.points.classes]

    @property
    def answered_labels(self) -> list[str]:
        """Names of the columns."""
        return [*self.labels, OTHER]

    @property
    def compared(self) -> int:
        """Number of pairs of classes that could grow."""
        return int(self.counts.any(axis=1).sum()) * max(len(self.labels) - 1, 1)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The pairs that grow most from clean to noisy, as measured; none on clean points."""
        if self.series.first.is_clean:
            return ()
        clean = Confusion(self.series.on_clean, "clean").shares
        growth = self.shares - clean
        np.fill_diagonal(growth, 0.0)
        order = np.argsort(-growth, axis=None, kind="stable")[:MOST_PAIRS]
        pairs = [divmod(int(place), growth.shape[1]) for place in order]
        return tuple(self._describe(i, j, clean) for i, j in pairs if growth[i, j] > 0)

    def _describe(self, true: int, answered: int, clean: FloatArray) -> Turn:
        n = int((self.series.first.points.y == true).sum())
        growth = self.estimate_growth(true, answered)
        return Turn(
            self.labels[true],
            self.answered_labels[answered],
            n,
            float(clean[true, answered]),
            float(self.shares[true, answered]),
            growth,
            growth is not None and is_shown(growth, self.judged),
        )

    def estimate_growth(self, true: int, answered: int) -> Estimate | None:
        """Return the share of a pair minus that on clean points; None of fewer than `FEW` points.

        Points of the true class alone count.
        """
        code = -1 if answered == len(self.labels) else answered
        k, own = self.series.first.k, self.series.first.points.y == true
        if own.sum() < FEW:
            return None
        clean, noisy = self.series.clean[0].answers, self.series.first.answers
        assert clean is not None
        assert noisy is not None
        after = (noisy.predicted[own] == code).sum(axis=1)
        before = k * (clean.predicted[own, 0] == code)
        estimate = mean_difference(after, before, k)
        return allow_for_looks(estimate, self.series.noisy, n=int(own.sum()))
