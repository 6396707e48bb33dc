"""The one-line way to corrupt an array or a tensor."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from shaketable.core.arrays import check_exact, find_not_finite
from shaketable.core.errors import InputError
from shaketable.core.image_layout import counts_as_images
from shaketable.core.keys import Rng, make_key
from shaketable.core.threads import run_over_rows
from shaketable.core.types import Array, FloatArray, KeyArray
from shaketable.corruptions.compose import Named
from shaketable.corruptions.corruption import Corruption
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.one_of import OneOf, Share
from shaketable.corruptions.parse import as_corruption
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.corruptions.table_faults import fit_to_frame
from shaketable.corruptions.training_sets import NoiseSet
from shaketable.data.bounds import Bounds, BoundsLike, as_bounds
from shaketable.data.columns import Columns
from shaketable.data.frames.schema import is_frame

_BLOCK = 1 << 17  # values
_UINT8 = np.dtype(np.uint8)
_FRACTIONS = Bounds(0.0, 1.0, steps=255)  # of uint8 images that count as x/255


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

    uint8 images count as x/255: sizes of noise are for values in [0, 1], and results are rounded to
    uint8 again. Images are arrays with more than two axes, or at least 64 columns. Everything else
    is in its own units, and so are uint8 images with bounds such as (0, 255).

    Parameters
    ----------
    x
        Points, one per row: an array; a data frame of numbers, whose columns ``only=`` can name; or
        a torch tensor, which stays on its device. Integers other than uint8 images need `bounds`
        and become floats. NaN, infinities and integers beyond 2**53 are refused, and so are results
        that overflow; on a GPU, values are not checked.
    corruption
        A spec such as ``linf(0.1)``, or a corruption. One that depends on columns, such as
        ``jitter(0.2)``, takes them from `x`, which must have two rows or more.
    rng
        Seed, numpy Generator, or None for fresh noise.
    bounds
        (low, high) to clip to, or a `Bounds` for another rule; None: no bounds, and [0, 1] for
        uint8 images. Bounds of uint8 images other than (0, 1) are in units of the 256 levels.
    dtype
        Of the result: a float type, or the integer type of `x`, to which results are rounded.
    out
        Where to write the result; may be `x` itself. Its type is the default of `dtype`.

    Returns
    -------
    Any
        The corrupted copy, of the kind that `x` is.

    Examples
    --------
    >>> noisy = corrupt(np.zeros((3, 2)), "linf(0.1)", rng=0)
    >>> noisy.shape, bool(np.abs(noisy).max() <= 0.1)
    ((3, 2), True)
    >>> images = np.full((1, 8, 8), 100, np.uint8)
    >>> foggy = corrupt(images, "fog(3)", rng=0)
    >>> foggy.dtype, corrupt(images, "linf(0.4)", rng=0, bounds=(0, 255), dtype="uint8").max()
    (dtype('uint8'), np.uint8(100))
    """
    tensor = hasattr(x, "detach")
    if hasattr(x, "fingerprint"):
        raise InputError("x must be an array, got a Dataset; give its x, or use corrupted(dataset)")
    if is_frame(x) and not all(dtype.kind in "biuf" for dtype in x.dtypes):
        raise InputError(
            "x must be an array of numbers, got a data frame with others; use "
            "corrupted(make_dataset(frame, labels), …), whose decode(x) gives a frame"
        )
    given, x = x, x if tensor else np.asarray(x)
    if not math.prod(x.shape) or not x.shape:
        raise InputError(f"x must hold at least one point, one per row, got shape {tuple(x.shape)}")
    if out is not None:
        if type(out) is not type(x) or out.shape != x.shape:
            raise InputError(
                f"out must be like x, {type(x).__name__} of shape {tuple(x.shape)}, got "
                f"{type(out).__name__} of shape {tuple(getattr(out, 'shape', ()))}"
            )
        dtype = out.dtype if dtype is None else dtype
    _check_values(x, given)
    limits = choose_limits(x, bounds)
    names = None
    if is_frame(given):
        names, corruption = tuple(map(str, given.columns)), fit_to_frame(as_corruption(corruption))
    chosen = prepare(corruption, x, limits, names)
    from shaketable.corruptions.compiled.streams import first_keys  # compiled code, slow to load

    keys = first_keys(make_key(rng), len(x))
    if tensor:
        from shaketable.corruptions.tensors import device  # x is a tensor, so torch is there

        with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
            noisy = device.corrupt(x, chosen, keys, limits, dtype=dtype, out=out)
        return check_noisy(noisy, chosen)
    noisy = check_noisy(corrupt_array(x, chosen, keys, limits, dtype=dtype), chosen)
    if out is None:
        return noisy
    out[...] = noisy
    return out


