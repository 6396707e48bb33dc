"""Spatter: drops of water with a bright rim, and splashes of mud.

The rim is made by classic steps on 8-bit images, in integers throughout: Canny's edges, a distance
transform by a chamfer mask, histogram equalisation, small correlations.
"""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs
# ruff: noqa: PLR0917

import numpy as np

from shaketable.core.compiling import compiled, inlined, inner
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.filters import (
    blur_across,
    blur_down,
    gaussian_filter,
    gaussian_weights,
)
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.common.weather import as_lines, fill_layer
from shaketable.corruptions.compiled.ziggurat import layers

_F, _I = np.float32, np.int32
_LEVELS = _F(255)
_WATER = (np.array([175, 238, 238]) / 255).astype(_F)
_MUD = (np.array([63, 42, 20]) / 255).astype(_F)
_WEAK, _STRONG = 50, 150  # Canny's thresholds
_TANGENT = 13573  # tan(22.5 degrees) in 15 bits
_NEAR, _DIAGONAL, _KNIGHT = 65536, 91750, 143976  # 1, 1.4 and 2.1969 in 16 bits
_FAR, _MOST = 2**30, 20 << 16  # no edge so far; distances above 20 count as 20


def spatter(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Drops of water (severities 1 to 3) or splashes of mud (4 and 5) on the lens.

    ``parameters`` are the mean and standard deviation of one normal number per pixel (the words of
    the key), the sigma of the Gaussian filter that makes blots l of them, the threshold of a blot,
    the strength e, and the kind: 0 water, 1 mud.

    Water adds e m (175, 238, 238) / 255, where m is l times the light on its rim, divided by the
    largest such product; the light depends on the distance to the edges of l. An image without a
    drop is unchanged; the original divides 0 by 0. Mud is x (1 - m) + m (63, 42, 20) / 255, where m
    is the mask of the blots under a Gaussian filter of sigma e, or 0 if that is below 0.8.
    """
    mean, std, sigma, threshold, strength, kind = parameters
    out = np.empty_like(images)
    noise = (*map(float, (mean, std, threshold)), gaussian_weights(float(sigma)), layers(2.0))
    if kind:
        settings = (*noise, gaussian_weights(float(strength)))
        run_over_rows(fill_mud, as_lines(images), keys, as_lines(out), settings=settings)
    else:
        drops = np.empty(images.shape[:3], np.uint8)
        run_over_rows(fill_drops, keys, drops, settings=noise)
        run_over_rows(
            fill_water, as_lines(images), drops, as_lines(out), settings=(float(strength),)
        )
    return out


@compiled
def fill_drops(keys, drops, mean, std, threshold, weights, layers):
    """Make blots of water, (n, height, width), as depths from 0 to 255."""
    _, height, width = drops.shape
    size = height * width
    layer = np.empty(-(-size // 16) * 16)
    field, between = layer[:size].reshape(height, width), np.empty((height, width))
    for row in range(len(keys)):
        fill_layer(keys[row], layer, mean, std, layers)
        gaussian_filter(field, 1, weights, between, between)
        for y in range(height):
            line, result = between[y], drops[row, y]
            for x in range(width):
                result[x] = np.int64(line[x] * 255) & 255 if line[x] >= threshold else 0


@compiled
def fill_water(images, drops, out, strength):
    """Put images, (n, height, width * 3), behind drops of water."""
    _, height, width = drops.shape
    framed = np.zeros((7, height + 2, width + 2), np.int32)
    depth, edges, light, other = framed[0], framed[1], framed[2], framed[3]
    slopes = framed[4], framed[5], framed[6]
    distance = np.zeros((1, height + 4, width + 4), np.int32)[0]  # every type is compiled again
    stack = np.zeros(height * width, np.int32)
    strength = _F(strength)
    for row in range(len(images)):
        most = 0
        for y in range(height):
            for x in range(width):
                depth[y + 1, x + 1] = drops[row, y, x]
        canny(depth, slopes, edges, stack)
        chamfer(edges, distance)
        shade(distance, light, other)
        for y in range(1, height + 1):
            for x in range(1, width + 1):
                light[y, x] *= depth[y, x]
                most = max(most, light[y, x])
        for y in range(height):
            image, result, line = images[row, y], out[row, y], light[y + 1, 1:]
            for i in range(len(image)):
                result[i] = image[i]
            for x in range(width):
                if line[x]:
                    shine = _F(line[x]) / _F(most) * strength
                    for c in range(3):
                        value = _F(image[3 * x + c]) / _LEVELS + shine * _WATER[c]
                        result[3 * x + c] = np.uint8(min(value, _F(1)) * _LEVELS)


@compiled
def fill_mud(images, keys, out, mean, std, threshold, weights, layers, soft_weights):
    """Put images, (n, height, width * 3), under splashes of mud."""
    _, height, length = images.shape
    width = length // 3
    size = height * width
    layer = np.empty(-(-size // 16) * 16)
    field, between = layer[:size].reshape(height, width), np.empty((height, width))
    mask, soft = np.empty((height, width)), np.empty((height, width))
    for row in range(len(keys)):
        fill_layer(keys[row], layer, mean, std, layers)
        gaussian_filter(field, 1, weights, between, between)
        for y in range(height):
            for x in range(width):
                mask[y, x] = between[y, x] > threshold
        blur_down(mask, soft_weights, soft)
        for y in range(height):
            for x in range(width):
                soft[y, x] = _F(soft[y, x])  # as a filter of float32 does, which is not compiled
        blur_across(soft, 1, soft_weights, soft)
        for y in range(height):
            image, result, line = images[row, y], out[row, y], soft[y]
            for i in range(length):
                result[i] = image[i]
            for x in range(width):
                m = _F(line[x])
                if m >= _F(0.8):
                    for c in range(3):
                        value = _F(image[3 * x + c]) / _LEVELS * (_F(1) - m) + _MUD[c] * m
                        result[3 * x + c] = np.uint8(min(max(value, _F(0)), _F(1)) * _LEVELS)


@inlined
def canny(image, slopes, edges, stack):
    """Mark Canny's edges of an image by 2 in `edges`; all arrays have a margin of 1.

    Sobel slopes with the border repeated, of size |dx| + |dy|. A pixel is on a ridge if its slope
    is the largest of three in its direction, rounded to 45 degrees. Ridges above the strong
    threshold are edges, and so are those above the weak one that touch an edge.
    """
    height, width = image.shape[0] - 2, image.shape[1] - 2
    across, down, steep = slopes
    falls, sums = np.zeros(width + 2, np.int32), np.zeros(width + 2, np.int32)
    _frame(image, _I(0))
    for y in range(1, height + 1):
        above, line, below = image[y - 1], image[y], image[y + 1]
        for x in range(width + 2):
            falls[x] = below[x] - above[x]
            sums[x] = above[x] + 2 * line[x] + below[x]
        dx, dy, size = across[y, 1:], down[y, 1:], steep[y, 1:]
        for x in range(width):
            dx[x] = sums[x + 2] - sums[x]
            dy[x] = falls[x] + 2 * falls[x + 1] + falls[x + 2]
            size[x] = abs(dx[x]) + abs(dy[x])
    waiting = 0
    for y in range(1, height + 1):
        _mark_ridges(across[y, 1:], down[y, 1:], steep[y - 1], steep[y], steep[y + 1], edges[y, 1:])
        for x in range(1, width + 1):
            if edges[y, x] == 2:
                stack[waiting] = y * (width + 2) + x
                waiting += 1
    while waiting:
        waiting -= 1
        y, x = divmod(stack[waiting], width + 2)
        for v in range(y - 1, y + 2):
            for u in range(x - 1, x + 2):
                if edges[v, u] == 1:
                    edges[v, u] = 2
                    stack[waiting] = v * (width + 2) + u
                    waiting += 1


@inlined
def _mark_ridges(across, down, above, line, below, edges):
    """Mark pixels that are steepest along their slope, by 1, or by 2 above the strong threshold.

    Written without branches, in 32 bits, so that it is vectorised.
    """
    over, over_right, left, middle, right = above[1:], above[2:], line, line[1:], line[2:]
    under_left, under, under_right = below, below[1:], below[2:]
    for x in range(len(line) - 2):
        dx, dy, m = across[x], down[x], middle[x]
        run, rise = _I(abs(dx) * _TANGENT), _I(abs(dy) << 15)
        flat, upright = rise < run, rise > _I(run + (abs(dx) << 16))
        falling, ties = _I(dx ^ dy) >= 0, _I(flat | upright)
        n, ne, e, se = over[x], over_right[x], right[x], under_right[x]
        s, sw, w, nw = under[x], under_left[x], left[x], above[x]
        first, second = nw if falling else ne, se if falling else sw
        first, second = n if upright else first, s if upright else second
        first, second = w if flat else first, e if flat else second
        ridge = (m > _WEAK) & (m > first) & (_I(m + ties) > second)
        edges[x] = _I(ridge) + _I(ridge & (m > _STRONG))


@inlined
def chamfer(edges, distance):
    """Fill distances to the nearest edge in steps of 1, 1.4 and 2.1969, 16 bits after the point.

    One pass from the top left and one back, with a 5 x 5 mask (Borgefors, CVGIP 1986); the margin
    of `distance` is 2 wide and counts as far from every edge.
    """
    rows, columns = distance.shape
    for i in range(2):
        for x in range(columns):
            distance[i, x] = distance[rows - 1 - i, x] = _FAR
        for y in range(rows):
            distance[y, i] = distance[y, columns - 1 - i] = _FAR
    for y in range(2, rows - 2):
        for x in range(2, columns - 2):
            distance[y, x] = _FAR
    for y in range(2, rows - 2):
        line, marks = distance[y], edges[y - 1]
        _approach(distance[y - 2], distance[y - 1], line)
        run = _I(_FAR)
        for x in range(2, columns - 2):
            run = _I(0) if marks[x - 1] == 2 else min(line[x], _I(run + _NEAR))
            line[x] = run
    for y in range(rows - 3, 1, -1):
        line = distance[y]
        _approach(distance[y + 2], distance[y + 1], line)
        run = _I(_FAR)
        for x in range(columns - 3, 1, -1):
            run = min(line[x], _I(run + _NEAR))
            line[x] = run


@inner
def _approach(far, near, line):
    """Update the distances of a line with paths through the two lines before it."""
    far_left, far_right, left, right = far[1:], far[3:], near[1:], near[3:]
    outer_left, outer_right, middle, result = near, near[4:], near[2:], line[2:]
    for x in range(len(line) - 4):
        knight = min(far_left[x], far_right[x], outer_left[x], outer_right[x])
        diagonal, straight = min(left[x], right[x]), _I(middle[x] + _NEAR)
        result[x] = min(result[x], _I(knight + _KNIGHT), _I(diagonal + _DIAGONAL), straight)


@inlined
def shade(distance, first, second):
    """Fill `first` with the light on the rim, 0 to 255, from distances to it; margins of 1."""
    rows, columns = first.shape
    counts, levels = np.zeros(256, np.int32), np.zeros(256, np.int32)
    for y in range(1, rows - 1):
        near, result = distance[y + 1, 2:], second[y, 1:]
        for x in range(columns - 2):
            result[x] = min(near[x], _I(_MOST))
    _add_nine(second, first)
    for y in range(1, rows - 1):
        for x in range(1, columns - 1):
            first[y, x] = np.uint32(first[y, x]) // np.uint32(9 << 16)
            counts[first[y, x]] += 1
    _equalise(counts, (rows - 2) * (columns - 2), levels)
    for y in range(1, rows - 1):
        for x in range(1, columns - 1):
            first[y, x] = levels[first[y, x]]
    _frame(first, _I(1))
    for y in range(1, rows - 1):
        corner, above, left, middle = first[y - 1], first[y - 1, 1:], first[y], first[y, 1:]
        right, below, opposite = first[y, 2:], first[y + 1, 1:], first[y + 1, 2:]
        result = second[y, 1:]
        for x in range(columns - 2):
            value = middle[x] + right[x] + below[x] + 2 * opposite[x]
            value -= 2 * corner[x] + above[x] + left[x]
            result[x] = min(max(_I(value), _I(0)), _I(255))
    _add_nine(second, first)
    for y in range(1, rows - 1):
        line = first[y]
        for x in range(columns):
            line[x] = np.uint32(line[x] + 4) // np.uint32(9)


@inlined
def _equalise(counts, total, levels):
    """Find levels that spread the counted ones evenly over 0 to 255; a single one is unchanged."""
    least = 0
    while not counts[least]:
        least += 1
    running = 0
    if counts[least] == total:
        levels[least] = least
        return
    scale = _F(255) / _F(total - counts[least])
    levels[least] = 0
    for i in range(least + 1, len(counts)):
        running += counts[i]
        levels[i] = np.int32(np.rint(_F(running) * scale))


@inner
def _add_nine(image, out):
    """Sum the 3 x 3 pixels around each, the image mirrored at its border."""
    _frame(image, _I(1))
    sums = np.zeros(image.shape[1], np.int32)
    for y in range(1, image.shape[0] - 1):
        above, line, below = image[y - 1], image[y], image[y + 1]
        for x in range(len(sums)):
            sums[x] = above[x] + line[x] + below[x]
        middle, right, result = sums[1:], sums[2:], out[y, 1:]
        for x in range(len(right)):
            result[x] = sums[x] + middle[x] + right[x]


@inner
def _frame(image, inwards):
    """Fill a margin of 1: inwards = 0 repeats the border, 1 mirrors the image at it."""
    rows, columns = image.shape
    first, bottom, right = 1 + inwards, rows - 2 - inwards, columns - 2 - inwards
    for y in range(1, rows - 1):
        image[y, 0], image[y, columns - 1] = image[y, first], image[y, right]
    for x in range(columns):
        image[0, x], image[rows - 1, x] = image[first, x], image[bottom, x]
