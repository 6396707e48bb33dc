"""Which axes of an image are its height, width and channels, as far as its shape says.

This is the one rule. Callers decide which numbers of channels they admit, and what they do with
shapes that are ambiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

ChannelsAt: TypeAlias = Literal["absent", "first", "last", "either", "unknown"]

CHANNELS = frozenset({1, 3, 4})
"""Numbers of channels that arrays of images may have: grey, RGB, RGBA."""

DISPLAYED_CHANNELS = frozenset({1, 3})
"""Numbers of channels of images that can be displayed: grey, RGB; others can be corrupted only."""


PIXEL_COLUMNS = 64
"""Rows of uint8 with at least so many columns count as images, others as a table."""


def counts_as_images(x: Any) -> bool:
    """Whether an array or a tensor of points counts as x/255: uint8 of the shape of images.

    These are more than two axes, or rows of at least 64 values. Smaller uint8 tables and all other
    types are in their own units.

    >>> [counts_as_images(np.zeros(shape, np.uint8)) for shape in ((5, 8, 8), (5, 64), (5, 8))]
    [True, True, False]
    """
    levels = x.dtype == np.uint8 or str(x.dtype) == "torch.uint8"
    return levels and (len(x.shape) > 2 or (len(x.shape) == 2 and x.shape[1] >= PIXEL_COLUMNS))


def find_channels(shape: Sequence[int], counts: Collection[int] = CHANNELS) -> ChannelsAt:
    """Where the channels of an image of this shape are; `shape` is without the axis of rows.

    ``absent``: height and width only. ``first`` and ``last``: of three axes only that one has a
    length among `counts`. ``either``: both have. ``unknown``: none has, or there are not two or
    three axes.

    >>> find_channels((32, 32, 3)), find_channels((3, 32, 32)), find_channels((28, 28))
    ('last', 'first', 'absent')
    >>> find_channels((3, 32, 1)), find_channels((32, 32, 5)), find_channels((4,))
    ('either', 'unknown', 'unknown')
    """
    if len(shape) == 2:
        return "absent"
    if len(shape) != 3:
        return "unknown"
    first, last = shape[0] in counts, shape[2] in counts
    if first and last:
        return "either"
    return "first" if first else "last" if last else "unknown"
