"""Points that are images, as small PNG files inside a page."""

from __future__ import annotations

import zlib
from base64 import b64encode

import numpy as np

from shaketable.core.image_layout import DISPLAYED_CHANNELS, find_channels
from shaketable.core.types import Array

MAX_SIDE = 160
"""Largest length of an image's longer side, in pixels; larger images are subsampled."""


def to_data_uri(image: Array, *, max_side: int = MAX_SIDE) -> str:
    """Image that can be displayed (`are_images`) as a PNG file in a ``data:`` address."""
    image = to_uint8(image)
    step = -(-max(image.shape[:2]) // max_side)
    return f"data:image/png;base64,{b64encode(encode_png(image[::step, ::step])).decode()}"


def to_uint8(image: Array) -> Array:
    """Image that can be displayed (`are_images`) as uint8 with its channels last.

    >>> to_uint8(np.zeros((3, 8, 6))).shape
    (8, 6, 3)
    """
    if find_channels(image.shape, DISPLAYED_CHANNELS) in ("first", "unknown"):
        image = np.moveaxis(image, 0, 2)
    return image if image.dtype == np.uint8 else (255 * image).round().astype(np.uint8)


def encode_png(image: Array) -> bytes:
    """Content of a PNG file of uint8 values: h x w or h x w x 1 for grey, h x w x 3 for colour.

    It needs no Pillow; `data.images.encode_png` compresses better.
    """
    height, width, *channels = image.shape
    # each line begins with its filter; 0: the values are stored as they are
    lines = np.pad(image.reshape(height, -1), ((0, 0), (1, 0)))
    colour_type = 2 if channels == [3] else 0
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, colour_type, 0, 0, 0])
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
        for kind, body in chunks
    )
