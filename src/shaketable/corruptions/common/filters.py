r"""Compiled filters that several common corruptions share: Gaussian, zoom and motion blur.

They take one image at a time, as an array of its lines: (height, width * channels), the channels
of a pixel side by side. A grey layer has one channel.

- `gaussian_filter`: separable, border repeated; bit for bit as scipy and scikit-image.
- `zoom`: linear interpolation with aligned end points, of the middle of the image.
- `smear`: ImageMagick's one-sided blur along a line, on 8 bits.

Callers provide the larger scratch arrays, made once for all images. Compiled callers that numba has
cached are not recompiled when this file changes: clear their caches.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shaketable.core.compiling import compiled, inlined
from shaketable.core.types import FloatArray, IntArray

_QUANTUM = 257.0  # ImageMagick's 16-bit value of one 8-bit level


@lru_cache(maxsize=256)
def gaussian_weights(sigma: float, cut: float = 4.0) -> FloatArray:
    r"""Return taps 0, 1, … r of a Gaussian filter, exp(-k^2 / (2 sigma^2)); all 2r + 1 sum to 1.

    The radius r is int(cut * sigma + 1/2). If that is 0, the filter does nothing.

    >>> gaussian_weights(0.1), gaussian_weights(0.4).round(4)
    (array([1.]), array([0.9192, 0.0404, 0.    ]))
    """
    radius = int(cut * sigma + 0.5)
    taps = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * taps**2) if radius else np.ones(1)
    half: FloatArray = (weights / weights.sum())[radius:].copy()
    half.flags.writeable = False
    return half


@compiled
def blur_down(image, weights, out):
    """Filter `image` along axis 0 by `gaussian_weights`, in float64, into `out`.

    The centre first, then pairs from the outermost tap inwards; the border is repeated. `image` and
    `out` have the same shape, any float or integer types, and are not the same array.
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
        result = out[y]
        for j in range(n):
            result[j] = line[j]


@compiled
def blur_across(image, channels, weights, out):
    """Filter the lines of `image`, (height, width * channels), like `blur_down`.

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
        result = out[y]
        for j in range(n):
            result[j] = line[j]


@inlined
def gaussian_filter(image, channels, weights, between, out):
    """Filter an image, (height, width * channels): along columns, then along lines.

    `between` holds the result of the first pass, so its type decides the precision: float64 as in
    scikit-image, float32 for float32 images. It may be `out`.
    """
    blur_down(image, weights, between)
    blur_across(between, channels, weights, out)


class Places(NamedTuple):
    """What a zoom along one axis reads: before * source[start] + after * source[start + 1]."""

    start: IntArray
    before: FloatArray
    after: FloatArray


@lru_cache(maxsize=1024)
def zoom_places(size: int, factor: float) -> Places:
    r"""Return the places that a zoom by `factor` >= 1 reads along an axis of `size` pixels.

    The middle ceil(size / factor) pixels are stretched to round(ceil(size / factor) * factor) with
    aligned end points, and the middle `size` of these are kept.

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


@compiled
def zoom(image, channels, down, across, between, out):
    """Zoom into an image, (height, width * channels); `down` and `across` are `zoom_places`.

    Interpolated in float64: along the lines, into `between` (float64, of the image's shape), then
    along the columns, into `out`.
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
        before, after, result = down.before[y], down.after[y], out[y]
        for j in range(width * channels):
            result[j] = above[j] * before + below[j] * after


@lru_cache(maxsize=256)
def motion_weights(radius: float, sigma: float) -> FloatArray:
    r"""Return taps of a motion blur: exp(-i^2 / (2 sigma^2)), i < 2 ceil(radius) + 1, of sum 1.

    >>> motion_weights(1, 1).round(3)
    array([0.574, 0.348, 0.078])
    """
    taps = np.arange(2 * math.ceil(radius) + 1)
    weights: FloatArray = np.exp(-(taps**2) / (2 * sigma * sigma))
    weights /= weights.sum()
    weights.flags.writeable = False
    return weights


@compiled
def motion_scratch(height, width, channels, weights):
    """Return the scratch arrays that `smear` needs for images of this size."""
    taps = len(weights)
    padded = np.empty((height, (width + 2 * taps) * channels))
    return padded, np.empty(width * channels), np.empty((2, taps), np.int64)


@compiled
def smear(image, channels, weights, angle, scratch, out):
    r"""Apply ImageMagick's motion blur to an 8-bit image, (height, width * channels), into `out`.

    .. math:: \lfloor\lfloor \tfrac12 + \sum_i w_i\, 257\, v(x + \lceil i\cos a - \tfrac12\rceil,
              y + \lceil i\sin a - \tfrac12\rceil)\rfloor / 257\rfloor

    One-sided, border repeated; the angle a, in degrees, grows clockwise. `weights` are
    `motion_weights`, `scratch` is from `motion_scratch`. The sum runs from i = 0 upwards, so the
    result is that of ImageMagick 6 with 16-bit values, bit for bit.
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
        result = out[y]
        for j in range(n):
            result[j] = np.uint8(np.int32(line[j] + 0.5) // np.int32(257))
