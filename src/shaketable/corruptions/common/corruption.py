"""The class of the 19 common corruptions, which finds the function and the numbers of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.spec import Call, Value, format_value
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.common.severities import (
    NAMES,
    Parameters,
    is_derived,
    parameters,
    profile_of,
    side_of,
)
from shaketable.corruptions.corruption import Corruption, LevelLaw, Traits, on_arrays
from shaketable.corruptions.images import (
    ImageLayout,
    check_finite_range,
    find_layout,
    from_levels,
    to_images,
    to_levels,
)
from shaketable.corruptions.registry import CORRUPTIONS, Declaration, EpsMin, read_arguments
from shaketable.data.bounds import Bounds

_FAMILIES = {  # modules with the functions that they define
    "noises": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blurs": ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog"),
    "spatter": ("spatter",),
    "digital": ("brightness", "contrast", "saturate", "pixelate"),
    "jpeg": ("jpeg_compression",),
    "elastic": ("elastic_transform",),
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}
_EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
_COLOUR = frozenset({"brightness", "saturate", "snow", "frost", "spatter", "jpeg_compression"})
_FOLDERS = ("textures", "published", "id")  # options whose values are texts
_GREY_WEIGHTS = np.array([0.299, 0.587, 0.114])

BENCHMARK = tuple(name for name in NAMES if name not in _EXTRA)
"""The 15 that the published mCE averages."""

NO_NOISE = tuple(name for name in NAMES if name not in _FAMILIES["noises"])
"""The 15 that are not noise on single pixels."""

LEAST_SIDE = 8
"""Smallest height and width of an image, in pixels."""


@dataclass(frozen=True)
class CommonCorruption(Corruption):
    """One of the 19 common corruptions at a severity from 1 to 5.

    Images are corrupted as uint8, like the originals: values in the declared range are rounded to
    256 levels, and results are such levels. Sizes other than 32, 64, 224 and 299 pixels get
    interpolated severities, unless a ``profile`` is named. A corruption that mixes colours takes
    grey images as colour images with equal channels, and converts the result to grey. With
    ``jpeg``, results are compressed like the published images of 64 pixels and more.

    Parameters
    ----------
    name
        Such as ``fog``; ``shaketable list corruptions`` lists all.
    severity
        From 1 to 5.
    profile
        Parameters of a size of images, such as ``cifar``; by default those for the data.
    textures
        Folder of frost textures; by default our own.
    id
        Identity of the textures; filled in.
    bounds
        Value range; filled in from the data.
    jpeg
        Quality of a JPEG file that images pass through; None for none.

    Examples
    --------
    >>> CommonCorruption("fog", 3).for_shape((32, 32, 3)).spec
    'fog(3, cifar)'
    >>> CommonCorruption("fog", 3, jpeg=85).for_shape((64, 64, 3)).spec
    'fog(3, tiny, jpeg=85)'
    """

    name: str
    severity: int
    profile: str = ""
    """Image size whose severities are used, such as ``cifar``; empty until the shape is known."""
    textures: str = ""
    """Folder of images for frost; empty for the built-in ones."""
    id: str = ""
    """Hash of the content of that folder."""
    bounds: Bounds | None = None
    jpeg: int | None = None
    """Quality of a JPEG compression, 1 to 100, of the corrupted images; None for no compression."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise unknown_name("common corruption", self.name, NAMES)
        if isinstance(self.severity, bool) or self.severity not in range(1, 6):
            raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {self.severity!r}")
        object.__setattr__(self, "severity", int(self.severity))
        if self.profile:
            side_of(self.profile)
        if self.jpeg is not None:
            object.__setattr__(self, "jpeg", check_quality(self.jpeg))
        if self.textures and self.name != "frost":
            raise InputError(f"textures are for frost, got {self.name}; leave them out")

    def write(self) -> Call:
        """Return its kind with severity and profile, once that is known, and other options."""
        given: dict[str, Value] = {"jpeg": float(self.jpeg or 0), "textures": self.textures}
        options = {name: value for name, value in {**given, "id": self.id}.items() if value}
        profile = (self.profile,) if self.profile else ()
        return Call(self.name, (float(self.severity), *profile), options)

    @property
    def traits(self) -> Traits:
        """Noise on single values is made where levels are, the others on the CPU."""
        by_value = self.name in _FAMILIES["noises"] and not self.jpeg
        return Traits(
            needs_range=True, on_steps=True, takes_levels=True, made_on="any" if by_value else "cpu"
        )

    @property
    def derived(self) -> bool:
        """Whether its severities are interpolated, not published."""
        return bool(self.profile) and is_derived(self.profile)

    def for_shape(self, shape: tuple[int, ...]) -> CommonCorruption:
        """Return the same corruption with the profile for images of this shape."""
        layout = find_layout(shape, self.name)
        if min(layout.height, layout.width) < LEAST_SIDE:
            raise InputError(
                f"{self.name} needs images of at least {LEAST_SIDE} x {LEAST_SIDE} pixels, got "
                f"{layout.height} x {layout.width}; enlarge them first"
            )
        if (self.name in _COLOUR or self.jpeg) and layout.channels not in (1, 3):
            what = f"{self.name} with jpeg={self.jpeg}" if self.jpeg else self.name
            remedy = "leave jpeg out, or " if self.jpeg else ""
            raise InputError(
                f"{what} needs images of 1 or 3 channels, got {layout.channels}; {remedy}name the "
                f"other corruptions, without it, with {either('--corruptions', 'corruptions=')}"
            )
        profile = self.profile or profile_of(layout.height, layout.width)
        return replace(self, profile=profile, id=self.id or self._texture_id())

    def _texture_id(self) -> str:
        if not self.textures:
            return ""
        from shaketable.corruptions.common.textures import fingerprint  # reads the images

        return f"h{fingerprint(self.textures)}"

    @property
    def level_law(self) -> LevelLaw | None:
        """The table of the noise; its profile must be known."""
        if self.traits.made_on == "cpu":
            return None
        from shaketable.corruptions.common.noises import find_table  # compiled code, slow to load

        numbers, _ = _find_numbers(self.name, self.severity, self.profile)
        return LevelLaw(find_table(self.name, numbers), channels_last=True)

    @on_arrays
    def apply(self, x: Array, drawn: KeyArray) -> Array:
        """Corrupt the images, each by its key; those of a tensor on the CPU."""
        bounds = check_finite_range(self.bounds, self)
        corruption, layout = _fit(self, x.shape[1:])
        images = to_images(to_levels(x, bounds), layout)
        corrupted = corrupt_images(images, drawn, corruption)
        return from_levels(corrupted, x, bounds, channels_first=layout.channels_first)


