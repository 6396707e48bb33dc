"""Pictures: points that are images, as small PNG files inside the page."""

from __future__ import annotations

import zlib
from base64 import b64encode

import numpy as np

from shaketable.core.types import Array

MAX_SIDE = 160
"""Pixels of a picture's longer side at most; of more, every n-th."""


def data_uri(image: Array, *, max_side: int = MAX_SIDE) -> str:
    """Image, as `are_images` knows them, as a PNG file in a ``data:`` address."""
    image = as_bytes(image)
    step = -(-max(image.shape[:2]) // max_side)
    return f"data:image/png;base64,{b64encode(png(image[::step, ::step])).decode()}"


def as_bytes(image: Array) -> Array:
    """Image, as `are_images` knows them, as uint8 with its channels last."""
    if image.ndim == 3 and image.shape[2] not in (1, 3):
        image = np.moveaxis(image, 0, 2)
    return image if image.dtype == np.uint8 else (255 * image).round().astype(np.uint8)


def png(image: Array) -> bytes:
    """PNG file of h x w or h x w x 1 grey or h x w x 3 coloured bytes."""
    height, width, *channels = image.shape
    lines = np.pad(image.reshape(height, -1), ((0, 0), (1, 0)))  # 0: the line is stored as it is
    colour_type = 2 if channels == [3] else 0
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, colour_type, 0, 0, 0])
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
        for kind, body in chunks
    )
