"""Corruptions of torch tensors, on the device that holds them.

On the CPU a tensor is an array under another name, and gets the very bytes that the array gets. On
a CUDA device noise is made where it is added, by the kernels of `fused`; only keys travel. Other
devices, CUDA without Triton, and orders beyond the ziggurat's get noise that was drawn on the CPU:
that much travels, the points do not. Balls cut by their bounds go through the CPU, except L-inf's.

Half precision is computed in float32, and rounded after every factor. No gradient is followed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.types import Array, KeyArray
from shaketable.corruptions.compose import Named, Sequence
from shaketable.corruptions.corrupt import corrupt_array
from shaketable.corruptions.corruption import Clean, Corruption
from shaketable.corruptions.gaussian import Gaussian
from shaketable.corruptions.impulse import Impulse
from shaketable.corruptions.pnorm import PNormNoise
from shaketable.data.bounds import Bounds

_WORDS = 1 << 25  # that are put in order at a time


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
    points = x.to(floats)
    target = points if points is not x else out
    if target is not None and (target.dtype, target.device) != (points.dtype, x.device):
        target = None
    noisy = call(corruption, points, keys, target)
    noisy = (noisy if wanted.is_floating_point else noisy.round_()).to(wanted)
    if out is not None:
        return out if noisy is out else out.copy_(noisy)
    return noisy.clone() if noisy is x else noisy


def call(corruption: Corruption, x: Any, keys: Any, out: Any = None) -> Any:
    """Corrupted copy of the rows of `x`, written to `out` if that is given, which may be `x`."""
    x = x.detach() if x.requires_grad else x  # else it stays the same object
    if isinstance(corruption, Named):
        return call(corruption.corruption, x, keys, out)
    if isinstance(corruption, Sequence):
        noisy, host = x, _host_keys(keys)
        for i, factor in enumerate(corruption.factors):
            own = None if noisy is x else noisy
            noisy = call(factor, noisy, fold(host, i), own if out is None else out)
    elif not _is_cut(corruption) and (noise := _added(corruption)) and _is_fused(noise.p, x):
        return _filled(x.new_empty(x.shape) if out is None else out, keys, noise, x)
    else:
        noisy = corruption.apply(x, corruption.draw(x, keys))
    return noisy if out is None or noisy is out else out.copy_(noisy)


def draw(corruption: Corruption, x: Any, keys: Any) -> Any:
    """All that is random; on the CPU as for an array."""
    if x.device.type == "cpu":
        return corruption.draw(_array(x), _host_keys(keys))
    d = math.prod(x.shape[1:])
    if isinstance(corruption, Impulse) and _is_fused(math.inf, x):
        return _places(x, keys, corruption.hits(d))
    if (noise := _added(corruption)) and _is_fused(noise.p, x):
        unit = _Noise(noise.p, noise.kind)
        return _filled(x.new_empty((len(x), d), dtype=_float_type(x)), keys, unit)
    like = np.broadcast_to(np.zeros((), _numpy_type(_float_type(x))), x.shape)
    drawn = corruption.draw(like, _host_keys(keys))
    return [_moved(p, x) for p in drawn] if isinstance(drawn, tuple) else _moved(drawn, x)


def apply(corruption: Corruption, x: Any, drawn: Any) -> Any:
    """Corrupted copy of the rows of `x`; nothing is random, and what was drawn is kept."""
    x = x.detach() if x.requires_grad else x  # else it stays the same object
    tries = _is_cut(corruption) and not math.isinf(corruption.p)
    if tries or x.device.type == "cpu":
        drawn = _host_keys(drawn) if tries else drawn
        return _moved(corruption.apply(_array(x), drawn), x).to(x.dtype)
    flat = x.reshape(len(x), -1).to(_float_type(x))
    if _is_cut(corruption):
        noisy: Any = corruption.truncated(flat, drawn)
    elif noise := _added(corruption):
        noisy = torch.add(flat, drawn, alpha=noise.scale)
        noisy = (noisy.add_(noise.shift) if noise.shift else noisy).clamp_(noise.low, noise.high)
    elif isinstance(corruption, Impulse):
        noisy = _replaced(flat, corruption, *drawn)
    return noisy.reshape(x.shape).to(x.dtype)


def through_arrays(work: Callable[[Array, KeyArray], Array], x: Any, keys: Any) -> Any:
    """Result of work on arrays and keys, for a tensor: on the CPU, and moved back."""
    return _moved(work(_array(x.detach().cpu()), _host_keys(keys)), x).to(x.dtype)


class _Noise(NamedTuple):
    """Noise that is added to every value, in the words of `fused.fill_noise`."""

    p: float
    kind: str
    scale: float = 1.0
    shift: float = 0.0
    low: float = -math.inf
    high: float = math.inf


def _added(corruption: Corruption) -> _Noise | None:
    """What is added, if that is all that happens."""
    if isinstance(corruption, PNormNoise):
        noise = _Noise(corruption.p, corruption.kind, corruption.epsilon)
    elif isinstance(corruption, Gaussian):
        corruption.check()
        noise = _Noise(2.0, "gaussian", corruption.sigma, corruption.mean)
    else:
        return None
    bounds = corruption.bounds
    return noise if bounds is None else noise._replace(low=bounds.low, high=bounds.high)


def _is_cut(corruption: Corruption) -> TypeGuard[PNormNoise]:
    return isinstance(corruption, PNormNoise) and corruption.truncates


def _is_fused(p: float, x: Tensor) -> bool:
    """Whether noise of this order can be made on the device of `x`."""
    from shaketable.corruptions.compiled.ziggurat import (  # compiled code, slow to load
        LEAST_P,
        MOST_P,
    )

    known = LEAST_P <= p <= MOST_P or math.isinf(p)
    return known and x.is_cuda and _has_kernels(x.device)


@functools.cache
def _has_kernels(device: torch.device) -> bool:
    """Whether Triton is there and works."""
    try:
        from shaketable.corruptions.tensors import fused

        fused.words(torch.zeros(1, dtype=torch.int64, device=device), 1)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception:  # no Triton, no compiler for it, a GPU that it does not know
        return False
    return True


def _filled(out: Tensor, keys: KeyArray | Tensor, noise: _Noise, x: Tensor | None = None) -> Tensor:
    """Return `out` with noise in it, or with its sum with `x`."""
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
    rows = None if x is None else x.reshape(len(x), -1)
    fused.fill_noise(flat, _device_keys(keys, flat), x=rows, **noise._asdict())
    return out if direct else out.copy_(flat.view(out.shape))


def _places(x: Tensor, keys: KeyArray | Tensor, hits: int) -> tuple[Tensor, Tensor]:
    """Places in the order they are hit, that of their words; and a number in (0, 1) for each."""
    from shaketable.corruptions.tensors import fused

    d, streams = math.prod(x.shape[1:]), _device_keys(keys, x)
    rows = max(1, _WORDS // d)
    parts = [streams[k : k + rows] for k in range(0, len(streams), rows)]
    places = torch.cat([fused.words(part, d).topk(hits).indices for part in parts])
    # 52 bits and a half, as in `keys.uniforms`
    bits = ((fused.words(streams, hits, side=True) >> 11) & (2**53 - 1)) | 1
    return places, bits.to(torch.float64) * 2.0**-53


def _replaced(flat: Tensor, impulse: Impulse, places: Tensor, u: Tensor) -> Tensor:
    low, high = impulse.ends()
    hits = impulse.hits(flat.shape[1])
    places, u = places[:, :hits], u[:, :hits]
    if impulse.to == "uniform":
        value = low + (high - low) * u
    else:
        value = torch.full_like(u, low).masked_fill_(u >= 0.5, high)
    return flat.scatter(1, places, value.to(flat.dtype))


def _types(x: Tensor, bounds: Bounds | None, dtype: Any) -> tuple[torch.dtype, torch.dtype]:
    """Type of the result and of the computation, by the rules for arrays: those of an empty one."""
    nothing, keys = np.empty((0, 1), _numpy_type(x.dtype)), np.empty(0, np.uint64)

    def result(dtype: Any) -> torch.dtype:
        return torch.from_numpy(corrupt_array(nothing, Clean(), keys, bounds, dtype=dtype)).dtype

    plain = result(None)
    floats = x.dtype if x.dtype.is_floating_point else plain
    if isinstance(dtype, torch.dtype):
        result(_numpy_type(dtype))
        return dtype, floats
    return floats if dtype is None else result(dtype), floats


def _float_type(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """Type of arrays that holds the same numbers; for bfloat16 one that is treated alike."""
    known = torch.float16 if dtype == torch.bfloat16 else dtype
    array: Array = torch.empty(0, dtype=known).numpy()
    return array.dtype


def _array(x: Tensor) -> Array:
    return np.asarray(x.detach().to("cpu", _float_type(x)).numpy())


def _moved(values: Array, x: Tensor) -> Tensor:
    """Values on the device of `x`; numbers in its type, as not every device has float64."""
    there = torch.from_numpy(values)
    return there.to(x.device, _float_type(x) if there.is_floating_point() else there.dtype)


def _host_keys(keys: KeyArray | Tensor) -> KeyArray:
    return keys.cpu().numpy().view(np.uint64) if isinstance(keys, Tensor) else keys


def _device_keys(keys: KeyArray | Tensor, rows: Tensor) -> Tensor:
    """Keys on the device of the rows, one for each."""
    if len(keys) != len(rows):
        raise InputError(f"keys must be one a row, got {len(keys)} for {len(rows)} rows")
    there = keys if isinstance(keys, Tensor) else torch.from_numpy(keys.view(np.int64))
    return there.to(rows.device).contiguous()
