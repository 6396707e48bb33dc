"""Sequences of corruptions."""

import numpy as np
from scipy import stats

from shaketable.corruptions import (
    Sequence,
    corrupt,
    parse,
)


def test_a_sequence_applies_its_factors_in_order_with_their_own_noise():
    x = np.zeros((500, 3))
    both = corrupt(x, "linf(1) + linf(1)", rng=0)
    # a sum of two independent uniforms on [-1, 1] is triangular on [-2, 2]
    assert stats.kstest(both.ravel(), stats.triang(0.5, loc=-2, scale=4).cdf).pvalue > 1e-3
    assert isinstance(parse("linf(1) + l2(1)"), Sequence)
    assert corrupt(x, "linf(5) + linf(5)", rng=0, bounds=(0, 1)).max() <= 1
