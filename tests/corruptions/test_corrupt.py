"""The one-line way to corrupt an array."""

import re
import tracemalloc

import numpy as np
import pytest

from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.corruptions import corrupt, parse
from shaketable.corruptions.common.severities import NAMES
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation.copies import corrupted


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
        (np.zeros((2, 63), np.uint8), {}, "their range must be declared"),
        (np.zeros((2, 8, 8), np.int16), {}, "their range must be declared"),
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


@pytest.mark.parametrize("shape", [(9, 16, 16, 3), (9, 3, 16, 16), (9, 16, 16), (9, 64)])
@pytest.mark.parametrize(
    "spec", ["fog(3)", "linf(0.1)", "gaussian(0.2)", "sp(0.1) + l2(1)", "jitter(1)", "clean"]
)
def test_uint8_images_count_as_fractions_of_255_and_come_back_as_uint8(spec, shape):
    if "fog" in spec and len(shape) == 2:
        pytest.skip("needs images")
    x = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    given = x.copy()
    noisy = corrupt(x, spec, rng=0)
    assert noisy.dtype == np.uint8
    floats = corrupt(x / np.float32(255), spec, rng=0, bounds=Bounds(0, 1, steps=255))
    np.testing.assert_array_equal(noisy, np.rint(255 * floats))
    assert (noisy != x).any() == (spec != "clean")
    np.testing.assert_array_equal(corrupt(x, spec, rng=0, bounds=(0, 1)), noisy)
    np.testing.assert_array_equal(corrupt(x, spec, rng=0, dtype="float32"), floats, strict=True)
    np.testing.assert_array_equal(x, given)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    there = corrupt(torch.from_numpy(x), spec, rng=0)
    assert there.dtype == torch.uint8
    np.testing.assert_array_equal(there, noisy)
    whole = corrupt(torch.from_numpy(x), spec, rng=0, dtype=torch.float32).numpy()
    np.testing.assert_array_equal(whole, floats, strict=True)
    assert corrupt(x, spec, rng=0, out=x) is x
    np.testing.assert_array_equal(x, noisy)


@pytest.mark.parametrize("spec", [*(f"{name}(4)" for name in NAMES), "linf(30)", "gaussian(9)"])
def test_uint8_with_declared_bounds_is_in_its_own_units(spec):
    x = make_images(5, 32, 32)
    floats = corrupt(x.astype(np.float32), spec, rng=1, bounds=Bounds(0, 255, steps=255))
    np.testing.assert_array_equal(corrupt(x, spec, rng=1, bounds=(0, 255)), floats, strict=True)
    rounded = corrupt(x, spec, rng=1, bounds=(0, 255), dtype="uint8")
    np.testing.assert_array_equal(rounded, np.rint(floats).astype(np.uint8), strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_uint8_images_are_corrupted_without_copies_in_between(name):
    x = make_images(1, 32, 32).repeat(300, axis=0)
    corrupt(x[:2], f"{name}(1)", rng=0)  # makes tables
    tracemalloc.start()
    corrupt(x, f"{name}(1)", rng=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * x.nbytes  # the result, and the masks of spatter


def test_columns_are_those_of_the_points_of_each_call():
    for mean in (1.0, 5.0):
        x = np.full((4, 3), mean)
        np.testing.assert_array_equal(corrupt(x, "missing(1)"), x)


@pytest.mark.parametrize("spec", ["linf(0.1)", "l2(1)", "gaussian(1)", "l0(0.5)", "sp(0.5)"])
def test_rows_have_noise_of_their_own(spec):
    noisy = corrupt(np.full((50, 40), 0.5), spec, rng=0, bounds=(0, 1))
    assert len(np.unique(noisy, axis=0)) == 50


def as_given(x, kind):
    return x if kind == "array" else pytest.importorskip("torch").from_numpy(x)


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize(
    "spec", ["linf(0.1)", "gaussian(1)", "scaling(2)", "clean", "missing(0.5)"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(value, spec, kind):
    x = np.zeros((4, 3, 2))
    x[2, 1, 1] = value
    message = rf"x must be finite, got {value} in row 2 \(from 0\), value 3; drop or fill"
    for bounds in (None, (0, 1)):
        with pytest.raises(InputError, match=message):
            corrupt(as_given(x, kind), spec, rng=0, bounds=bounds)


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize(
    ("spec", "dtype", "options"),
    [
        ("scaling(1e300)", "float64", {}),
        ("linf(3e38)", "float32", {}),
        ("gaussian(1e308)", "float64", {}),
        ("scaling(1e5)", "float64", {"dtype": "float16"}),
        ("scaling(3e38)", "float32", {}),
    ],
)
def test_results_that_overflow_are_refused(spec, dtype, options, kind):
    x = np.full((5, 9), 3e38, "float64").clip(max=1e30 if options else 3e38).astype(dtype)
    x[:2] = 0
    name = re.escape(parse(spec).spec)
    with pytest.raises(InputError, match=rf"{name} takes values beyond .*float\d\d: -?inf in row"):
        corrupt(as_given(x, kind), spec, rng=0, **options)
    if kind == "array":
        data = make_dataset(x, np.arange(5) % 2)
        if not options:
            with pytest.raises(InputError, match="takes values beyond the range of"):
                corrupted(data, spec)


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62])
def test_integers_that_floats_cannot_tell_apart_are_refused(value, kind):
    x = np.array([[1, 2], [3, value]])
    with pytest.raises(InputError, match=rf"x must hold integers of at most 2\*\*53.*{value}"):
        corrupt(as_given(x, kind), "linf(1)", bounds=(-(2.0**63), 2.0**63))
    if kind == "array":
        with pytest.raises(InputError, match=r"x must hold integers of at most 2\*\*53"):
            corrupt([*x.tolist(), [2**63, 0.5]], "clean")
    x[1, 1] = 2**53
    assert corrupt(as_given(x, kind), "clean", bounds=(0, 2**53))[1, 1] == 2**53


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64])
def test_whole_numbers_are_rounded_to_the_nearest(dtype):
    x = np.tile(np.arange(100, dtype=dtype), (30, 1))[:, :40]
    options = {"rng": 0, "bounds": (0, 120), "dtype": dtype}
    np.testing.assert_array_equal(corrupt(x, "linf(0.49)", **options), x)
    noisy = corrupt(x[:, 5:], "linf(1.2)", **options).astype(int) - x[:, 5:]
    assert set(np.unique(noisy)) == {-1, 0, 1}
    assert abs(noisy.mean()) < 0.1
