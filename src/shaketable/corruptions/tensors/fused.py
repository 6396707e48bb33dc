"""Noise on a CUDA device: how the kernels are started."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from shaketable.corruptions.compiled import ziggurat
from shaketable.corruptions.corruption import AddedNoise
from shaketable.corruptions.tensors import kernels

_BLOCK = 1024  # values of a row per program where values are independent
_VALUES = 32  # per thread, at most, where they are not
_WARPS = 16  # per program, at most; longer rows are made in parts, and twice
_WORDS = 1 << 25  # random words that are sorted at a time


class Mixture(NamedTuple):
    """Rows that get noise of norms and sizes of their own."""

    norms: tuple[float, ...]
    """0 leaves a row as it is."""
    rows: Tensor
    """Numbers of the rows."""
    parts: Tensor
    """For every row the place of its norm among the norms."""
    sizes: Tensor
    """Of the noise of every row, as float64."""


def fill_noise(
    out: Tensor,
    keys: Tensor,
    noise: AddedNoise,
    x: Tensor | None = None,
    mixture: Mixture | None = None,
) -> None:
    """Write noise, one key per row, or its sum with `x`, clipped to its bounds.

    Gaussian noise, with p = 2, does not divide components by their norm. `out` and `x` hold one row
    after the other, and may be the same. Float64 is computed in float64, all other types in
    float32. With a mixture, only its rows are written, one for every key, and the noise has their
    norms and sizes.
    """
    d, dtype = out.shape[1], torch.float64 if out.dtype == torch.float64 else torch.float32
    if mixture is None and math.isinf(noise.p):
        block = min(_BLOCK, triton.next_power_of_2(d))
        with _on(out.device):
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
    rows, parts, sizes = mixture[1:] if mixture else (None, None, None)
    with _on(out.device):
        kernels.ball[len(keys),](
            x,
            out,
            keys,
            rows,
            parts,
            sizes,
            *_tables(mixture.norms if mixture else (noise.p,), dtype, out.device),
            d,
            d,
            float(noise.scale),
            float(noise.shift),
            float(noise.low),
            float(noise.high),
            KIND=noise.kind,
            SIMPLE=int(noise.p) if mixture is None and noise.p in {1, 2} else 0,
            LAYERS=ziggurat.LAYERS,
            ROWS=values,
            COLUMNS=32 * warps,
            num_warps=warps,
        )


def replace_values(
    out: Tensor,
    keys: Tensor,
    hits: int,
    *,
    ends: tuple[float, float],
    uniform: bool,
    rows: Tensor | None = None,
    counts: Tensor | None = None,
) -> None:
    """Set values of every row to one of two ends, or to uniform values between them.

    There is one key per row of `out`, or with `rows`, numbers of rows, one for each of these.
    `hits` values are set, or with `counts`, as int64, of every row so many, `hits` at most.
    """
    d = out.shape[1]
    block = min(_BLOCK, triton.next_power_of_2(max(1, hits)))
    for some in _slice_rows(keys, d) if hits else ():
        places = words(keys[some], d).topk(hits).indices
        with _on(out.device):
            kernels.impulses[len(places), triton.cdiv(hits, block)](
                out[some] if rows is None else out,
                keys[some],
                None if rows is None else rows[some],
                None if counts is None else counts[some],
                places,
                d,
                hits,
                *map(float, ends),
                UNIFORM=uniform,
                BLOCK=block,
            )


def draw_places(keys: Tensor, d: int, hits: int) -> Tensor:
    """Distinct places among d for every key, in the order of their random words."""
    return torch.cat([words(keys[some], d).topk(hits).indices for some in _slice_rows(keys, d)])


def words(keys: Tensor, d: int, *, side: bool = False) -> Tensor:
    """Words 0 to d - 1 of every key, or of its second stream, as int64: shape (keys, d)."""
    out = keys.new_empty(len(keys), d)
    if d:
        with _on(out.device):
            kernels.words[len(keys), triton.cdiv(d, _BLOCK)](keys, out, d, SIDE=side, BLOCK=_BLOCK)
    return out


def _slice_rows(keys: Tensor, d: int) -> list[slice]:
    """Slices of rows whose words, d of each, are sorted at a time."""
    step = max(1, _WORDS // d)
    return [slice(start, start + step) for start in range(0, len(keys), step)]


def _on(device: torch.device) -> AbstractContextManager[object]:
    """Context in which kernels start on this device; Triton's interpreter runs on the CPU."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


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
