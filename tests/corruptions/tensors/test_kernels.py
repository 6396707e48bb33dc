"""Kernels of CUDA devices, against arrays, in Triton's interpreter.

    TRITON_INTERPRET=1 pytest tests/corruptions/tensors/test_kernels.py

On a CUDA device, test_device.py tests the same kernels, compiled.
"""

import os

import numpy as np
import pytest

from shaketable.core.keys import row_keys
from shaketable.corruptions import Impulse, parse
from shaketable.data.bounds import Bounds

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("for TRITON_INTERPRET=1", allow_module_level=True)

from shaketable.corruptions.tensors import fused  # noqa: E402  (it needs triton)
from shaketable.corruptions.tensors.device import redraw_levels  # noqa: E402

UNIT = Bounds(0, 1)
KEYS = row_keys(7, np.arange(9), np.arange(1))[:, 0]
STREAMS = torch.from_numpy(KEYS.view(np.int64))


def points(d, dtype=np.float32):
    return np.random.default_rng(0).random((9, d)).astype(dtype)


pytestmark = pytest.mark.filterwarnings("ignore:divide by zero")  # of the interpreter alone


@pytest.mark.parametrize("d", [5, 126, 1500])
@pytest.mark.parametrize("spec", ["linf(0.1)", "l2(0.5, surface)", "l0.5(40)", "gaussian(0.1)"])
def test_noise_is_that_of_arrays(spec, d):
    noise, x = parse(spec).bind(UNIT), points(d)
    out = torch.empty(9, d)
    fused.fill_noise(out, STREAMS, noise.traits.additive, torch.from_numpy(x))
    np.testing.assert_allclose(out, noise(x, KEYS), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_mixture_have_norms_and_sizes_of_their_own(dtype):
    spec = "l0.5(40) | 2*l2(0.5) | l2(1) | linf(0.1) | l50(0.3) | clean | l2(1, surface) | l1(3)"
    noise, x = parse(spec).bind(UNIT), points(1100, dtype)
    out, made = torch.from_numpy(x.copy()), set()
    for alike, norms in noise.mixtures.items():
        known = tuple(-1.0 if p == 1 else p for p in norms)  # one norm is left as it is
        fused.fill_noise(out, STREAMS, alike, out, norms=known, choices=noise.choices)
    wanted = noise(x, KEYS)
    for share in noise.split(KEYS):
        made.add(share.corruption.spec)
        expected = x if share.corruption.spec == "l1(3)" else wanted
        np.testing.assert_allclose(out[share.rows], expected[share.rows], atol=1e-6)
    assert {"clean", "l1(3)", "linf(0.1)", "l2(1)"} <= made


@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_are_replaced_where_they_were_drawn(dtype, share):
    x = torch.from_numpy(points(140)).to(dtype)
    noise = Impulse(share, "extremes", UNIT)
    places = fused.draw_places(STREAMS, 140, noise.count_hits(140))
    words, every = fused.words_at(STREAMS, places), torch.arange(140).repeat(9, 1)
    assert torch.equal(words, fused.words_at(STREAMS, every).gather(1, places))
    out = x.clone()
    fused.fill_noise(out, STREAMS, noise.replaced)
    assert torch.equal(out, x.scatter(1, places, (words < 0).to(dtype)))


def test_of_several_impulses_every_row_has_its_own_share():
    x = torch.full((9, 1000), 0.3)
    noise = parse("l0(0.05) | l0(0.2) | l0(0.1) | l0(0.0005)").bind(UNIT)
    ((alike, norms),) = noise.mixtures.items()
    out = x.clone()
    fused.fill_noise(out, STREAMS, alike, out, norms=norms, choices=noise.choices)
    (share,) = noise.split(KEYS)
    assert (out[share.rows] != 0.3).sum(dim=1).tolist() == np.rint(share.sizes * 1000).tolist()
    assert out.unique().tolist() == pytest.approx([0, 0.3, 1])


@pytest.mark.parametrize("shape", [(8, 8, 3), (3, 40, 33), (9, 9)])
@pytest.mark.parametrize(
    "spec",
    [
        "sp(0.3)",
        "sp(1)",
        "ga(0.1)",
        "ga(-0.2, 0.05)",
        "gaussian_noise(3)",
        "shot_noise(5)",
        "impulse_noise(2)",
        "speckle_noise(4)",
    ],
)
def test_levels_are_those_of_arrays_to_the_bit(spec, shape):
    noise = parse(spec).for_shape(shape).bind(Bounds(0, 1, steps=255))
    x = np.random.default_rng(1).integers(256, size=(9, *shape), dtype=np.uint8)
    found = redraw_levels(noise, torch.from_numpy(x), STREAMS)
    wanted = noise(x, KEYS)
    assert (wanted != x).any()
    assert np.array_equal(found, wanted)
