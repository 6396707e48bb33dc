"""Statistics of features that corruptions refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.types import Array, FloatArray


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

    def find(self, wanted: Iterable[str]) -> tuple[int, ...]:
        """Places of features, in their order in the data.

        >>> Columns(lambda: np.zeros((1, 2)), ("age", "income")).find(["income"])
        (1,)
        """
        names = self.names or tuple(map(str, range(self._points.shape[1])))
        for name in wanted:
            if name not in names:
                raise unknown_name("column", name, names)
        return tuple(sorted({names.index(name) for name in wanted}))

    def take(self, places: Iterable[int]) -> Columns:
        """Return the features at these places."""
        chosen = list(places)
        names = None if self.names is None else tuple(self.names[i] for i in chosen)
        return Columns(lambda: self._points[:, chosen], names)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of every feature, flattened."""
        return np.asarray(self._points.mean(axis=0, dtype=np.float64))

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of every feature, flattened."""
        return np.asarray(self._points.std(axis=0, dtype=np.float64))

    @property
    def _points(self) -> Array:
        x = self.read()
        return x.reshape(len(x), -1)
