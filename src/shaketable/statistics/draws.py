r"""How many draws per point: what k draws add to the variance of a mean, and which k is cheapest.

The share of right answers of a point in its k draws varies because points differ, and because the
draws of a point do:

.. math:: \mathrm{var}(h / k) = \beta + \omega / k

with :math:`\beta` the variance of the points' probabilities of a right answer, and :math:`\omega`
the mean variance of a single draw of a point. If a new point costs as much as c further draws, n
points with k draws each cost n (c + k), and the variance of the mean for a given cost is least at

.. math:: k = \sqrt{c\, \omega / \beta}

(two-stage sampling; Cochran 1977, Sampling Techniques, Section 10.6).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from shaketable.core.errors import InputError
from shaketable.statistics.counts import read_points

MOST_DRAWS = 100
"""More draws are never recommended: a single point is known well enough then."""


def split_variance(hits: ArrayLike, k: int) -> tuple[float, float]:
    """Variance between points, and mean variance of a draw within a point; k is 2 or more.

    >>> [round(variance, 3) for variance in split_variance([10, 10, 0, 5], k=10)]
    [0.222, 0.069]
    """
    if k < 2:
        raise InputError(f"k must be 2 or more to tell draws from points, got {k}; raise it")
    share = read_points("hits", hits, k)[0] / k
    within = float(np.mean(share * (1 - share)) * k / (k - 1))
    between = float(np.var(share, ddof=1)) - within / k if len(share) > 1 else 0.0
    return max(between, 0.0), within


def recommend_draws(between: float, within: float, *, cost: float = 1.0) -> int:
    """Return the number of draws per point that gives the most precise mean for a given cost.

    `cost` is that of a new point, in draws; by default 1, its clean answer.

    >>> recommend_draws(between=0.09, within=0.01), recommend_draws(0.0, 0.2)
    (1, 100)
    """
    if within == 0:
        return 1
    if between == 0:
        return MOST_DRAWS
    return min(MOST_DRAWS, max(1, round(math.sqrt(cost * within / between))))
