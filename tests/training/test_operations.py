"""Operations on batches against Pillow's, which work on one image of 8 bits."""

import colorsys

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.training.augmentations import plans
from shaketable.training.augmentations.plans import Kind, Size, Step

torch = pytest.importorskip("torch", reason="torch is not installed")
operations = pytest.importorskip("shaketable.training.augmentations.operations")
apply_steps, as_floats, as_given = (
    operations.apply_steps,
    operations.as_floats,
    operations.as_given,
)

N = 6
SIZE = Size(24, 32)
LEVELS = make_images(N, *SIZE)
FACTORS = np.array([0.01, 0.4, 0.9, 1, 1.5, 2])


def tensor(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2)


def operate(kind, columns, *, images=LEVELS, interpolation="nearest"):
    """Result for every image, in levels that are not rounded, with channels last."""
    parameters = np.zeros((len(images), plans.WIDTH))
    for i, column in enumerate(columns):
        parameters[:, i] = column
    step = Step(np.full(len(images), kind), parameters)
    x = as_floats(tensor(images))
    return 255 * apply_steps(x, [step], interpolation=interpolation).permute(0, 2, 3, 1).numpy()


def each(function, *parameters, images=LEVELS):
    """What a function of Pillow makes of every image and its parameters."""
    rows = zip(images, *parameters, strict=True)
    return np.stack([function(Image.fromarray(x), *own) for x, *own in rows]).astype(float)


@pytest.mark.parametrize(
    ("kind", "enhancer", "rounding"),
    [
        (Kind.SCALE, ImageEnhance.Brightness, 0),
        (Kind.COLOUR, ImageEnhance.Color, 0.5),  # grey values are rounded
        (Kind.SHARPNESS, ImageEnhance.Sharpness, 0.5),  # and so are smoothed ones
        (Kind.CONTRAST, ImageEnhance.Contrast, 1),  # and grey values, and their mean
    ],
)
def test_enhancements_are_those_of_pillow(kind, enhancer, rounding):
    ours = operate(kind, (FACTORS,))
    theirs = each(lambda x, factor: enhancer(x).enhance(factor), FACTORS)
    # the result is rounded down, after roundings that count |1 - factor| times
    slack = rounding * np.abs(1 - FACTORS)[:, None, None, None] + 1e-3
    difference = ours - theirs
    assert (difference >= -slack).all()
    assert (difference <= 1 + slack).all()
    assert np.abs(theirs[[0, 5]] - LEVELS[[0, 5]]).mean() > 1  # they do something


def test_posterize_solarize_and_invert_are_exactly_those_of_pillow():
    bits = [1, 2, 4, 6, 7, 8]
    ours = operate(Kind.POSTERIZE, plans.posterize(np.array(bits)))
    np.testing.assert_allclose(ours, each(ImageOps.posterize, bits), atol=1e-3)
    levels = [0, 1, 100, 128, 255, 256]
    ours = operate(Kind.SOLARIZE, plans.solarize(np.array(levels)))
    np.testing.assert_allclose(ours, each(ImageOps.solarize, levels), atol=1e-3)
    ours = operate(Kind.SOLARIZE, ())
    np.testing.assert_allclose(ours, each(ImageOps.invert), atol=1e-3)


def test_equalize_is_exactly_that_of_pillow():
    images = LEVELS.copy()
    images[0, :, :, 0] = 7  # one level
    images[1, :, :, 0] = np.where(np.arange(SIZE.width) < 1, 3, 200)  # too few below the highest
    np.testing.assert_allclose(
        operate(Kind.EQUALIZE, (), images=images), each(ImageOps.equalize, images=images), atol=1e-3
    )


def test_autocontrast_is_that_of_pillow_which_rounds_down():
    images = LEVELS.copy()
    images[0, :, :, 0] = 7
    difference = operate(Kind.AUTOCONTRAST, (), images=images) - each(
        ImageOps.autocontrast, images=images
    )
    assert difference.min() > -1e-3
    assert difference.max() < 1 + 1e-3


@pytest.mark.parametrize(
    "columns",
    [
        plans.shear_x(np.array([-0.99, -0.5, 0, 0.033, 0.33, 0.99])),
        plans.shear_y(np.array([-0.99, -0.5, 0, 0.033, 0.33, 0.99])),
        plans.shear_x(np.array([-0.99, -0.5, 0, 0.033, 0.33, 0.99]), fixed=SIZE.height / 2),
        plans.translate_x(np.array([-32, -7, 0, 1, 7, 31])),
        plans.translate_y(np.array([-32, -7, 0, 1, 7, 23])),
    ],
    ids=["shear_x", "shear_y", "about the centre", "translate_x", "translate_y"],
)
def test_shears_and_translations_are_exactly_those_of_pillow(columns):
    matrices = np.stack(np.broadcast_arrays(*columns), axis=1)
    theirs = each(lambda x, m: x.transform(x.size, Image.Transform.AFFINE, m.tolist()), matrices)
    np.testing.assert_allclose(operate(Kind.AFFINE, columns), theirs, atol=1e-3)


