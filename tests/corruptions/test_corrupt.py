"""The one-line way to corrupt an array."""

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.corruptions import (
    corrupt,
)
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds


def test_corrupt_leaves_its_input_alone_and_follows_its_seed():
    x = np.arange(6.0).reshape(3, 2)
    kept = x.copy()
    noisy = corrupt(x, "linf(0.1)", rng=0)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(noisy, corrupt(x, "linf(0.1)", rng=0))
    assert not np.array_equal(noisy, corrupt(x, "linf(0.1)", rng=1))
    assert noisy.max() > 5 - 0.1
    copy = corrupt(x, "clean")
    copy += 1
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_and_shapes_are_kept(dtype):
    x = np.zeros((4, 3, 2), dtype)
    noisy = corrupt(x, "l2(1)", rng=0)
    assert noisy.dtype == dtype
    assert noisy.shape == x.shape


def test_integers_come_back_as_floats_or_rounded_to_themselves():
    x = np.arange(256, dtype=np.uint8).reshape(64, 4)
    noisy = corrupt(x, "linf(9)", rng=0, bounds=(0, 255))
    assert noisy.dtype == np.float32
    rounded = corrupt(x, "linf(9)", rng=0, bounds=(0, 255), dtype=np.uint8)
    assert rounded.dtype == np.uint8
    np.testing.assert_array_equal(rounded, np.rint(noisy))
    assert corrupt(x.astype(np.int64), "linf(9)", rng=0, bounds=(0, 255)).dtype == np.float64


def test_the_result_can_be_written_to_an_array_such_as_the_input():
    x = np.ones((5, 3), np.float32)
    wanted = corrupt(x, "l2(1)", rng=0)
    assert corrupt(x, "l2(1)", rng=0, out=x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.zeros((0, 2)), {}, "at least one point"),
        (np.zeros(()), {}, "one per row"),
        (np.zeros((2, 2), np.uint8), {}, "their range must be declared"),
        (np.zeros((2, 2), np.uint8), {"bounds": (0, 9), "dtype": np.int16}, "float type or that"),
        (np.zeros((2, 2)), {"dtype": np.uint8}, "float type or that"),
        (np.zeros((2, 2), complex), {}, "real numbers"),
        (np.zeros((2, 2), bool), {}, "real numbers"),
        (np.zeros((2, 2)), {"out": np.zeros(2)}, "out must be like x"),
        (np.zeros((2, 2)), {"out": [1]}, "out must be like x"),
        (np.zeros((2, 2)), {"out": np.zeros((2, 2), int)}, "float type or that"),
        (np.zeros((2, 2)), {"dtype": "bogus"}, "number type"),
        (np.zeros((2, 2)), {"rng": "a"}, "rng must be"),
        (np.zeros((2, 2)), {"rng": 1.5}, "rng must be"),
        (np.zeros((2, 2)), {"bounds": (0, 1, 2)}, "two numbers"),
        (np.zeros((2, 2)), {"bounds": "01"}, "two numbers"),
        (np.zeros((2, 2), np.uint8), {"bounds": (-50, 255), "dtype": np.uint8}, "narrow them"),
        (np.zeros((2, 2), np.uint8), {"bounds": (0, 1000), "dtype": np.uint8}, "narrow them"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(x, options, message):
    with pytest.raises(InputError, match=message):
        corrupt(x, "linf(1)", **options)


def test_an_integer_output_is_rounded_to():
    x = np.full((20, 3), 7, np.uint8)
    asked = corrupt(x, "linf(3)", rng=0, bounds=(0, 255), dtype=np.uint8)
    np.testing.assert_array_equal(corrupt(x, "linf(3)", rng=0, bounds=(0, 255), out=x), asked)
    with pytest.raises(InputError, match="corrupted"):
        corrupt(make_dataset(x, [0, 1] * 10), "linf(1)")


def test_float32_noise_is_the_rounded_float64_noise():
    for spec in ("l0.5(1)", "l2(1, surface)", "l200(1)", "linf(1)", "gaussian(1)"):
        double, single = (corrupt(np.zeros((9, 5), t), spec, rng=0) for t in (float, np.float32))
        np.testing.assert_array_equal(single, double.astype(np.float32))


def test_bad_bounds_are_refused():
    with pytest.raises(InputError, match="low < high"):
        corrupt(np.zeros((1, 1)), "linf(1)", bounds=(1, 0))
    with pytest.raises(InputError, match="did you mean 'clip'"):
        Bounds(0, 1, "clp")
