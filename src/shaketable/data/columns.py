"""Statistics of features that corruptions refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.arrays import split_rows
from shaketable.core.checks import unknown_name
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.frames.schema import TableSchema

FEW_VALUES = 10
"""Different numbers that are few."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Mean and standard deviation of every feature, computed when first asked for.

    >>> Columns(lambda: np.array([[1.0, 5.0], [3.0, 5.0]])).spread
    array([1., 0.])
    """

    read: Callable[[], Array]
    """Returns the points, one per row."""
    names: tuple[str, ...] | None = None
    """Names of the features; None: they are numbered from 0."""
    table: TableSchema | None = None
    """What the features hold, and which may change; None for plain numbers."""
    convert: Callable[[Array], Array] = np.asarray
    """Makes the values that count of some of the points, such as x/255 of uint8."""
    part_of: tuple[Columns, list[int]] | None = None
    """More features that these were taken from, and their places there; None if there are none."""

    @property
    def d(self) -> int:
        """Number of features."""
        return self._points.shape[1] if self.names is None else len(self.names)

    def find(self, wanted: Iterable[str]) -> tuple[int, ...]:
        """Places of features, in their order in the data.

        >>> Columns(lambda: np.zeros((1, 2)), ("age", "income")).find(["income"])
        (1,)
        """
        names = self.names or tuple(map(str, range(self.d)))
        for name in wanted:
            if name not in names:
                raise unknown_name("column", name, names)
        return tuple(sorted({names.index(name) for name in wanted}))

    def take(self, places: Iterable[int]) -> Columns:
        """Return the features at these places."""
        chosen = list(places)
        names = None if self.names is None else tuple(self.names[i] for i in chosen)
        table = None if self.table is None else self.table.take(chosen)
        return Columns(
            lambda: self._points[:, chosen],
            names,
            table,
            self.convert,
            (self, chosen),
        )

    def count_values(self, place: int) -> tuple[Array, IntArray]:
        """Different values of a feature, in ascending order, and how often each occurs.

        >>> Columns(lambda: np.array([[1.0], [5.0], [1.0], [np.nan]])).count_values(0)
        (array([1., 5.]), array([2, 1]))
        """
        values = self._get_one(place)
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return distinct, counts

    def has_steps(self, place: int) -> bool:
        """Whether a feature has few different values, or small noise seldom reaches the next one.

        Such are flags, ratings and counts: at most 10 different values, each of them 5 times on
        average, or neighbours that are mostly farther apart than a standard deviation.

        >>> x = np.array([[0.0, 0.1], [1.0, 0.7], [1.0, 0.2], [0.0, 0.9]])
        >>> Columns(lambda: x).has_steps(0), Columns(lambda: x).has_steps(1)
        (True, False)
        """
        values, counts = self.count_values(place)
        if len(values) < 2:
            return False
        if len(values) <= min(FEW_VALUES, counts.sum() / 5):
            return True
        gaps = np.diff(values.astype(np.float64), prepend=-np.inf, append=np.inf)
        nearest = np.minimum(gaps[:-1], gaps[1:]).repeat(counts)
        return bool(np.std(values.repeat(counts)) < np.median(nearest))

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of every feature, flattened; of categories and the like, the most frequent one."""
        if self.table is None:
            return self._sum(lambda block: block) / len(self._points)
        if self.part_of is not None:
            whole, places = self.part_of
            return whole.mean[places]
        mean = self._average(np.nanmean)
        for place in np.flatnonzero(~self.table.numeric):
            values, counts = self.count_values(int(place))
            mean[place] = values[counts.argmax()] if len(values) else 0
        return mean

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of every feature, flattened."""
        if self.table is None:
            squares = self._sum(lambda block: np.square(block - self.mean))
            return np.asarray(np.sqrt(squares / len(self._points)))
        if self.part_of is not None:
            whole, places = self.part_of
            return whole.spread[places]
        return self._average(np.nanstd)

    def _average(self, average: Callable[..., Any]) -> FloatArray:
        """Average of the values that are there; 0 for features without any."""
        points = self._points
        there = ~np.isnan(points).all(axis=0)
        result = np.zeros(points.shape[1])
        result[there] = average(points[:, there], axis=0, dtype=np.float64)
        return result

    def _sum(self, function: Callable[[Array], Array]) -> FloatArray:
        """Sum of a function of the points, block by block, with the same result as at once."""
        total: FloatArray | None = None
        for block in split_rows(self._points):
            values = function(self.convert(block))
            values = values if total is None else np.concatenate([total[None], values])
            total = values.sum(axis=0, dtype=np.float64)
        assert total is not None, "data have points"
        return total

    def _get_one(self, place: int) -> Array:
        """Values of a feature, without a copy of the others."""
        if self.part_of is not None:
            whole, places = self.part_of
            return whole._get_one(places[place])
        return self.convert(self._points[:, place])

    @property
    def _points(self) -> Array:
        x = self.read()
        return x.reshape(len(x), -1)
