"""What every corruption must do: a point depends on its key alone."""

import numpy as np
import pytest

from shaketable.core.keys import row_keys
from shaketable.corruptions import (
    corrupt,
    noisy_copies,
    parse,
)
from shaketable.data.bounds import Bounds


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
