"""Features of few values, which small noise would leave on the same side of every threshold."""

import numpy as np
import pytest

from shaketable.data.columns import Columns

N = 600
COUNT = np.where(np.arange(N) < N - 11, 0, np.arange(N) - N + 12)  # 12 values, mostly 0


@pytest.mark.parametrize(
    ("values", "few"),
    [
        (np.arange(N) % 2, True),
        (np.arange(N) % 10, True),
        (np.arange(N) % 11, False),
        (np.arange(50) // 5, True),
        (np.arange(49) // 5, False),
        (COUNT, True),
        (COUNT / 1000 - 7, True),
        (np.where(np.arange(N) == 3, 1000, COUNT), False),
        (np.linspace(0, 1, N), False),
        (np.where(np.arange(N) % 3, np.nan, np.arange(N) % 2), True),
        (np.array([3.0, 4.0]), True),
        (np.ones(N), False),
        (np.full(N, np.nan), False),
    ],
)
def test_few_values_and_seldom_ones_are_steps(values, few):
    columns = Columns(lambda: np.column_stack([np.zeros(len(values)), values]))
    assert columns.has_steps(1) is few
    assert columns.has_steps(0) is False
