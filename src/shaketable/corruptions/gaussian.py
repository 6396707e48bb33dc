"""Gaussian noise: independent normal noise on every value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.core.checks import HUGE
from shaketable.core.errors import InputError
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.corruption import (
    AddedNoise,
    Corruption,
    Traits,
    add_noise,
    check_number,
    device_code,
)
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds


@declare(
    "gaussian",
    {
        "gaussian(sigma)": "normal noise of standard deviation sigma on every value; "
        "gaussian(sigma, mean=M) adds M as well"
    },
)
@dataclass(frozen=True)
class Gaussian(Corruption):
    """Independent normal noise on every value, of standard deviation ``sigma``.

    Parameters
    ----------
    sigma
        Standard deviation, in the units of the data.
    mean
        Mean of the noise.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> Gaussian(0.1).spec, Gaussian(0.1, mean=0.05).spec
    ('gaussian(0.1)', 'gaussian(0.1, mean=0.05)')
    """

    sigma: float
    mean: float = 0.0
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_number(self, "sigma", "be 0 or more and finite", low=0, high=HUGE)
        check_number(self, "mean", "be a finite number", low=-HUGE, high=HUGE)

    @property
    def traits(self) -> Traits:
        """Added noise, unless the bounds have a rule that only balls can follow."""
        noise = AddedNoise(2.0, "gaussian", self.sigma, self.mean).within(self.bounds)
        return Traits(made_on="device", additive=None if self._truncates else noise)

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return standard normal numbers."""
        if device := device_code(x):
            return device.draw_noise(self, x, keys, 2.0, "gaussian")
        from shaketable.corruptions.compiled import ziggurat  # compiled code, slow to load

        out = np.empty((len(keys), math.prod(x.shape[1:])), x.dtype)
        run_over_rows(ziggurat.fill_gaussian, keys, out, settings=ziggurat.layers(2.0))
        return out

    def apply(self, x: Array, drawn: Array, sizes: FloatArray | None = None) -> Array:
        """Add the noise, scaled to its size, or to the size that is given for every row."""
        if self._truncates:
            raise InputError(f"bounds 'truncate' are for balls, got {self.spec}; use 'clip'")
        if device := device_code(x):
            return device.add_noise(self, x, drawn, sizes)
        flat = x.reshape(len(x), -1)
        moved = flat + np.asarray(self.mean, x.dtype) if self.mean else flat
        scale = self.sigma if sizes is None else sizes
        return add_noise(moved, drawn, scale, self.bounds).reshape(x.shape)

    @property
    def _truncates(self) -> bool:
        return self.bounds is not None and self.bounds.rule == "truncate"
