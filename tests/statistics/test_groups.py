"""Estimates of groups of points: those of the points alone, and differences that cover."""

import numpy as np
import pytest

from shaketable.statistics import intervals
from shaketable.statistics.groups import (
    count_by_group,
    differences_from_others,
    group_error_bounds,
    group_shares,
)
from shaketable.statistics.independent import subtract_independent


def test_groups_have_the_estimates_of_their_points_alone():
    rng = np.random.default_rng(0)
    hits, codes = rng.binomial(5, 0.8, 100), rng.integers(4, size=100)
    counts = count_by_group(hits, 5, codes, 4)
    for i, (share, bound, gap) in enumerate(
        zip(
            group_shares(counts),
            group_error_bounds(counts),
            differences_from_others(counts),
            strict=True,
        )
    ):
        own, others = (intervals.mean_share(hits[mask], 5) for mask in (codes == i, codes != i))
        alone = intervals.error_upper_bound(hits[codes == i], 5)
        for ours, expected in (
            (share, own),
            (bound, alone),
            (gap, subtract_independent(own, others)),
        ):
            assert ours.json() == pytest.approx(expected.json())
            assert ours.method == expected.method


@pytest.mark.parametrize(("n", "m"), [(3, 30), (10, 40), (40, 40)])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.9, 0.9), (0.7, 0.98), (1.0, 0.99)])
def test_differences_of_independent_points_cover(n, m, p, q):
    """The interval of every possible outcome, weighted by its probability: exact, no simulation."""
    from scipy import stats

    first, second = (
        group_shares(np.stack([size - np.arange(size + 1.0), np.arange(size + 1.0)], axis=1))
        for size in (n, m)
    )
    covered = 0.0
    for i, a in enumerate(first):
        chance = stats.binom.pmf(i, n, p)
        for j, b in enumerate(second):
            gap = subtract_independent(a, b)
            if gap.low <= p - q <= gap.high:
                covered += chance * stats.binom.pmf(j, m, q)
    assert covered >= 0.95
