"""Triton kernel: every image of a batch with its own operation, in one pass.

A program makes one image. The operations are those of `operations`, which starts one kernel per
operation and kind instead; starting these takes longer than their work.
"""
# Triton compiles the kernels from the types of a call, so they carry few annotations
# mypy: ignore-errors
# ruff: noqa: N803, PLR0912, PLR0915, PLR0917

import triton
import triton.language as tl

from shaketable.corruptions.tensors.kernels import round_even
from shaketable.training.augmentations.plans import WIDTH, Kind

MOST_PIXELS = 1 << 14
"""Of an image that a program can hold."""

_WIDTH = tl.constexpr(1 + WIDTH)
_AFFINE = tl.constexpr(int(Kind.AFFINE))
_SCALE = tl.constexpr(int(Kind.SCALE))
_SHIFT = tl.constexpr(int(Kind.SHIFT))
_COLOUR = tl.constexpr(int(Kind.COLOUR))
_SATURATION = tl.constexpr(int(Kind.SATURATION))
_CONTRAST = tl.constexpr(int(Kind.CONTRAST))
_SHARPNESS = tl.constexpr(int(Kind.SHARPNESS))
_POSTERIZE = tl.constexpr(int(Kind.POSTERIZE))
_SOLARIZE = tl.constexpr(int(Kind.SOLARIZE))
_AUTOCONTRAST = tl.constexpr(int(Kind.AUTOCONTRAST))
_EQUALIZE = tl.constexpr(int(Kind.EQUALIZE))


