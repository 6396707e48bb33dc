"""Elastic transform: an affine map of three random points, then a smooth random displacement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.keys import fold
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.elastic_kernels import distort
from shaketable.corruptions.common.filters import gaussian_weights
from shaketable.corruptions.common.severities import Parameters

_CUT = 3.0  # sigmas at which the Gaussian ends


def elastic_transform(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Images under an affine map, then with every pixel moved by ``alpha`` times a smooth field.

    Around the centre (width // 2, height // 2), with q a third of the shorter side, the corners
    (+q, +q), (+q, -q) and (-q, -q) of a square are moved by up to ``reach`` pixels along x and y:
    words 0 to 5 of the key. The fields for x and y are uniform in (-1, 1), words of the key's folds
    0 and 1 in raster order, filtered by a Gaussian of width ``sigma``, truncated at 3 sigma.

    The original has the centre (height // 2, width // 2), which is the same for squares. If 3 sigma
    exceeds half of the image, the filter is a product of matrices, with another order of sums.
    """
    alpha, sigma, reach = map(float, parameters)
    height, width = images.shape[1:3]
    out = np.empty_like(images)
    q = min(height, width) // 3
    x, y = width // 2, height // 2
    corners = np.array([[x + q, y + q], [x + q, y - q], [x - q, y - q]], np.float32)
    streams = np.stack([fold(keys, 0), fold(keys, 1)], axis=1)
    operators = _operator(sigma, height), _operator(sigma, width)
    settings = (corners, reach, alpha, gaussian_weights(sigma, _CUT), *operators)
    run_over_rows(distort, images, keys, streams, out, settings=settings)
    return out


@lru_cache(maxsize=16)
def _operator(sigma: float, size: int) -> FloatArray:
    """Return the symmetric matrix of a Gaussian filter along a line, its border mirrored.

    It is empty if direct summation is not more expensive.
    """
    weights = gaussian_weights(sigma, _CUT)
    if len(weights) - 1 <= size // 2:
        return np.empty((0, 0))
    places = np.arange(size)
    matrix = np.zeros((size, size))
    for k in range(1 - len(weights), len(weights)):
        folded = (places + k) % (2 * size)
        folded = np.where(folded < size, folded, 2 * size - 1 - folded)
        matrix[places, folded] += weights[abs(k)]
    return matrix
