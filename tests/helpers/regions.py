"""Regions around points that adversaries search."""

import numpy as np

from shaketable.adversary.region import Region
from shaketable.adversary.voronoi import VoronoiCells


def make_region(x, epsilon, constraint="none", bounds=None, *, p=2, dtype="float64"):
    """Balls of radius `epsilon` around the points, cut to Voronoi cells by a genuine constraint."""
    dtype = np.dtype(dtype)
    cells = None if constraint == "none" else VoronoiCells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], dtype, p, epsilon, constraint, cells, bounds)
