"""Impulse noise."""

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.corruptions import (
    corrupt,
    parse,
)
from shaketable.data.bounds import Bounds


def test_impulses_need_a_range():
    with pytest.raises(InputError, match="needs a finite value range"):
        corrupt(np.zeros((2, 2)), "l0(0.5)")


@pytest.mark.parametrize("to", ["extremes", "uniform"])
def test_the_levels_of_impulse_noise_are_nested(to):
    keys = row_keys(0, np.arange(50), np.arange(1))[:, 0]
    x = np.zeros((50, 40))
    levels = [parse(f"l0({share}, {to})").bind(Bounds(-1, 1)) for share in (0.1, 0.3, 1)]
    drawn = levels[-1].draw(x, keys)
    few, more, every = (level.apply(x, drawn) for level in levels)
    np.testing.assert_array_equal(few, levels[0](x, keys))
    np.testing.assert_array_equal(few[few != 0], more[few != 0])
    np.testing.assert_array_equal(more[more != 0], every[more != 0])
    assert (every != 0).all()
