"""Weather: fog, frost, snow and spatter.

All randomness of an image comes from the words of its key; the docstrings say which word is what.
Normal numbers are those of `ziggurat`: number i from word i of the key.
"""

from __future__ import annotations

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.filters import gaussian_weights, motion_weights, zoom_places
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.common.spatter_kernels import fill_drops, fill_mud, fill_water
from shaketable.corruptions.common.textures import ice
from shaketable.corruptions.common.weather_kernels import fill_fog, fill_frost, fill_snow
from shaketable.corruptions.compiled.ziggurat import layers


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
    run_over_rows(fill_fog, _as_lines(images), keys, _as_lines(out), settings=settings)
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
    run_over_rows(fill_frost, _as_lines(images), keys, _as_lines(out), settings=settings)
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
    run_over_rows(fill_snow, _as_lines(images), keys, _as_lines(out), settings=settings)
    return out


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
        run_over_rows(fill_mud, _as_lines(images), keys, _as_lines(out), settings=settings)
    else:
        drops = np.empty(images.shape[:3], np.uint8)
        run_over_rows(fill_drops, keys, drops, settings=noise)
        run_over_rows(
            fill_water, _as_lines(images), drops, _as_lines(out), settings=(float(strength),)
        )
    return out


def _as_lines(images: Array) -> Array:
    """View images as (n, height, width * channels)."""
    n, height, width, channels = images.shape
    return images.reshape(n, height, width * channels)
