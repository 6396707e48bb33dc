"""Weather: fog, frost and snow.

All randomness of an image comes from the words of its key; the docstrings say which word is what.
Normal numbers are those of `ziggurat`: number i from word i of the key.
"""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs
# ruff: noqa: PLR0917

from __future__ import annotations

import math

import numba
import numpy as np

from shaketable.core.compiling import compiled, inlined
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.filters import (
    motion_scratch,
    motion_weights,
    smear,
    zoom,
    zoom_places,
)
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.common.textures import ice
from shaketable.corruptions.compiled.streams import SIDE, mix, uniform_of, word_at
from shaketable.corruptions.compiled.ziggurat import components, layers


def fog(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Fog from a random height map: ``parameters`` are its amount t and its decay.

    .. math:: (x + t\,m)\,M / (M + t)

    M is the largest value of the image and m a map in [0, 1], the same for all channels, made by
    the diamond-square method on a torus whose side is the least power of two that is large enough.
    At every level the middles of the squares are the mean of four corners plus jitter, then the
    middles of their sides, horizontal ones first, the mean of four neighbours plus jitter. The
    jitter is uniform between plus and minus the square of 100 / decay^level; the words of the key
    are the jitter, in this order, by rows.
    """
    amount, decay = parameters
    height, width, channels = images.shape[1:]
    points = 1 << (max(height, width) - 1).bit_length()
    out = np.empty_like(images)
    settings = (channels, float(amount), float(decay), points)
    run_over_rows(fill_fog, as_lines(images), keys, as_lines(out), settings=settings)
    return out


def frost(
    images: Array, keys: KeyArray, parameters: Parameters, side: int, source: str = ""
) -> Array:
    r"""Ice on the lens: ``parameters`` are the shares of the image and of the ice.

    .. math:: a x + b f

    The ice f is a random crop of one of the `textures` from ``source``, scaled for the profile.
    Words 0, 1 and 2 of the key are the texture, the first row and the first column; as in the
    original, the last possible row and column are never chosen.
    """
    share, frost_share = parameters
    out = np.empty_like(images)
    settings = (float(share), float(frost_share), *ice(source, side, *images.shape[1:3]))
    run_over_rows(fill_frost, as_lines(images), keys, as_lines(out), settings=settings)
    return out


def snow(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Drifting snow on an image of paler colours.

    .. math:: k x + (1 - k) \max(x, 1.5\,\mathrm{grey}(x) + 0.5) + s + s'

    ``parameters`` are the mean and standard deviation of one normal number per pixel, the zoom into
    these, the threshold of a flake, radius and sigma of the motion blur that makes streaks of the
    flakes s, and k. s' is s rotated by 180 degrees. The words of the key are the normal numbers;
    word 0 of its second stream is the angle, from -135 to -45 degrees.
    """
    mean, std, zoom, threshold, radius, sigma, keep = parameters
    height, width = images.shape[1:3]
    out = np.empty_like(images)
    settings = (
        *map(float, (mean, std, threshold, keep)),
        (zoom_places(height, float(zoom)), zoom_places(width, float(zoom))),
        motion_weights(radius, sigma),
        layers(2.0),
    )
    run_over_rows(fill_snow, as_lines(images), keys, as_lines(out), settings=settings)
    return out


def as_lines(images: Array) -> Array:
    """View images as (n, height, width * channels)."""
    n, height, width, channels = images.shape
    return images.reshape(n, height, width * channels)


# Compiled loops of fog, frost and snow, over batches of images.

_ordered = numba.njit(error_model="numpy", fastmath={"nnan", "nsz"})
_LEVELS = np.float32(255)
_RED, _GREEN, _BLUE = np.float32(0.299), np.float32(0.587), np.float32(0.114)
_ROOT_2 = math.sqrt(2)


@compiled
def fill_fog(images, keys, out, channels, amount, decay, side):
    """Put images, (n, height, width * channels), behind fog of `side` x `side` points."""
    _, height, length = images.shape
    draws, one, other = np.empty(side * side), np.empty(side * side), np.empty(side * side)
    veil = np.empty(length)
    for row in range(len(keys)):
        for i in range(len(draws)):
            draws[i] = uniform_of(word_at(keys[row], i))
        land = _grow(draws, decay, one, other)
        low, high = _extremes(land)
        span = high - low
        brightest = _largest(images[row]) / 255
        bright = brightest + amount
        for y in range(height):
            line, result = images[row, y], out[row, y]
            for x in range(length // channels):
                fog = amount * ((land[y, x] - low) / span)
                for c in range(channels):
                    veil[x * channels + c] = fog
            for i in range(length):
                value = (line[i] / 255 + veil[i]) * brightest / bright
                result[i] = np.uint8(min(max(value, 0.0), 1.0) * 255)


@_ordered
def _extremes(land):
    """Return the least and largest value of a map, in a loop that is vectorised."""
    low = high = land[0, 0]
    for y in range(land.shape[0]):
        line = land[y]
        for x in range(len(line)):
            low, high = min(low, line[x]), max(high, line[x])
    return low, high


@compiled
def _largest(image):
    """Return the largest value of an image."""
    largest = np.uint8(0)
    for y in range(image.shape[0]):
        line = image[y]
        for i in range(len(line)):
            largest = max(largest, line[i])
    return largest


@compiled
def _grow(draws, decay, one, other):
    """Make a height map on a torus by diamond and square steps, from uniform draws in order.

    The side doubles from level to level; levels are in `one` and `other` alternately. The new
    points of a level overwrite its draws.
    """
    one[0], side, start, size = 0.0, 1, 0, 100.0
    land = one[:1].reshape(1, 1)
    while start < len(draws) - 1:
        count, last = side * side, side - 1
        middles = draws[start : start + count].reshape(side, side)
        across = draws[start + count : start + 2 * count].reshape(side, side)
        down = draws[start + 2 * count : start + 3 * count].reshape(side, side)
        for y in range(side):
            line, below, new = land[y], land[(y + 1) % side], middles[y]
            for x in range(last):
                total = line[x] + below[x] + (line[x + 1] + below[x + 1])
                new[x] = _displace(total, size, new[x])
            total = line[last] + below[last] + (line[0] + below[0])
            new[last] = _displace(total, size, new[last])
        finer = other[: 4 * count].reshape(2 * side, 2 * side)
        for y in range(side):
            line, below, middle, above = land[y], land[(y + 1) % side], middles[y], middles[y - 1]
            horizontal, vertical = across[y], down[y]
            for x in range(last):
                total = middle[x] + above[x] + (line[x] + line[x + 1])
                horizontal[x] = _displace(total, size, horizontal[x])
            total = middle[last] + above[last] + (line[last] + line[0])
            horizontal[last] = _displace(total, size, horizontal[last])
            for x in range(1, side):
                total = middle[x] + middle[x - 1] + (line[x] + below[x])
                vertical[x] = _displace(total, size, vertical[x])
            total = middle[0] + middle[last] + (line[0] + below[0])
            vertical[0] = _displace(total, size, vertical[0])
            upper, lower = finer[2 * y], finer[2 * y + 1]
            for x in range(side):
                upper[2 * x], upper[2 * x + 1] = line[x], horizontal[x]
                lower[2 * x], lower[2 * x + 1] = vertical[x], middle[x]
        land, one, other = finer, other, one
        side, start, size = 2 * side, start + 3 * count, size / decay
    return land


@inlined
def _displace(total, size, draw):
    """Return the mean of four points, displaced up or down."""
    return total / 4 + size * (2 * size * draw - size)


@compiled
def fill_frost(images, keys, out, share, frost_share, ice, starts, heights, widths):
    """Mix images, (n, height, width * 3), with crops of ice.

    `ice` holds all textures, concatenated; texture t has heights[t] x widths[t] pixels.
    """
    _, height, length = images.shape
    for row in range(len(keys)):
        t = np.int64(uniform_of(word_at(keys[row], 0)) * len(starts))
        top = np.int64(uniform_of(word_at(keys[row], 1)) * (heights[t] - height))
        left = np.int64(uniform_of(word_at(keys[row], 2)) * (widths[t] - length // 3))
        for y in range(height):
            start = starts[t] + ((top + y) * widths[t] + left) * 3
            line = ice[start : start + length]
            for i in range(length):
                value = share * images[row, y, i] + frost_share * line[i]
                out[row, y, i] = np.uint8(min(max(value, 0.0), 255.0))


@inlined
def fill_layer(key, layer, mean, std, layers):
    """Fill `layer`, whose length is a multiple of 16, with independent normal numbers."""
    components(key, layer, layers.step, layers.inside, layers.height, layers.tail, layers.p)
    for i in range(len(layer)):
        layer[i] = mean + std * (layer[i] * _ROOT_2)


@compiled
def fill_snow(images, keys, out, mean, std, threshold, keep, zooms, weights, layers):
    """Put images, (n, height, width * 3), into drifting snow."""
    _, height, length = images.shape
    width = length // 3
    size = height * width
    down, across = zooms
    layer = np.empty(-(-size // 16) * 16)
    field = layer[:size].reshape(height, width)
    between, zoomed = np.empty((height, width)), np.empty((height, width))
    flakes, drift = np.empty((height, width), np.uint8), np.empty((height, width), np.uint8)
    scratch = motion_scratch(height, width, 1, weights)
    keep, rest = np.float32(keep), np.float32(1 - keep)
    for row in range(len(keys)):
        fill_layer(keys[row], layer, mean, std, layers)
        zoom(field, 1, down, across, between, zoomed)
        for y in range(height):
            for x in range(width):
                value = zoomed[y, x]
                flakes[y, x] = np.uint8(min(value, 1.0) * 255) if value >= threshold else 0
        angle = 90 * uniform_of(word_at(mix(keys[row] ^ SIDE), 0)) - 135
        smear(flakes, 1, weights, angle, scratch, drift)
        for y in range(height):
            image, result = images[row, y], out[row, y]
            fallen, risen = drift[y], drift[height - 1 - y]
            for x in range(width):
                red = np.float32(image[3 * x]) / _LEVELS
                green = np.float32(image[3 * x + 1]) / _LEVELS
                blue = np.float32(image[3 * x + 2]) / _LEVELS
                grey = _RED * red + _GREEN * green + _BLUE * blue
                pale = grey * np.float32(1.5) + np.float32(0.5)
                one, two = fallen[x] / 255, risen[width - 1 - x] / 255
                result[3 * x] = _to_level(keep * red + rest * max(red, pale) + one + two)
                result[3 * x + 1] = _to_level(keep * green + rest * max(green, pale) + one + two)
                result[3 * x + 2] = _to_level(keep * blue + rest * max(blue, pale) + one + two)


@inlined
def _to_level(value):
    """Convert a number to 8 bits, clipped to [0, 1] and truncated."""
    return np.uint8(min(max(value, 0.0), 1.0) * 255)
