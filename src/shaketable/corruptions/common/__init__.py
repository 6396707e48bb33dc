"""The 19 common corruptions of pictures, five severities each (Hendrycks & Dietterich, ICLR 2019).

Each is a function ``(images, keys, parameters) -> images`` over a batch of uint8 pictures,
(n, height, width, channels); picture i's randomness is a function of key i alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.spec import Call, Value
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.severities import (
    NAMES,
    Parameters,
    is_derived,
    parameters,
    profile_of,
    side_of,
)
from shaketable.corruptions.corruption import Corruption, on_arrays
from shaketable.data.bounds import Bounds

__all__ = ["BENCHMARK", "NAMES", "NO_NOISE", "CommonCorruption"]

_NOISE = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
_EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")

BENCHMARK = tuple(name for name in NAMES if name not in _EXTRA)
"""The 15 that the published mCE averages."""

NO_NOISE = tuple(name for name in NAMES if name not in _NOISE)
"""The 15 that are not noise on single pixels."""

LEAST_SIDE = 8
"""Pixels that a picture must have on either side."""

_FAMILIES = {
    "noises": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blurs": ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "spatter"),
    "digital": ("brightness", "contrast", "saturate", "pixelate"),
    "jpeg": ("jpeg_compression",),
    "elastic": ("elastic_transform",),
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}
_COLOUR = frozenset({"brightness", "saturate", "snow", "frost", "spatter", "jpeg_compression"})
_GREY_WEIGHTS = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class CommonCorruption(Corruption):
    """One of the 19 common corruptions at a severity from 1 to 5.

    Pictures are taken as uint8, as the originals take them: values in the declared range are
    rounded to 256 levels, and results are such levels. Sizes other than 32, 64 and 224 pixels get
    interpolated severities, unless a ``profile`` is named. Grey pictures are corrupted as colour
    pictures with equal channels where the corruption mixes colours, and turned grey again.

    >>> CommonCorruption("fog", 3).for_shape((32, 32, 3)).spec
    'fog(3, cifar)'
    """

    name: str
    severity: int
    profile: str = ""
    textures: str = ""
    """Folder of pictures for frost; empty for our own."""
    id: str = ""
    """Tells the content of that folder from any other."""
    bounds: Bounds | None = None

    on_steps = True

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_name("common corruption", self.name, NAMES)
        if isinstance(self.severity, bool) or self.severity not in range(1, 6):
            raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {self.severity!r}")
        object.__setattr__(self, "severity", int(self.severity))
        if self.profile:
            side_of(self.profile)
        if self.textures and self.name != "frost":
            raise InputError(f"textures are for frost, got {self.name}; leave them out")

    @property
    def spec(self) -> str:
        """Canonical spec string; it names the profile once that is known."""
        return str(Call(self.name, (float(self.severity), *self._profile()), self._textures()))

    @property
    def ladder(self) -> str:
        """All severities of one kind; a picture's randomness is the same at each."""
        return str(Call(self.name, self._profile(), self._textures()))

    @property
    def size(self) -> float:
        """The severity."""
        return float(self.severity)

    @property
    def derived(self) -> bool:
        """Whether its severities are interpolated, not published."""
        return bool(self.profile) and is_derived(self.profile)

    def for_shape(self, shape: tuple[int, ...]) -> CommonCorruption:
        """Return the same corruption with the profile that pictures of this shape have."""
        height, width, channels, _ = layout(shape, self.name)
        if min(height, width) < LEAST_SIDE:
            raise InputError(
                f"{self.name} needs pictures of at least {LEAST_SIDE} x {LEAST_SIDE} pixels, got "
                f"{height} x {width}; enlarge them first"
            )
        if self.name in _COLOUR and channels not in (1, 3):
            raise InputError(
                f"{self.name} needs pictures of 1 or 3 channels, got {channels}; name the others, "
                "without it, with --corruptions"
            )
        profile = self.profile or profile_of(height, width)
        return replace(self, profile=profile, id=self.id or self._texture_id())

    def _profile(self) -> tuple[str, ...]:
        return (self.profile,) if self.profile else ()

    def _textures(self) -> dict[str, Value]:
        known: dict[str, Value] = {"textures": self.textures, "id": self.id}
        return {name: value for name, value in known.items() if value}

    def _texture_id(self) -> str:
        if not self.textures:
            return ""
        from shaketable.corruptions.common.textures import fingerprint  # reads the pictures

        return f"h{fingerprint(self.textures)}"

    def bind(self, bounds: Bounds | None) -> CommonCorruption:
        """Return the same corruption with the data's value range filled in."""
        return replace(self, bounds=bounds)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Corrupt the pictures, each by its key; those of a tensor on the CPU."""
        bounds = finite_range(self.bounds, self.spec)
        bounds.check(x)
        chosen = self.for_shape(x.shape[1:])
        height, width, channels, first = layout(x.shape[1:], self.name)
        images = np.rint((x - bounds.low) * (255 / (bounds.high - bounds.low))).astype(np.uint8)
        images = np.moveaxis(images, 1, -1) if first else images
        images = np.ascontiguousarray(images.reshape(len(x), height, width, channels))
        return in_units(corrupt_images(images, drawn, chosen), x, bounds, channels_first=first)


def finite_range(bounds: Bounds | None, spec: str) -> Bounds:
    """Return the bounds; refuse none, and infinite ones, to which nothing is relative."""
    if bounds is None or math.inf in (-bounds.low, bounds.high):
        raise InputError(
            f"{spec} needs a finite value range, and none is declared; give bounds=(low, high), or "
            "--range LOW,HIGH"
        )
    return bounds


def in_units(images: Array, x: Array, bounds: Bounds, *, channels_first: bool) -> Array:
    """Return uint8 pictures in the units, the type and the shape of `x`."""
    images = np.moveaxis(images, -1, 1) if channels_first else images
    span = bounds.high - bounds.low
    return np.asarray(images.reshape(x.shape) / 255 * span + bounds.low).astype(x.dtype)


def corrupt_images(images: Array, keys: KeyArray, corruption: CommonCorruption) -> Array:
    """Corrupted copies of uint8 pictures, (n, height, width, channels); the profile is known."""
    name, profile = corruption.name, corruption.profile
    family = import_module(f"shaketable.corruptions.common.{_FAMILY[name]}")
    numbers: Parameters = parameters(name, corruption.severity, profile)
    more = (corruption.textures,) if corruption.textures else ()
    grey = images.shape[3] == 1 and name in _COLOUR
    colour = np.repeat(images, 3, axis=3) if grey else images
    found: Array = getattr(family, name)(colour, keys, numbers, side_of(profile), *more)
    if grey:
        found = np.rint(found @ _GREY_WEIGHTS).astype(np.uint8)[..., None]
    return found


def layout(shape: tuple[int, ...], name: str) -> tuple[int, int, int, bool]:
    """Height, width, channels, and whether these come first."""
    if len(shape) == 2:
        return shape[0], shape[1], 1, False
    if len(shape) != 3:
        raise InputError(
            f"{name} is for pictures, height x width x channels, got points of shape {shape}"
        )
    first = find_channels(shape) == "first"
    if shape[0] < shape[2] and not first:
        raise InputError(
            f"{name} cannot tell the channels of pictures of shape {shape}; put them last, as in "
            f"{(*shape[1:], shape[0])}"
        )
    height, width, channels = (*shape[1:], shape[0]) if first else shape
    return height, width, channels, first
