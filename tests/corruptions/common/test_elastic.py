"""Elastic transform against numpy and scipy, fed with the same draws."""

import numpy as np
import pytest
from scipy import ndimage

from helpers.images import SIZES, check_independence, corrupt_by_name, make_images, make_keys
from shaketable.core.keys import fold, uniforms
from shaketable.corruptions.common.elastic import elastic_transform
from shaketable.corruptions.common.severities import parameters, profile_of


def mirrored(i, n):
    i = i % (2 * n - 2)
    return np.minimum(i, 2 * n - 2 - i)


def affine(image, jitter):
    """Warp of a float32 image as OpenCV up to 4.10 computes it, all pixels at once."""
    height, width, _ = image.shape
    q = min(height, width) // 3
    corners = np.array([[q, q], [q, -q], [-q, -q]]) + np.array([width // 2, height // 2])
    moved = corners.astype(np.float32) + jitter
    # rows of the map: moved = map @ (x, y, 1)
    there = np.linalg.solve(np.column_stack([corners, np.ones(3)]), moved.astype(float)).T
    back = np.linalg.inv(np.vstack([there, [0, 0, 1]]))[:2]
    y, x = np.mgrid[:height, :width]
    places = [
        (np.rint(1024 * (b * y + c)) + 16 + np.rint(1024 * a * x)).astype(int) >> 5
        for a, b, c in back
    ]
    j, i = (place >> 5 for place in places)
    fx, fy = ((place & 31).astype(np.float32)[..., None] / np.float32(32) for place in places)

    def at(i, j):
        return image[mirrored(i, height), mirrored(j, width)]

    one = np.float32(1)
    return (
        at(i, j) * ((one - fy) * (one - fx))
        + at(i, j + 1) * ((one - fy) * fx)
        + at(i + 1, j) * (fy * (one - fx))
        + at(i + 1, j + 1) * (fy * fx)
    )


def reference(images, keys, alpha, sigma, reach):
    n, height, width, channels = images.shape
    jitter = (-reach + 2 * reach * uniforms(keys, 6)).astype(np.float32).reshape(n, 3, 2)
    fields = [
        2 * uniforms(fold(keys, axis), height * width).reshape(n, height, width) - 1
        for axis in (0, 1)
    ]
    out = np.empty_like(images)
    y, x, c = np.mgrid[:height, :width, :channels]
    for k in range(n):
        warped = affine(images[k].astype(np.float32) / np.float32(255), jitter[k])
        dx, dy = (
            (ndimage.gaussian_filter(field[k], sigma, mode="reflect", truncate=3) * alpha)
            .astype(np.float32)[..., None]
            .astype(float)
            for field in fields
        )
        moved = ndimage.map_coordinates(warped, [y + dy, x + dx, c], order=1, mode="reflect")
        out[k] = np.clip(moved, 0, 1) * np.float32(255)
    return out


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_results_are_those_of_the_reference(size):
    n = 2 if max(size) > 64 else 20
    images, keys = make_images(n, *size), make_keys(n)
    for severity in (1, 2, 3, 4, 5):
        numbers = parameters("elastic_transform", severity, profile_of(*size))
        found = corrupt_by_name(images, keys, "elastic_transform", severity)
        share = (found == reference(images, keys, *numbers)).mean()
        assert share > 0.9999, (severity, share)


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_any_number_of_channels(channels):
    images, keys = make_images(6, 28, 33, channels), make_keys(6)
    found = elastic_transform(images, keys, (3.0, 1.5, 2.0), 28)
    assert (found == reference(images, keys, 3.0, 1.5, 2.0)).mean() > 0.9999
    first = elastic_transform(np.ascontiguousarray(images[..., :1]), keys, (3.0, 1.5, 2.0), 28)
    assert np.array_equal(found[..., :1], first)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0, 9.0, 60.0])
def test_displacements_of_many_times_the_image(sigma):
    images, keys = make_images(6, 9, 14), make_keys(6)
    found = elastic_transform(images, keys, (500.0, sigma, 1.0), 9)
    assert (found == reference(images, keys, 500.0, sigma, 1.0)).mean() > 0.999


def test_nothing_moves_without_reach_and_alpha():
    images = make_images(3, 17, 21)
    assert np.array_equal(elastic_transform(images, make_keys(3), (0, 0, 0), 17), images)


def test_points_moved_far_leave_values_of_the_image():
    images = make_images(50, 8, 8) // 4 + 100
    found = elastic_transform(images, make_keys(50), (0, 0, 1e6), 8)
    assert found.min() >= 99
    assert found.max() <= images.max()


def test_a_result_depends_on_image_and_key_alone(monkeypatch):
    check_independence("elastic_transform", monkeypatch)
    images = make_images(2, 32, 32)[[0, 0]]
    found = corrupt_by_name(images, make_keys(2), "elastic_transform", 1)
    assert not np.array_equal(found[0], found[1])
