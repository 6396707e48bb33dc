"""The five common blurs against plain numpy and scipy, given the same draws."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import ndimage

from helpers.images import SIZES, check_independence, corrupt_by_name, make_images, make_keys
from shaketable.core.keys import uniforms
from shaketable.corruptions.common import blurs
from shaketable.corruptions.common.filters import (
    gaussian_filter,
    gaussian_weights,
    zoom,
    zoom_places,
)
from shaketable.corruptions.common.severities import parameters, profile_of, side_of

NAMES = ["gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]


def levels(x):
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


def words(key, n):
    """Words 0 to n - 1 of a key, as splitmix64 has them."""
    z = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def smooth(x, sigma):
    return ndimage.gaussian_filter(x, (sigma, sigma, 0), mode="nearest", truncate=4)


def gaussian_blurred(image, key, sigma):
    return levels(smooth(image / 255, sigma))


def defocus_kernel(radius, sigma):
    grid = np.arange(-8, 9) if radius <= 8 else np.arange(-radius, radius + 1)
    disk = np.float32(np.add.outer(grid**2, grid**2) <= radius**2)
    disk /= disk.sum()
    size = 3 if radius <= 8 else 5
    taps = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * sigma**2))
    taps = np.float32(taps / taps.sum())

    def filtered(line, order):  # float32; a product and the sum it goes to are rounded once
        n, line = len(line), np.pad(line, size // 2, mode="reflect")
        total = np.float32(0)
        for k in order:
            pair = line[size // 2 - k : size // 2 - k + n]
            pair = pair + line[size // 2 + k : size // 2 + k + n] if k else pair
            weight = np.float64(taps[size // 2 + k])
            total = np.float32(np.float64(total) + np.float64(pair) * weight)
        return total

    along_rows = [1, 0] if size == 3 else [0, 1, 2]
    disk = np.apply_along_axis(filtered, 1, disk, along_rows)
    return np.apply_along_axis(filtered, 0, disk, range(size // 2 + 1))


def defocused(image, key, radius, sigma):
    kernel = defocus_kernel(radius, sigma).astype(float)[..., None]
    x = np.clip(ndimage.correlate(image / 255, kernel, mode="mirror"), 0, 1)
    return (x * 255 + 1e-11).astype(np.uint8)


def seen_through_glass(image, key, sigma, reach, sweeps):
    height, width, _ = image.shape
    found = (smooth(image / 255, sigma) * 255).astype(np.uint8)
    rows, columns = range(height - reach, reach, -1), range(width - reach, reach, -1)
    drawn = iter(words(key, sweeps * len(rows) * len(columns)).tolist())
    for _ in range(sweeps):
        for y in rows:
            for x in columns:
                word = next(drawn)
                dx = ((word >> 32) * 2 * reach >> 32) - reach
                dy = (word % 2**32 * 2 * reach >> 32) - reach
                found[y, x] = found[y + dy, x + dx]
    return levels(smooth(found / 255, sigma))


def motion_blurred(image, key, radius, sigma):
    angle = math.radians(-45 + 90 * uniforms(np.array([key]), 1)[0, 0])
    height, width, _ = image.shape
    taps = np.arange(2 * math.ceil(radius) + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    total = np.zeros(image.shape)
    for i, weight in zip(taps, weights / weights.sum(), strict=True):
        y = np.arange(height) + math.ceil(i * math.sin(angle) - 0.5)
        x = np.arange(width) + math.ceil(i * math.cos(angle) - 0.5)
        y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
        total += weight * (257.0 * image[y[:, None], x])
    return (np.floor(total + 0.5) // 257).astype(np.uint8)


def zoomed(x, factor):
    height, width, _ = x.shape
    rows, columns = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - rows) // 2, (width - columns) // 2
    found = ndimage.zoom(x[top : top + rows, left : left + columns], (factor, factor, 1), order=1)
    top, left = (found.shape[0] - height) // 2, (found.shape[1] - width) // 2
    return found[top : top + height, left : left + width]


def zoom_blurred(image, key, end, step):
    x = (image / 255).astype(np.float32)
    total = np.zeros_like(x)
    factors = np.arange(1, end, step)
    for factor in factors:
        total += zoomed(x, factor)
    return levels((x + total) / np.float32(len(factors) + 1))


REFERENCES = {
    "gaussian_blur": gaussian_blurred,
    "defocus_blur": defocused,
    "glass_blur": seen_through_glass,
    "motion_blur": motion_blurred,
    "zoom_blur": zoom_blurred,
}


def reference(images, keys, name, severity):
    level = parameters(name, severity, profile_of(*images.shape[1:3]))
    return np.array(
        [REFERENCES[name](image, key, *level) for image, key in zip(images, keys, strict=True)]
    )


LARGE = [(name, (299, 299)) for name in NAMES if name != "glass_blur"]  # which takes long


@pytest.mark.parametrize(("name", "size"), [*product(NAMES, SIZES), *LARGE], ids=str)
def test_against_the_description(name, size):
    n = 1 if max(size) >= 224 else 8
    images, keys = make_images(n, *size), make_keys(n)
    images[0, : size[0] // 2] = [255, 17, 130]  # rounding shows where nothing changes
    for severity in range(1, 6):
        found = corrupt_by_name(images, keys, name, severity)
        assert found.dtype == np.uint8
        expected = reference(images, keys, name, severity)
        if name == "zoom_blur":  # sums of other order
            assert (found == expected).mean() > 0.9999
            assert np.abs(found.astype(int) - expected).max() <= 1
        else:
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (33, 20, 2), (9, 13, 4)], ids=str)
@pytest.mark.parametrize("profile", ["cifar", "imagenet"])
@pytest.mark.parametrize("name", NAMES)
def test_any_channels_and_kernels_larger_than_the_image(name, profile, shape):
    images, keys = make_images(4, *shape), make_keys(4)
    for severity in (1, 5):
        level = parameters(name, severity, profile)
        found = getattr(blurs, name)(images, keys, level, side_of(profile))
        expected = [
            REFERENCES[name](image, key, *level) for image, key in zip(images, keys, strict=True)
        ]
        assert (found == expected).mean() > 0.999


def test_the_last_bits_of_zoom_factors_count():
    # the last factor is 1.2500000000000002: 26 pixels become 33, of which 32 are kept
    images, keys = make_images(20, 32, 32), make_keys(20)
    found = corrupt_by_name(images, keys, "zoom_blur", 5)
    factors = np.arange(1, 1.26, 0.01)
    assert (len(factors), factors[-1]) == (26, 1.2500000000000002)
    x = (images / 255).astype(np.float32)
    total = sum(np.array([zoomed(image, z) for image in x]) for z in factors)
    expected = levels((x + total) / np.float32(27))
    assert (found == expected).mean() > 0.9999
    rounded = total - np.array([zoomed(image, factors[-1]) - zoomed(image, 1.25) for image in x])
    assert (found == levels((x + rounded) / np.float32(27))).mean() < 0.9


def test_defocus_values_next_to_an_integer_are_those_of_the_whole_kernel():
    # with weights of 1/5, up to 1e-5, the middle of this window is 165 - 2e-10
    window = [[157, 159, 159, 160, 159], [160, 161, 162, 165, 163], [164, 165, 166, 167, 166],
              [164, 165, 165, 168, 167], [164, 166, 166, 166, 167]]  # fmt: skip
    images = np.full((1, 32, 32, 1), 160, np.uint8)
    images[0, 10:15, 10:15, 0] = window
    found = corrupt_by_name(images, make_keys(1), "defocus_blur", 4)
    assert found[0, 12, 12] == 164
    assert np.array_equal(found[0], defocused(images[0], 0, 1, 0.2))
    # large kernels are summed as disks, which is not precise enough for a value of these images
    for seed, level in ((1471, (4, 0.5)), (318, (8, 0.5))):
        image = np.random.default_rng(seed).integers(0, 256, (32, 32, 3), dtype=np.uint8)
        found = blurs.defocus_blur(image[None], make_keys(1), level, 224)
        assert np.array_equal(found[0], defocused(image, 0, *level))
    # in a flat area, where all lines are next to an integer, and at its border
    images = np.full((1, 224, 224, 3), 255, np.uint8)
    images[0, 100:] = make_images(1, 124, 224)[0]
    for severity in range(1, 6):
        found = corrupt_by_name(images, make_keys(1), "defocus_blur", severity)
        assert np.array_equal(found, reference(images, make_keys(1), "defocus_blur", severity))


@pytest.mark.parametrize("name", NAMES)
def test_an_image_depends_on_its_key_alone(name, monkeypatch):
    check_independence(name, monkeypatch)


# sums of the kernels that OpenCV 5.0 makes
@pytest.mark.parametrize(
    ("level", "total"),
    [((0.5, 0.6), 1.000000045), ((3, 0.1), 0.999999996), ((4, 0.5), 0.999999966),
     ((6, 0.5), 0.999999994), ((8, 0.5), 1.0129755), ((10, 0.5), 1.0107858)],
)  # fmt: skip
def test_defocus_kernels_sum_to_those_of_opencv(level, total):
    # those beyond 1 are rounded to float32 in ways of the processor, and nothing hangs on it
    close = 1e-9 if total < 1.01 else 1e-7
    assert blurs.lens(*level)[0].sum(dtype=float) == pytest.approx(total, abs=close)


def test_glass_offsets_are_uniform_with_the_upper_end_left_out():
    # with one visit per image, the pixel that it took tells the offset
    coded = np.arange(64, dtype=np.uint8).reshape(1, 8, 8, 1).repeat(8000, axis=0)
    found = blurs.glass_blur(coded, make_keys(8000), (0.05, 3, 1), 8)[:, 5, 5, 0]
    dy, dx = found.astype(int) // 8 - 5, found.astype(int) % 8 - 5
    assert set(dx) == set(dy) == {-3, -2, -1, 0, 1, 2}
    counts = np.histogram2d(dx, dy, bins=6)[0]
    assert np.abs(counts - 8000 / 36).max() < 5 * math.sqrt(8000 / 36)


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1, 2.5, 6])
@pytest.mark.parametrize("shape", [(9, 13, 3), (32, 32, 1), (64, 40, 3)], ids=str)
def test_gaussian_filter_is_scipys_bit_for_bit(sigma, shape):
    x = make_images(1, *shape)[0] / 255
    between, out = np.empty((shape[0], shape[1] * shape[2])), np.empty(x.shape)
    gaussian_filter(
        x.reshape(between.shape),
        shape[2],
        gaussian_weights(sigma),
        between,
        out.reshape(between.shape),
    )
    assert np.array_equal(out, smooth(x, sigma))


@pytest.mark.parametrize("factor", [1, 1.01, 1.13, 1.25, 1.75, 2.25, 4.5])
@pytest.mark.parametrize("shape", [(32, 32, 1), (33, 20, 3), (64, 64, 1)], ids=str)
def test_zoom_is_scipys(factor, shape):
    x = (make_images(1, *shape)[0] / 255).astype(np.float32)
    height, width, channels = shape
    lines = height, width * channels
    between, out = np.empty(lines), np.empty(lines, np.float32)
    places = zoom_places(height, float(factor)), zoom_places(width, float(factor))
    zoom(x.reshape(lines), channels, *places, between, out)
    assert np.abs(out.reshape(shape) - zoomed(x, factor)).max() < 1e-7
