r"""Four kinds of noise: Gaussian, shot, impulse and speckle.

All change every value of an image independently, and results are truncated to 8 bits. So each is
a distribution of the outcome given the value, for 256 values and 256 outcomes. It is computed
once, with probabilities rounded to multiples of 2**-32, and then sampled exactly.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.severities import Parameters
from shaketable.corruptions.compiled.levels import fill_draws, make_law_table

_VALUES = np.arange(256.0)


def gaussian_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Normal noise: :math:`\lfloor v + 255\,c\,n \rfloor`, clipped to 0 and 255."""
    return _draw(images, keys, find_table("gaussian_noise", parameters))


def shot_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Photon counts, Poisson with mean :math:`c\,v/255`, scaled back to levels.

    An outcome is one of the levels :math:`\lfloor 255\,k/c \rfloor`, at most 255.
    """
    return _draw(images, keys, find_table("shot_noise", parameters))


def impulse_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Salt and pepper: a value becomes 0 or 255, with probability c / 2 each, or is unchanged."""
    return _draw(images, keys, find_table("impulse_noise", parameters))


def speckle_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    r"""Normal noise proportional to the value: :math:`\lfloor v + v\,c\,n \rfloor`, clipped."""
    return _draw(images, keys, find_table("speckle_noise", parameters))


def _draw(images: Array, keys: KeyArray, table: Array) -> Array:
    """Replace every value by a draw from its distribution, given by an alias table."""
    out = np.empty_like(images)
    flat = len(images), -1
    run_over_rows(fill_draws, images.reshape(flat), keys, out.reshape(flat), settings=(table,))
    return out


@lru_cache(maxsize=32)
def _gaussian_table(scale: float) -> Array:
    return make_law_table(_normal_cdf(np.full(256, 255 * scale)))


@lru_cache(maxsize=32)
def _speckle_table(scale: float) -> Array:
    return make_law_table(_normal_cdf(_VALUES * scale))


@lru_cache(maxsize=32)
def _shot_table(photons: float) -> Array:
    from scipy.special import pdtr

    counts = np.arange(int(photons) + 2)
    levels = (np.clip(counts / photons, 0, 1) * 255).astype(np.int64)
    # largest count whose level is at most k; all larger counts give 255
    largest = np.searchsorted(levels, _VALUES[:-1], side="right") - 1
    return make_law_table(pdtr(largest[None, :], (_VALUES / 255 * photons)[:, None]))


@lru_cache(maxsize=32)
def _impulse_table(share: float) -> Array:
    kept = _VALUES[None, :-1] >= _VALUES[:, None]
    return make_law_table(share / 2 + (1 - share) * kept)


def find_table(name: str, parameters: Parameters) -> Array:
    """Return the alias table of a noise."""
    return _TABLES[name](parameters[0])


def _normal_cdf(spread: FloatArray) -> FloatArray:
    r"""P(outcome <= k | v) for k < 255, of v + spread(v) n truncated and clipped to 0 to 255.

    .. math:: \Phi\big((k + 1 - v) / s(v)\big)
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):  # without spread the outcome is v
        cdf: FloatArray = ndtr((_VALUES[None, 1:] - _VALUES[:, None]) / spread[:, None])
    return cdf


_TABLES = {
    "gaussian_noise": _gaussian_table,
    "shot_noise": _shot_table,
    "impulse_noise": _impulse_table,
    "speckle_noise": _speckle_table,
}
