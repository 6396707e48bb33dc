"""Corruptions of torch tensors, on the device that holds them.

On the CPU a tensor gets exactly the bytes that the same array gets. On a CUDA device noise is made
where it is added, by the kernels of `fused`; only keys are moved. Other devices, CUDA without
Triton, and norms beyond the range of the ziggurat get noise that was drawn on the CPU: the noise is
moved, the points are not. Balls cut by their bounds are computed on the CPU, except in L-inf.
Levels are rotated, and get noise on single values, where they are, to the bit as on the CPU.

Half precision is computed in float32, and rounded after every factor. No gradient is followed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.tensors import move
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.camera_faults import Rotation
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corrupt import as_dtype, choose_types, find_scale, takes_levels
from shaketable.corruptions.corruption import AddedNoise, Corruption, LevelLaw
from shaketable.corruptions.images import find_layout
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.one_of import OneOf
from shaketable.data.bounds import Bounds


def corrupt(
    x: Tensor,
    corruption: Corruption,
    keys: KeyArray | Tensor,
    bounds: Bounds | None,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Corrupted copy of a tensor of any number type, by the rules of `corrupt_array`."""
    x = x.detach() if x.requires_grad else x  # else it stays the same object
    wanted, floats = _types(x, bounds, dtype)
    scale = find_scale(_numpy_type(x.dtype), bounds)
    if x.dtype == torch.uint8 and takes_levels(corruption, bounds):
        noisy = call(corruption, x, keys)
        noisy = noisy if wanted == torch.uint8 else _divide(noisy, scale, floats).to(wanted)
    else:
        points = _divide(x, scale, floats)
        target = points if points is not x else out
        if target is not None and (target.dtype, target.device) != (points.dtype, x.device):
            target = None
        noisy = call(corruption, points, keys, target)
        if not wanted.is_floating_point:
            noisy = (noisy if scale == 1 else noisy.mul_(scale)).round_()
        noisy = noisy.to(wanted)
    if out is not None:
        return out if noisy is out else out.copy_(noisy)
    return noisy.clone() if noisy is x else noisy


