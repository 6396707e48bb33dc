"""Laws that every interval keeps, whatever its method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from shaketable.core.errors import InputError
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

COUNTS = some.integers(1, 5).flatmap(
    lambda k: some.tuples(some.just(k), some.lists(some.integers(0, k), min_size=2, max_size=30))
)


@settings(max_examples=40, deadline=None)
@given(COUNTS, some.floats(-5, 5), some.floats(0.1, 10))
def test_means_of_values_move_with_their_units(counts, low, width):
    k, hits = counts
    shares = np.array(hits) / k
    unit = intervals.mean_of_values(shares, low=0.0, high=1.0)
    moved = intervals.mean_of_values(low + width * shares, low=low, high=low + width)
    expected = [low + width * v for v in (unit.value, unit.low, unit.high)]
    assert [moved.value, moved.low, moved.high] == pytest.approx(expected, abs=1e-6 * width)
    assert moved.value == pytest.approx(low + width * shares.mean())
    assert low - 1e-9 <= moved.low <= moved.high <= low + width + 1e-9


@settings(max_examples=30, deadline=None)
@given(COUNTS)
def test_more_confidence_is_a_wider_interval(counts):
    k, hits = counts
    for compute in (intervals.mean_share, intervals.error_upper_bound):
        narrow, wide = (compute(hits, k, confidence=c) for c in (0.8, 0.99))
        assert narrow.value == wide.value
        assert wide.low - 1e-9 <= narrow.low <= narrow.value + 1e-9
        assert narrow.value - 1e-9 <= narrow.high <= wide.high + 1e-9
        if narrow.high - narrow.low < 1 - 1e-9:
            assert wide.high - wide.low > narrow.high - narrow.low
    points = [intervals.point_error_upper_bound(hits, k, confidence=c) for c in (0.8, 0.99)]
    assert (points[1] >= points[0]).all()


@settings(max_examples=30, deadline=None)
@given(COUNTS)
def test_errors_mirror_hits(counts):
    k, hits = counts
    right, wrong = (intervals.mean_share(h, k) for h in (hits, k - np.array(hits)))
    assert wrong.value == pytest.approx(1 - right.value)
    assert (wrong.low, wrong.high) == pytest.approx((1 - right.high, 1 - right.low), abs=1e-6)


def test_counts_out_of_range_are_refused_at_both_ends():
    for wrong in ([-1, 2], [0, 4]):
        with pytest.raises(InputError, match=r"must lie in 0\.\.3"):
            intervals.mean_share(wrong, 3)
    with pytest.raises(InputError, match="at least 2 runs"):
        intervals.mean_share_over_runs([[1, 2]], 3)


def test_all_numbers_of_an_estimate_are_in_per_cent():
    found = Estimate(0.5, 0.25, 0.75, 0.9, "by hand").json()
    assert found == {"mean": 50.0, "low": 25.0, "high": 75.0}
