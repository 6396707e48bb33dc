"""Corruptions of tensors, against those of arrays."""

import math

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.corruptions import Gaussian, Impulse, PNormNoise, corrupt, parse
from shaketable.corruptions.camera_faults import Rotation
from shaketable.data.bounds import Bounds

torch = pytest.importorskip("torch", reason="torch is not installed")

from shaketable.corruptions.tensors.device import rotate_levels  # noqa: E402  (it needs torch)

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
DEVICES = ["cpu", CUDA]
NORMS = [0.1, 0.5, 1.0, 2.0, 3.0, 50.0, 200.0, 1e4]
SPECS = [
    "clean",
    "linf(0.1)",
    "linf(0.1, surface)",
    "linf(0.1, vertices)",
    "l1(2)",
    "l2(0.5)",
    "l2(0.5, surface)",
    "l0.5(40)",
    "l77(0.2)",
    "l0(0.3)",
    "l0(0.3, uniform)",
    "gaussian(0.1, mean=0.2)",
    "l2(0.5) + l0(0.1) + linf(0.1)",
    "2*l2(0.5) | l2(1) | linf(0.1) | l1(2) | l0(0.1) | l0(0.3) | gaussian(0.1) | clean",
]
BOUNDS = Bounds(0.0, 1.0)


def keys(n):
    return row_keys(7, np.arange(n), np.arange(1))[:, 0]


def points(n=20, *shape, dtype=np.float32):
    return np.random.default_rng(0).random((n, *(shape or (3, 5, 4)))).astype(dtype)


