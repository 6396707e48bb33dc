"""Statistics of features that corruptions refer to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shaketable.core.types import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Columns:
    """Mean and standard deviation of every feature, computed when first asked for.

    >>> Columns(lambda: np.array([[1.0, 5.0], [3.0, 5.0]])).spread
    array([1., 0.])
    """

    read: Callable[[], Array]
    """Returns the points, one per row."""

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
