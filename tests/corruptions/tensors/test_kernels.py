"""Kernels of CUDA devices, against arrays, in Triton's interpreter.

    TRITON_INTERPRET=1 pytest tests/corruptions/tensors/test_kernels.py

On a CUDA device, test_device.py tests the same kernels, compiled.
"""

import os

import numpy as np
import pytest

from shaketable.core.keys import row_keys
from shaketable.corruptions import Impulse, PNormNoise, parse
from shaketable.data.bounds import Bounds

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("for TRITON_INTERPRET=1", allow_module_level=True)

from shaketable.corruptions.tensors import fused  # noqa: E402  (it needs triton)

UNIT = Bounds(0, 1)
KEYS = row_keys(7, np.arange(9), np.arange(1))[:, 0]
STREAMS = torch.from_numpy(KEYS.view(np.int64))


def points(d, dtype=np.float32):
    return np.random.default_rng(0).random((9, d)).astype(dtype)


def deal(rows, parts, last):
    """Numbers as of `one_of.Deal`."""
    return torch.from_numpy(np.stack([KEYS.view(np.int64), rows, parts, last]))


pytestmark = pytest.mark.filterwarnings("ignore:divide by zero")  # of the interpreter alone


@pytest.mark.parametrize("d", [5, 126, 1500])
@pytest.mark.parametrize("spec", ["linf(0.1)", "l2(0.5, surface)", "l0.5(40)", "gaussian(0.1)"])
def test_noise_is_that_of_arrays(spec, d):
    noise, x = parse(spec).bind(UNIT), points(d)
    out = torch.empty(9, d)
    fused.fill_noise(out, STREAMS, noise.additive, torch.from_numpy(x))
    np.testing.assert_allclose(out, noise(x, KEYS), atol=1e-6)


@pytest.mark.parametrize("kind", ["ball", "surface"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_mixture_have_their_norms_and_sizes(dtype, kind):
    norms, x = (0.5, 0.0, 2.0, float("inf"), 50.0), points(1100, dtype)
    rows, parts, sizes = np.arange(9)[::-1].copy(), np.arange(9) % 5, np.linspace(0.1, 0.9, 9)
    out = torch.from_numpy(x.copy())
    like = PNormNoise(2, 1.0, kind).bind(UNIT).additive
    fused.fill_noise(out, deal(rows, parts, sizes.view(np.int64)), like, out, norms)
    for row, part, size, key in zip(rows, parts, sizes, KEYS, strict=True):
        given = x[[row]]
        if norms[part]:
            given = PNormNoise(norms[part], size, kind).bind(UNIT)(given, key[None])
        np.testing.assert_allclose(out[row], given[0], atol=1e-6)


@pytest.mark.parametrize("to", ["extremes", "uniform"])
@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
def test_values_are_replaced_where_they_were_drawn(dtype, share, to):
    x = (torch.from_numpy(points(140)) * 200).to(dtype)
    noise = Impulse(share, to, Bounds(0, 200, steps=200))
    hits, ends = noise.count_hits(140), (0.0, 200.0)
    bits = (fused.words(STREAMS, hits, side=True) >> 11) & (2**53 - 1) | 1
    drawn = fused.draw_places(STREAMS, 140, hits), bits.double() * 2.0**-53
    out = x.clone()
    fused.replace_values(out, STREAMS, hits, ends=ends, uniform=to == "uniform")
    counts = torch.arange(9).clamp(max=hits)
    some = x.clone()
    numbers = deal(np.arange(9), np.zeros(9, np.int64), counts.numpy())
    numbers = torch.nn.functional.pad(numbers, (3, 0))[:, 3:]  # part of those of more rows
    fused.replace_values(some, numbers, hits, ends=ends, uniform=to == "uniform")
    places, u = drawn
    values = (200 * u if to == "uniform" else (u >= 0.5) * 200.0).to(dtype)
    assert torch.equal(out, x.scatter(1, places, values))
    first = torch.arange(hits) < counts[:, None]
    expected = x.scatter(1, places, values.where(first, x.gather(1, places)))
    assert torch.equal(some, expected)
