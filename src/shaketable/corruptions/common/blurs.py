"""Five blurs: Gaussian, defocus, glass, motion and zoom."""
# numba compiles functions from the types of a call, so these carry no annotations
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, no-check-untyped-defs
# ruff: noqa: PLR0917

from __future__ import annotations

import math
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from shaketable.core.compiling import compiled, inlined, inner, summed
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.filters import gaussian_filter, motion_scratch, smear
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.compiled.streams import uniform_of, word_at


def gaussian_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Gaussian filter of a given sigma, border repeated; values are truncated to 8 bits."""
    from shaketable.corruptions.common.filters import gaussian_weights

    return _run(fill_gaussian_blur, images, keys, gaussian_weights(parameters[0]))


def defocus_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Correlation with the kernel `lens`, border reflected; values are truncated to 8 bits."""
    return _run(fill_defocus_blur, images, keys, *_optics(*images.shape[1:], parameters))


def glass_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Pixels overwritten by random neighbours, between two Gaussian filters.

    From the last row and column backwards, every pixel is replaced by the one at an offset uniform
    in {-d, …, d - 1} along either axis. This is done in place: later pixels read what earlier ones
    wrote. (The original intends to swap the two pixels, but copies one.)
    """
    from shaketable.corruptions.common.filters import gaussian_weights

    sigma, reach, sweeps = parameters
    return _run(fill_glass_blur, images, keys, gaussian_weights(sigma), int(reach), int(sweeps))


def motion_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """ImageMagick's one-sided blur along a line, within 45 degrees of the horizontal."""
    from shaketable.corruptions.common.filters import motion_weights

    return _run(fill_motion_blur, images, keys, motion_weights(*parameters))


