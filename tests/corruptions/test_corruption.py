"""What every corruption must do: a point depends on its key alone."""

import numpy as np
import pytest

from helpers.images import make_images, make_keys
from shaketable.core.keys import row_keys
from shaketable.corruptions import corrupt, parse
from shaketable.corruptions.common.severities import NAMES
from shaketable.corruptions.corruption import noisy_copies
from shaketable.data.bounds import Bounds

LEVELS = Bounds(0, 1, steps=255)
ON_LEVELS = [
    *(f"{name}(3)" for name in NAMES),
    "clean",
    "sp(0.2)",
    "ga(0.1)",
    "rotation(20)",
    "rotation(20, fill=0.2)",
    "l0(0.1)",
    "rotation(20) + ga(0.1) + fog(2) as all",
]


def test_noisy_copies_do_not_depend_on_how_they_are_batched():
    keys = row_keys(3, np.arange(5), np.arange(4))
    x = np.random.default_rng(0).normal(size=(5, 2))
    noise = parse("l1(0.5)")
    whole = noisy_copies(noise, x, keys).reshape(5, 4, 2)
    np.testing.assert_array_equal(noisy_copies(noise, x[3:], keys[3:, 1:2]), whole[3:, 1])


@pytest.mark.parametrize("spec", ["l0.3(1)", "l2(1)", "linf(1)", "l0(0.4)", "gaussian(1)"])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_threads_batches_and_order_change_nothing(spec, n):
    # 300 rows of 3072 values are shared among threads, one alone is not
    keys = row_keys(1, np.arange(300), np.arange(1))[:, 0]
    noise = parse(spec).bind(Bounds(-5, 5))
    x = np.zeros((300, 3072), np.float32)
    whole = noise(x, keys)
    backwards = np.arange(300)[::-1][:n]
    np.testing.assert_array_equal(noise(x[:n], keys[backwards]), whole[backwards])


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ("l0.5(1)", [-0.2916501721458044, 0.009448490839922115, -0.09131577205648658]),
        ("l2(1)", [-0.8491848429662623, 0.20398759120164933, -0.12707095284807746]),
        ("linf(1)", [0.3199654883401466, 0.2256359027483399, -0.8670796967742114]),
        ("l200(1, surface)", [-0.9999999999540364, 0.911627081285239, -0.10118853175835155]),
        ("gaussian(1)", [-1.1093688465126468, 0.2664878920398462, -0.16600456020142978]),
        ("l0(0.5)", [0, 9, 9]),
    ],
)
def test_noise_is_pinned(spec, numbers):
    # another value here means that all noise has changed: after a release, raise keys.SCHEME
    noisy = corrupt(np.zeros((1, 3)), spec, rng=0, bounds=(-9, 9))
    np.testing.assert_allclose(noisy[0], numbers, rtol=1e-12)


@pytest.mark.parametrize("shape", [(32, 32, 3), (3, 32, 32), (28, 28)])
@pytest.mark.parametrize("spec", ON_LEVELS)
def test_levels_become_the_levels_of_the_same_values(spec, shape):
    x, keys = make_images(6, 32, 32), make_keys(6)
    x = {3: x, 32: np.moveaxis(x, -1, 1), 28: x[:, :28, :28, 0]}[shape[-1]]
    assert x.shape[1:] == shape
    corruption, given = parse(spec).for_shape(shape).bind(LEVELS), x.copy()
    assert corruption.traits.takes_levels
    levels = corruption(x, keys)
    assert levels.dtype == np.uint8
    np.testing.assert_array_equal(
        levels / np.float32(255), corruption(x / np.float32(255), keys), strict=True
    )
    wide = corruption.bind(Bounds(-3, 7, steps=255))
    np.testing.assert_array_equal(wide(x, keys), levels)
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize(
    "spec",
    [
        "linf(0.1)",
        "gaussian(0.1)",
        "l0(0.1, uniform)",
        "ga(0.1, 0)",
        "rotation(20, bilinear)",
        "rotation(20, fill=0.3)",
        "scaling(2)",
        "fog(2) + linf(0.1)",
        "linf(0.1) as mine",
    ],
)
def test_results_between_levels_are_not_of_uint8(spec):
    assert not parse(spec).traits.takes_levels