def check_noisy(noisy: Any, corruption: Corruption) -> Any:
    """Return corrupted points; raise `InputError` if noise took values beyond the range of floats.

    Values of tensors that are not on the CPU are not checked. Gaps in integers are refused.
    """
    values = noisy
    if corruption.traits.leaves_gaps:
        if not is_floating(noisy):
            raise InputError(
                f"{corruption.spec} leaves values empty, which {noisy.dtype} cannot hold; convert "
                "x to floats, ask for a float dtype, or write missing(share, mean)"
            )
        values = (
            noisy.nan_to_num(0.0)
            if hasattr(noisy, "detach")
            else np.where(np.isnan(noisy), 0, noisy)
        )
    if is_floating(noisy) and (where := find_not_finite(values)):
        raise InputError(
            f"{corruption.spec} takes values beyond the range of {noisy.dtype}: {where}; choose a "
            "smaller size, scale the data, or ask for a larger type"
        )
    return noisy


def _check_values(x: Any, given: Any) -> None:
    """Raise `InputError` for values that are not finite, and for integers too large for floats."""
    check_exact(x, "x", given)
    if is_floating(x) and (where := find_not_finite(x)):
        raise InputError(f"x must be finite, got {where}; drop or fill such rows")


def is_floating(x: Any) -> bool:
    """Whether an array or a tensor holds floats."""
    return bool(x.dtype.is_floating_point if hasattr(x, "detach") else x.dtype.kind == "f")


def corrupt_array(
    x: Array, corruption: Corruption, keys: KeyArray, bounds: Bounds | None, *, dtype: Any = None
) -> Array:
    """Return a corrupted copy of an array of any number type; see `corrupt`."""
    wanted, floats = choose_types(x.dtype, bounds, as_dtype(dtype))
    while isinstance(corruption, Named | NoiseSet):
        corruption = (
            corruption.choice if isinstance(corruption, NoiseSet) else corruption.corruption
        )
    if x.dtype == _UINT8 and takes_levels(corruption, bounds):
        levels = corruption(x, keys)
        if wanted == _UINT8:
            return levels.copy() if levels is x else levels
        return np.asarray(levels / floats.type(find_scale(x.dtype, bounds))).astype(wanted)
    scale = floats.type(find_scale(x.dtype, bounds))
    if wanted == _UINT8:
        out = np.empty(x.shape, _UINT8)
        if isinstance(corruption, OneOf):
            for share in corruption.split(keys):
                out[share.rows] = _round_share(x[share.rows], share, bounds, scale)
        elif corruption.traits.additive:
            sizes = np.full(len(x), corruption.traits.additive.scale)
            run_over_rows(_fill_rounded, x, keys, sizes, out, settings=(corruption, scale))
        else:
            _fill_rounded(x, keys, None, out, corruption, scale)
        return out
    with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
        noisy = corruption(x.astype(floats, copy=False) if scale == 1 else x / scale, keys)
        noisy = noisy.copy() if noisy is x else noisy
        return (np.rint(noisy) if wanted.kind != "f" else noisy).astype(wanted, copy=False)


def _round_share(x: Array, share: Share, bounds: Bounds | None, scale: np.floating[Any]) -> Array:
    """Return uint8 that one part, or parts of one ladder, make of rows of uint8."""
    part: Any = share.corruption
    if share.sizes is None:
        return corrupt_array(x, part, share.keys, bounds, dtype=_UINT8)
    if takes_levels(part, bounds):
        levels: Array = part.apply(x, part.draw(x, share.keys), share.sizes)
        return levels
    if part.traits.additive:
        out = np.empty(x.shape, _UINT8)
        run_over_rows(_fill_rounded, x, share.keys, share.sizes, out, settings=(part, scale))
        return out
    floats = x / scale
    noisy = part.apply(floats, part.draw(floats, share.keys), share.sizes)
    return np.asarray(np.rint(noisy * scale), _UINT8)