@triton.jit
def _clamp(v):
    v = tl.maximum(v, 0.0, propagate_nan=tl.PropagateNan.ALL)
    return tl.minimum(v, 1.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _blend(degenerate, v, factor):
    """Linear from the degenerate value to v, in the order of `torch.lerp`."""
    way = v - degenerate
    return _clamp(tl.where(factor < 0.5, degenerate + factor * way, v - way * (1 - factor)))


@triton.jit
def _grey(x, at, mask, pixels, CHANNELS: tl.constexpr):
    v = tl.load(x + at, mask=mask, other=0)
    if CHANNELS == 3:
        v = v * 0.299 + tl.load(x + pixels + at, mask=mask, other=0) * 0.587
        v += tl.load(x + 2 * pixels + at, mask=mask, other=0) * 0.114
    return v


@triton.jit
def _sample(x, column, row, height, width, BILINEAR: tl.constexpr):
    """Values at places, in pixels from the upper left corner; black outside of the image."""
    there = (column >= 0) & (column <= width) & (row >= 0) & (row <= height)
    if BILINEAR:
        column = tl.minimum(tl.maximum(column - 0.5, 0), width - 1)
        row = tl.minimum(tl.maximum(row - 0.5, 0), height - 1)
        left, top = tl.floor(column), tl.floor(row)
        right, below = tl.minimum(left + 1, width - 1), tl.minimum(top + 1, height - 1)
        across, down = column - left, row - top
        upper = (top * width).to(tl.int32)
        lower = (below * width).to(tl.int32)
        first, second = left.to(tl.int32), right.to(tl.int32)
        v = tl.load(x + upper + first, mask=there, other=0) * (1 - across) * (1 - down)
        v += tl.load(x + upper + second, mask=there, other=0) * across * (1 - down)
        v += tl.load(x + lower + first, mask=there, other=0) * (1 - across) * down
        v += tl.load(x + lower + second, mask=there, other=0) * across * down
    else:
        column = tl.minimum(tl.floor(column), width - 1)
        row = tl.minimum(tl.floor(row), height - 1)
        v = tl.load(x + (row * width + column).to(tl.int32), mask=there, other=0)
    return v


@triton.jit
def _smooth(x, at, inner, width):
    """Mean of a pixel and its neighbours, by (1 1 1, 1 5 1, 1 1 1) / 13."""
    total = 4 * tl.load(x + at, mask=inner, other=0)
    for down in tl.static_range(-1, 2):
        for across in tl.static_range(-1, 2):
            total += tl.load(x + at + down * width + across, mask=inner, other=0)
    return total / 13


@triton.jit
def _equalize(v, mask):
    levels = round_even(tl.minimum(tl.maximum(v * 255, 0), 255)).to(tl.int32)
    levels = tl.where(mask, levels, 256)  # a bin of their own for places beyond the image
    counts = tl.histogram(levels, 512)
    below = tl.cumsum(counts, axis=0) - counts
    highest = tl.max(tl.where(mask, levels, 0))
    step = tl.sum((levels < highest).to(tl.int32)) // 255
    even = tl.minimum((below + step // 2) // tl.maximum(step, 1), 255)
    return tl.where(step > 0, tl.gather(even, levels, axis=0).to(v.dtype) / 255, v)


@triton.jit(do_not_specialize=["height", "width"])
def operate(
    x,
    out,
    rows,
    numbers,
    height,
    width,
    CHANNELS: tl.constexpr,
    BLOCK: tl.constexpr,
    BILINEAR: tl.constexpr,
):
    """One operation on every image; its kind and parameters are numbers of that image.

    `rows` are the images to take; None: each its own.
    """
    image = tl.program_id(0).to(tl.int64)
    pixels = height * width
    out += image * CHANNELS * pixels
    numbers += image * _WIDTH
    if rows is not None:
        image = tl.load(rows + image)
    x += image * CHANNELS * pixels
    at = tl.arange(0, BLOCK)
    mask = at < pixels
    down, across = at // width, at % width
    inner = (down > 0) & (down < height - 1) & (across > 0) & (across < width - 1)
    kind = tl.load(numbers).to(tl.int32)
    dtype: tl.constexpr = x.dtype.element_ty
    first, second = tl.load(numbers + 1).to(dtype), tl.load(numbers + 2).to(dtype)
    ground = tl.zeros([BLOCK], dtype)  # what is blended with, and how much of the image
    factor = ground + first
    column, row = ground, ground
    if kind == _AFFINE:
        third, fourth = tl.load(numbers + 3).to(dtype), tl.load(numbers + 4).to(dtype)
        fifth, sixth = tl.load(numbers + 5).to(dtype), tl.load(numbers + 6).to(dtype)
        column = third + first * (across + 0.5) + second * (down + 0.5)
        row = sixth + fourth * (across + 0.5) + fifth * (down + 0.5)
    elif kind == _COLOUR:
        ground = _grey(x, at, mask, pixels, CHANNELS)
    elif kind == _CONTRAST:
        ground += tl.sum(_grey(x, at, mask, pixels, CHANNELS)) / pixels
    elif kind == _SATURATION:
        low = tl.load(x + at, mask=mask, other=0)
        ground = low
        for channel in tl.static_range(1, CHANNELS):
            v = tl.load(x + channel * pixels + at, mask=mask, other=0)
            low, ground = tl.minimum(low, v), tl.maximum(ground, v)
        # saturation is at most 1
        most = tl.where(ground > low, ground / (ground - low), 1.0)
        factor = tl.minimum(factor, most)
    for channel in tl.static_range(CHANNELS):
        here = x + channel * pixels
        v = tl.load(here + at, mask=mask, other=0)
        if kind == _AFFINE:
            v = _sample(here, column, row, height, width, BILINEAR)
        elif kind == _SCALE:
            v = _clamp(v * first)
        elif kind == _SHIFT:
            v = _clamp(v + first)
        elif (kind == _COLOUR) | (kind == _SATURATION) | (kind == _CONTRAST):
            v = _blend(ground, v, factor)
        elif kind == _SHARPNESS:
            v = tl.where(inner, _blend(_smooth(here, at, inner, width), v, factor), v)
        elif kind == _POSTERIZE:
            v = tl.where(first > 1, tl.floor(round_even(v * 255) / first) * first / 255, v)
        elif kind == _SOLARIZE:
            v = _clamp(v + second)
            v = tl.where(v >= first, 1 - v, v)
        elif kind == _AUTOCONTRAST:
            low = tl.min(tl.where(mask, v, float("inf")))
            high = tl.max(tl.where(mask, v, float("-inf")))
            v = tl.where(high > low, (v - low) / (high - low), v)
        elif kind == _EQUALIZE:
            v = _equalize(v, mask)
        tl.store(out + channel * pixels + at, v, mask=mask)
