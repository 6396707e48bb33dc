"""Compiled loops of the five blurs, over batches of images.

Images come as (n, height, width * channels), the channels of a pixel side by side.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numpy as np

from shaketable.core.compiling import compiled, inlined, inner
from shaketable.corruptions.common.filters import gaussian_filter, motion_blur, motion_scratch
from shaketable.corruptions.compiled.streams import uniform_of, word_at

LANES = 16
"""Values of a line that `fill_zoom_blur` computes at a time."""

_U = np.uint64
_F = np.float32


@inner
def _fill_scaled(image, out):
    """Divide values by 255."""
    for y in range(len(image)):
        for j in range(image.shape[1]):
            out[y, j] = image[y, j] / 255.0


@inner
def _fill_levels(image, out):
    """Convert values in [0, 1] to 8 bits, truncated to integers."""
    for y in range(len(image)):
        for j in range(image.shape[1]):
            out[y, j] = np.uint8(np.int32(min(max(image[y, j], 0.0), 1.0) * 255))


@inlined
def _copy(image, out):
    """Copy an image; ``out[:] = image`` would compile the text of an error, for seconds."""
    for y in range(len(image)):
        for j in range(image.shape[1]):
            out[y, j] = image[y, j]


@compiled
def fill_gaussian_blur(images, keys, out, channels, weights):
    """Filter images by `gaussian_weights`."""
    x, between = np.empty(images.shape[1:]), np.empty(images.shape[1:])
    for row in range(len(keys)):
        _fill_scaled(images[row], x)
        gaussian_filter(x, channels, weights, between, x)
        _fill_levels(x, out[row])


@compiled
def fill_glass_blur(images, keys, out, channels, weights, reach, sweeps):
    """Filter images, overwrite pixels by their neighbours in place, and filter again.

    The i-th visit takes word i of the key: column offset from its upper half, row offset from its
    lower, each floor(half * 2 reach / 2**32) - reach.
    """
    height, n = images.shape[1:]
    width, filtered = n // channels, len(weights) > 1
    x, between = np.empty((height, n)), np.empty((height, n))
    visits = max(width - 2 * reach, 0)
    steps = np.empty(visits, np.int64)
    span, low = _U(2 * reach), _U(0xFFFFFFFF)
    for row in range(len(keys)):
        key, result, image = keys[row], out[row], images[row]
        if filtered:
            _fill_scaled(image, x)
            gaussian_filter(x, channels, weights, between, x)
            _fill_levels(x, result)
        else:
            _copy(image, result)
        flat = result.reshape(-1)
        word = 0
        for _ in range(sweeps):
            for y in range(height - reach, reach, -1):
                for i in range(visits):
                    bits = word_at(key, word + i)
                    across = np.int64((bits >> _U(32)) * span >> _U(32)) - reach
                    down = np.int64((bits & low) * span >> _U(32)) - reach
                    steps[i] = (down * width + across) * channels
                word += visits
                place = _U((y * width + width - reach) * channels)
                for i in range(visits):
                    source = _U(np.int64(place) + steps[i])
                    if channels == 3:
                        flat[place] = flat[source]
                        flat[place + _U(1)] = flat[source + _U(1)]
                        flat[place + _U(2)] = flat[source + _U(2)]
                    else:
                        for c in range(_U(channels)):
                            flat[place + c] = flat[source + c]
                    place -= _U(channels)
        if filtered:
            _fill_scaled(result, x)
            gaussian_filter(x, channels, weights, between, x)
            _fill_levels(x, result)


@compiled
def fill_motion_blur(images, keys, out, channels, weights):
    """Apply ImageMagick's motion blur; word 0 of the key is the angle, in (-45, 45) degrees."""
    height, n = images.shape[1:]
    scratch = motion_scratch(height, n // channels, channels, weights)
    for row in range(len(keys)):
        angle = 90 * uniform_of(word_at(keys[row], 0)) - 45
        motion_blur(images[row], channels, weights, angle, scratch, out[row])


@inlined
def _fill_across(x, channels, rows, base, taps, out):
    """Zoom rows of an image horizontally, in runs of `LANES` values.

    Value l of run b, value j of the line, sums taps[k, j] x[base[b] + l + k channels] over k, four
    at a time. At most two of these taps are not 0, but this way no value is looked up by itself.
    """
    span = _U(channels)
    for y in range(rows[0], rows[1]):
        line, target = x[y], out[y]
        for k in range(0, len(taps), 4):
            for b in range(len(base)):
                start, place = _U(base[b] + k * channels), _U(b * LANES)
                for lane in range(LANES):
                    i, j = start + _U(lane), place + _U(lane)
                    sum_ = line[i] * taps[k, j]
                    sum_ += line[i + span] * taps[k + 1, j]
                    sum_ += line[i + span + span] * taps[k + 2, j]
                    sum_ += line[i + span + span + span] * taps[k + 3, j]
                    target[j] = sum_ if k == 0 else target[j] + sum_


@compiled
def fill_zoom_blur(images, keys, out, channels, times, down, base, taps):
    """Average an image and its zooms, in float32, layer by layer; see `zoom_blur`.

    Zoom z, which counts times[z] times, is made horizontally, then vertically. `down` holds, for
    every z, the first row that is read and the weights of this row and the next; `base` counts from
    the `LANES` zeros that precede a line.
    """
    height, n = images.shape[1:]
    first, before, after = down
    x = np.zeros((height, n + taps.shape[1] * channels + 2 * LANES))
    between = np.zeros((height, base.shape[1] * LANES))
    layer, total = np.empty(n, _F), np.empty((height, n), _F)
    count = _F(times.sum() + 1)
    for row in range(len(keys)):
        for y in range(height):
            image, line, sums = images[row, y], x[y, LANES:], total[y]
            for j in range(n):
                line[j] = _F(image[j]) / _F(255)
                sums[j] = 0
        for z in range(len(times)):
            rows = first[z, 0], first[z, height - 1] + 2
            _fill_across(x, channels, rows, base[z], taps[z], between)
            for y in range(height):
                above, below = between[first[z, y]], between[first[z, y] + 1]
                wa, wb, sums = before[z, y], after[z, y], total[y]
                for j in range(n):
                    layer[j] = above[j] * wa + below[j] * wb
                for _ in range(times[z]):
                    for j in range(n):
                        sums[j] += layer[j]
        for y in range(height):
            line, sums, result = x[y, LANES:], total[y], out[row, y]
            for j in range(n):
                mean = (_F(line[j]) + sums[j]) / count
                result[j] = np.uint8(np.int32(min(max(mean, _F(0)), _F(1)) * _F(255)))
