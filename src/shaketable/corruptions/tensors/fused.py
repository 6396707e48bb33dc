"""Noise on a CUDA device: how the kernels are started."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from shaketable.core.tensors import on_device
from shaketable.corruptions.compiled import ziggurat
from shaketable.corruptions.corruption import AddedNoise
from shaketable.corruptions.tensors import kernels

_BLOCK = 1024  # values of a row per program where values are independent
_VALUES = 32  # per thread, at most, where they are not
_WARPS = 16  # per program, at most; longer rows are made in parts, and twice
_WORDS = 1 << 25  # random words that are sorted at a time


def fill_noise(
    out: Tensor,
    keys: Tensor,
    noise: AddedNoise,
    x: Tensor | None = None,
    norms: tuple[float, ...] = (),
) -> None:
    """Write noise, one key per row, or its sum with `x`, clipped to its bounds.

    Gaussian noise, with p = 2, does not divide components by their norm. `out` and `x` hold one row
    after the other, and may be the same. Float64 is computed in float64, all other types in
    float32. With norms, `keys` are the numbers of a `Deal`: every row gets the size in them, and of
    the norms that with its number; it is left as it is if that is 0.
    """
    d, dtype = out.shape[1], torch.float64 if out.dtype == torch.float64 else torch.float32
    n = keys.shape[-1]
    if not norms and math.isinf(noise.p):
        block = min(_BLOCK, triton.next_power_of_2(d))
        with on_device(out.device):
            kernels.cube[n, triton.cdiv(d, block)](
                x,
                out,
                keys,
                d,
                float(noise.scale),
                float(noise.low),
                float(noise.high),
                KIND=noise.kind,
                BLOCK=block,
                DTYPE=tl.float64 if dtype.itemsize == 8 else tl.float32,
                num_warps=max(1, block // 256),
            )
        return
    warps = min(_WARPS, triton.next_power_of_2(triton.cdiv(d, 32 * _VALUES)))
    values = min(_VALUES, triton.next_power_of_2(triton.cdiv(d, 32 * warps)))
    with on_device(out.device):
        kernels.ball[n,](
            x,
            out,
            keys,
            *_tables(norms or (noise.p,), dtype, out.device),
            d,
            n,
            d,
            float(noise.scale),
            float(noise.shift),
            float(noise.low),
            float(noise.high),
            KIND=noise.kind,
            SIMPLE=int(noise.p) if not norms and noise.p in {1, 2} else 0,
            LAYERS=ziggurat.LAYERS,
            ROWS=values,
            COLUMNS=32 * warps,
            DEALT=bool(norms),
            num_warps=warps,
        )


def replace_values(
    out: Tensor,
    keys: Tensor,
    hits: int,
    *,
    ends: tuple[float, float],
    uniform: bool,
) -> None:
    """Set values of every row to one of two ends, or to uniform values between them.

    There is one key per row, and `hits` values are set; or `keys` are numbers of a `Deal`, in which
    the number of values of every row, `hits` at most, takes the place of its size.
    """
    d, dealt = out.shape[1], keys.ndim == 2
    block = min(_BLOCK, triton.next_power_of_2(max(1, hits)))
    for some in _slice_rows(keys.shape[-1], d) if hits else ():
        own = keys[..., some]
        places = words(own[0] if dealt else own, d).topk(hits).indices
        with on_device(out.device):
            kernels.impulses[len(places), triton.cdiv(hits, block)](
                out if dealt else out[some],
                own,
                places,
                d,
                hits,
                own.stride(0),
                *map(float, ends),
                UNIFORM=uniform,
                BLOCK=block,
                DEALT=dealt,
            )


def draw_places(keys: Tensor, d: int, hits: int) -> Tensor:
    """Distinct places among d for every key, in the order of their random words."""
    some = _slice_rows(len(keys), d)
    return torch.cat([words(keys[rows], d).topk(hits).indices for rows in some])


def words(keys: Tensor, d: int, *, side: bool = False) -> Tensor:
    """Words 0 to d - 1 of every key, or of its second stream, as int64: shape (keys, d)."""
    out = keys.new_empty(len(keys), d)
    if d:
        with on_device(out.device):
            kernels.words[len(keys), triton.cdiv(d, _BLOCK)](keys, out, d, SIDE=side, BLOCK=_BLOCK)
    return out


def _slice_rows(n: int, d: int) -> list[slice]:
    """Slices of n rows whose words, d of each, are sorted at a time."""
    step = max(1, _WORDS // d)
    return [slice(start, start + step) for start in range(0, n, step)]


@lru_cache(maxsize=64)
def _tables(
    norms: tuple[float, ...], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Return every p with its tail, and the layers of all p, one after the other, on a device.

    Of the layers first the widths, and the share of each that is certainly under the curve, less a
    margin for rounding, in the type of a row; then what decides near the curve.
    """
    # p = 0 and infinity have no layers, and never ask for them
    curves = [ziggurat.layers(p if 0 < p < math.inf else 1.0) for p in norms]
    tails = np.array([(p, curve.tail) for p, curve in zip(norms, curves, strict=True)])
    step = np.stack([curve.step for curve in curves])
    inside = np.stack([curve.inside for curve in curves])
    height = np.stack([curve.height for curve in curves])
    share = inside * (2.0**-52 * (1 - 2.0**-22))
    return (
        torch.from_numpy(tails).to(device),
        *torch.from_numpy(np.stack([step * 2.0**52, share])).to(device, dtype),
        *(torch.from_numpy(a).to(device) for a in (step, inside.astype(np.int64), height)),
    )
