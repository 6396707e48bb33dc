"""Images of any value range, for augmentations, which work on values in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from shaketable.corruptions.images import check_finite_range
from shaketable.data.bounds import Bounds
from shaketable.training.augmentations.operations import as_floats
from shaketable.training.augmentations.registry import Augmentation


def find_range(augmentations: Sequence[Augmentation], bounds: Bounds | None) -> Bounds | None:
    """Return the range that images are to be mapped from; None if they can stay as they are.

    Augmentations that say ``needs_range = False`` take any values, and put 0 where there is none.
    If others are among them, a range that is not declared is an `InputError`.

    >>> from shaketable.training.augmentations.flip_crop import FlipCrop
    >>> ends = [Bounds(0, 1), Bounds(0, 16), Bounds(-1, 1), None]
    >>> [str(find_range([FlipCrop()], bounds)) for bounds in ends]
    ['None', 'None', 'clip[-1, 1]', 'None']
    """
    needing: list[Any] = [a for a in augmentations if getattr(a, "needs_range", True)]
    if needing:
        bounds = check_finite_range(bounds, needing[0])
    if bounds is None or not math.isfinite(bounds.high - bounds.low):
        return None
    return None if bounds.low == 0 and (bounds.high == 1 or not needing) else bounds


def map_to_unit(x: Tensor, bounds: Bounds) -> Tensor:
    """Images with values in [low, high] as floats in [0, 1]."""
    return (as_floats(x) - bounds.low) / (bounds.high - bounds.low)


def map_from_unit(x: Tensor, bounds: Bounds, dtype: torch.dtype) -> Tensor:
    """The inverse of `map_to_unit`; 0 and 1 become exactly low and high."""
    low, high = (x.new_full((), end) for end in (bounds.low, bounds.high))
    return torch.lerp(low, high, x).to(dtype)
