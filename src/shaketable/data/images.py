"""Image files, read and written with Pillow, and whether points can be displayed as images."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.image_layout import DISPLAYED_CHANNELS, find_channels
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset
from shaketable.data.sources import explain_read_errors

SUFFIXES = (".png", ".jpg", ".jpeg")
"""Endings of the files that count as images, in lower case."""

_GREY = ("1", "L", "LA")  # Pillow's modes
_COLOUR = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


def is_image(path: Path) -> bool:
    """Whether a file is named as an image and is not hidden."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def read_shapes(paths: Sequence[Path]) -> list[tuple[int, int, int]]:
    """Height, width and number of channels, 1 or 3, of every image, read from its header."""
    with _refuse_huge(), ThreadPoolExecutor() as pool:
        return list(pool.map(_read_shape, paths))


def _read_shape(path: Path) -> tuple[int, int, int]:
    with _open_image(path) as image:
        if image.mode not in (*_GREY, *_COLOUR):
            raise ValueError(f"its values have more than 8 bits (mode {image.mode})")
        return image.height, image.width, 1 if image.mode in _GREY else 3


def read_image(path: Path, channels: int) -> Array:
    """Image as uint8, (height, width, channels); transparency is ignored."""
    with _open_image(path) as image:
        values = _convert(image, channels)
    return values.reshape(*values.shape[:2], channels)


def to_levels(image: Any) -> Array:
    """Image of Pillow's as uint8, (height, width), or (height, width, 3) in colour."""
    if image.mode not in (*_GREY, *_COLOUR):
        raise InputError(
            f"images must have values of 8 bits, got mode {image.mode}; convert them to RGB or L"
        )
    return _convert(image, 1 if image.mode in _GREY else 3)


def _convert(image: Any, channels: int) -> Array:
    plain = image.convert("RGBA") if image.mode in ("P", "PA") else image
    return np.asarray(plain.convert("L" if channels == 1 else "RGB"))


def read_images(paths: Sequence[Path], shape: tuple[int, int, int]) -> Array:
    """Images as one uint8 array, (n, *shape); an image of another size is an error."""
    x = np.empty((len(paths), *shape), np.uint8)

    def fill(row: int) -> None:
        image = read_image(paths[row], shape[2])
        if image.shape != shape:
            raise InputError(
                f"image {str(paths[row])!r} must have {shape[0]} x {shape[1]} pixels like the "
                f"others, got {image.shape[0]} x {image.shape[1]}; resize it"
            )
        x[row] = image

    # Pillow releases the interpreter lock
    with _refuse_huge(), ThreadPoolExecutor() as pool:
        for _ in pool.map(fill, range(len(paths))):
            pass
    return x


def encode_png(image: Array) -> bytes:
    """Content of a PNG file of a uint8 image, (height, width, 1 or 3)."""
    content = BytesIO()
    values = image[..., 0] if image.shape[-1] == 1 else image
    import_pillow().fromarray(values).save(content, "PNG")
    return content.getvalue()


def import_pillow() -> ModuleType:
    """Return the module ``PIL.Image``; `InputError` if Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError(
            "image files need Pillow; install it with pip install 'shaketable[image]'"
        ) from error
    module: ModuleType = Image
    return module


@contextmanager
def _open_image(path: Path) -> Iterator[Any]:
    """Open an image; every error of Pillow's becomes an `InputError` of one line."""
    library = import_pillow()
    with explain_read_errors(path, "image", "; replace or remove it"), library.open(path) as image:
        yield image


@contextmanager
def _refuse_huge() -> Iterator[None]:
    """Refuse images that Pillow only warns of; for the caller of threads that open images."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", import_pillow().DecompressionBombWarning)
        yield


def are_images(data: Dataset) -> bool:
    """Whether the points can be displayed: they have the shape and the scale of images.

    >>> from shaketable import load
    >>> are_images(load("shapes")), are_images(load("iris"))
    (True, False)
    """
    return have_image_shape(data.x) and have_image_scale(data.x)


def have_image_shape(x: Array) -> bool:
    """Whether the rows are h x w, h x w x 1 or 3, or 1 or 3 x h x w."""
    return find_channels(x.shape[1:], DISPLAYED_CHANNELS) != "unknown"


def have_image_scale(x: Array) -> bool:
    """Whether black and white are known: the values are uint8, or floats from 0 to 1."""
    return x.dtype == np.uint8 or (float(x.min()) >= 0 and float(x.max()) <= 1)
