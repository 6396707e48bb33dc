"""The kernel for operations on images, against the functions of torch, in Triton's interpreter.

    TRITON_INTERPRET=1 pytest tests/training/test_operation_kernels.py

On a CUDA device the same kernel is tested compiled.
"""

import os

import numpy as np
import pytest

from helpers.images import make_images, make_keys
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.auto_augment import AugMix, RandAugment, TrivialAugment
from shaketable.training.augmentations.plans import Kind, Size, Step

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not INTERPRETED and not torch.cuda.is_available():
    pytest.skip("for TRITON_INTERPRET=1, or a CUDA device", allow_module_level=True)

from shaketable.training.augmentations.operations import (  # noqa: E402  (it needs torch)
    apply_by_kernel,
    apply_steps,
)

pytestmark = [  # of the interpreter alone
    pytest.mark.filterwarnings("ignore:divide by zero"),
    pytest.mark.filterwarnings("ignore:invalid value"),
]

DEVICE = "cpu" if INTERPRETED else "cuda"
PARAMETERS = {
    Kind.SCALE: (1.7,),
    Kind.SHIFT: (-0.3,),
    Kind.COLOUR: (0.3,),
    Kind.SATURATION: (1.8,),
    Kind.CONTRAST: (1.6,),
    Kind.SHARPNESS: (1.9,),
    Kind.POSTERIZE: (32.0,),
    Kind.SOLARIZE: (0.45, 0.1),
    Kind.AUTOCONTRAST: (),
    Kind.EQUALIZE: (),
    Kind.IDENTITY: (),
}


def make(n, size, channels=3, dtype=torch.float32):
    x = torch.from_numpy(make_images(n, *size, channels).astype(np.float64) / 255)
    x[1, :, :, 0] = 0.25  # a constant channel
    return x.permute(0, 3, 1, 2).to(dtype).contiguous()


def run_kernel(x, steps, **options):
    return apply_by_kernel(x.to(DEVICE), steps, **options).cpu()


@pytest.mark.parametrize("kind", PARAMETERS)
@pytest.mark.parametrize("size", [(11, 14), (32, 32), (3, 2)])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pixels_are_changed_as_by_torch(kind, size, channels, dtype):
    x, parameters = make(4, size, channels, dtype), np.zeros((4, plans.WIDTH))
    parameters[:, : len(PARAMETERS[kind])] = PARAMETERS[kind]
    steps = [Step(np.full(4, kind), parameters)]
    wanted = apply_steps(x, steps, interpolation="nearest")
    found = run_kernel(x, steps, interpolation="nearest")
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=2e-6 if dtype == torch.float32 else 1e-12)
    if channels == 3 and size == (32, 32):
        assert torch.equal(found, x) == (kind == Kind.IDENTITY)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("size", [(11, 14), (32, 32)])
def test_images_are_moved_as_by_torch(interpolation, size):
    x = make(40, size)
    angles = np.linspace(-150, 140, 40)
    parameters = np.stack(np.broadcast_arrays(*plans.rotate(angles, Size(*size))), axis=1)
    parameters[::4] = np.transpose(np.broadcast_arrays(*plans.shear_x(angles[::4] / 150)))
    parameters[::5] = np.transpose(np.broadcast_arrays(*plans.translate_y(np.arange(8.0) - 4)))
    steps = [Step(np.full(40, Kind.AFFINE), parameters)]
    wanted = apply_steps(x, steps, interpolation=interpolation)
    found = run_kernel(x, steps, interpolation=interpolation)
    # rounding decides at edges of pixels and of the image
    assert ((found - wanted).abs() < 1e-4).double().mean() > 0.998


@pytest.mark.parametrize(
    ("augmentation", "interpolation"),
    [(TrivialAugment(), "nearest"), (RandAugment(), "bilinear"), (AugMix(), "bilinear")],
    ids=str,
)
def test_augmentations_are_those_of_torch(augmentation, interpolation):
    x, size = make(60, (16, 16)), Size(16, 16)
    steps = augmentation.draw(make_keys(60), size)
    rows = np.tile(np.arange(60), len(steps[0].kinds) // 60)
    wanted = apply_steps(x, steps, interpolation=interpolation, rows=rows)
    found = run_kernel(x, steps, interpolation=interpolation, rows=rows)
    same = ((found - wanted).abs() < 1e-4).double().mean(dim=(1, 2, 3))
    # a pixel on the other side of an edge is another level for what follows
    assert same.mean() > 0.99
    assert same.min() > 0.9


@pytest.mark.filterwarnings("ignore")  # of torch's profiler, about its own events
@pytest.mark.skipif(INTERPRETED, reason="for a CUDA device")
@pytest.mark.filterwarnings("ignore:.*[Pp]rofiler")  # torch's own, which differ by version
def test_cuda_images_are_changed_by_the_kernel():
    x, keys = make(30, (32, 32)), make_keys(30)
    for layout in (torch.contiguous_format, torch.channels_last):
        given = x.to("cuda", memory_format=layout)
        with torch.profiler.profile() as profile:
            found = TrivialAugment()(given, keys)
        assert any("operate" in event.key for event in profile.key_averages())
        assert ((found.cpu() - TrivialAugment()(x, keys)).abs() < 1e-4).double().mean() > 0.99
