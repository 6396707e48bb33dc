"""The answer to a search for nearest points of other groups."""

from dataclasses import dataclass

import numpy as np

from shaketable.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Nearest:
    """Least distances between points of different groups, and their rows.

    Distances come as measures: on uint8 in the 2-norm their squares, which are whole numbers.
    """

    near: FloatArray
    """Of every point that was asked for, to its nearest point of another group; else -1."""
    who: IntArray
    """That point; of several the first."""
    cells: FloatArray
    """Between the points of each two cells, above the diagonal."""
    parts: FloatArray
    """Within part 0, across, and within part 1; infinite where there is no such pair."""
    top: FloatArray
    """Of the closest pairs, in order."""
    top_rows: IntArray
    """Their rows; of pairs equally close the first come first."""
    squared: bool = False

    def distance(self, measure: FloatArray) -> FloatArray:
        """Distances that measures stand for."""
        return np.sqrt(measure) if self.squared else measure