def zoom_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Mean of an image and its zooms, summed in float32 in the order of the factors.

    These are the numbers of ``np.arange(1, end, step)``, and their last bits count: at 32 pixels, a
    zoom by 1.2500000000000002 is 33 pixels wide, and one by 1.25 would be 32. The axes of an image
    that is not square are zoomed separately; the original takes squares only.
    """
    end, step = parameters
    return _run(fill_zoom_blur, images, keys, *_zooms(*images.shape[1:], end, step))


def _run(kernel: Any, images: Array, keys: KeyArray, *settings: Any) -> Array:
    """Run a compiled loop over all images, as (n, height, width * channels)."""
    n, height, width, channels = images.shape
    out, lines = np.empty_like(images), (n, height, width * channels)
    run_over_rows(
        kernel, images.reshape(lines), keys, out.reshape(lines), settings=(channels, *settings)
    )
    return out


def lens(radius: float, sigma: float) -> tuple[Array, Array, Array]:
    r"""Return the kernel of defocus blur, the disk it is made from, and the taps of its filter.

    The kernel is a disk scaled to sum 1, on a grid of 17 x 17 pixels (for radii above 8, of the
    size of the disk), filtered by 3 x 3 (above 8, 5 x 5) Gaussian taps in float32; the grid is
    reflected at its border. If the disk touches the border, at radius 8 and 10, filtering raises
    its sum above 1, and images become brighter. Above 8, the grid of a radius that is no integer,
    which the original does not have, ends at the integer below.

    Taps are summed as in OpenCV, with a product and the sum it goes to rounded once: from the
    middle outwards, except that three taps along a row are summed inwards. Above radius 8, OpenCV
    rounds some columns in ways of the processor; that changes one value in a million by one level.

    >>> [round(float(lens(*level)[0].sum()), 4) for level in ((1.5, 0.1), (8, 0.5), (10, 0.5))]
    [1.0, 1.013, 1.0108]
    """
    large = radius > 8
    grid = np.arange(-int(radius), int(radius) + 1) if large else np.arange(-8, 9)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(np.float32)
    reach = 2 if large else 1
    taps = np.exp(-0.5 * np.arange(-reach, reach + 1) ** 2 / sigma**2)
    taps = (taps / taps.sum()).astype(np.float32)
    kernel = disk / disk.sum()
    for inwards in (not large, False):  # along rows, then, transposed, columns
        padded = np.pad(kernel, ((0, 0), (reach, reach)), mode="reflect")
        columns = [padded[:, i : i + len(grid)] for i in range(2 * reach + 1)]
        pairs = [columns[reach - k] + columns[reach + k] for k in range(1, reach + 1)]
        terms = list(zip([columns[reach], *pairs], taps[reach:], strict=True))
        (first, weight), *others = terms[::-1] if inwards else terms
        filtered = first * weight
        for term, weight in others:
            fused = filtered + term.astype(np.float64) * weight
            filtered = fused.astype(np.float32)
        kernel = filtered.T
    return kernel, disk, taps


def _filter(kernel: Array, taps: Array) -> Array:
    """Filter a kernel by the taps along both axes, which enlarges it."""
    for _ in range(2):
        kernel = np.array([np.convolve(line, taps) for line in kernel]).T
    return kernel


_FEW = 32  # a kernel of up to so many pixels is summed directly
_NEGLIGIBLE = 1e-16  # weights too small to change a value


@lru_cache(maxsize=32)
def _optics(height: int, width: int, channels: int, level: Parameters) -> tuple[Any, ...]:
    """Return the tables that `fill_defocus_blur` takes, from `rows` to `whole`.

    A large kernel is nearly its filtered disk, with a factor that corrects the rounded sum, and
    taps, in float32, for the effect of the border of the kernel's grid. What is missing, rounding
    errors of single weights, is about 1e-9.
    """
    kernel, disk, taps = lens(*level)
    exact, rest = kernel.astype(np.float64), np.zeros((1, 1))
    heights, smooth = np.zeros(0, np.int64), np.ones(1)
    if (exact > _NEGLIGIBLE).sum() > _FEW:
        sums = disk.sum(axis=0).astype(np.int64)
        heights = sums[sums > 0] // 2
        filtered = _filter(disk.astype(np.float64), taps.astype(np.float64))
        scale = 1 / disk.sum(dtype=np.float64)
        rest = np.pad(exact, len(taps) // 2) - scale * filtered
        dropped = np.abs(rest) <= 1e-8
        scale += rest[dropped].sum() / filtered.sum()
        rest[dropped] = 0
        smooth = taps[len(taps) // 2 :].astype(np.float64) * math.sqrt(scale)
    wide = np.flatnonzero((exact > _NEGLIGIBLE).any(axis=0)).max() - len(exact) // 2
    margin = max(int(wide), len(heights) // 2 + len(smooth) - 1)
    border = (np.pad(np.arange(size), margin, mode="reflect") for size in (height, width))
    tables = _list_taps(rest.astype(np.float32), margin, channels)
    return *border, heights, smooth, tables, _list_taps(exact, margin, channels)


def _list_taps(kernel: Array, margin: int, channels: int) -> tuple[Any, ...]:
    """Return distances, places and weights of the taps of a kernel; see `fill_defocus_blur`."""
    centre = len(kernel) // 2
    below = kernel[centre:]  # the other half is its mirror image
    down, across = np.nonzero(np.abs(below) > _NEGLIGIBLE)
    distances, line = np.unique(down, return_inverse=True)
    more = (0, -len(down) % 4)
    places = np.pad(line, more), (np.pad(across - centre, more) + margin) * channels
    return distances, places, np.pad(below[down, across], more)


@lru_cache(maxsize=32)
def _zooms(height: int, width: int, channels: int, end: float, step: float) -> tuple[Any, ...]:
    """Return the tables that `fill_zoom_blur` takes: `times`, `down`, `base`, `taps`.

    Successive factors so close that they give the same image count as one zoom, several times.
    """
    from shaketable.corruptions.common.filters import zoom_places

    def sizes(factor: float) -> list[tuple[int, int]]:
        inner = [math.ceil(size / factor) for size in (height, width)]
        return [(size, round(size * factor)) for size in inner]

    factors = np.arange(1, end, step).tolist()
    grouped = [list(group) for _, group in groupby(factors, key=sizes)]
    down = [zoom_places(height, group[0]) for group in grouped]
    across = [zoom_places(width, group[0]) for group in grouped]
    runs = -(-width * channels // LANES)
    value = np.arange(runs * LANES)
    x = np.minimum(value // channels, width - 1)
    # where a value is read, minus its place in the run: within a run this varies by whole pixels
    # only, at most by the number of taps minus one
    offset = (
        np.array([a.start[x] * channels for a in across]) + value - x * channels - value % LANES
    )
    base = offset.reshape(len(grouped), runs, LANES).min(axis=2)
    tap = (offset - np.repeat(base, LANES, axis=1)) // channels
    taps = np.zeros((len(grouped), -(-(tap.max() + 2) // 4) * 4, len(value)))
    z = np.arange(len(grouped))[:, None]
    taps[z, tap, value] += np.array([a.before[x] for a in across])
    taps[z, tap + 1, value] += np.array([a.after[x] for a in across])
    places = tuple(np.array(rows) for rows in zip(*down, strict=True))
    return np.array([len(group) for group in grouped]), places, base + LANES, taps


# Compiled loops of the five blurs, over batches of images.
#
# Images come as (n, height, width * channels), the channels of a pixel side by side.

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
        smear(images[row], channels, weights, angle, scratch, out[row])


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


# Defocus blur: a disk summed by columns, and single taps for the rest. A large kernel is a disk
# under a Gaussian filter, so an image is first summed over the disk, in integers, and then
# filtered. The sum over a disk is one of vertical runs, one per column of the disk, and a run is
# the difference of two sums from the top of the image: 2 (2r + 1) terms for a disk of about pi r^2
# pixels. Next to an integer, rounding errors of single weights decide the value: lines that have
# such a value are summed tap by tap.

_TOLERANCE = 1e-11  # keeps integers that rounding made slightly smaller from being truncated
_CLOSE = 2e-5  # distance from an integer at which the sum over the disk is not precise enough


@compiled
def _fill_padded(image, channels, rows, columns, out):
    """Copy `image` with its rows and columns in the listed order, which adds a reflected border."""
    margin, n = (len(columns) - image.shape[1] // channels) // 2 * channels, image.shape[1]
    for y in range(len(rows)):
        source, target = image[rows[y]], out[y]
        middle, right = target[margin:], target[margin + n :]
        for j in range(n):
            middle[j] = source[j]
        for j in range(margin):
            target[j] = source[columns[j // channels] * channels + j % channels]
        for j in range(margin):
            place = columns[(margin + n + j) // channels]
            right[j] = source[place * channels + j % channels]


@compiled
def _fill_disks(padded, channels, heights, sums, out):
    """Sum integers over a disk around every pixel far enough from the border.

    Column i of the disk reaches heights[i] rows up and down; `sums` has one row more than `padded`.
    """
    reach, n = len(heights) // 2, out.shape[1]
    for j in range(padded.shape[1]):
        sums[0, j] = 0
    for y in range(len(padded)):
        above, here, below = sums[y], padded[y], sums[y + 1]
        for j in range(len(here)):
            below[j] = above[j] + np.int32(here[j])
    for y in range(len(out)):
        result, middle = out[y], y + reach
        start, end = sums[middle - heights[reach]], sums[middle + heights[reach] + 1]
        left, right = start[reach * channels :], end[reach * channels :]
        for j in range(n):
            result[j] = right[j] - left[j]
        for i in range(reach):
            start, end = sums[middle - heights[i]], sums[middle + heights[i] + 1]
            a, b = start[i * channels :], start[(2 * reach - i) * channels :]
            c, d = end[i * channels :], end[(2 * reach - i) * channels :]
            for j in range(n):
                result[j] += (c[j] - a[j]) + (d[j] - b[j])


@summed
def _add_smooth(disks, channels, smooth, line, out):
    """Add to `out` the Gaussian filter of a few lines: their weighted sum, filtered along the line.

    `smooth` holds the taps from the middle outwards.
    """
    radius, n = len(smooth) - 1, len(out)
    for j in range(len(line)):
        line[j] = smooth[0] * disks[radius, j]
    for k in range(1, radius + 1):
        above, below, weight = disks[radius - k], disks[radius + k], smooth[k]
        for j in range(len(line)):
            line[j] += weight * (above[j] + below[j])
    middle = line[radius * channels :]
    for j in range(n):
        out[j] += smooth[0] * middle[j]
    for k in range(1, radius + 1):
        left, right = line[(radius - k) * channels :], line[(radius + k) * channels :]
        weight = smooth[k]
        for j in range(n):
            out[j] += weight * (left[j] + right[j])


@compiled
def _fill_folded(padded, y, rows, out):
    """Add the lines at equal distances above and below line y, for the distances in `rows`."""
    for i in range(len(rows)):
        above, below, target = padded[y - rows[i]], padded[y + rows[i]], out[i]
        if rows[i]:
            for j in range(len(target)):
                target[j] = above[j] + below[j]
        else:
            for j in range(len(target)):
                target[j] = above[j]


@summed
def _fill_taps(padded, places, weights, out):
    """Weighted sums of `padded` at places (row, start in the line), in the type of `out`."""
    rows, starts = places
    for j in range(len(out)):
        out[j] = 0
    i = 0
    while i < len(weights):  # their number is a multiple of four
        a, b = padded[rows[i], starts[i] :], padded[rows[i + 1], starts[i + 1] :]
        c, d = padded[rows[i + 2], starts[i + 2] :], padded[rows[i + 3], starts[i + 3] :]
        wa, wb, wc, wd = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(len(out)):
            out[j] += wa * a[j] + wb * b[j] + wc * c[j] + wd * d[j]
        i += 4


@compiled
def _is_close(values):
    """Whether a value that is not 0 is next to an integer that truncation may miss."""
    found = False
    for j in range(len(values)):
        value = values[j]
        found |= (abs(value - np.rint(value)) < _CLOSE) & (value > 0.5) & (value < 255.5)
    return found


@compiled
def fill_defocus_blur(images, keys, out, channels, rows, columns, heights, smooth, rest, whole):
    """Correlate with a disk of `heights`, filtered by `smooth`, and the taps `rest`, or by `whole`.

    `rows` and `columns` are those of the image with its border. Taps are their vertical distances,
    each of which stands for the lines above and below, their places and their weights. A place is
    the index of its distance and its start in the line with border. Taps are summed in the type of
    their weights. `whole` is the kernel itself; without `heights`, it is used alone.
    """
    height, n = images.shape[1:]
    margin, width = (len(rows) - height) // 2, len(columns) * channels
    radius = len(smooth) - 1
    padded = np.empty((len(rows), width), np.float32)
    sums = np.empty((len(rows) + 1, width), np.int32)
    disks = np.empty((height + 2 * radius, n + 2 * radius * channels), np.int32)
    line, total = np.empty(n + 2 * radius * channels), np.empty(n)
    folded, tapped = np.empty((margin + 1, width), np.float32), np.empty(n, np.float32)
    for row in range(len(keys)):
        _fill_padded(images[row], channels, rows, columns, padded)
        if len(heights):
            _fill_disks(padded, channels, heights, sums, disks)
        for y in range(height):
            if len(heights):
                _fill_folded(padded, margin + y, rest[0], folded)
                _fill_taps(folded, rest[1], rest[2], tapped)
                for j in range(n):
                    total[j] = tapped[j]
                _add_smooth(disks[y:], channels, smooth, line, total)
            if not len(heights) or _is_close(total):
                _fill_folded(padded, margin + y, whole[0], folded)
                _fill_taps(folded, whole[1], whole[2], total)
            result = out[row, y]
            for j in range(n):
                result[j] = np.uint8(np.int32(min(max(total[j], 0.0), 255.0) + _TOLERANCE))
