"""Five blurs: Gaussian, defocus, glass, motion and zoom."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.severities import Parameters


def gaussian_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Gaussian filter of a given sigma, border repeated; values are truncated to 8 bits."""
    from shaketable.corruptions.common.blur_kernels import fill_gaussian_blur
    from shaketable.corruptions.common.filters import gaussian_weights

    return _run(fill_gaussian_blur, images, keys, gaussian_weights(parameters[0]))


def defocus_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Correlation with the kernel `lens`, border reflected; values are truncated to 8 bits."""
    from shaketable.corruptions.common.defocus_kernels import fill_defocus_blur

    return _run(fill_defocus_blur, images, keys, *_optics(*images.shape[1:], parameters))


def glass_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Pixels overwritten by random neighbours, between two Gaussian filters.

    From the last row and column backwards, every pixel is replaced by the one at an offset uniform
    in {-d, …, d - 1} along either axis. This is done in place: later pixels read what earlier ones
    wrote. (The original intends to swap the two pixels, but copies one.)
    """
    from shaketable.corruptions.common.blur_kernels import fill_glass_blur
    from shaketable.corruptions.common.filters import gaussian_weights

    sigma, reach, sweeps = parameters
    return _run(fill_glass_blur, images, keys, gaussian_weights(sigma), int(reach), int(sweeps))


def motion_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """ImageMagick's one-sided blur along a line, within 45 degrees of the horizontal."""
    from shaketable.corruptions.common.blur_kernels import fill_motion_blur
    from shaketable.corruptions.common.filters import motion_weights

    return _run(fill_motion_blur, images, keys, motion_weights(*parameters))


def zoom_blur(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Mean of an image and its zooms, summed in float32 in the order of the factors.

    These are the numbers of ``np.arange(1, end, step)``, and their last bits count: at 32 pixels, a
    zoom by 1.2500000000000002 is 33 pixels wide, and one by 1.25 would be 32. The axes of an image
    that is not square are zoomed separately; the original takes squares only.
    """
    from shaketable.corruptions.common.blur_kernels import fill_zoom_blur

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
    from shaketable.corruptions.common.blur_kernels import LANES
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
