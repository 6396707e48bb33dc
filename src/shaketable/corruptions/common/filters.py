r"""Three filters that several common corruptions share, compiled: Gaussian, zoom, motion blur.

They work on one picture at a time, as an array of its lines: (height, width * channels), the
channels of a pixel side by side. A grey layer is the case of one channel.

- `gaussian_filter`: separable, border repeated; bit for bit what scipy and scikit-image compute.
- `zoom`: linear interpolation with aligned end points, the middle kept.
- `motion_blur`: ImageMagick's one-sided blur along a line, on 8 bits.

Callers bring the larger scratch arrays, made once for all pictures. Compiled callers that numba has
cached do not notice when this file changes: clear their caches.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import math
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np

from shaketable.core.types import FloatArray, IntArray

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_QUANTUM = 257.0  # ImageMagick's 16-bit value of one 8-bit level


@lru_cache(maxsize=256)
def gaussian_weights(sigma: float) -> FloatArray:
    r"""Taps 0, 1, … of a Gaussian filter: exp(-k^2 / (2 sigma^2)), all 2r + 1 of them summing to 1.

    The radius r is int(4 sigma + 1/2); below sigma = 1/8 that is 0, and the filter does nothing.

    >>> gaussian_weights(0.1), gaussian_weights(0.4).round(4)
    (array([1.]), array([0.9192, 0.0404, 0.    ]))
    """
    radius = int(4 * sigma + 0.5)
    taps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * taps**2) if radius else np.ones(1)
    half: FloatArray = (weights / weights.sum())[radius:].copy()
    half.flags.writeable = False
    return half


@_compiled
def blur_down(image, weights, out):
    """Gaussian filter along axis 0: `out` = `image` filtered by `gaussian_weights`, in float64.

    The centre first, then pairs from the outermost tap inwards; rows beyond the border repeat it.
    `image` and `out` are of one shape, of any float or integer type, and not the same array.
    """
    rows, n = image.shape
    last, radius = rows - 1, len(weights) - 1
    line = np.empty(n)
    for y in range(rows):
        centre, weight = image[y], weights[0]
        for j in range(n):
            line[j] = centre[j] * weight
        k = radius
        while k >= 2:  # two pairs at a time: fewer passes over the line
            a, b, wa = image[max(y - k, 0)], image[min(y + k, last)], weights[k]
            c, d, wc = image[max(y - k + 1, 0)], image[min(y + k - 1, last)], weights[k - 1]
            for j in range(n):
                outer = (np.float64(a[j]) + np.float64(b[j])) * wa
                inner = (np.float64(c[j]) + np.float64(d[j])) * wc
                line[j] = (line[j] + outer) + inner
            k -= 2
        if k:
            a, b, wa = image[max(y - 1, 0)], image[min(y + 1, last)], weights[1]
            for j in range(n):
                line[j] += (np.float64(a[j]) + np.float64(b[j])) * wa
        found = out[y]
        for j in range(n):
            found[j] = line[j]


@_compiled
def blur_across(image, channels, weights, out):
    """Gaussian filter along the lines of `image`, (height, width * channels), as `blur_down`.

    `out` may be `image` itself.
    """
    rows, n = image.shape
    radius = len(weights) - 1
    margin = radius * channels
    padded, line = np.empty(n + 2 * margin), np.empty(n)
    for y in range(rows):
        source = image[y]
        for j in range(margin):
            padded[j] = source[j % channels]
            padded[margin + n + j] = source[n - channels + j % channels]
        centre, weight = padded[margin : margin + n], weights[0]
        for j in range(n):
            centre[j] = source[j]
        for j in range(n):
            line[j] = centre[j] * weight
        k, step = radius, radius * channels
        while k >= 2:
            a, b, wa = padded[margin - step :], padded[margin + step :], weights[k]
            step -= channels
            c, d, wc = padded[margin - step :], padded[margin + step :], weights[k - 1]
            step -= channels
            for j in range(n):
                line[j] = (line[j] + (a[j] + b[j]) * wa) + (c[j] + d[j]) * wc
            k -= 2
        if k:
            a, b, wa = padded[margin - channels :], padded[margin + channels :], weights[1]
            for j in range(n):
                line[j] += (a[j] + b[j]) * wa
        found = out[y]
        for j in range(n):
            found[j] = line[j]


@_compiled
def gaussian_filter(image, channels, weights, between, out):
    """Gaussian filter of a picture, (height, width * channels): down, then across.

    `between` holds the result of the first pass and so decides its precision: float64 as
    scikit-image has it, float32 for filters of float32 pictures. It may be `out`.
    """
    blur_down(image, weights, between)
    blur_across(between, channels, weights, out)


class Places(NamedTuple):
    """Where a zoom along one axis reads: before * source[start] + after * source[start + 1]."""

    start: IntArray
    before: FloatArray
    after: FloatArray


@lru_cache(maxsize=1024)
def zoom_places(size: int, factor: float) -> Places:
    r"""Places that a zoom by `factor` >= 1 reads along an axis of `size` pixels.

    The middle ceil(size / factor) pixels are stretched to round(ceil(size / factor) * factor) with
    end points aligned, and the middle `size` of these kept.

    >>> zoom_places(8, 2.0).start
    array([2, 2, 2, 3, 3, 4, 4, 4])
    """
    inner = math.ceil(size / factor)
    stretched = round(inner * factor)
    step = (inner - 1) / (stretched - 1)
    position = (np.arange(size) + (stretched - size) // 2) * step
    start = np.minimum(np.floor(position).astype(np.int64), inner - 2)
    share = np.minimum(position - start, 1.0)
    return Places(start + (size - inner) // 2, 1 - share, share)


@_compiled
def zoom(image, channels, down, across, between, out):
    """Zoom into a picture, (height, width * channels); `down` and `across` are `zoom_places`.

    Interpolated in float64: across the lines, into `between` (float64, of the picture's shape),
    then down, into `out`.
    """
    rows, width = image.shape[0], len(across.start)
    for y in range(down.start[0], down.start[rows - 1] + 2):
        source, line = image[y], between[y]
        for x in range(width):
            j, k = across.start[x] * channels, x * channels
            before, after = across.before[x], across.after[x]
            for c in range(channels):
                line[k + c] = source[j + c] * before + source[j + channels + c] * after
    for y in range(rows):
        above, below = between[down.start[y]], between[down.start[y] + 1]
        before, after, found = down.before[y], down.after[y], out[y]
        for j in range(width * channels):
            found[j] = above[j] * before + below[j] * after


@lru_cache(maxsize=256)
def motion_weights(radius: float, sigma: float) -> FloatArray:
    r"""Taps of a motion blur: exp(-i^2 / (2 sigma^2)) for i < 2 ceil(radius) + 1, summing to 1.

    >>> motion_weights(1, 1).round(3)
    array([0.574, 0.348, 0.078])
    """
    taps = np.arange(2 * math.ceil(radius) + 1)
    weights: FloatArray = np.exp(-(taps**2) / (2 * sigma * sigma))
    weights /= weights.sum()
    weights.flags.writeable = False
    return weights


@_compiled
def motion_scratch(height, width, channels, weights):
    """Scratch arrays that `motion_blur` needs for pictures of this size."""
    taps = len(weights)
    padded = np.empty((height, (width + 2 * taps) * channels))
    return padded, np.empty(width * channels), np.empty((2, taps), np.int64)


@_compiled
def motion_blur(image, channels, weights, angle, scratch, out):
    r"""ImageMagick's motion blur of an 8-bit picture, (height, width * channels), into `out`.

    .. math:: \lfloor\lfloor \tfrac12 + \sum_i w_i\, 257\, v(x + \lceil i\cos a - \tfrac12\rceil,
              y + \lceil i\sin a - \tfrac12\rceil)\rfloor / 257\rfloor

    One-sided, border repeated; the angle a, in degrees, grows clockwise on screen. `weights` are
    `motion_weights`, `scratch` is from `motion_scratch`. The sum runs from i = 0 up: ImageMagick 6
    with 16-bit values gives the same pictures, bit for bit.
    """
    padded, line, offsets = scratch
    rows, n = image.shape
    taps = len(weights)
    radians = angle * math.pi / 180
    sine, cosine = taps * math.sin(radians), taps * math.cos(radians)
    length = math.hypot(sine, cosine)
    down, across = offsets
    margin, beyond = 0, 0
    for i in range(taps):
        down[i] = math.ceil(i * sine / length - 0.5)
        across[i] = math.ceil(i * cosine / length - 0.5) * channels
        margin, beyond = max(margin, -across[i]), max(beyond, across[i])
    for y in range(rows):
        source, target = image[y], padded[y]
        for j in range(margin):
            target[j] = source[j % channels] * _QUANTUM
        middle, right = target[margin:], target[margin + n :]
        for j in range(n):
            middle[j] = source[j] * _QUANTUM
        for j in range(beyond):
            right[j] = source[n - channels + j % channels] * _QUANTUM
    last = rows - 1
    for y in range(rows):
        for j in range(n):
            line[j] = 0.0
        i = 0
        while i + 4 <= taps:  # four taps at a time: fewer passes over the line
            a = padded[min(max(y + down[i], 0), last), margin + across[i] :]
            b = padded[min(max(y + down[i + 1], 0), last), margin + across[i + 1] :]
            c = padded[min(max(y + down[i + 2], 0), last), margin + across[i + 2] :]
            d = padded[min(max(y + down[i + 3], 0), last), margin + across[i + 3] :]
            wa, wb, wc, wd = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            for j in range(n):
                line[j] = (((line[j] + wa * a[j]) + wb * b[j]) + wc * c[j]) + wd * d[j]
            i += 4
        while i < taps:
            a, wa = padded[min(max(y + down[i], 0), last), margin + across[i] :], weights[i]
            for j in range(n):
                line[j] += wa * a[j]
            i += 1
        found = out[y]
        for j in range(n):
            found[j] = np.uint8(np.int32(line[j] + 0.5) // np.int32(257))