@lru_cache(maxsize=256)
def _fit(
    corruption: CommonCorruption, shape: tuple[int, ...]
) -> tuple[CommonCorruption, ImageLayout]:
    """Return the corruption for images of this shape, and their layout."""
    return corruption.for_shape(shape), find_layout(shape, corruption.name)


def corrupt_images(images: Array, keys: KeyArray, corruption: CommonCorruption) -> Array:
    """Return corrupted copies of uint8 images, (n, height, width, channels).

    The profile of the corruption must be known.
    """
    name = corruption.name
    numbers, side = _find_numbers(name, corruption.severity, corruption.profile)
    textures = (corruption.textures,) if corruption.textures else ()
    images = _run(name, images, keys, numbers, side, *textures)
    if corruption.jpeg:
        images = _run("jpeg_compression", images, keys, (corruption.jpeg,), side)
    return images


@lru_cache(maxsize=256)
def _find_numbers(name: str, severity: int, profile: str) -> tuple[Parameters, int]:
    """Return the numbers of a corruption, and the side of the images that they are for."""
    return parameters(name, severity, profile), side_of(profile)


def _run(name: str, images: Array, *arguments: Any) -> Array:
    """Return what the function of that name makes of images, grey ones taken as colour images."""
    grey = images.shape[3] == 1 and name in _COLOUR
    colour = np.repeat(images, 3, axis=3) if grey else images
    corrupted: Array = _find_function(name)(colour, *arguments)
    return np.rint(corrupted @ _GREY_WEIGHTS).astype(np.uint8)[..., None] if grey else corrupted


@lru_cache(maxsize=len(_FAMILY))
def _find_function(name: str) -> Any:
    return getattr(import_module(f"shaketable.corruptions.common.{_FAMILY[name]}"), name)


def check_quality(quality: Any) -> int:
    """Return the quality of a JPEG compression, or raise an `InputError`.

    >>> check_quality(85.0)
    85
    """
    if isinstance(quality, bool) or quality not in range(1, 101):
        raise InputError(f"jpeg must be a quality from 1 to 100, such as 85, got {quality!r}")
    return int(quality)


def _read(call: Call, eps_min: EpsMin | None) -> Corruption:  # noqa: ARG001  (of p-norms alone)
    """Corruption that a spec names: computed here, or read from a folder of published images."""
    folders = {name: format_value(v) for name, v in call.options.items() if name in _FOLDERS}
    others = {name: value for name, value in call.options.items() if name not in _FOLDERS}
    numbers = Call(call.name, call.args, others)
    severity, rest = read_arguments(numbers, "severity", "profile", "jpeg")
    if severity not in range(1, 6):
        raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {severity:g}")
    profile, id_ = str(rest.get("profile", "")), folders.get("id", "")
    jpeg = rest.get("jpeg")
    textures, published = folders.get("textures", ""), folders.get("published", "")
    if "published" not in folders:
        if id_ and not textures:
            raise InputError(f"id goes with published= or textures=, got {call}")
        return CommonCorruption(call.name, int(severity), profile, textures, id=id_, jpeg=jpeg)
    for option in ("textures", "jpeg"):
        if option in call.options:
            raise InputError(
                f"{option}= is for images made here, not for published ones, got {call}"
            )
    from shaketable.corruptions.published import PublishedCorruption  # it builds on this module

    return PublishedCorruption(call.name, int(severity), published, profile=profile, id=id_)


CORRUPTIONS.add(
    "KIND",
    Declaration(
        read=_read,
        pattern="|".join(NAMES),
        names=NAMES,
        forms={
            "KIND(severity)": "common corruption of images, severity 1 to 5: " + ", ".join(NAMES),
            "KIND(severity, jpeg=QUALITY)": "the same, then JPEG; 85: as Tiny-ImageNet-C and "
            "ImageNet-C",
            "KIND(severity, published=FOLDER)": "the same, read from CIFAR-10-C, ImageNet-C and "
            "the like",
        },
        home=__name__,
    ),
)
