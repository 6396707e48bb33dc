"""Elastic transform: an affine map of three random points, then a smooth random displacement."""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs
# ruff: noqa: PLR0917

from __future__ import annotations

from functools import lru_cache

import numba
import numpy as np

from shaketable.core.compiling import INNER, compiled, inlined
from shaketable.core.keys import fold
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.filters import gaussian_weights
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.compiled.streams import uniform_of, word_at

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


# Compiled loops of the elastic transform, over batches of images.

_summed = numba.njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz", "nnan"}, **INNER)
_F = np.float32
_FAR = 2.0**30  # 1024ths of pixels; larger coordinates are clipped


@compiled
def distort(images, keys, streams, out, points, reach, alpha, weights, operator_y, operator_x):
    """Move three points of every image and all pixels with them, then every pixel separately.

    `keys` are for the points, `streams` for the fields that move pixels along x and y. Fields are
    smoothed by `weights`, or by the operators if these are not empty.
    """
    n, height, width, channels = images.shape
    size = height * width
    levels = np.empty(256, np.float32)
    for level in range(256):
        levels[level] = level / 255.0
    source, warped = np.empty((channels, size), np.float32), np.empty((channels, size), np.float32)
    places = np.empty((4, size), np.int32)
    shares, finer = np.empty((4, size), np.float32), np.empty((4, size))
    fields, scratch = np.empty((2, height, width)), np.empty((height, width))
    line, moved = np.empty(width + 2 * len(weights)), np.empty((3, 2))
    for row in range(n):
        pixels = images[row].reshape(size, channels)
        for c in range(channels):
            for i in range(size):
                source[c, i] = levels[pixels[i, c]]
        _move(keys[row], points, reach, moved)
        _place_affine(points, moved, height, width, places, shares)
        for c in range(channels):
            _interpolate(source[c], places, shares, warped[c])
        if alpha != 0.0:
            for axis in range(2):
                _fill(fields[axis], streams[row, axis])
                _smooth(fields[axis], scratch, line, weights, operator_y, operator_x)
            _place_shifted(fields[0], fields[1], alpha, places, finer)
            for c in range(channels):
                _interpolate(warped[c], places, finer, source[c])
        image = source if alpha != 0.0 else warped
        pixels = out[row].reshape(size, channels)
        for c in range(channels):
            for i in range(size):
                pixels[i, c] = np.int32(min(max(image[c, i], _F(0)), _F(1)) * _F(255))


@inlined
def _interpolate(plane, places, shares, out):
    """Weighted sums of four values each, in the precision of the shares."""
    for i in range(len(out)):
        out[i] = (
            plane[places[0, i]] * shares[0, i]
            + plane[places[1, i]] * shares[1, i]
            + plane[places[2, i]] * shares[2, i]
            + plane[places[3, i]] * shares[3, i]
        )


@inlined
def _place_affine(points, moved, height, width, places, shares):
    """Find the neighbours of pixels under an affine map, in 32nds of a pixel as OpenCV to 4.10."""
    xx, xy, x0, yx, yy, y0 = _inverse(points, moved)
    for y in range(height):
        start_x, start_y = _to_fixed(xy * y + x0) + 16, _to_fixed(yy * y + y0) + 16
        for x in range(width):
            place_x, place_y = (
                (start_x + _to_fixed(xx * x)) >> 5,
                (start_y + _to_fixed(yx * x)) >> 5,
            )
            right, below = _F(place_x & 31) * _F(0.03125), _F(place_y & 31) * _F(0.03125)
            left, above = _F(1) - right, _F(1) - below
            j, i = place_x >> 5, place_y >> 5
            j_next, i_next = j + 1, i + 1
            if not (0 <= i < height - 1 and 0 <= j < width - 1):
                i, i_next = _mirror(i, height), _mirror(i_next, height)
                j, j_next = _mirror(j, width), _mirror(j_next, width)
            k = y * width + x
            places[0, k], places[1, k] = i * width + j, i * width + j_next
            places[2, k], places[3, k] = i_next * width + j, i_next * width + j_next
            shares[0, k], shares[1, k] = above * left, above * right
            shares[2, k], shares[3, k] = below * left, below * right


@inlined
def _move(key, points, reach, moved):
    """Move points by words 0, 1, ... of the key, in float32."""
    for i in range(points.shape[0]):
        for axis in range(2):
            u = uniform_of(word_at(key, 2 * i + axis))
            moved[i, axis] = points[i, axis] + _F(2.0 * reach * u - reach)


