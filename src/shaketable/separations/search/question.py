"""Questions about pairs of points of different groups, and their answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaketable.core.arrays import Parts
from shaketable.core.types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Question:
    """Points in groups, and what to find among the pairs of points of different groups.

    What is not asked for costs nothing.
    """

    x: Array
    """Points, (n, d): uint8, float32 or float64."""
    group: IntArray
    """Group of every point, 0 and up; only pairs of different groups count."""
    p: float
    """Order of the norm."""
    nearest_of: Array | None = None
    """Mask of the points whose nearest opponent is wanted; None for no point."""
    classes: IntArray | None = None
    """Class of every point, in the same order as `group`: asks for the minimum between classes."""
    parts: IntArray | None = None
    """Part of every point, 0 or 1: asks for the minima within and between the parts."""
    closest: int = 0
    """How many of the closest pairs are wanted."""
    progress: bool = False
    """Whether to show a progress bar."""
    device: str | None = None
    """Torch device to search on, such as ``"cuda"``; None for the CPU, without torch."""
    keep: Parts | None = None
    """Where a search of compiled loops keeps what it has found so far."""

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.x)

    @property
    def asked(self) -> Array:
        """Mask of the points whose nearest opponent is wanted; all False for no point."""
        return np.zeros(self.n, bool) if self.nearest_of is None else self.nearest_of

    @property
    def class_codes(self) -> IntArray:
        """Class of every point; all in one class if no minima between classes are wanted."""
        return np.zeros(self.n, np.int64) if self.classes is None else self.classes

    @property
    def part_codes(self) -> IntArray:
        """Part of every point; all in one part if no minima of parts are wanted."""
        return np.zeros(self.n, np.int64) if self.parts is None else self.parts

    @property
    def concerns_all(self) -> bool:
        """Whether every pair may matter, not only those with a point of `nearest_of`."""
        return self.classes is not None or self.parts is not None or self.closest > 0


@dataclass(frozen=True, eq=False)
class Answer:
    """Least distances between points of different groups, and the rows of these points.

    Distances are given as *measures*: on uint8 in the 2-norm their squares, which are whole
    numbers; else the distances themselves. What was not asked for has no meaning.
    """

    nearest: FloatArray
    """Measure from every point to its nearest opponent, (n,); -1 for points not asked about."""
    opponent: IntArray
    """Row of that opponent, (n,); of several equally near the first."""
    by_class: FloatArray
    """Minimum between each two classes, above the diagonal; infinite where there is no pair."""
    by_part: FloatArray
    """Minima within part 0, between the parts, and within part 1; infinite without a pair."""
    closest: FloatArray
    """Measures of the closest pairs, ascending; fewer than asked for if there are not so many."""
    closest_rows: IntArray
    """Rows (i, j) of these pairs, i < j; pairs equally close are in the order of their rows."""
    squared: bool = False
    """Whether measures are squares."""

    def distance(self, measure: FloatArray) -> FloatArray:
        """Distances of these measures."""
        return np.sqrt(measure) if self.squared else measure
