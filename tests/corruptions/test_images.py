"""Layouts of images, and values as 256 levels."""

import math

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.corruptions import parse
from shaketable.corruptions.images import (
    check_finite_range,
    find_layout,
    from_levels,
    move_channels_last,
    to_levels,
)
from shaketable.data.bounds import Bounds


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((9, 8), (9, 8, 1, False)),
        ((9, 8, 3), (9, 8, 3, False)),
        ((3, 9, 8), (9, 8, 3, True)),
        ((4, 9, 3), (4, 9, 3, False)),
        ((9, 8, 2), (9, 8, 2, False)),
    ],
)
def test_channels_are_last_unless_only_the_first_axis_can_be_theirs(shape, layout):
    assert find_layout(shape, "fog") == layout


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((64,), r"^fog is for images, height x width x channels, got points of shape \(64,\)$"),
        ((2, 9, 8), r"fog cannot tell the channels of .* put them last, as in \(9, 8, 2\)"),
        ((3, 8, 4), "cannot tell the channels"),
    ],
)
def test_other_shapes_are_refused(shape, message):
    with pytest.raises(InputError, match=message):
        find_layout(shape, "fog")


@pytest.mark.parametrize("shape", [(9, 8), (9, 8, 3), (3, 9, 8)])
@pytest.mark.parametrize("bounds", [Bounds(0.0, 1.0), Bounds(-2.0, 3.0), Bounds(0.0, 255.0)])
def test_values_come_back_to_the_nearest_level(shape, bounds):
    span = bounds.high - bounds.low
    x = bounds.low + span * np.random.default_rng(0).random((5, *shape))
    x[0].flat[:2] = bounds.low, bounds.high
    layout = find_layout(shape, "fog")
    images = move_channels_last(to_levels(x, bounds), layout).reshape(5, *layout[:3])
    assert images.dtype == np.uint8
    back = from_levels(images, x, bounds, channels_first=layout.channels_first)
    assert back.shape == x.shape
    assert np.abs(back - x).max() <= span / 255 / 2 + 1e-12
    assert (back.min(), back.max()) == (bounds.low, bounds.high)


@pytest.mark.parametrize("bounds", [None, Bounds(0.0, math.inf), Bounds(-math.inf, 1.0)])
def test_a_finite_range_is_required(bounds):
    with pytest.raises(InputError, match=r"^fog\(1\) needs a finite value range"):
        check_finite_range(bounds, parse("fog(1)"))
