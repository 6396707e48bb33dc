"""JPEG compression: bit for bit as Pillow with its default settings."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.common.jpeg_kernels import compress
from shaketable.corruptions.common.severities import Parameters

# quantisation steps that the standard suggests for quality 50 (ITU-T T.81, Annex K)
_LUMA = np.array([
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
])  # fmt: skip
_CHROMA = np.full((8, 8), 99)
_CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]


def jpeg_compression(images: Array, keys: KeyArray, parameters: Parameters, side: int) -> Array:  # noqa: ARG001  (one signature for all)
    """Images as they come back from a JPEG file of a `quality` from 1 to 100.

    Baseline, chroma at half the resolution and interpolated on the way back, integer cosine
    transforms. It is not random: keys are not used.
    """
    (quality,) = parameters
    out = np.empty_like(images)
    blocks = -(-images.shape[2] // 8)
    tables = tuple(np.tile(table, blocks) for table in steps(int(quality)))
    run_over_rows(compress, images, out, settings=tables)
    return out


@lru_cache(maxsize=128)
def steps(quality: int) -> tuple[FloatArray, FloatArray]:
    """Return the quantisation steps of luminance and chroma, scaled by the JPEG Group's rule.

    >>> steps(25)[0][0]
    array([ 32.,  22.,  20.,  32.,  48.,  80., 102., 122.])
    """
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    luma, chroma = (
        np.clip((table * percent + 50) // 100, 1, 255).astype(np.float64)
        for table in (_LUMA, _CHROMA)
    )
    return luma, chroma
