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
from shaketable.corruptions.one_of import Choices
from shaketable.corruptions.tensors import kernels

_BLOCK = 1024  # values of a row per program where values are independent
_VALUES = 32  # per thread, at most, where they are not
_WARPS = 16  # per program, at most; longer rows are made in parts, and twice
_WORDS = 1 << 25  # random words that are sorted at a time


LONGEST = 32 * _WARPS * _VALUES
"""Values of a row that one program can hold; of longer ones none are replaced by a kernel."""


def fill_noise(
    out: Tensor,
    keys: Tensor,
    noise: AddedNoise,
    x: Tensor | None = None,
    *,
    norms: tuple[float, ...] = (),
    choices: Choices | None = None,
) -> None:
    """Write noise, one key per row, or its sum with `x`, clipped to its bounds.

    Gaussian noise, with p = 2, does not divide components by their norm. With p = 0, values of
    `out` are replaced. `out` and `x` hold one row after the other, and may be the same. Float64 is
    computed in float64, all other types in float32. With choices, every row draws one of them, with
    one of the norms; it is left as it is if that is negative.
    """
    d, dtype = out.shape[1], torch.float64 if out.dtype == torch.float64 else torch.float32
    if choices is None and math.isinf(noise.p):
        block = min(_BLOCK, triton.next_power_of_2(d))
        with on_device(out.device):
            kernels.cube[len(keys), triton.cdiv(d, block)](
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
    norms = norms or (noise.p,)
    edges, levels = _move_choices(choices, out.device) if choices else (None, None)
    with on_device(out.device):
        kernels.ball[len(keys),](
            x,
            out,
            keys,
            edges,
            levels,
            *_tables(norms, dtype, out.device),
            d,
            d,
            float(noise.scale),
            float(noise.shift),
            float(noise.low),
            float(noise.high),
            KIND=noise.kind,
            SIMPLE=int(noise.p) if choices is None and noise.p in {1, 2} else 0,
            LAYERS=ziggurat.LAYERS,
            ROWS=values,
            COLUMNS=32 * warps,
            CHOICES=0 if edges is None else len(edges),
            BALLS=any(0 < p < math.inf for p in norms),
            CUBES=math.inf in norms,
            IMPULSES=0 in norms,
            num_warps=warps,
        )


def redraw_levels(x: Tensor, keys: Tensor, table: Tensor | None, part: int) -> Tensor:
    """Return levels, uint8 of shape (keys, d), each drawn from what is in `x` and 32 random bits.

    `table` has the law of every level, as `levels.fill_aliases` makes it, in int32; without
    it levels become 0 or 255, with probability part / 2**32 each.
    """
    out, d = torch.empty_like(x), x.shape[1]
    if d:
        with on_device(x.device):
            kernels.redraw[len(keys), triton.cdiv(d, _BLOCK)](
                x, out, keys, table, d, part, BLOCK=_BLOCK
            )
    return out


def draw_places(keys: Tensor, d: int, hits: int) -> Tensor:
    """Distinct places among d for every key, in the order of their random words."""
    step = max(1, _WORDS // d)
    some = (keys[start : start + step] for start in range(0, len(keys), step))
    return torch.cat([words(each, d).topk(hits).indices for each in some])


def words(keys: Tensor, d: int) -> Tensor:
    """Words 0 to d - 1 of every key, as int64: shape (keys, d)."""
    return _fill_words(keys.new_empty(len(keys), d), keys)


def words_at(keys: Tensor, places: Tensor) -> Tensor:
    """Words of the second stream of every key at its places, of the same shape."""
    return _fill_words(torch.empty_like(places), keys, places)


def _fill_words(out: Tensor, keys: Tensor, places: Tensor | None = None) -> Tensor:
    d, side = out.shape[1], places is not None
    if d:
        with on_device(out.device):
            kernels.words[len(keys), triton.cdiv(d, _BLOCK)](
                keys, places, out, d, SIDE=side, BLOCK=_BLOCK
            )
    return out


@lru_cache(maxsize=64)
def _move_choices(choices: Choices, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return edges, filled up to a power of two, and levels on a device."""
    edges, levels = np.frombuffer(choices.edges), np.frombuffer(choices.levels)
    more = triton.next_power_of_2(len(edges)) - len(edges)
    edges = np.pad(edges, (0, more), constant_values=math.inf)
    return torch.tensor(edges, device=device), torch.tensor(levels, device=device)


@lru_cache(maxsize=64)
def _tables(
    norms: tuple[float, ...], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Return every p with its tail, and the layers of all p, one after the other, on a device.

    Of the layers first the widths, and the share of each that is certainly under the curve, less a
    margin for rounding, in the type of a row; then what decides near the curve.
    """
    # others than 0 < p < infinity have no layers, and never ask for them
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
