"""Severities of the 19 common corruptions: published for four sizes of images, else interpolated.

The numbers are those of the original generators (Hendrycks & Dietterich, ICLR 2019); the function
of each corruption says what its numbers mean.
"""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError

Parameters = tuple[float, ...]

SIDES = {"cifar": 32, "tiny": 64, "imagenet": 224, "inception": 299}
"""Profiles, with the side in pixels of the square images that they were published for."""


def profile_of(height: int, width: int) -> str:
    """Return the profile for images of a size: a published one, or the shorter side as ``48px``.

    >>> profile_of(32, 32), profile_of(28, 28), profile_of(240, 320)
    ('cifar', '28px', '240px')
    """
    for name, side in SIDES.items():
        if (height, width) == (side, side):
            return name
    return f"{min(height, width)}px"


def side_of(profile: str) -> int:
    """Return the side of the images that a profile is for, in pixels.

    >>> side_of("tiny"), side_of("48px")
    (64, 48)
    """
    derived = re.fullmatch(r"([1-9]\d*)px", profile)
    if derived is None and profile not in SIDES:
        raise unknown_name("profile", profile, [*SIDES, "48px and the like"])
    return int(derived[1]) if derived else SIDES[profile]


def is_derived(profile: str) -> bool:
    """Whether the severities of a profile are interpolated, not published."""
    return profile not in SIDES


def parameters(name: str, severity: int, profile: str) -> Parameters:
    """Return the numbers of one corruption at one severity.

    Between two published sides, every number is interpolated along the logarithm of the side;
    integers are rounded, and the zooms are those of the nearer side. Beyond the published sides
    the numbers are those of the nearest one, except that the lengths of elastic_transform shrink
    with smaller images.

    >>> parameters("gaussian_noise", 3, "cifar"), parameters("jpeg_compression", 1, "45px")
    ((0.08,), (73,))
    """
    if not 1 <= severity <= 5:
        raise InputError(f"severity must be 1, 2, 3, 4 or 5, got {severity}")
    published = _PUBLISHED[name]
    if profile in published:
        return published[profile][severity - 1]
    side, (small, *others) = side_of(profile), list(SIDES)
    for large in others:
        if side <= SIDES[large] or large == others[-1]:
            break
        small = large
    first, last = published[small][severity - 1], published[large][severity - 1]
    share = math.log(side / SIDES[small]) / math.log(SIDES[large] / SIDES[small])
    share = min(1.0, max(0.0, share))
    if name == "elastic_transform" and side < SIDES[small]:
        return tuple(number * side / SIDES[small] for number in first)  # lengths in pixels
    if name == "zoom_blur":
        return first if share < 0.5 else last
    return tuple(
        round(a + share * (b - a)) if i in _INTEGERS.get(name, ()) else a + share * (b - a)
        for i, (a, b) in enumerate(zip(first, last, strict=True))
    )


_INTEGERS = {  # which numbers are
    "glass_blur": (1, 2),
    "motion_blur": (0,),
    "snow": (4,),
    "spatter": (5,),
    "jpeg_compression": (0,),
}


def _read() -> dict[str, dict[str, list[Parameters]]]:
    text = files("shaketable.corruptions.common").joinpath("severities.json").read_text()
    return {
        name: {
            profile: [tuple(level) if isinstance(level, list) else (level,) for level in levels]
            for profile, levels in profiles.items()
        }
        for name, profiles in json.loads(text).items()
    }


_PUBLISHED = _read()
NAMES = tuple(_PUBLISHED)
"""Names of the 19, in the order of the benchmark's families."""
