"""Sequences of corruptions."""

import operator

import numpy as np
import pytest
from scipy import stats

from shaketable.core.errors import InputError
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


@pytest.mark.parametrize(("sign", "join"), [("+", operator.add), ("|", operator.or_)])
def test_operators_take_the_names_that_specs_take(sign, join):
    for first, second in (("SP0.1", "clean"), ("clean", "SP0.1RL30"), ("C1", "GA0.1")):
        assert join(parse(first), parse(second)) == parse(f"{first} {sign} {second}")
    for named in ("sp(0.1) as MINE", "sp(0.2) as SP0.1", "l2(1) as linf"):
        with pytest.raises(InputError, match="has a name of its own and must stand alone"):
            join(parse(named), parse("clean"))
