"""Images that resemble photographs, and a check that all common corruptions must pass."""

import numpy as np
from scipy import ndimage

from shaketable.core.keys import row_keys
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.corruption import CommonCorruption, corrupt_images

SIZES = [(32, 32), (64, 64), (224, 224), (8, 8), (9, 13), (28, 28), (40, 56)]


def make_images(n: int, height: int, width: int, channels: int = 3) -> Array:
    """Random uint8 images with soft shapes, hard edges, texture and gradients, pale and dark."""
    rng = np.random.default_rng([n, height, width, channels])
    noise = rng.normal(size=(n, height, width, channels))
    soft = ndimage.gaussian_filter(noise, (0, height / 8, width / 8, 0))
    soft /= soft.std(axis=(1, 2, 3), keepdims=True)
    soft = np.where(rng.random((n, 1, 1, 1)) < 0.3, np.sign(soft), soft)
    fine = ndimage.gaussian_filter(noise, (0, 0.7, 0.7, 0)) * rng.uniform(0, 40, (n, 1, 1, 1))
    slope = np.linspace(-1, 1, width)[:, None] * rng.uniform(-50, 50, (n, 1, 1, 1))
    mean = rng.uniform(0, 255, (n, 1, 1, channels))
    return np.clip(mean + 50 * soft + fine + slope, 0, 255).astype(np.uint8)


def make_keys(n: int) -> KeyArray:
    """One key per image."""
    return row_keys(5, np.arange(n), np.arange(1))[:, 0]


def corrupt_by_name(images: Array, keys: KeyArray, name: str, severity: int) -> Array:
    """Corrupt images by the named corruption, with the profile of their size."""
    corruption = CommonCorruption(name, severity).for_shape(images.shape[1:])
    return corrupt_images(images, keys, corruption)


def check_independence(name, monkeypatch):
    """Check that each image is corrupted alike in any batch, order and number of threads."""
    images, keys = make_images(260, 32, 32), make_keys(260)
    expected = corrupt_by_name(images, keys, name, 4)
    assert not np.array_equal(expected, images)
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert np.array_equal(corrupt_by_name(images, keys, name, 4), expected)
    for batch in (1, 7):
        for start in range(0, 30, batch):
            part = slice(start, start + batch)
            assert np.array_equal(
                corrupt_by_name(images[part], keys[part], name, 4), expected[part]
            )
    order = np.random.default_rng(0).permutation(260)
    assert np.array_equal(corrupt_by_name(images[order], keys[order], name, 4), expected[order])
