"""Bounds: values are moved into the range and onto its steps, and no farther."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from shaketable.core.errors import InputError
from shaketable.data.bounds import Bounds, as_bounds


@given(
    hs.data(), hs.integers(-1000, 1000), hs.sampled_from([(np.float32, 4000), (np.float64, 10**6)])
)
def test_levels_and_whole_numbers_stay_exact(data, low, kind):
    dtype, widest = kind  # float32 is for numbers of one byte
    k = np.array(data.draw(hs.lists(hs.integers(0, 255), min_size=1)), dtype)
    levels, unit = k / dtype(255), Bounds(0, 1, steps=255)
    near = levels + dtype(data.draw(hs.floats(-0.49, 0.49)) / 255)
    np.testing.assert_array_equal(unit.enforce(levels), levels)
    np.testing.assert_array_equal(unit.enforce(near), levels)
    high = low + data.draw(hs.integers(1, widest))
    whole = np.array(data.draw(hs.lists(hs.integers(low, high), min_size=1)), dtype)
    enforced = Bounds(low, high).with_whole_steps().enforce(whole)
    np.testing.assert_array_equal(enforced, whole)
    assert enforced.dtype == dtype


@given(hs.lists(hs.floats(-10, 10), min_size=1), hs.sampled_from([0, 1, 16, 255]))
def test_values_move_to_the_nearest_admitted_one(values, steps):
    x = np.array(values)
    bounds = Bounds(-1.0, 3.0, steps=steps)
    moved = bounds.enforce(x)
    bounds.check(moved)
    admitted = np.linspace(-1, 3, steps + 1) if steps else np.clip(x, -1, 3)
    nearest = np.abs(x[:, None] - admitted).min(axis=1)
    np.testing.assert_allclose(np.abs(x - moved), nearest, atol=1e-12)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1, 0), "low < high, got 1.0, 0.0"),
        ((0, 0), "low < high"),
        ((0, 1, 2), "two numbers"),
        ("01", "two numbers"),
        (3, "two numbers"),
    ],
)
def test_what_are_no_bounds_is_refused(bounds, message):
    with pytest.raises(InputError, match=message):
        as_bounds(bounds)


def test_bounds_of_a_pair_clip():
    assert as_bounds((0, 255)) == Bounds(0.0, 255.0, "clip")
    assert str(as_bounds((0, 255))) == "clip[0, 255]"
    assert as_bounds(None) is None
    with pytest.raises(InputError, match="unknown bounds rule 'cut'; Known: clip, truncate"):
        Bounds(0, 1, "cut")
    with pytest.raises(InputError, match=r"must lie in the bounds \[0, 1\], .* span \[0.0, 2.0\]"):
        Bounds(0, 1).check(np.array([0.0, 2.0]))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 3.0), (0.5, 9.5), (-7.0, -4.0)])
def test_values_beyond_either_end_are_refused(low, high):
    bounds, middle = Bounds(low, high), (low + high) / 2
    bounds.check(np.array([low, middle, high]))
    for value in (low - 1e-9, high + 1e-9, -math.inf, math.inf, math.nan):
        with pytest.raises(InputError, match="lie in the bounds"):
            bounds.check(np.array([middle, value]))


@given(low=hs.integers(-9, 9), width=hs.integers(1, 20), x=hs.floats(-40, 40))
def test_steps_are_counted_from_the_lower_end(low, width, x):
    half = Bounds(low + 0.5, low + width + 0.5, steps=width).enforce(np.array([x]))
    assert (half - low - 0.5) % 1 == 0
    assert low + 0.5 <= half <= low + width + 0.5
    assert abs(half - np.clip(x, low + 0.5, low + width + 0.5)) <= 0.5 + 1e-12  # x is rounded, too
    fine = Bounds(low, low + width, steps=4 * width).enforce(np.array([x]))
    assert (4 * fine) % 1 == 0


@pytest.mark.parametrize(
    ("bounds", "steps"), [((0, 255), 255), ((-3, 4), 7), ((0.5, 4), 0), ((0, 4.5), 0)]
)
def test_whole_steps_need_two_whole_ends(bounds, steps):
    assert Bounds(*bounds).with_whole_steps().steps == steps


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (Bounds(0, 1, "clip", 255), True),
        (Bounds(0, 1, "truncate", 255), False),
        (Bounds(0, 1), False),
        (Bounds(0, 1, steps=254), False),
        (Bounds(0, 2, steps=255), False),
        (Bounds(-1, 1, steps=255), False),
    ],
)
def test_values_of_bytes_are_clipped_to_their_own_steps(bounds, expected):
    assert bounds.on_bytes == expected
