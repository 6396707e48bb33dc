"""Averages over models and data sets: laws that tie them to single estimates."""

import numpy as np
import pytest

from shaketable.statistics import intervals
from shaketable.statistics.counts import tabulate
from shaketable.statistics.independent import average_independent, subtract_independent

RNG = np.random.default_rng(0)
CLEAN = RNG.binomial(1, 0.8, (3, 40))
HITS = RNG.binomial(5, 0.7, (3, 40))


def test_the_mean_of_one_model_or_of_equal_ones_is_its_own_change() -> None:
    own = intervals.relative_change_over_runs(CLEAN, HITS, 5)
    for number in (1, 2, 3):
        mean = intervals.mean_change([(CLEAN, HITS)] * number, 5)
        assert (mean.value, mean.low, mean.high) == pytest.approx((own.value, own.low, own.high))
    one = intervals.mean_change([(CLEAN[:1], HITS[:1])], 5)
    assert one.low == pytest.approx(intervals.relative_change(CLEAN[0], HITS[0], 5).low)


def test_many_models_have_more_outcomes_than_numbers() -> None:
    models = [(RNG.binomial(1, 0.8, (2, 30)), RNG.binomial(90, 0.7, (2, 30))) for _ in range(12)]
    mean = intervals.mean_change(models, 90)
    each = [intervals.relative_change_over_runs(*model, 90) for model in models]
    assert mean.value == pytest.approx(np.mean([e.value for e in each]))
    columns = [np.array([[0, 1, 1, 0]]), np.array([[2, 0, 0, 2]])]
    for sizes in ([2, 3], [2**40, 2**40]):
        outcomes, counts = tabulate(columns, sizes)
        assert (np.array(outcomes) == [[0, 1], [2, 0]]).all()
        assert (counts == [[2, 2]]).all()


def test_the_average_of_two_is_half_their_sum_by_square_and_add() -> None:
    first, second = intervals.proportion(50, 80), intervals.proportion(76, 80)
    mean = average_independent([first, second])
    total = subtract_independent(first, second.subtract_from(0))
    assert (2 * mean.value, 2 * mean.low, 2 * mean.high) == pytest.approx(
        (total.value, total.low, total.high)
    )
    narrower, wider = (mean.again(confidence=c) for c in (0.9, 0.99))
    assert wider.low < mean.low < narrower.low < narrower.high < mean.high < wider.high
