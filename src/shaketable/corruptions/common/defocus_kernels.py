r"""Compiled loops of defocus blur: a disk summed by columns, and single taps for the rest.

A large kernel is a disk under a Gaussian filter, so an image is first summed over the disk, in
integers, and then filtered. The sum over a disk is one of vertical runs, one per column of the
disk, and a run is the difference of two sums from the top of the image: 2 (2r + 1) terms for a disk
of about :math:`\pi r^2` pixels. Next to an integer, rounding errors of single weights decide the
value: lines that have such a value are summed tap by tap.
"""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numba
import numpy as np

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_summed = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "nnan"}
)
_TOLERANCE = 1e-11  # keeps integers that rounding made slightly smaller from being truncated
_CLOSE = 2e-5  # distance from an integer at which the sum over the disk is not precise enough


@_compiled
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


@_compiled
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


@_summed
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


@_compiled
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


@_summed
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


@_compiled
def _is_close(values):
    """Whether a value that is not 0 is next to an integer that truncation may miss."""
    found = False
    for j in range(len(values)):
        value = values[j]
        found |= (abs(value - np.rint(value)) < _CLOSE) & (value > 0.5) & (value < 255.5)
    return found


@_compiled
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