def test_what_is_fixed_stays_where_it_is():
    shear, places = np.array([-0.5, 0.3]), np.array([2.5, 30.0])
    a, b, c, *_ = plans.shear_x(shear, fixed=12)
    np.testing.assert_allclose(a * places + b * 12 + c, places)
    *_, d, e, f = plans.shear_y(shear, fixed=16)
    np.testing.assert_allclose(d * 16 + e * places + f, places)
    a, b, c, d, e, f = plans.rotate(np.array([20.0, -70.0]), SIZE)
    np.testing.assert_allclose(a * 16 + b * 12 + c, 16)
    np.testing.assert_allclose(d * 16 + e * 12 + f, 12)


def test_rotations_are_those_of_pillow():
    degrees = np.array([-131, -60, 0, 30, 90, 101])
    ours = operate(Kind.AFFINE, plans.rotate(degrees, SIZE))
    theirs = each(lambda x, angle: x.rotate(int(angle)), degrees)
    # Pillow counts in 1/65536 of a pixel: places that are as close to two pixels may differ
    assert (np.abs(ours - theirs) > 1e-3).mean() < 2e-3


def test_bilinear_interpolation_is_that_of_pillow():
    degrees = np.array([-131, -60, 0, 30, 90, 101])
    ours = operate(Kind.AFFINE, plans.rotate(degrees, SIZE), interpolation="bilinear")
    theirs = each(lambda x, angle: x.rotate(int(angle), Image.Resampling.BILINEAR), degrees)
    far = np.abs(ours - theirs) > 1 + 1e-3
    assert far.mean() < 2e-3  # at edges, where one says inside and the other outside


def test_kornias_brightness_is_added():
    ours = operate(Kind.SHIFT, (-0.36,))
    np.testing.assert_allclose(ours, np.clip(LEVELS - 0.36 * 255, 0, 255), atol=1e-3)


@pytest.mark.parametrize("factor", [0, 0.5, 1.9])
def test_kornias_colour_is_the_saturation_of_hsv(factor):
    ours = operate(Kind.SATURATION, (factor,)).reshape(-1, 3)[::97] / 255
    hsv = [colorsys.rgb_to_hsv(*pixel) for pixel in LEVELS.reshape(-1, 3)[::97] / 255]
    theirs = [colorsys.hsv_to_rgb(h, min(factor * s, 1), v) for h, s, v in hsv]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_an_amount_is_added_before_values_are_inverted():
    x = torch.tensor([0.1, 0.4, 0.6, 0.9]).view(1, 1, 2, 2)
    parameters = torch.tensor([[0.5, 0.2, 0, 0, 0, 0]])
    solarized = operations.solarize(x, parameters).flatten()
    torch.testing.assert_close(solarized, torch.tensor([0.3, 0.4, 0.2, 0.0]))


def test_small_and_grey_images_are_taken():
    x = torch.rand(2, 1, 2, 2, generator=torch.Generator().manual_seed(0))
    parameters = torch.full((2, plans.WIDTH), 0.5)
    assert torch.equal(operations.sharpness(x, parameters), x)
    torch.testing.assert_close(operations.colour(x, parameters), x)
    torch.testing.assert_close(operations.saturation(x, parameters), x)
    for operation in operations.OPERATIONS.values():
        assert operation(x, parameters).shape == x.shape


def test_steps_follow_each_other_and_leave_the_images_alone():
    x = as_floats(tensor(LEVELS))
    before = x.clone()
    darker = Step(np.full(N, Kind.SCALE), np.full((N, plans.WIDTH), 0.5))
    kinds = np.array([Kind.IDENTITY, Kind.SOLARIZE] * 3)
    mixed = Step(kinds, np.zeros((N, plans.WIDTH)))
    result = apply_steps(x, [darker, mixed], interpolation="nearest")
    expected = torch.where(torch.arange(N)[:, None, None, None] % 2 == 0, x / 2, 1 - x / 2)
    torch.testing.assert_close(result, expected)
    rows = np.array([2, 2, 0, 1, 5, 4])
    again = apply_steps(x, [darker, mixed, mixed], interpolation="nearest", rows=rows)
    torch.testing.assert_close(again, x[rows] / 2)
    assert torch.equal(x, before)
    nothing = Step(np.zeros(0, np.int64), np.zeros((0, plans.WIDTH)))
    assert len(apply_steps(x[:0], [nothing], interpolation="nearest")) == 0


def test_types_come_back_as_they_were_given():
    x = tensor(LEVELS)
    assert torch.equal(as_given(as_floats(x), x), x)
    half = (x / 255).to(torch.bfloat16)
    assert as_given(as_floats(half), half).dtype == torch.bfloat16
    assert as_floats((x / 255).double()).dtype == torch.float64
    assert torch.equal(as_given(torch.tensor([0.49, 0.51]) / 255, x), torch.tensor([0, 1]).byte())


@pytest.mark.parametrize(
    ("x", "keys", "message"),
    [
        (torch.zeros(2, 8, 8, 3), 2, r"must have the shape .*got \(2, 8, 8, 3\); move channels"),
        (torch.zeros(3, 8, 8), 3, r"must have the shape"),
        (torch.zeros(2, 4, 8, 8), 2, "must be grey or RGB, of 1 or 3 channels, got 4 channels; of"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.int64), 2, "must be uint8, or floats"),
        (torch.zeros(2, 3, 8, 8), 3, "one per image, got 3 for 2 images"),
    ],
)
def test_other_batches_are_refused(x, keys, message):
    with pytest.raises(InputError, match=message):
        operations.check_colours(x, np.zeros(keys, np.uint64))
