"""Elastic transform: an affine map with three random points, then a smooth random displacement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.keys import fold
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.elastic_kernels import distort
from shaketable.corruptions.common.severities import Parameters


def elastic_transform(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Pictures under an affine map, then with every pixel moved by ``alpha`` times a smooth field.

    With centre (width // 2, height // 2) and q a third of the shorter side, the corners (+q, +q),
    (+q, -q) and (-q, -q) of a square are moved by up to ``reach`` pixels along x and y: words 0 to
    5 of the key. The fields for x and y are uniform in (-1, 1), words of the key's folds 0 and 1
    in raster order, and averaged by a Gaussian of width ``sigma``, cut off at 3 sigma.

    The original takes (height // 2, width // 2) for the centre; that is the same in squares. Where
    3 sigma is more than half the picture, the mean is a product of matrices: another order of sums.
    """
    alpha, sigma, reach = map(float, parameters)
    height, width = images.shape[1:3]
    out = np.empty_like(images)
    q = min(height, width) // 3
    x, y = width // 2, height // 2
    corners = np.array([[x + q, y + q], [x + q, y - q], [x - q, y - q]], np.float32)
    streams = np.stack([fold(keys, 0), fold(keys, 1)], axis=1)
    operators = _operator(sigma, height), _operator(sigma, width)
    settings = (corners, reach, alpha, gaussian_weights(sigma), *operators)
    run_over_rows(distort, images, keys, streams, out, settings=settings)
    return out


@lru_cache(maxsize=64)
def gaussian_weights(sigma: float) -> FloatArray:
    """Weights at distance 0, 1, 2 and so on up to 3 sigma; they sum to 1 over both sides.

    >>> gaussian_weights(0.5).round(3)
    array([0.787, 0.106, 0.   ])
    """
    radius = int(3 * sigma + 0.5)
    if radius == 0:
        return np.ones(1)
    k = np.arange(-radius, radius + 1)
    weights: FloatArray = np.exp(-0.5 / (sigma * sigma) * k**2)
    weights /= weights.sum()
    return weights[radius:].copy()


@lru_cache(maxsize=16)
def _operator(sigma: float, size: int) -> FloatArray:
    """Matrix of the weighted mean along a line whose mirror images continue it on both sides.

    It is symmetric; and empty where direct summation is no dearer.
    """
    weights = gaussian_weights(sigma)
    if len(weights) - 1 <= size // 2:
        return np.empty((0, 0))
    places = np.arange(size)
    matrix = np.zeros((size, size))
    for k in range(1 - len(weights), len(weights)):
        folded = (places + k) % (2 * size)
        folded = np.where(folded < size, folded, 2 * size - 1 - folded)
        matrix[places, folded] += weights[abs(k)]
    return matrix
