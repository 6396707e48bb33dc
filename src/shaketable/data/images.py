"""Pictures from files and to files, one at a time; Pillow does the work."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Endings of the files that count as pictures, in lower case."""

CHANNELS = {1, 3, 4}
"""How many channels arrays of pictures may have: grey, RGB, RGBA."""

_GREY = ("1", "L", "LA")
_COLOUR = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


def is_image(path: Path) -> bool:
    """Whether the name is that of a picture, and not of a hidden file."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def shape_of(path: Path) -> tuple[int, int, int]:
    """Height, width and channels, 1 or 3, as its header says."""
    with _opened(path) as image:
        if image.mode not in (*_GREY, *_COLOUR):
            raise ValueError(f"its values have more than 8 bits (mode {image.mode})")
        return image.height, image.width, 1 if image.mode in _GREY else 3


def read(path: Path, channels: int) -> Array:
    """Picture as uint8, (height, width, channels); transparency is left out."""
    with _opened(path) as image:
        plain = image.convert("RGBA") if image.mode in ("P", "PA") else image
        values = np.asarray(plain.convert("L" if channels == 1 else "RGB"))
    return values.reshape(*values.shape[:2], channels)


def read_all(paths: Sequence[Path], shape: tuple[int, int, int]) -> Array:
    """Pictures of one shape as one array, uint8; another shape is an error."""
    x = np.empty((len(paths), *shape), np.uint8)

    def fill(row: int) -> None:
        image = read(paths[row], shape[2])
        if image.shape != shape:
            raise InputError(
                f"picture {str(paths[row])!r} must have {shape[0]} x {shape[1]} pixels like the "
                f"others, got {image.shape[0]} x {image.shape[1]}; resize it"
            )
        x[row] = image

    with ThreadPoolExecutor() as pool:  # Pillow works outside the interpreter's lock
        for _ in pool.map(fill, range(len(paths))):
            pass
    return x


def png(values: Array) -> bytes:
    """Content of a file that holds a uint8 picture, (height, width, 1 or 3), without loss."""
    content = BytesIO()
    pillow().fromarray(values[..., 0] if values.shape[-1] == 1 else values).save(content, "PNG")
    return content.getvalue()


def pillow() -> ModuleType:
    """Pillow's module for pictures, if it is installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError(
            "picture files need Pillow; install it with pip install 'shaketable[image]'"
        ) from error
    module: ModuleType = Image
    return module


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Opened picture; whatever a damaged one makes Pillow say becomes one line."""
    library = pillow()
    bomb = library.DecompressionBombError
    try:
        with library.open(path) as image:
            yield image
    except (OSError, SyntaxError, ValueError, struct.error, bomb) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"picture {str(path)!r} cannot be read: {reason}; replace or remove it"
        ) from error


def are_images(data: Dataset) -> bool:
    """Whether the points can be seen: h x w, h x w x 1 or 3, or 3 x h x w, on a known scale.

    The scale is known of uint8 and of floats from 0 to 1.

    >>> from shaketable import load
    >>> are_images(load("shapes")), are_images(load("iris"))
    (True, False)
    """
    return have_image_shape(data.x) and have_image_scale(data.x)


def have_image_shape(x: Array) -> bool:
    """Whether the rows are h x w, h x w x 1 or 3, or 1 or 3 x h x w."""
    return x.ndim == 3 or (x.ndim == 4 and bool({1, 3} & {x.shape[1], x.shape[3]}))


def have_image_scale(x: Array) -> bool:
    """Whether it is known what is black and what is white: of uint8, and of floats from 0 to 1."""
    return x.dtype == np.uint8 or (float(x.min()) >= 0 and float(x.max()) <= 1)
