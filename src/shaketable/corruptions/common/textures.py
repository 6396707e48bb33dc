"""Ice for `frost`: textures drawn by `crystals`, or pictures from a folder.

The original corruption crops five photographs, the second and third of which are the same. By
default ours are drawn: they are like those in the numbers that `crystals` names, and in no pixel.
The photographs themselves, or any others, can be taken from a folder.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.types import Array, IntArray
from shaketable.corruptions.common.crystals import ICES, grow

_ORIGINALS = ("frost1", "frost2", "frost3", "frost4", "frost5")
_REDUCTIONS = {32: 0.2, 64: 0.3, 224: 1.0}
_BITS = 11  # of the weights in a reduction


@lru_cache(maxsize=8)
def textures(source: str = "") -> tuple[Array, ...]:
    """Textures of ice, (height, width, 3) uint8: our own, or all of a folder.

    >>> [texture.shape[:2] for texture in textures()]
    [(600, 900), (315, 560), (315, 560), (350, 527), (495, 660)]
    """
    if source:
        return frost_folder(source)
    first, second, *others = (grow(ice, f"texture {i}") for i, ice in enumerate(ICES))
    return first, second, second, *others


def frost_folder(path: str | Path) -> tuple[Array, ...]:
    """Pictures of a folder: frost1 to frost5 as in the original if it has them, else all, sorted.

    The original never uses its sixth picture, and neither do we.
    """
    from shaketable.data.images import (  # only where one is named
        import_pillow,
        is_image,
        read_image,
        read_shape,
    )

    import_pillow()
    folder = Path(path)
    try:
        files = sorted(f for f in folder.iterdir() if is_image(f))
    except OSError as error:
        raise InputError(
            f"the folder of frost textures cannot be read: {error}; name a folder of pictures "
            "(.png, .jpg), or none for the built-in textures"
        ) from error
    if not files:
        raise InputError(
            f"the folder of frost textures {folder} has no .png or .jpg picture; put some there, "
            "or name none for the built-in textures"
        )
    named = {f.stem.lower(): f for f in reversed(files)}
    if all(name in named for name in _ORIGINALS):
        files = [named[name] for name in _ORIGINALS]
    for file in files:
        read_shape(file)  # refuses what has more than 8 bits
    return tuple(read_image(file, 3) for file in files)


@lru_cache(maxsize=8)
def fingerprint(source: str = "") -> str:
    """Eight hex digits that tell textures apart, wherever they lie."""
    found = textures(source)
    return f"{digest(*(part for t in found for part in (*t.shape, t.tobytes()))) >> 32:08x}"


def reduction(side: int) -> float:
    """Scale of the textures for a profile: 0.2, 0.3 and 1 as published, else along log(side).

    >>> reduction(32), round(reduction(48), 3), reduction(500)
    (0.2, 0.258, 1.0)
    """
    sides = np.log(list(_REDUCTIONS))
    return float(np.interp(math.log(side), sides, list(_REDUCTIONS.values())))


@lru_cache(maxsize=16)
def ice(
    source: str, side: int, height: int, width: int
) -> tuple[Array, IntArray, IntArray, IntArray]:
    """Textures for pictures of a size, one behind the other; where they start; heights and widths.

    They are reduced as the profile has it, or enlarged just enough to hold a picture.
    """
    found = []
    for texture in textures(source):
        rows, columns = texture.shape[:2]
        found.append(resized(texture, max(reduction(side), height / rows, width / columns)))
    starts = np.cumsum([0, *(t.size for t in found[:-1])])
    heights, widths = np.array([t.shape[:2] for t in found]).T.copy()
    return np.concatenate([t.ravel() for t in found]), starts, heights, widths


def resized(image: Array, scale: float) -> Array:
    """Picture of round(scale * size) pixels by linear interpolation between the nearest four.

    Centres of pixels lie on halves, nothing is averaged away when reducing, and the weights have 11
    bits: as OpenCV resizes uint8 by default.
    """
    if scale == 1:
        return image
    rows, columns = (max(1, round(scale * size)) for size in image.shape[:2])
    left, right, *across = _places(columns, image.shape[1], scale)
    above, below, *down = _places(rows, image.shape[0], scale)
    pixels = image.astype(np.int64)
    lines = pixels[:, left] * across[0][:, None] + pixels[:, right] * across[1][:, None]
    lines >>= 4
    upper, lower = (
        lines[i] * w[:, None, None] >> 16 for i, w in zip((above, below), down, strict=True)
    )
    return ((upper + lower + 2) >> 2).astype(np.uint8)


def _places(size: int, source: int, scale: float) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Two neighbours to read along an axis, and their weights."""
    position = np.float32((np.arange(size) + 0.5) * (1 / scale) - 0.5).clip(0, source - 1)
    before = np.floor(position).astype(np.int64)
    share = position - np.floor(position)
    weights = (np.rint(part * (1 << _BITS)).astype(np.int64) for part in (1 - share, share))
    return before, np.minimum(before + 1, source - 1), *weights
