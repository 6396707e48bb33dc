import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.statistics.draws import MOST_DRAWS, recommend_draws, split_variance


def test_variances_are_those_of_points_and_of_their_draws():
    rng = np.random.default_rng(0)
    p = rng.beta(4, 1, size=40_000)
    between, within = split_variance(rng.binomial(7, p), 7)
    assert between == pytest.approx(p.var(), rel=0.03)
    assert within == pytest.approx((p * (1 - p)).mean(), rel=0.03)


@pytest.mark.parametrize(("between", "within", "cost"), [(0.01, 0.2, 1), (0.05, 0.05, 30)])
def test_no_other_number_of_draws_is_cheaper(between, within, cost):
    # points for a given variance of the mean, times the cost of each
    prices = {k: (between + within / k) * (cost + k) for k in range(1, MOST_DRAWS)}
    best = recommend_draws(between, within, cost=cost)
    assert prices[best] == pytest.approx(min(prices.values()), rel=0.01)


def test_one_draw_is_enough_where_draws_do_not_differ():
    assert recommend_draws(*split_variance([0, 5, 5, 5], 5)) == 1
    assert recommend_draws(*split_variance([2, 3, 2, 3], 5)) == MOST_DRAWS
    with pytest.raises(InputError, match="k must be 2 or more"):
        split_variance([1, 1], 1)
