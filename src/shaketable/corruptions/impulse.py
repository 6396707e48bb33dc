"""Impulse noise: a share of the values is replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.corruption import (
    AddedNoise,
    Corruption,
    Traits,
    check_number,
    device_code,
)
from shaketable.corruptions.images import check_finite_range, find_ends
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds

Replacement: TypeAlias = Literal["extremes", "uniform"]


@declare(
    "l0",
    {
        "l0(share)": "that share of the values is set to the low or high end of the value range",
        "l0(share, uniform)": "that share of the values is set to values uniform in the value "
        "range",
    },
)
@dataclass(frozen=True)
class Impulse(Corruption):
    r"""A share of the values replaced: noise of "norm" p = 0.

    Exactly round(share * d) distinct values of every point, of d, are set to the low or the high
    end of the value range, each with probability 1/2, or to a ``uniform`` value between them. The
    levels of a ladder are nested: a larger share replaces all that a smaller one replaces. Bounds
    must be declared.

    Parameters
    ----------
    share
        Share of the values of a point that are replaced.
    to
        ``extremes`` or ``uniform``.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> Impulse(0.01).spec, Impulse(0.01, "uniform").spec
    ('l0(0.01)', 'l0(0.01, uniform)')
    >>> Impulse(0.01).count_hits(1000)
    10
    >>> Impulse(0.01, bounds=Bounds(0, 1)).find_ends(levels=False)
    (0, 1)
    """

    share: float
    to: Replacement = "extremes"
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_number(self, "share", "lie in [0, 1], 0.01 for 1 %", low=0, high=1)
        if self.to not in get_args(Replacement):
            raise unknown_name("replacement of impulse noise", str(self.to), get_args(Replacement))

    @property
    def traits(self) -> Traits:
        """Results are levels if they are the ends; a device draws numbers of its own."""
        return Traits(needs_range=True, takes_levels=self.to == "extremes", made_on="device")

    @property
    def replaced(self) -> AddedNoise | None:
        """Parameters for the kernel of added noise, which replaces values if p is 0.

        None for uniform values, which it cannot make.
        """
        if self.to != "extremes":
            return None
        low, high = self.find_ends(levels=False)
        return AddedNoise(0.0, "ball", self.share, low=low, high=high)

    def draw(self, x: Array, keys: KeyArray) -> Any:
        """Return places in the order they are replaced in, and a number in (0, 1) for each."""
        d = math.prod(x.shape[1:])
        if device := device_code(x):
            return device.draw_places(self, x, keys, self.count_hits(d))
        from shaketable.corruptions.compiled.ziggurat import fill_places  # compiled, slow to load

        places = np.empty((len(keys), self.count_hits(d)), np.int64)
        uniform = np.empty(places.shape)
        run_over_rows(fill_places, keys, places, uniform, settings=(d,))
        return places, uniform

    def apply(
        self, x: Array, drawn: tuple[IntArray, FloatArray], sizes: FloatArray | None = None
    ) -> Array:
        """Replace the values at the first of these places, of each row its own share if given."""
        if device := device_code(x):
            return device.apply_flat(self, x, drawn, partial(self._replace_on_device, sizes))
        low, high = self.find_ends(levels=x.dtype == np.uint8)
        out = x.reshape(len(x), -1).copy()
        hits = self.count_hits(out.shape[1])
        places, u = drawn[0][:, :hits], drawn[1][:, :hits]
        value = low + (high - low) * u if self.to == "uniform" else np.where(u < 0.5, low, high)
        value = value.astype(out.dtype)
        if sizes is not None:
            hit = np.arange(hits) < np.rint(sizes * out.shape[1])[:, None]
            value = np.where(hit, value, np.take_along_axis(out, places, axis=1))
        np.put_along_axis(out, places, value, axis=1)
        return out.reshape(x.shape)

    def _replace_on_device(self, sizes: Any, flat: Any, drawn: Any) -> Any:
        """Do the same on tensors."""
        low, high = self.find_ends(levels=not flat.is_floating_point())
        hits = self.count_hits(flat.shape[1])
        places, u = drawn[0][:, :hits], drawn[1][:, :hits]
        if self.to == "uniform":
            value = low + (high - low) * u
        else:
            value = u.new_full(u.shape, low).masked_fill_(u >= 0.5, high)
        value = value.to(flat.dtype)
        if sizes is not None:
            order = u.new_ones(hits).cumsum(0)  # 1, 2, …
            hit = order <= (sizes * flat.shape[1]).round()[:, None]
            value = value.where(hit, flat.gather(1, places))
        return flat.scatter(1, places, value)

    def count_hits(self, d: int) -> int:
        """Number of values that are replaced, of d.

        Parameters
        ----------
        d
            Number of values of a point.

        Returns
        -------
        int
            Number of them that are replaced.
        """
        return round(self.share * d)

    def find_ends(self, *, levels: bool) -> tuple[float, float]:
        """Return the ends of the value range, in units of levels if values are levels.

        Parameters
        ----------
        levels
            Whether values are levels of uint8.

        Returns
        -------
        tuple[float, float]
            Low and high end.
        """
        return find_ends(check_finite_range(self.bounds, self), levels=levels)
