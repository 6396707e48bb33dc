"""Camera faults: salt & pepper, Gaussian noise as in MATLAB's imnoise, rotation.

Sizes are relative to the value range. Results are clipped to it and, where the data are whole
numbers, such as uint8 images, rounded to them, also between two factors, as imnoise does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from shaketable.core.checks import HUGE, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.spec import Call
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.corruption import Corruption, LevelLaw, Traits, check_number, on_arrays
from shaketable.corruptions.images import check_finite_range, find_ends, find_layout
from shaketable.corruptions.registry import declare
from shaketable.data.bounds import Bounds

Interpolation: TypeAlias = Literal["nearest", "bilinear", "bicubic"]


@declare(
    "sp",
    {"sp(density)": "salt & pepper: every value is set to black or white with that probability"},
)
@dataclass(frozen=True)
class SaltPepper(Corruption):
    """Salt & pepper: every value is replaced with probability ``density``, by black or white.

    As imnoise's 'salt & pepper'; channels are independent. `Impulse`, in contrast, replaces an
    exact share of the values. What a lower density replaces, a higher one in the same draw replaces
    as well.

    Parameters
    ----------
    density
        Probability that a value is replaced.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> SaltPepper(0.1).spec
    'sp(0.1)'
    """

    density: float
    bounds: Bounds | None = None

    traits = Traits(needs_range=True, on_steps=True, takes_levels=True, made_on="any")

    def __post_init__(self) -> None:
        check_number(self, "density", "lie in [0, 1], 0.1 for 10 %", low=0, high=1)

    @property
    def level_law(self) -> LevelLaw:
        """Either end with half the density."""
        return LevelLaw(half=self.density / 2)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Set values to the ends of their range."""
        # compiled code, slow to load
        from shaketable.corruptions.compiled.levels import replace_values

        bounds = check_finite_range(self.bounds, self)
        ends = find_ends(bounds, levels=x.dtype == np.uint8)
        low, high = (np.full(math.prod(x.shape[1:]), end) for end in ends)
        return replace_values(x, drawn, self.density / 2, low, high)


