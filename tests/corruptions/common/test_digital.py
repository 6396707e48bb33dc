"""Brightness, saturate, contrast and pixelate against plain numpy and Pillow, bit for bit."""

import numpy as np
import pytest
from PIL import Image

from helpers.images import SIZES, check_independence, corrupt_by_name, make_images, make_keys
from shaketable.corruptions.common import digital
from shaketable.corruptions.common.severities import parameters, profile_of

SEVERITIES = [1, 2, 3, 4, 5]


def hsv(rgb):
    """Hue, saturation and value, by masks: of equal channels the last one decides."""
    r, g, b = np.moveaxis(rgb, -1, 0)
    value = rgb.max(axis=-1)
    delta = value - rgb.min(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        hue = (g - b) / delta
        hue = np.where(g == value, 2 + (b - r) / delta, hue)
        hue = np.where(b == value, 4 + (r - g) / delta, hue)
        saturation = delta / value
    hue = np.where(delta == 0, 0, (hue / 6) % 1)
    return hue, np.where(delta == 0, 0, saturation), value


def rgb(hue, saturation, value):
    sector = np.floor(hue * 6)
    f = hue * 6 - sector
    p = value * (1 - saturation)
    q = value * (1 - f * saturation)
    t = value * (1 - (1 - f) * saturation)
    red = np.choose(sector.astype(int), [value, q, p, p, t, value])
    green = np.choose(sector.astype(int), [t, value, value, q, p, p])
    blue = np.choose(sector.astype(int), [p, p, t, value, value, q])
    return np.stack([red, green, blue], axis=-1)


def brightened(images, c):
    hue, saturation, value = hsv(images / 255)
    return levels(rgb(hue, saturation, np.clip(value + c, 0, 1)))


def saturated(images, factor, offset):
    hue, saturation, value = hsv(images / 255)
    return levels(rgb(hue, np.clip(saturation * factor + offset, 0, 1), value))


def contrasted(images, c):
    x = images / 255
    values = x.reshape(len(x), -1, x.shape[-1])
    mean = (np.cumsum(values, axis=1)[:, -1] / values.shape[1])[:, None, None]
    return levels((x - mean) * c + mean)


def pixelated(images, c):
    # one axis at a time, across first: Pillow 13 begins with the other in tall images
    height, width = images.shape[1:3]
    columns, rows = max(1, int(width * c)), max(1, int(height * c))
    planes = np.moveaxis(images, -1, 1).reshape(-1, height, width)
    for size in [(columns, height), (columns, rows), (width, height)]:
        planes = [np.asarray(Image.fromarray(plane).resize(size, Image.BOX)) for plane in planes]
    return np.moveaxis(np.reshape(planes, (len(images), -1, height, width)), 1, -1)


def levels(x):
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


REFERENCES = {
    "brightness": brightened,
    "saturate": saturated,
    "contrast": contrasted,
    "pixelate": pixelated,
}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_results_are_those_of_the_reference_bit_for_bit(name, size):
    images = make_images(4 if max(size) > 64 else 40, *size)
    for severity in SEVERITIES:
        numbers = parameters(name, severity, profile_of(*size))
        expected = REFERENCES[name](images, *numbers)
        assert np.array_equal(
            corrupt_by_name(images, make_keys(len(images)), name, severity), expected
        )


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("profile", ["cifar", "tiny", "imagenet"])
@pytest.mark.parametrize("name", ["brightness", "saturate"])
def test_a_lattice_of_all_colours(name, profile, severity):
    steps = np.arange(0, 256, 5, dtype=np.uint8)
    colours = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1)
    images = colours.reshape(1, len(steps), -1, 3)
    numbers = parameters(name, severity, profile)
    found = getattr(digital, name)(images, make_keys(1), numbers, 32)
    assert np.array_equal(found, REFERENCES[name](images, *numbers))


def test_grey_turns_reddish_where_saturation_has_an_offset():
    grey = np.full((1, 8, 8, 3), 100, np.uint8)
    found = digital.saturate(grey, make_keys(1), (2.0, 0.1), 32)
    assert set(map(tuple, found.reshape(-1, 3))) == {(100, 90, 90)}


@pytest.mark.parametrize("size", [(28, 28), (33, 35), (64, 64)], ids=str)
def test_contrast_rounds_as_a_sum_in_raster_order_does(size):
    # in an image of one level all hangs on the last bit of the mean: some levels drop by one
    images = np.arange(256, dtype=np.uint8)[:, None, None, None].repeat(size[0], 1)
    images = np.ascontiguousarray(images.repeat(size[1], 2))
    for c in (0.75, 0.4, 0.05):
        found = digital.contrast(images, make_keys(256), (c,), 32)
        assert np.array_equal(found, contrasted(images, c))
        assert set(np.unique(images - found)) == {0, 1}


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("name", ["contrast", "pixelate"])
def test_any_number_of_channels(name, channels):
    images = make_images(6, 28, 33, channels)
    numbers = parameters(name, 4, "28px")
    found = getattr(digital, name)(images, make_keys(6), numbers, 28)
    assert np.array_equal(found, REFERENCES[name](images, *numbers))


@pytest.mark.parametrize("c", [0.01, 0.11, 0.3, 0.5, 0.77, 0.999, 1.0])
def test_pixelate_at_other_shares(c):
    for size in [(8, 8), (17, 30), (51, 40), (100, 9)]:
        images = make_images(3, *size)
        found = digital.pixelate(images, make_keys(3), (c,), 32)
        assert np.array_equal(found, pixelated(images, c))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_result_depends_on_the_image_alone(name, monkeypatch):
    check_independence(name, monkeypatch)
