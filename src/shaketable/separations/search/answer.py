"""The answer that every way of searching gives."""

from dataclasses import dataclass

import numpy as np

from shaketable.core.types import FloatArray, IntArray


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
