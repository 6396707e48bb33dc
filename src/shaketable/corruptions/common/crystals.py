r"""Generated images of ice: feather-like crystals in random places over noise.

They have statistics of the four photographs that the original corruption uses (as the package
imagecorruptions 1.1.2 ships them): nine quantiles of the grey values, the standard deviations in
eight bands of scale, from single pixels to more than 64, and mean and spread of the colours. The
shapes of the crystals are our choice; no pixel is copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from shaketable.core.keys import digest, uniforms
from shaketable.core.types import Array, FloatArray
from shaketable.corruptions.common.crystal_kernels import draw_feathers

_SHARES = np.array([0, 1, 10, 25, 50, 75, 90, 99, 100]) / 100
_SCALES = np.array([0, 1, 2, 4, 8, 16, 32, 64])
_ROUNDS = 2  # bands and quantiles are set alternately, since each changes the other


@dataclass(frozen=True, kw_only=True)
class Ice:
    """Statistics of a photograph of ice, and the crystals drawn in its place."""

    width: int
    height: int
    quantiles: tuple[float, ...]
    """Grey values below which 0, 1, 10, 25, 50, 75, 90, 99 and 100 % of the pixels are."""
    bands: tuple[float, ...]
    """Standard deviations between Gaussian filters of sigma 0, 1, 2, … 64, and beyond the last."""
    mean: tuple[float, float, float]
    """Mean of red, green and blue."""
    slope: tuple[float, float, float]
    """Change of red, green and blue per change of grey."""
    tint: tuple[float, float, float]
    """Standard deviation of their changes independent of grey."""
    lengths: tuple[float, float]
    """Least and largest length of a feather, in pixels."""
    angle: float
    """Angle between stem and barbs, in degrees."""
    spacing: float
    """Distance between barbs, in pixels."""
    bend: float
    """Largest bend of a stem along its length, in radians."""
    cover: float
    """Approximate number of layers of feathers."""
    feathers: float
    """Height of the feathers relative to the noise."""


ICES = (
    Ice(
        width=900, height=600, quantiles=(81, 95, 107, 116, 128, 141, 155, 177, 220),
        bands=(6.9, 3.0, 2.1, 1.9, 2.4, 2.9, 3.6, 9.8), mean=(77.7, 149.1, 165.7),
        slope=(1.355, 0.875, 0.697), tint=(10.1, -3.6, -8.4),
        lengths=(20, 200), angle=20, spacing=6, bend=1.5, cover=2, feathers=0.8,
    ),
    Ice(
        width=560, height=315, quantiles=(56, 140, 176, 193, 208, 220, 230, 244, 254),
        bands=(7.3, 4.1, 3.9, 3.4, 2.7, 2.3, 2.7, 12.4), mean=(200.8, 205.4, 214.5),
        slope=(0.975, 1.009, 1.028), tint=(0, 0, 0),
        lengths=(30, 120), angle=16, spacing=4, bend=0.3, cover=4, feathers=2,
    ),
    Ice(
        width=527, height=350, quantiles=(22, 81, 114, 132, 150, 167, 183, 231, 254),
        bands=(12.3, 6.2, 5.0, 3.9, 2.7, 2.3, 4.0, 13.4), mean=(137.6, 152.8, 165.2),
        slope=(0.995, 0.997, 1.040), tint=(0, 0, 0),
        lengths=(6, 60), angle=35, spacing=3, bend=0.5, cover=2, feathers=1.5,
    ),
    Ice(
        width=660, height=495, quantiles=(23, 43, 68, 89, 117, 149, 181, 237, 255),
        bands=(15.3, 8.0, 8.0, 7.9, 7.1, 5.1, 5.0, 22.9), mean=(112.4, 123.4, 134.8),
        slope=(1.023, 0.998, 0.960), tint=(0, 0, 0),
        lengths=(20, 110), angle=50, spacing=3.5, bend=1, cover=2.5, feathers=2.5,
    ),
)  # fmt: skip
"""The photographs of the original corruption; its second and third are the same."""


def grow(ice: Ice, name: str) -> Array:
    """Generate an image of ice, (height, width, 3) uint8; `name` is its seed.

    It is the same on every machine, up to one grey level where the last bit decides the rounding.
    """
    shape = ice.height, ice.width
    noise = _noise(shape, f"{name} noise")
    crystals = _draw_crystals(ice, f"{name} crystals")
    grey = ice.feathers * crystals + noise
    for _ in range(_ROUNDS):
        grey = _set_quantiles(_set_bands(grey, ice.bands), ice.quantiles)
    grey -= grey.mean()
    tint = _noise(shape, f"{name} tint") if any(ice.tint) else np.zeros(shape)
    colours = [
        mean + slope * grey + own * tint
        for mean, slope, own in zip(ice.mean, ice.slope, ice.tint, strict=True)
    ]
    return np.rint(np.clip(np.stack(colours, axis=-1), 0, 255)).astype(np.uint8)


def _uniforms(name: str, *shape: int) -> FloatArray:
    """Uniform numbers in (0, 1) that depend on the name alone."""
    key = np.array([digest("ice", name)], np.uint64)
    return uniforms(key, math.prod(shape)).reshape(shape)


def _noise(shape: tuple[int, int], name: str) -> FloatArray:
    """Return periodic noise of unit variance whose power falls with frequency to the power 2.5."""
    spectrum = fft.rfft2(_uniforms(name, *shape) - 0.5)
    spectrum *= np.maximum(_frequency(shape), 1 / max(shape)) ** -1.25
    spectrum[0, 0] = 0
    return _normalise(fft.irfft2(spectrum, shape))


def _draw_crystals(ice: Ice, name: str) -> FloatArray:
    """Return a height map of overlapping feathers, of mean 0 and variance 1."""
    land = np.zeros((ice.height, ice.width))
    size = sum(ice.lengths) / 2.5
    number = int(ice.cover * land.size / (0.3 * size * size))
    settings = (math.radians(ice.angle), float(ice.spacing), float(ice.bend))
    draw_feathers(land, _uniforms(name, number, 8), np.array(ice.lengths, float), *settings)
    return _normalise(land)


def _normalise(field: FloatArray) -> FloatArray:
    field -= field.mean()
    field /= field.std()
    return field


def _frequency(shape: tuple[int, int]) -> FloatArray:
    """Return the cycles per pixel of every element of a half spectrum."""
    cycles: FloatArray = np.hypot(fft.fftfreq(shape[0])[:, None], fft.rfftfreq(shape[1]))
    return cycles


def _set_bands(field: FloatArray, target: tuple[float, ...]) -> FloatArray:
    """Scale the spectrum of a field so that its bands have these standard deviations."""
    frequency, spectrum = _frequency(field.shape), fft.rfft2(field)
    spectrum[0, 0] = 0
    edges = np.linspace(0, frequency.max() * (1 + 1e-9), 2001)
    power = np.abs(spectrum) ** 2
    power[:, 1 : (field.shape[1] + 1) // 2] *= 2  # for the half that is not stored
    place = np.digitize(frequency.ravel(), edges) - 1
    radial = np.bincount(place, power.ravel(), minlength=2000) / field.size**2
    middle = (edges[1:] + edges[:-1]) / 2
    smooth = np.exp(-2 * (np.pi * _SCALES[:, None] * middle) ** 2)
    bands = smooth - np.vstack([smooth[1:], np.zeros_like(middle)])
    gains = np.ones(len(bands))
    for _ in range(20):
        deviations = np.sqrt((bands * (gains @ bands)) ** 2 @ radial)
        gains *= np.array(target) / deviations
    spectrum *= np.interp(frequency, middle, gains @ bands)
    shaped: FloatArray = fft.irfft2(spectrum, field.shape)
    return shaped


def _set_quantiles(field: FloatArray, target: tuple[float, ...]) -> FloatArray:
    """Stretch the values of a field so that it has these quantiles."""
    stretched: FloatArray = np.interp(field, np.quantile(field, _SHARES), target)
    return stretched
