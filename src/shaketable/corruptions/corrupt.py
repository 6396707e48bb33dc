"""The one-line way to corrupt an array or a tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.keys import Rng, make_key, row_keys
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.parse import as_corruption
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.columns import Columns


def corrupt(
    x: Any,
    corruption: str | Corruption,
    *,
    rng: Rng = None,
    bounds: BoundsLike = None,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Return a corrupted copy of `x`, every row with its own noise.

    Parameters
    ----------
    x
        Points, one per row, in their own units: an array, or a torch tensor, which stays on its
        device. Integers need `bounds` and become floats.
    corruption
        A spec such as ``linf(0.1)``, or a corruption.
    rng
        Seed, numpy Generator, or None for fresh noise.
    bounds
        (low, high) to clip to, or a `Bounds` for another rule; None: no bounds.
    dtype
        Of the result: a float type, or the integer type of `x`, to which results are rounded.
    out
        Where to write the result; may be `x` itself. Its type is the default of `dtype`.

    >>> noisy = corrupt(np.zeros((3, 2)), "linf(0.1)", rng=0)
    >>> noisy.shape, bool(np.abs(noisy).max() <= 0.1)
    ((3, 2), True)
    >>> corrupt(np.full((1, 3), 7, np.uint8), "linf(0.4)", rng=0, bounds=(0, 255), dtype="uint8")
    array([[7, 7, 7]], dtype=uint8)
    """
    chosen = as_corruption(corruption)
    limits = as_bounds(bounds)
    tensor = hasattr(x, "detach")
    if hasattr(x, "fingerprint"):
        raise InputError("x must be an array, got a Dataset; give its x, or use corrupted(dataset)")
    x = x if tensor else np.asarray(x)
    if not math.prod(x.shape) or not x.shape:
        raise InputError(f"x must hold at least one point, one per row, got shape {tuple(x.shape)}")
    if out is not None:
        if type(out) is not type(x) or out.shape != x.shape:
            raise InputError(
                f"out must be like x, {type(x).__name__} of shape {tuple(x.shape)}, got "
                f"{type(out).__name__} of shape {tuple(getattr(out, 'shape', ()))}"
            )
        dtype = out.dtype if dtype is None else dtype
    whole = not x.dtype.is_floating_point if tensor else x.dtype.kind in "iu"
    limits = limits.with_whole_steps() if whole and limits is not None else limits
    columns = Columns(lambda: x.detach().cpu().numpy() if tensor else x)
    chosen = chosen.for_shape(tuple(x.shape[1:])).for_columns(columns)
    keys = row_keys(make_key(rng), np.arange(len(x)), np.arange(1))[:, 0]
    if tensor:
        from shaketable.corruptions.tensors import device  # x is a tensor, so torch is there

        return device.corrupt(x, chosen.bind(limits), keys, limits, dtype=dtype, out=out)
    noisy = corrupt_array(x, chosen.bind(limits), keys, limits, dtype=dtype)
    if out is None:
        return noisy
    out[...] = noisy
    return out


def corrupt_array(
    x: Array, corruption: Corruption, keys: KeyArray, bounds: Bounds | None, *, dtype: Any = None
) -> Array:
    """Return a corrupted copy of an array of any number type; see `corrupt`."""
    exact = x.dtype.kind in "iu"
    if not exact and x.dtype.kind != "f":
        raise InputError(f"x must hold real numbers, got dtype {x.dtype}")
    if exact and bounds is None:
        raise InputError(
            f"x holds whole numbers ({x.dtype}), so their range must be declared: give bounds, "
            "such as (0, 255), or convert x to floats"
        )
    small = x.dtype.itemsize <= (1 if exact else 4)
    floats = x.astype(np.float32 if small else np.float64, copy=False)
    try:
        wanted = np.dtype((floats if exact else x).dtype if dtype is None else dtype)
    except TypeError as error:
        raise InputError(f"dtype must be a number type, got {dtype!r}") from error
    if wanted.kind != "f" and wanted != x.dtype:
        raise InputError(f"dtype must be a float type or that of x, {x.dtype}, got {wanted}")
    if wanted.kind != "f" and bounds is not None:
        check_room(bounds, np.iinfo(wanted))
    noisy = corruption(floats, keys)
    noisy = noisy.copy() if noisy is x else noisy
    return (np.rint(noisy) if wanted.kind != "f" else noisy).astype(wanted, copy=False)


def check_room(bounds: Bounds, room: Any) -> None:
    """Raise `InputError` for bounds that an integer type cannot hold."""
    if bounds.low < room.min or bounds.high > room.max:
        raise InputError(
            f"bounds must lie in [{room.min}, {room.max}] for results of this integer type, got "
            f"[{bounds.low:g}, {bounds.high:g}]; narrow them, or ask for floats"
        )
