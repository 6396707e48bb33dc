"""Regions around points, as tests of 1-NN set them up."""

import numpy as np

from shaketable.adversary.cells.cells import Cells
from shaketable.adversary.region import Region


def region(x, epsilon, constraint="none", bounds=None, *, p=2, dtype=np.float64):
    cells = None if constraint == "none" else Cells.of(x, p, epsilon, dtype=dtype)
    return Region(x, x.shape[1:], np.dtype(dtype), p, epsilon, constraint, cells, bounds)
