"""JPEG compression against Pillow's files, bit for bit."""

import io

import numpy as np
import pytest
from PIL import Image

from helpers.images import SIZES, check_independence, corrupt_by_name, make_images, make_keys
from shaketable.corruptions.common.jpeg import jpeg_compression, steps
from shaketable.corruptions.common.severities import parameters, profile_of

QUALITIES = [1, 2, 5, 7, 10, 15, 18, 25, 40, 49, 50, 51, 58, 65, 73, 80, 90, 95, 100]
ODD = [(8, 16), (9, 9), (10, 12), (15, 17), (16, 11), (23, 31), (33, 18), (47, 48), (63, 65)]


def read_back(image, quality):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def equal(images, quality):
    found = jpeg_compression(images, make_keys(len(images)), (quality,), 32)
    return np.array_equal(found, [read_back(image, quality) for image in images])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_severities_are_those_of_pillow(size):
    images = make_images(3 if max(size) > 64 else 20, *size)
    for severity in (1, 2, 3, 4, 5):
        (quality,) = parameters("jpeg_compression", severity, profile_of(*size))
        found = corrupt_by_name(images, make_keys(len(images)), "jpeg_compression", severity)
        assert np.array_equal(found, [read_back(image, int(quality)) for image in images])


@pytest.mark.parametrize("quality", QUALITIES)
def test_any_size_and_quality(quality):
    for size in ODD:
        assert equal(make_images(3, *size), quality), size


@pytest.mark.parametrize("quality", QUALITIES)
def test_images_as_hard_as_can_be(quality):
    # values of 0 and 255 alone: transforms, quotients and overshoots are as large as they get
    rng = np.random.default_rng(quality)
    images = rng.integers(0, 2, (60, 32, 32, 3), dtype=np.uint8) * np.uint8(255)
    images[20:40] = images[20:40, ::4, ::4].repeat(4, axis=1).repeat(4, axis=2)
    images[40:50] = images[40:50, :1]
    images[50:] = images[50:, :, :1]
    assert equal(images, quality)


@pytest.mark.parametrize("severity", [1, 5])
def test_grey_images_are_those_of_grey_files(severity):
    images = make_images(10, 28, 28, 1)
    (quality,) = parameters("jpeg_compression", severity, "28px")
    found = corrupt_by_name(images, make_keys(10), "jpeg_compression", severity)
    assert np.array_equal(found[..., 0], [read_back(image[..., 0], quality) for image in images])


@pytest.mark.parametrize("quality", [*QUALITIES, 3, 33, 77])
def test_steps_are_those_in_the_file(quality):
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(file, "JPEG", quality=quality)
    in_file = Image.open(file).quantization
    for found, number in zip(steps(quality), (0, 1), strict=True):
        assert np.array_equal(found.ravel(), in_file[number])


def test_a_result_depends_on_the_image_alone(monkeypatch):
    check_independence("jpeg_compression", monkeypatch)