@pytest.mark.parametrize("spec", [*SPECS, "l0.05(1e9)", "l1(0.5)"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_of_the_cpu_get_the_bytes_of_arrays(spec, dtype):
    x = points(dtype=dtype)
    noisy = corrupt(torch.from_numpy(x.copy()), spec, rng=0, bounds=BOUNDS)
    assert noisy.numpy().tobytes() == corrupt(x, spec, rng=0, bounds=BOUNDS).tobytes()
    assert noisy.numpy().dtype == dtype


@pytest.mark.parametrize("spec", ["linf(0.1)", "l2(0.1)"])
@pytest.mark.parametrize("device", DEVICES)
def test_balls_cut_by_their_bounds_are_those_of_arrays(spec, device):
    x, cut = points(50, 2), Bounds(0, 1, "truncate")
    noisy = corrupt(torch.from_numpy(x).to(device), spec, rng=0, bounds=cut)
    assert np.allclose(noisy.cpu(), corrupt(x, spec, rng=0, bounds=cut), atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", ["linf(1)", "linf(1, surface)", "linf(1, vertices)"])
@pytest.mark.parametrize("d", [1, 3, 1025, 20000])
def test_noise_of_the_cube_is_that_of_arrays(spec, d, device):
    noise, x = parse(spec), np.zeros((9, d), np.float32)
    drawn = noise.draw(torch.from_numpy(x).to(device), keys(9))
    assert np.allclose(torch.as_tensor(drawn).cpu(), noise.draw(x, keys(9)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["ball", "surface"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", NORMS)
def test_components_are_those_of_arrays(p, dtype, kind, device):
    noise, x = PNormNoise(p, 1.0, kind), np.zeros((40, 300), dtype)
    there = torch.as_tensor(noise.draw(torch.from_numpy(x).to(device), keys(40))).cpu().numpy()
    np.testing.assert_allclose(
        there, noise.draw(x, keys(40)), rtol=1e-12 if dtype == "float64" else 1e-5
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("d", [1, 2, 300, 3072, 20000])
@pytest.mark.parametrize("p", NORMS)
def test_the_surface_has_norm_one(p, d, device):
    x = torch.zeros((5, d), dtype=torch.float64, device=device)
    size = PNormNoise(p, 1.0, "surface")(x, keys(5)).abs().cpu().numpy()
    largest = size.max(axis=1)
    norm = largest * ((size / largest[:, None]) ** p).sum(axis=1) ** (1 / p)
    assert np.allclose(norm, 1, rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", SPECS)
def test_rows_depend_on_their_keys_alone(spec, device):
    x = torch.from_numpy(points(64, 700)).to(device)
    noise = parse(spec).bind(BOUNDS)
    noisy = noise(x, keys(64))
    some = np.array([40, 3, 17])
    assert torch.equal(noise(x[some], keys(64)[some]), noisy[some])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", SPECS)
def test_where_the_result_goes_changes_nothing(spec, device):
    x = torch.from_numpy(points(8, 3, 40, 40)).to(device)
    noisy = corrupt(x, spec, rng=0, bounds=BOUNDS)
    assert noisy is not x
    assert ((noisy >= 0) & (noisy <= 1)).all()
    out = torch.full_like(x, math.nan)
    assert corrupt(x, spec, rng=0, bounds=BOUNDS, out=out) is out
    assert torch.equal(out, noisy)
    strided = x.to(memory_format=torch.channels_last)
    assert torch.equal(corrupt(strided, spec, rng=0, bounds=BOUNDS), noisy)
    assert corrupt(strided, spec, rng=0, bounds=BOUNDS, out=strided) is strided
    assert torch.equal(strided, noisy)
    part = torch.zeros((8, 6, 40, 40), device=device)[:, ::2]
    assert torch.equal(corrupt(x, spec, rng=0, bounds=BOUNDS, out=part), noisy)
    assert torch.equal(corrupt(x, spec, rng=0, bounds=BOUNDS, out=x), noisy)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", ["clean", "clean + linf(0.1)", "clean + l0(0.5) + l2(1)"])
@pytest.mark.parametrize("grad", [False, True])
def test_the_given_points_are_left_alone(spec, grad, device):
    x = torch.full((3, 8), 0.5, device=device, requires_grad=grad)
    noisy = corrupt(x, spec, rng=0, bounds=BOUNDS)
    assert noisy.data_ptr() != x.data_ptr()
    assert torch.equal(x, torch.full_like(x, 0.5))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", [s for s in SPECS if "+" not in s])
def test_a_draw_serves_the_whole_ladder(spec, device):
    x = torch.from_numpy(points(6, 900)).to(device)
    noise = parse(spec).bind(BOUNDS)
    drawn = noise.draw(x, keys(6))
    assert torch.allclose(noise.apply(x, drawn), noise(x, keys(6)), rtol=1e-6, atol=1e-6)
    on_device = torch.from_numpy(keys(6).view(np.int64)).to(device)
    assert torch.equal(noise(x, on_device), noise(x, keys(6)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("to", ["extremes", "uniform"])
def test_impulses_are_so_many_and_nested(to, device):
    x = torch.full((50, 1000), 0.3, device=device)
    drawn = Impulse(0.2).draw(x, keys(50))
    weak, strong = (Impulse(s, to, BOUNDS).apply(x, drawn) for s in (0.05, 0.2))
    assert ((weak != x).sum(1) == 50).all()
    assert ((strong != x).sum(1) == 200).all()
    assert torch.equal(strong[weak != x], weak[weak != x])
    assert torch.equal(Impulse(0.05, to, BOUNDS)(x, keys(50)), weak)
    hit = strong[strong != x]
    assert 0.45 < hit.mean() < 0.55
    where = (strong != x).float().mean(0)
    assert where.max() < 0.5
    if to == "extremes":
        assert set(hit.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("device", DEVICES)
def test_gaussian_noise_has_its_moments(device):
    x = torch.zeros((100, 20000), device=device)
    noisy = Gaussian(0.5, mean=1.0)(x, keys(100)).double()
    assert abs(noisy.mean() - 1) < 0.002
    assert abs(noisy.std() - 0.5) < 0.002
    assert abs(((noisy - 1) / 0.5).pow(4).mean() - 3) < 0.03


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("spec", ["linf(0.1)", "l2(3)", "l10(0.2)", "gaussian(0.1)", "l0(0.1)"])
def test_half_precision_is_rounded_once(spec, dtype, device):
    x = torch.from_numpy(points(5, 600)).to(device, dtype)
    full = corrupt(x.float(), spec, rng=0, bounds=BOUNDS)
    assert torch.equal(corrupt(x, spec, rng=0, bounds=BOUNDS), full.to(dtype))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("spec", SPECS)
def test_whole_numbers_follow_the_rules_of_arrays(spec, device):
    x = np.random.default_rng(0).integers(0, 256, (7, 30), np.uint8)
    there = torch.from_numpy(x).to(device)
    floats = corrupt(there, spec, rng=0, bounds=(0, 255))
    assert floats.dtype == torch.float32
    for dtype in ("uint8", torch.uint8):
        rounded = corrupt(there, spec, rng=0, bounds=(0, 255), dtype=dtype)
        assert torch.equal(rounded, floats.round().to(torch.uint8))
    assert corrupt(there.short(), spec, rng=0, bounds=(0, 255)).dtype == torch.float64
    assert corrupt(there, spec, rng=0, bounds=(0, 255), dtype=torch.bfloat16).dtype == (
        torch.bfloat16
    )
    assert np.array_equal(there.cpu(), x)


@pytest.mark.parametrize("angle", [9, -30, 90, 45])
@pytest.mark.parametrize("shape", [(9, 12, 3), (3, 12, 9), (8, 8)])
@pytest.mark.parametrize("device", DEVICES)
def test_levels_are_rotated_as_those_of_arrays(device, shape, angle):
    x = np.random.default_rng(0).integers(256, size=(5, *shape), dtype=np.uint8)
    for fill in (0, 0.2):
        rotation = Rotation(angle, fill=fill).bind(Bounds(0, 1, steps=255))
        found = rotate_levels(rotation, torch.from_numpy(x).to(device)).cpu()
        assert np.array_equal(found, rotation(x, keys(5)))


def draw_bits(n, d):
    """32 bits for every value: the halves of the words of splitmix64."""
    z = keys(n)[:, None] + np.arange(1, (d + 1) // 2 + 1, dtype=np.uint64) * np.uint64(
        0x9E3779B97F4A7C15
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.stack([z & np.uint64(0xFFFFFFFF), z >> np.uint64(32)], axis=2).reshape(n, -1)[:, :d]


@pytest.mark.parametrize("shape", [(9, 9, 3), (3, 11, 12)])
@pytest.mark.parametrize(
    "spec", ["sp(0.3)", "ga(0.1)", "gaussian_noise(3)", "shot_noise(5)", "impulse_noise(2)"]
)
def test_laws_of_levels_are_what_arrays_are_drawn_from(spec, shape):
    noise = parse(spec).for_shape(shape).bind(Bounds(0, 1, steps=255))
    x = np.random.default_rng(0).integers(256, size=(6, *shape), dtype=np.uint8)
    law, wanted = noise.level_law, noise(x, keys(6))
    if law.channels_last and shape[0] == 3:
        x, wanted = np.moveaxis(x, 1, -1), np.moveaxis(wanted, 1, -1)
    old, wanted = x.reshape(6, -1).astype(np.int64), wanted.reshape(6, -1)
    bits = draw_bits(6, old.shape[1]).astype(np.int64)
    if law.table is None:
        part = round(law.half * 2**32)
        found = np.where(bits < part, 0, np.where(2**32 - 1 - bits < part, 255, old))
    else:
        entry = law.table.ravel()[(old << 8) | (bits & 255)].astype(np.int64)
        found = np.where(bits >> 8 < entry >> 8, bits & 255, entry & 255)
    assert np.array_equal(found, wanted)
    assert (found != old).any()


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ("sp(0.1) + rotation(30) + ga(0.1)", "any"),
        ("sp(0.1) as SP0.1XX", "any"),
        ("shot_noise(3)", "any"),
        ("rotation(30, bilinear)", "cpu"),
        ("ga(0.1, 0)", "cpu"),
        ("shot_noise(3, jpeg=85)", "cpu"),
        ("fog(3)", "cpu"),
        ("l2(1)", "device"),
        ("l2(1) | l0(0.1) | clean", "device"),
        ("gaussian(0.1)", "device"),
        ("l2(1) + sp(0.1)", "cpu"),
        ("sp(0.1) + fog(3)", "cpu"),
    ],
)
def test_where_corruptions_can_be_made(spec, place):
    assert parse(spec).traits.made_on == place


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "spec", ["clean", "fog(3)", "shot_noise(2)", "sp(0.2) + rotation(9)", "ga(0.1)", "l0(0.3)"]
)
def test_levels_of_tensors_are_those_of_arrays(spec, device):
    x = np.random.default_rng(0).integers(0, 256, (5, 3, 16, 16), np.uint8)
    corruption = parse(spec).for_shape(x.shape[1:]).bind(BOUNDS)
    there = corruption(torch.from_numpy(x).to(device), keys(5))
    assert there.dtype == torch.uint8
    if device == "cpu" or "l0" not in spec:  # the places of l0 are drawn on the device
        np.testing.assert_array_equal(there.cpu(), corruption(x, keys(5)))


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_not_followed(device):
    x = torch.zeros((2, 3), device=device, requires_grad=True)
    assert not corrupt(x, "l2(0.1)", rng=0).requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_what_cannot_be_done_is_said(device):
    x = torch.zeros((2, 30), device=device)
    with pytest.raises(InputError, match="bounds"):
        corrupt(x.int(), "linf(1)")
    with pytest.raises(InputError, match="real numbers"):
        corrupt(x.bool(), "linf(1)", bounds=(0, 1))
    with pytest.raises(InputError, match="dtype must be"):
        corrupt(x, "linf(1)", dtype=torch.int32)
    with pytest.raises(InputError, match="needs a finite value range"):
        corrupt(x, "l0(0.1)")
    cut = Bounds(0, 1, "truncate")
    for spec in ("gaussian(0.1)", "linf(0.1, surface)", "l2(0.1)"):
        with pytest.raises(InputError, match="'truncate'"):
            corrupt(x, spec, bounds=cut)
    with pytest.raises(InputError, match="span"):
        corrupt(x + 2, "linf(0.1)", bounds=cut)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_key_is_needed_for_every_row():
    with pytest.raises(InputError, match="one per row"):
        PNormNoise(2, 0.1)(torch.zeros((3, 2), device="cuda"), keys(2))


def test_devices_without_kernels_get_noise_of_the_cpu():
    x = torch.empty((4, 6), device="meta")
    for spec in ("l2(0.5)", "linf(0.1)", "gaussian(0.2)", "l0(0.5)"):
        noise = parse(spec).bind(BOUNDS)
        noisy = noise.apply(x, noise.draw(x, keys(4)))
        assert noisy.device.type == "meta"
        assert noisy.shape == x.shape


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_one_of_several_is_that_of_arrays(dtype, device):
    spec = "l2(1) | l2(3) | l0.5(40) | linf(0.1) | linf(0.2, vertices) | gaussian(0.1, mean=0.2)"
    noise = parse(f"{spec} | gaussian(0.3, mean=0.2) | clean | l2(1) + linf(0.1)").bind(BOUNDS)
    x = points(200, 3, 9, 9)
    given = torch.from_numpy(x).to(device, dtype)
    noisy = noise(given, keys(200)).float().cpu()
    wanted = noise(given.float().cpu().numpy(), keys(200))
    assert np.allclose(noisy, wanted, atol={4: 1e-6, 2: 1e-2}[dtype.itemsize])


@pytest.mark.parametrize("device", DEVICES)
def test_of_several_impulses_every_row_has_its_own_share(device):
    x = torch.full((90, 1000), 0.3, device=device)
    noise = parse("l0(0.05) | l0(0.2) | l0(0.1)").bind(BOUNDS)
    hit = ((noise(x, keys(90)) != 0.3).sum(dim=1)).cpu().numpy()
    (share,) = noise.split(keys(90))
    assert (hit[share.rows] == share.sizes * 1000).all()
    assert set(hit) == {50, 100, 200}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_one_of_several_does_not_wait_for_the_device():
    x = torch.rand((384, 3, 32, 32), device="cuda")
    noise = parse("C1").for_shape((3, 32, 32)).bind(BOUNDS)
    noise(x, keys(384))  # kernels are compiled and tables moved
    torch.cuda.set_sync_debug_mode("error")
    try:
        noise(x, keys(384))
    finally:
        torch.cuda.set_sync_debug_mode("default")
