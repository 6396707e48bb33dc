"""Gaussian noise: independent normal noise on every value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable.core.checks import HUGE, check_real
from shaketable.core.errors import InputError
from shaketable.core.spec import Call, Value
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.adding import add_noise
from shaketable.corruptions.corruption import AddedNoise, Corruption, MadeOn, device_code
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds


@dataclass(frozen=True)
class Gaussian(Corruption):
    """Independent normal noise on every value, of standard deviation ``sigma``.

    >>> Gaussian(0.1).spec, Gaussian(0.1, mean=0.05).spec
    ('gaussian(0.1)', 'gaussian(0.1, mean=0.05)')
    """

    sigma: float
    mean: float = 0.0
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        sigma = check_real("sigma", self.sigma, "be 0 or more and finite", low=0, high=HUGE)
        mean = check_real("mean", self.mean, "be a finite number", low=-HUGE, high=HUGE)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "mean", mean)

    @property
    def spec(self) -> str:
        """Canonical spec string."""
        return str(Call("gaussian", (self.sigma,), self._mean()))

    @property
    def ladder(self) -> str:
        """The mean: its levels are one noise, scaled."""
        return str(Call("gaussian", (), self._mean()))

    @property
    def size(self) -> float:
        """The standard deviation."""
        return self.sigma

    @property
    def made_on(self) -> MadeOn:
        """Where the points are: a device draws numbers of its own."""
        return "device"

    @property
    def additive(self) -> AddedNoise | None:
        """The noise, unless the bounds have a rule that only balls can follow."""
        if self._truncates:
            return None
        return AddedNoise(2.0, "gaussian", self.sigma, self.mean).within(self.bounds)

    def bind(self, bounds: Bounds | None) -> Gaussian:
        """Return the same noise with the data's bounds filled in."""
        return replace(self, bounds=bounds)

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

    def _mean(self) -> dict[str, Value]:
        return {"mean": self.mean} if self.mean else {}


declare(
    "gaussian",
    Gaussian,
    arguments=("sigma", "mean"),
    forms={
        "gaussian(sigma)": "normal noise of standard deviation sigma on every value; "
        "gaussian(sigma, mean=M) adds M as well"
    },
)