def _divide(x: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """Values as floats, divided by a scale; by a tensor, as CUDA multiplies by 1 / scale else."""
    return x.to(dtype) if scale == 1 else x.to(dtype).div_(torch.tensor(scale, device=x.device))


def call(corruption: Corruption, x: Any, keys: Any, out: Any = None) -> Any:
    """Corrupted copy of the rows of `x`, written to `out` if that is given, which may be `x`."""
    x = x.detach() if x.requires_grad else x  # else it stays the same object
    corruption = corruption.corruption if isinstance(corruption, Named) else corruption
    if isinstance(corruption, Sequence):
        noisy, host = x, _host_keys(keys)
        for i, stage in enumerate(corruption.members):
            own = None if noisy is x else noisy
            noisy = call(stage, noisy, fold(host, i), own if out is None else out)
    elif (noise := corruption.traits.additive) and _is_fused(noise.p, x):
        return _fill(x.new_empty(x.shape) if out is None else out, keys, noise, x)
    elif isinstance(corruption, Impulse) and _is_fused(0.0, x) and corruption.replaced:
        noisy = x.clone(memory_format=torch.contiguous_format)
        _fill(noisy, keys, corruption.replaced)
    else:
        noisy = corruption.apply(x, corruption.draw(x, keys))
    return noisy if out is None or noisy is out else out.copy_(noisy)


def draw_noise(corruption: Corruption, x: Any, keys: Any, p: float, kind: str) -> Any:
    """Draw noise of size 1, shape (rows, values); on the CPU as for an array."""
    if not _is_fused(p, x):
        return _draw_on_host(corruption, x, keys)
    flat = x.new_empty((len(x), math.prod(x.shape[1:])), dtype=_float_type(x))
    return _fill(flat, keys, AddedNoise(p, kind))


def draw_places(corruption: Corruption, x: Any, keys: Any, hits: int) -> Any:
    """Draw distinct places of values, and a number in (0, 1) for each; on the CPU as for an array.

    Places are in the order in which they are hit, which is that of their random words.
    """
    if not _is_fused(math.inf, x):
        return _draw_on_host(corruption, x, keys)
    from shaketable.corruptions.tensors import fused

    streams = _device_keys(keys, x)
    places = fused.draw_places(streams, math.prod(x.shape[1:]), hits)
    # 52 bits and a half, as in `keys.uniforms`
    bits = ((fused.words_at(streams, places) >> 11) & (2**53 - 1)) | 1
    return places, bits.to(torch.float64) * 2.0**-53


def add_noise(corruption: Corruption, x: Any, drawn: Any, sizes: Any = None) -> Any:
    """Corrupted copy of the rows of `x`: the noise that was drawn is scaled, added and clipped.

    `sizes` are scales of rows, for tensors that are not on the CPU.
    """

    def add(flat: Tensor, drawn: Tensor) -> Tensor:
        noise = corruption.traits.additive
        assert noise is not None, "only additive corruptions come here"
        if sizes is None:
            noisy = torch.add(flat, drawn, alpha=noise.scale)
        else:
            noisy = torch.addcmul(flat, drawn, sizes.to(flat.dtype)[:, None])
        return (noisy.add_(noise.shift) if noise.shift else noisy).clamp_(noise.low, noise.high)

    return apply_flat(corruption, x, drawn, add)


def apply_one_of(corruption: OneOf, x: Any, keys: Any) -> Any:
    """Apply one part to every row: on the CPU as for an array, elsewhere without waiting."""
    if x.device.type == "cpu":
        return through_arrays(corruption.apply, x, keys, levels=corruption.traits.takes_levels)
    out = x.clone(memory_format=torch.contiguous_format)
    flat, given = out.view(len(out), -1), keys
    left = set(range(corruption.choices.ladders))
    for noise, norms in corruption.mixtures.items():  # together, as it takes long to start kernels
        known = tuple(p if p >= 0 and _is_fused(p, flat) else -1.0 for p in norms)
        made = {number for number, p in enumerate(known) if p >= 0}
        if made:
            from shaketable.corruptions.tensors import fused

            keys = _device_keys(keys, x)
            choices = corruption.choices
            fused.fill_noise(flat, keys, noise, flat, norms=known, choices=choices)
            left -= made
    for share in corruption.split(_host_keys(given)) if left else ():
        if share.number not in left:
            continue
        part, rows = share.corruption, move(share.rows, x.device)
        if share.sizes is None:
            out[rows] = call(part, x[rows], share.keys)
        else:
            sized: Any = part
            drawn = part.draw(x[rows], share.keys)
            out[rows] = sized.apply(x[rows], drawn, _move(share.sizes, x))
    return out


def apply_flat(corruption: Corruption, x: Any, drawn: Any, work: Callable[[Any, Any], Any]) -> Any:
    """Corrupted copy of the rows of `x`: on the CPU as for an array, elsewhere by `work`.

    `work` gets the rows, flattened, as float32, float64 or levels, and what was drawn, which it
    must leave as it is.
    """
    x = x.detach() if x.requires_grad else x  # else it stays the same object
    if x.device.type == "cpu":
        array = _array(x, levels=corruption.traits.takes_levels)
        return _move(corruption.apply(array, drawn), x).to(x.dtype)
    flat = x.reshape(len(x), -1)
    if x.dtype != torch.uint8 or not corruption.traits.takes_levels:
        flat = flat.to(_float_type(x))
    return work(flat, drawn).reshape(x.shape).to(x.dtype)


def through_arrays(
    work: Callable[[Array, KeyArray], Array], x: Any, drawn: Any, *, levels: bool = False
) -> Any:
    """Apply `work` to arrays and keys: move `x` to the CPU and the result back.

    With `levels` it gets uint8 as it is; all else is floats for it.
    """
    return _move(work(_array(x, levels=levels), _host_keys(drawn)), x).to(x.dtype)


def change_levels(corruption: Corruption, x: Any, keys: Any) -> Any:
    """Levels as the corruption changes them where they are, to the bit as on the CPU.

    None on the CPU, whose own code is faster, for what is no uint8, and for random changes without
    kernels.
    """
    if x.device.type == "cpu" or x.dtype != torch.uint8:
        return None
    if isinstance(corruption, Rotation):
        return rotate_levels(corruption, x)
    if not _is_fused(math.inf, x):
        return None
    corruption = corruption.for_shape(x.shape[1:])
    return redraw_levels(corruption, x, _device_keys(keys, x))


def rotate_levels(rotation: Rotation, x: Tensor) -> Tensor:
    """Rotate images of levels by moving their pixels."""
    height, width, channels, first = find_layout(tuple(x.shape[1:]), rotation.spec)
    index, outside = _find_moves(height, width, rotation.degrees, x.device)
    axis = 2 if first else 1
    planes = (len(x), channels, -1) if first else (len(x), -1, channels)
    rotated = x.reshape(planes).index_select(axis, index)
    shape = (1, 1, -1) if first else (1, -1, 1)
    return rotated.masked_fill_(outside.view(shape), round(255 * rotation.fill)).view(x.shape)


def redraw_levels(corruption: Any, x: Tensor, keys: Tensor) -> Tensor:
    """Draw levels by the law of a corruption for images of this shape."""
    from shaketable.corruptions.tensors import fused

    table, part, channels_last = _move_law(corruption, x.device)
    moved = channels_last and find_layout(tuple(x.shape[1:]), corruption.spec).channels_first
    images = (x.movedim(1, -1) if moved else x).contiguous()
    drawn = fused.redraw_levels(images.view(len(x), -1), keys, table, part).view(images.shape)
    return drawn.movedim(-1, 1).contiguous() if moved else drawn


@functools.lru_cache(maxsize=128)
def _find_moves(
    height: int, width: int, degrees: float, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the pixel that every pixel is moved from, and whether it is outside of the image."""
    from shaketable.corruptions.compiled.levels import find_sources  # compiled, slow to load

    sources = find_sources(height, width, degrees, "nearest")
    index = torch.tensor(sources.index[:, 0].astype(np.int64), device=device)
    return index, torch.tensor(sources.rest > 0, device=device)


@functools.lru_cache(maxsize=128)
def _move_law(corruption: Any, device: torch.device) -> tuple[Tensor | None, int, bool]:
    """Return the law of a corruption on a device: table, 2**32 * half, and order of the bits."""
    law: LevelLaw | None = corruption.level_law
    assert law is not None, "only corruptions of single levels come here"
    table = None if law.table is None else torch.tensor(law.table.view(np.int32), device=device)
    return table, round(law.half * 2**32), law.channels_last


def _draw_on_host(corruption: Corruption, x: Tensor, keys: KeyArray | Tensor) -> Any:
    """Draw as for an array; for a tensor that is not on the CPU the numbers are moved."""
    if x.device.type == "cpu":
        return corruption.draw(_array(x), _host_keys(keys))
    like = np.broadcast_to(np.zeros((), _numpy_type(_float_type(x))), x.shape)
    drawn = corruption.draw(like, _host_keys(keys))
    return [_move(part, x) for part in drawn] if isinstance(drawn, tuple) else _move(drawn, x)


def _is_fused(p: float, x: Tensor) -> bool:
    """Whether a kernel can make noise of this order on the device of `x`.

    For p = 0 it replaces values, of floats in rows that one program can hold.
    """
    if not x.is_cuda or not has_kernels(x.device):
        return False
    if p:
        return _has_layers(p)
    from shaketable.corruptions.tensors import fused

    return bool(x.is_floating_point() and math.prod(x.shape[1:]) <= fused.LONGEST)


@functools.cache
def _has_layers(p: float) -> bool:
    """Whether the ziggurat can make components for this norm, or none are needed."""
    from shaketable.corruptions.compiled.ziggurat import (  # compiled code, slow to load
        LEAST_P,
        MOST_P,
    )

    return LEAST_P <= p <= MOST_P or math.isinf(p)


@functools.cache
def has_kernels(device: torch.device) -> bool:
    """Whether Triton is installed and works on a device."""
    try:
        from shaketable.corruptions.tensors import fused

        fused.words(torch.zeros(1, dtype=torch.int64, device=device), 1)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception:  # no Triton, no compiler for it, a GPU that it does not know
        return False
    return True


def _fill(
    out: Tensor, keys: KeyArray | Tensor, noise: AddedNoise, x: Tensor | None = None
) -> Tensor:
    """Write the noise to `out`, or its sum with `x`; return `out`."""
    from shaketable.corruptions.tensors import fused

    like = out if x is None else x
    direct = (
        out.is_contiguous()
        and out.device == like.device
        and (
            out.data_ptr() == like.data_ptr()
            or out.untyped_storage().data_ptr() != like.untyped_storage().data_ptr()
        )
    )
    flat = (out if direct else like.new_empty(like.shape)).view(len(out), -1)
    points = None if x is None else x.reshape(len(x), -1)
    fused.fill_noise(flat, _device_keys(keys, flat), noise, points)
    return out if direct else out.copy_(flat.view(out.shape))


def _types(x: Tensor, bounds: Bounds | None, dtype: Any) -> tuple[torch.dtype, torch.dtype]:
    """Types of the result and of the computation, by the rules for arrays."""
    given = _numpy_type(x.dtype)
    ours = isinstance(dtype, torch.dtype)
    wanted, floats = choose_types(given, bounds, _numpy_type(dtype) if ours else as_dtype(dtype))
    computed = x.dtype if x.dtype.is_floating_point else _torch_type(floats)
    if ours:
        return dtype, computed
    return (x.dtype if dtype is None and wanted == given else _torch_type(wanted)), computed


def _torch_type(dtype: np.dtype[Any]) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype


def _float_type(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """Type of arrays that holds the same numbers; for bfloat16 one that is treated alike."""
    known = torch.float16 if dtype == torch.bfloat16 else dtype
    array: Array = torch.empty(0, dtype=known).numpy()
    return array.dtype


def _array(x: Tensor, *, levels: bool = False) -> Array:
    """Values of a tensor as an array of floats; with `levels` uint8 as it is."""
    dtype = torch.uint8 if levels and x.dtype == torch.uint8 else _float_type(x)
    return np.asarray(x.detach().to("cpu", dtype).numpy())


def _move(values: Array, x: Tensor) -> Tensor:
    """Move values to the device of `x`; floats in its type, as not every device has float64."""
    there = torch.from_numpy(values)
    return there.to(x.device, _float_type(x) if there.is_floating_point() else there.dtype)


def _host_keys(keys: KeyArray | Tensor) -> KeyArray:
    return keys.cpu().numpy().view(np.uint64) if isinstance(keys, Tensor) else keys


def _device_keys(keys: KeyArray | Tensor, rows: Tensor) -> Tensor:
    """Keys on the device of the rows, one per row."""
    if len(keys) != len(rows):
        raise InputError(f"keys must be one per row, got {len(keys)} for {len(rows)} rows")
    if isinstance(keys, Tensor):
        return keys.to(rows.device, non_blocking=True).contiguous()
    return move(np.ascontiguousarray(keys).view(np.int64), rows.device)
