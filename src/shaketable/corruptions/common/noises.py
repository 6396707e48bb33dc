r"""The four common corruptions that are noise: Gaussian, shot, impulse and speckle.

All change every value of a picture by itself, and results are cut to 8 bits. So each is a law of
the outcome given the value, for 256 values and as many outcomes. It is computed once, rounded to
multiples of 2**-32, so that no probability is off by more than that, and drawn from exactly.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.severities import Parameters

_VALUES = np.arange(256.0)


def gaussian_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    r"""Normal noise: :math:`\lfloor v + 255\,c\,n \rfloor`, kept within 0 and 255."""
    return _drawn(images, keys, _gaussian_table(parameters[0]))


def shot_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    r"""Counts of photons, Poisson with mean :math:`c\,v/255`, brought back to scale.

    An outcome is one of the levels :math:`\lfloor 255\,k/c \rfloor`, at most 255.
    """
    return _drawn(images, keys, _shot_table(parameters[0]))


def impulse_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    """Salt and pepper: a value is 0 or 255, with probability c / 2 each, or what it was."""
    return _drawn(images, keys, _impulse_table(parameters[0]))


def speckle_noise(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (part of the role)
    r"""Normal noise that grows with the value: :math:`\lfloor v + v\,c\,n \rfloor`, in 0 to 255."""
    return _drawn(images, keys, _speckle_table(parameters[0]))


def _drawn(images: Array, keys: KeyArray, table: Array) -> Array:
    from shaketable.corruptions.common.noise_kernels import fill_drawn  # compiled, slow to load

    out = np.empty_like(images)
    flat = len(images), -1
    run_over_rows(fill_drawn, images.reshape(flat), keys, out.reshape(flat), settings=(table,))
    return out


@lru_cache(maxsize=32)
def _gaussian_table(scale: float) -> Array:
    return _aliases(_normal_law(np.full(256, 255 * scale)))


@lru_cache(maxsize=32)
def _speckle_table(scale: float) -> Array:
    return _aliases(_normal_law(_VALUES * scale))


@lru_cache(maxsize=32)
def _shot_table(photons: float) -> Array:
    from scipy.special import pdtr

    counts = np.arange(int(photons) + 2)
    levels = (np.clip(counts / photons, 0, 1) * 255).astype(np.int64)
    # of the counts that give at most level k, the largest; no count for 255 is left out
    largest = np.searchsorted(levels, _VALUES[:-1], side="right") - 1
    return _aliases(pdtr(largest[None, :], (_VALUES / 255 * photons)[:, None]))


@lru_cache(maxsize=32)
def _impulse_table(share: float) -> Array:
    kept = _VALUES[None, :-1] >= _VALUES[:, None]
    return _aliases(share / 2 + (1 - share) * kept)


def _normal_law(spread: FloatArray) -> FloatArray:
    r"""P(outcome <= k | v) for k < 255, of v + spread(v) n cut to whole numbers from 0 to 255.

    .. math:: \Phi\big((k + 1 - v) / s(v)\big)
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):  # no spread: surely v
        law: FloatArray = ndtr((_VALUES[None, 1:] - _VALUES[:, None]) / spread[:, None])
    return law


def _aliases(cumulated: Array) -> Array:
    """Alias table of the laws P(outcome <= k | v), 256 rows for v, 255 columns for k."""
    from shaketable.corruptions.common.noise_kernels import fill_aliases

    edges = np.pad(np.rint(cumulated * 2.0**32).astype(np.int64), ((0, 0), (1, 1)))
    edges[:, -1] = 2**32
    table = np.empty((256, 256), np.uint32)
    fill_aliases(np.diff(edges), table)
    table.flags.writeable = False
    return table