@inlined
def _inverse(points, moved):
    """Return the affine map (xx x + xy y + x0, yx x + yy y + y0) that moves three points back.

    The second point is above the first, and the third left of the second, at the same distance.
    """
    left, top = points[2]
    size = points[1, 0] - left
    xx, xy = (moved[1, 0] - moved[2, 0]) / size, (moved[0, 0] - moved[1, 0]) / size
    yx, yy = (moved[1, 1] - moved[2, 1]) / size, (moved[0, 1] - moved[1, 1]) / size
    x0, y0 = moved[2, 0] - xx * left - xy * top, moved[2, 1] - yx * left - yy * top
    determinant = xx * yy - xy * yx
    factor = 1.0 / determinant if determinant != 0.0 else 0.0
    xx, xy, yx, yy = yy * factor, -xy * factor, -yx * factor, xx * factor
    return xx, xy, -xx * x0 - xy * y0, yx, yy, -yx * x0 - yy * y0


@inlined
def _to_fixed(x):
    """Return a number as an integer of 1024ths."""
    return np.int64(np.rint(min(max(x * 1024.0, -_FAR), _FAR)))


@inlined
def _mirror(i, n):
    """Return the place in a line that is mirrored at its end values, which are not repeated."""
    i = abs(i) % (2 * n - 2)
    return i if i < n else 2 * n - 2 - i


@inlined
def _fill(field, stream):
    """Fill a field with numbers uniform in (-1, 1), one per pixel."""
    flat = field.reshape(-1)
    for i in range(len(flat)):
        flat[i] = 2.0 * uniform_of(word_at(stream, i)) - 1.0


@inlined
def _smooth(field, scratch, line, weights, operator_y, operator_x):
    """Filter a field in place: along columns, then along rows."""
    if len(operator_y):
        _product(operator_y, field, scratch)
    else:
        _average_down(field, scratch, weights)
    if len(operator_x):
        _product(scratch, operator_x, field)
    else:
        _average_across(scratch, field, line, weights)


@inlined
def _average_down(field, out, weights):
    """Weighted means along columns: the middle first, then pairs from the outermost inwards.

    The field is mirrored at its border, and the weights reach no further than its mirror image.
    """
    height, width = field.shape
    for y in range(height):
        middle, sums = field[y], out[y]
        for x in range(width):
            sums[x] = middle[x] * weights[0]
        for k in range(len(weights) - 1, 0, -1):
            above = field[y - k if y >= k else k - y - 1]
            below = field[y + k if y + k < height else 2 * height - 1 - y - k]
            weight = weights[k]
            for x in range(width):
                sums[x] += (above[x] + below[x]) * weight


@inlined
def _average_across(field, out, line, weights):
    """Weighted means along rows, in the same order."""
    height, width = field.shape
    reach = len(weights) - 1
    for y in range(height):
        middle, sums = line[reach : reach + width], out[y]
        for x in range(width):
            middle[x] = field[y, x]
            sums[x] = field[y, x] * weights[0]
        for k in range(reach):
            line[reach - 1 - k] = field[y, k]
            line[reach + width + k] = field[y, width - 1 - k]
        for k in range(reach, 0, -1):
            before, after, weight = line[reach - k :], line[reach + k :], weights[k]
            for x in range(width):
                sums[x] += (before[x] + after[x]) * weight


@_summed
def _product(a, b, out):
    """Multiply two matrices, four terms at a time."""
    rows, columns = out.shape
    inner = len(b)
    for i in range(rows):
        sums = out[i]
        for x in range(columns):
            sums[x] = 0.0
        for k in range(0, inner - 3, 4):
            p, q, r, s = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            for x in range(columns):
                sums[x] += p * b[k, x] + q * b[k + 1, x] + r * b[k + 2, x] + s * b[k + 3, x]
        for k in range(inner - inner % 4, inner):
            for x in range(columns):
                sums[x] += a[i, k] * b[k, x]


@inlined
def _place_shifted(dx, dy, alpha, places, shares):
    """Find the neighbours of pixels that are moved by alpha (dx, dy), in float64."""
    height, width = dx.shape
    for y in range(height):
        for x in range(width):
            place_y = _reflect(y + np.float64(_F(dy[y, x] * alpha)), height)
            place_x = _reflect(x + np.float64(_F(dx[y, x] * alpha)), width)
            i, j = np.int64(place_y + 1.0) - 1, np.int64(place_x + 1.0) - 1
            below, right = place_y - i, place_x - j
            above, left = 1.0 - below, 1.0 - right
            i_next, j_next = min(i + 1, height - 1), min(j + 1, width - 1)
            i, j = max(i, 0), max(j, 0)
            k = y * width + x
            places[0, k], places[1, k] = i * width + j, i * width + j_next
            places[2, k], places[3, k] = i_next * width + j, i_next * width + j_next
            shares[0, k], shares[1, k] = above * left, above * right
            shares[2, k], shares[3, k] = below * left, below * right


@inlined
def _reflect(x, n):
    """Return the coordinate in (-1, n) of a place in a line that is mirrored at its border."""
    period = 2.0 * n
    if x < 0.0:
        x += period * np.int64(-x / period)
        x = x + period if x < -n else -x - 1.0
    elif x > n - 1:
        x -= period * np.int64(x / period)
        x = period - x - 1.0 if x >= n else x
    return x