def _fill_rounded(  # noqa: PLR0917  (it runs over rows)
    x: Array,
    keys: KeyArray,
    sizes: FloatArray | None,
    out: Array,
    corruption: Corruption,
    scale: np.floating[Any],
) -> None:
    """Corrupt uint8 as floats, and round the results to uint8.

    Noise that is added is drawn for as many rows at a time as fit into a processor's cache, and
    every row has its own size.
    """
    # compiled code, slow to load
    from shaketable.corruptions.compiled.levels import add_to_levels, round_to_levels

    added = corruption.traits.additive
    if added is None or sizes is None:
        round_to_levels(corruption(x / scale, keys), 0.0, float(scale), out)
        return
    step = max(1, _BLOCK // math.prod(x.shape[1:]))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        if isinstance(corruption, PNormNoise | Gaussian):
            like = np.broadcast_to(scale, x[rows].shape)  # its shape and type
            noise = corruption.draw(like, keys[rows])
            add_to_levels(x[rows], noise, float(scale), added, sizes[rows], out[rows])
        else:
            round_to_levels(corruption(x[rows] / scale, keys[rows]), 0.0, float(scale), out[rows])


def takes_levels(corruption: Corruption, bounds: Bounds | None) -> bool:
    """Whether uint8 can be corrupted as it is: 0 and 255 are the ends of its range."""
    return (
        corruption.traits.takes_levels
        and bounds is not None
        and (bounds.low, bounds.steps) == (0, 255)
    )


def find_scale(dtype: np.dtype[Any], bounds: Bounds | None) -> float:
    """Return what values are divided by: 255 for uint8 that counts as x/255, else 1."""
    fractions = dtype == _UINT8 and bounds is not None and (bounds.high, bounds.steps) == (1, 255)
    return 255.0 if fractions else 1.0


def as_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return the type of results that was asked for; None if none was."""
    try:
        return None if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise InputError(f"dtype must be a number type, got {dtype!r}") from error


@lru_cache(maxsize=64)
def choose_types(
    given: np.dtype[Any], bounds: Bounds | None, wanted: np.dtype[Any] | None
) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the types of the result and of the computation, or raise `InputError`."""
    exact = given.kind in "iu"
    if not exact and given.kind != "f":
        raise InputError(f"x must hold real numbers, got dtype {given}")
    if exact and bounds is None:
        raise InputError(
            f"x holds whole numbers ({given}), so their range must be declared: give bounds, "
            "such as (0, 255), or convert x to floats"
        )
    floats = np.dtype(np.float32 if given.itemsize <= (1 if exact else 4) else np.float64)
    if wanted is None:
        wanted = floats if exact and find_scale(given, bounds) == 1 else given
    if wanted.kind != "f" and wanted != given:
        raise InputError(f"dtype must be a float type or that of x, {given}, got {wanted}")
    if wanted.kind != "f" and bounds is not None:
        check_room(bounds, np.iinfo(wanted))
    return wanted, floats


def check_room(bounds: Bounds, room: Any) -> None:
    """Raise `InputError` for bounds that an integer type cannot hold."""
    if bounds.low < room.min or bounds.high > room.max:
        raise InputError(
            f"bounds must lie in [{room.min}, {room.max}] for results of this integer type, got "
            f"[{bounds.low:g}, {bounds.high:g}]; narrow them, or ask for floats"
        )


def choose_limits(x: Any, bounds: BoundsLike) -> Bounds | None:
    """Return the bounds that apply to `x`, with the steps of its values if they are whole numbers.

    uint8 images that count as x/255 get 255 steps from 0 to 1.
    """
    if bounds is None:
        return _FRACTIONS if counts_as_images(x) else None
    limits = as_bounds(bounds)
    if limits is None or is_floating(x):
        return limits
    if (limits.low, limits.high) == (0, 1) and counts_as_images(x):
        return replace(limits, steps=255)
    return limits.with_whole_steps()


def prepare(
    corruption: str | Corruption,
    x: Any,
    limits: Bounds | None,
    names: tuple[str, ...] | None = None,
) -> Corruption:
    """Return a corruption with all that shape, columns, their names and range decide."""
    # the function behind package.module:name may be another one at the next call
    shape = tuple(x.shape[1:])
    if not isinstance(corruption, str):
        fitted = _fit_same(_Same(corruption), shape, limits)
    elif ":" not in corruption:
        fitted = _fit_known(corruption, shape, limits)
    else:
        fitted = _fit(corruption, shape, limits)
    if _ignores_columns(fitted):
        return fitted

    if fitted.traits.by_column and len(x) < 2:
        raise InputError(
            f"{fitted.spec} depends on the columns of the data, of which one row shows nothing; "
            "give two rows or more, or use evaluate with all data"
        )

    def read() -> Array:
        array: Array = x
        if hasattr(x, "detach"):
            on_host = x.detach().cpu()  # bfloat16 is no type of numpy
            array = (on_host.float() if "bfloat16" in str(x.dtype) else on_host).numpy()
        return array / find_scale(array.dtype, limits)

    return fitted.for_columns(Columns(read, names)).bind(limits)


def _fit(corruption: str | Corruption, shape: tuple[int, ...], limits: Bounds | None) -> Corruption:
    """Return a corruption for points of this shape, bound unless columns are to be filled in."""
    fitted = as_corruption(corruption).for_shape(shape)
    return fitted.bind(limits) if _ignores_columns(fitted) else fitted


_fit_known = lru_cache(maxsize=256)(_fit)


class _Same:
    """An object that equals itself alone: to compare long corruptions takes longer than to fit."""

    def __init__(self, thing: Corruption) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing


@lru_cache(maxsize=64)
def _fit_same(corruption: _Same, shape: tuple[int, ...], limits: Bounds | None) -> Corruption:
    return _fit(corruption.thing, shape, limits)


def _ignores_columns(corruption: Corruption) -> bool:
    same = type(corruption).for_columns is Corruption.for_columns
    return same and all(map(_ignores_columns, corruption.members))