@declare(
    "ga",
    {"ga(mean, var)": "MATLAB's Gaussian noise, for values in [0, 1]; var is 0.01 by default"},
)
@dataclass(frozen=True)
class CameraGaussian(Corruption):
    r"""Normal noise of a mean and a variance, relative to the value range; then clipped.

    .. math:: x + (high - low)\,(m + \sqrt{v}\,z), \quad z \sim N(0, 1)

    As imnoise's 'gaussian', whose first number is the mean; the variance is 0.01 by default.

    Parameters
    ----------
    mean
        Mean of the noise, as a share of the value range.
    var
        Its variance, as a share of the squared range.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> CameraGaussian(0.1).spec
    'ga(mean=0.1, var=0.01)'
    """

    mean: float
    var: float = 0.01
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_number(self, "mean", "be a finite number", low=-HUGE, high=HUGE)
        check_number(self, "var", "be 0 or more and finite", low=0, high=HUGE)

    @property
    def spec(self) -> str:
        """Canonical spec string."""
        return str(Call("ga", (), {"mean": self.mean, "var": self.var}))

    @property
    def ladder(self) -> str:
        """All means and variances."""
        return "ga"

    @property
    def size(self) -> float:
        """The mean."""
        return self.mean

    @property
    def traits(self) -> Traits:
        """Levels are drawn from a table, where they are, unless there is no variance."""
        drawn = self.var > 0
        return Traits(
            needs_range=True, on_steps=True, takes_levels=drawn, made_on="any" if drawn else "cpu"
        )

    @property
    def level_law(self) -> LevelLaw | None:
        """The table, if levels are drawn from it."""
        return LevelLaw(_normal_table(self.mean, self.var)) if self.var else None

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Add the noise, scaled to the value range; for 256 levels, draw the resulting level."""
        bounds = check_finite_range(self.bounds, self)
        if bounds.rule == "truncate":
            raise InputError(f"bounds 'truncate' are for balls, got {self.spec}; use 'clip'")
        # compiled code, slow to load
        from shaketable.corruptions.compiled.levels import add_normal_noise, redraw_levels

        if self.var and (bounds.steps == 255 or x.dtype == np.uint8):
            return redraw_levels(x, drawn, _normal_table(self.mean, self.var), bounds)
        span = bounds.high - bounds.low
        noisy = add_normal_noise(x, drawn, self.mean * span, math.sqrt(self.var) * span, bounds)
        return np.asarray(bounds.enforce(noisy)) if bounds.steps else noisy


@lru_cache(maxsize=32)
def _normal_table(mean: float, var: float) -> Array:
    r"""Alias table of the law of a new level from 0 to 255, given the old level v.

    .. math:: P(level \le k) = \Phi\big((k + 1/2 - v - 255\,m) / (255 \sqrt{var})\big)
    """
    from scipy.special import ndtr

    from shaketable.corruptions.compiled.levels import make_law_table

    levels = np.arange(256.0)
    over = levels[:-1] + 0.5 - levels[:, None] - 255 * mean
    return make_law_table(ndtr(over / (255 * math.sqrt(var))))


@declare(
    "rotation",
    {
        "rotation(degrees)": "images rotated clockwise; rotation(30, bilinear, fill=1): nearest, "
        "bilinear or bicubic interpolation, corners from 0 (black) to 1 (white)"
    },
)
@dataclass(frozen=True)
class Rotation(Corruption):
    """Images rotated about their centre, clockwise by ``degrees``; their size stays the same.

    Corners are filled with ``fill``: 0 black, 1 white. As MATLAB's imrotate with 'crop', which
    rotates counter-clockwise.

    Parameters
    ----------
    degrees
        Angle, clockwise.
    interpolation
        ``nearest`` or ``bilinear``.
    fill
        What corners are filled with: 0 is black, 1 white.
    bounds
        Value range; filled in from the data.

    Examples
    --------
    >>> Rotation(-30).spec, Rotation(30, "bilinear", fill=1).spec
    ('rotation(-30)', 'rotation(30, bilinear, fill=1)')
    """

    degrees: float
    interpolation: Interpolation = "nearest"
    fill: float = 0.0
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_number(self, "degrees", "be a finite number", low=-HUGE, high=HUGE)
        check_number(self, "fill", "lie in [0, 1], 0 for black", low=0, high=1)
        if self.interpolation not in get_args(Interpolation):
            raise unknown_name("interpolation", str(self.interpolation), get_args(Interpolation))

    @property
    def size(self) -> float:
        """The angle, to either side."""
        return abs(self.degrees)

    @property
    def traits(self) -> Traits:
        """Levels stay levels where they are if pixels are only moved, and the corners are one."""
        moved = self.interpolation == "nearest" and (255 * self.fill).is_integer()
        return Traits(
            points="images",
            needs_range=True,
            on_steps=True,
            takes_levels=moved,
            made_on="any" if moved else "cpu",
        )

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:  # noqa: ARG002  (nothing is random)
        """Rotate every image."""
        # compiled code, slow to load
        from shaketable.corruptions.compiled.levels import fill_rotated, find_sources

        bounds = check_finite_range(self.bounds, self)
        low, high = find_ends(bounds, levels=x.dtype == np.uint8)
        height, width, channels, first = find_layout(x.shape[1:], self.spec)
        planes = (-1, height * width, 1) if first else (len(x), height * width, channels)
        sources = find_sources(height, width, self.degrees, self.interpolation)
        images = np.ascontiguousarray(x.reshape(planes))
        out = np.empty_like(images)
        fill = low + (high - low) * self.fill
        run_over_rows(
            fill_rotated, images, out, settings=(*sources.astype(x.dtype), x.dtype.type(fill))
        )
        rotated = out.reshape(x.shape)
        return rotated if self.interpolation == "nearest" else bounds.enforce(rotated)
