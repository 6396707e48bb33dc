"""Operations on batches of images, with parameters of their own for every image.

All take float images in [0, 1], (n, C, H, W), and the parameters (n, `WIDTH`) on their device.
They are Pillow's, without its rounding to 8 bits in between; kornia's where its name is given.
Images of other value ranges are mapped there and back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from shaketable.core.errors import InputError
from shaketable.core.image_layout import DISPLAYED_CHANNELS, find_channels
from shaketable.core.tensors import move, on_device
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.images import check_finite_range
from shaketable.corruptions.tensors.device import has_kernels
from shaketable.data.bounds import Bounds
from shaketable.training.augmentations.plans import WIDTH, Kind, Size, Step
from shaketable.training.augmentations.registry import Augmentation


def check_images(x: Tensor, keys: KeyArray) -> Size:
    """Return the size of the images; `InputError` unless there is one key for each of them."""
    if x.ndim != 4 or find_channels(x.shape[1:]) == "last":
        raise InputError(
            f"images must have the shape (N, C, H, W), got {tuple(x.shape)}; move channels to the "
            "second axis"
        )
    if not x.is_floating_point() and x.dtype != torch.uint8:
        raise InputError(f"images must be uint8, or floats in [0, 1], got {x.dtype}")
    if len(keys) != len(x):
        raise InputError(f"keys must be one per image, got {len(keys)} for {len(x)} images")
    return Size(x.shape[2], x.shape[3])


def check_colours(x: Tensor, keys: KeyArray) -> Size:
    """Return the size of the images; `InputError` unless they are grey or RGB, with their keys."""
    size = check_images(x, keys)
    if x.shape[1] not in DISPLAYED_CHANNELS:
        raise InputError(
            f"images must be grey or RGB, of 1 or 3 channels, got {x.shape[1]} channels; of the "
            "augmentations only flipcrop and mixup take others"
        )
    return size


def as_floats(x: Tensor) -> Tensor:
    """Images as float32 (float64 stays), levels divided by 255; no gradient is followed."""
    x = x.detach()
    if x.dtype == torch.uint8:
        return x.to(torch.float32).div_(255)
    return x if x.dtype == torch.float64 else x.to(torch.float32)


def as_given(result: Tensor, x: Tensor) -> Tensor:
    """Return a result in the type of the images, rounded to levels for uint8; may overwrite it."""
    if x.dtype == torch.uint8:
        return result.mul_(255).round_().to(torch.uint8)
    return result.to(x.dtype)


def augment(
    x: Tensor, keys: KeyArray, draw: Callable[[KeyArray, Size], list[Step]], *, interpolation: str
) -> Tensor:
    """Draw steps for images as they were given, and apply them."""
    steps = draw(keys, check_colours(x, keys))
    return as_given(apply_steps(as_floats(x), steps, interpolation=interpolation), x)


def apply_steps(
    x: Tensor,
    steps: Sequence[Step],
    *,
    interpolation: str = "nearest",
    rows: IntArray | None = None,
    rules: Mapping[Kind, Callable[[Tensor, Tensor], Tensor]] | None = None,
) -> Tensor:
    """Apply one step after the other to float images.

    Parameters
    ----------
    x
        The images; they are not changed.
    steps
        At least one.
    interpolation
        Of affine operations: ``nearest`` or ``bilinear``.
    rows
        Which image each row of the steps is for; by default, row i is for image i.
    rules
        What is computed for every kind, in place of `OPERATIONS` and `warp`.
    """
    if rules is None:
        if _fit_kernel(x):
            return apply_by_kernel(x, steps, interpolation=interpolation, rows=rows)
        rules = {**OPERATIONS, Kind.AFFINE: partial(warp, interpolation=interpolation)}
    gathers, parameters = _arrange(steps, rows)
    places = move(gathers, x.device)
    numbers = move(parameters, x.device).to(x.dtype)
    for i, step in enumerate(steps):
        x = x.index_select(0, places[i])
        parts, start = [], 0
        for kind, count in enumerate(np.bincount(step.kinds, minlength=len(Kind)).tolist()):
            if count:
                part, own = x[start : start + count], numbers[i, start : start + count]
                parts.append(part if kind == Kind.IDENTITY else rules[Kind(kind)](part, own))
                start += count
        x = torch.cat(parts) if parts else x
    return x.index_select(0, places[-1])


def _fit_kernel(x: Tensor) -> bool:
    """Whether a kernel can do all operations of a step at once."""
    if not x.is_cuda or not has_kernels(x.device):
        return False
    from shaketable.training.augmentations import kernels

    return bool(x.shape[2] * x.shape[3] <= kernels.MOST_PIXELS)


def apply_by_kernel(
    x: Tensor, steps: Sequence[Step], *, interpolation: str, rows: IntArray | None = None
) -> Tensor:
    """Do the same with one kernel per step."""
    from shaketable.training.augmentations import kernels

    numbers = np.stack([np.column_stack([step.kinds, step.parameters]) for step in steps])
    moved = move(numbers.astype(np.float32), x.device)
    places = None if rows is None else move(rows, x.device)
    height, width = x.shape[2:]
    block = 1 << (height * width - 1).bit_length()
    for own in moved:
        out = x.new_empty((len(own), *x.shape[1:]))
        with on_device(x.device):
            kernels.operate[len(own),](
                x.contiguous(),
                out,
                places,
                own,
                height,
                width,
                CHANNELS=x.shape[1],
                BLOCK=block,
                BILINEAR=interpolation == "bilinear",
                num_warps=max(1, min(16, block // 256)),
            )
        x, places = out, None
    return x


def _arrange(steps: Sequence[Step], rows: IntArray | None) -> tuple[IntArray, Array]:
    """Return for every step which images to take, so that equal kinds are next to each other.

    The last row restores the order. The parameters are those of the images in their new order.
    """
    parameters = np.empty((len(steps), len(steps[0].kinds), WIDTH))
    gathers = []
    places = np.arange(len(steps[0].kinds)) if rows is None else rows
    for i, step in enumerate(steps):
        order = np.argsort(step.kinds, kind="stable")
        gathers.append(places[order])
        parameters[i] = step.parameters[order]
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
    return np.stack([*gathers, places]), parameters.astype(np.float32)


def mix(images: Sequence[Tensor], weights: FloatArray) -> Tensor:
    """Return the weighted sum of batches of images, with weights (images, batches)."""
    own = move(weights.T.astype(np.float32), images[0].device).to(images[0].dtype)
    total = images[0] * own[0, :, None, None, None]
    for batch, share in zip(images[1:], own[1:], strict=True):
        total.addcmul_(batch, share[:, None, None, None])
    return total


def warp(x: Tensor, parameters: Tensor, interpolation: str, *, edges: str = "border") -> Tensor:
    """Affine map of every image; places outside it are black.

    As in Pillow, a place belongs to the image up to the outer edges of its pixels, and pixels at
    edges are not mixed with black; as in torchvision they are, if edges are ``zeros``.
    """
    height, width = x.shape[2:]
    a, b, c, d, e, f = parameters[:, :, None, None].unbind(1)
    across = torch.arange(0.5, width, device=x.device, dtype=x.dtype)
    down = torch.arange(0.5, height, device=x.device, dtype=x.dtype)[:, None]
    # grid_sample counts from -1 to 1, from edge to edge
    column = torch.addcmul(torch.addcmul(c, a, across), b, down).mul_(2 / width).sub_(1)
    row = torch.addcmul(torch.addcmul(f, d, across), e, down).mul_(2 / height).sub_(1)
    grid = torch.stack([column, row], dim=-1)
    moved = functional.grid_sample(
        x, grid, mode=interpolation, padding_mode=edges, align_corners=False
    )
    if edges == "border":
        moved.mul_((torch.maximum(column.abs(), row.abs()) <= 1)[:, None])
    return moved


def scale(x: Tensor, parameters: Tensor) -> Tensor:
    """Multiply by a factor: Pillow's brightness, and kornia's contrast."""
    return (x * _first(parameters)).clamp_(0, 1)


def shift(x: Tensor, parameters: Tensor) -> Tensor:
    """Add an amount: kornia's brightness."""
    return (x + _first(parameters)).clamp_(0, 1)


def colour(x: Tensor, parameters: Tensor) -> Tensor:
    """Blend with the grey image."""
    return _blend(_make_grey(x), x, parameters)


def saturation(x: Tensor, parameters: Tensor) -> Tensor:
    """Multiply the saturation, as in HSV, which keeps value and hue: kornia's colour."""
    low, high = torch.aminmax(x, dim=1, keepdim=True)
    spread = high - low
    # the factor by which distances from the largest channel grow; saturation is at most 1
    most = torch.where(spread > 0, high / spread, 1)
    return torch.lerp(high, x, torch.minimum(_first(parameters), most)).clamp_(0, 1)


def contrast(x: Tensor, parameters: Tensor) -> Tensor:
    """Blend with the mean of the grey image."""
    return _blend(_make_grey(x).mean(dim=(2, 3), keepdim=True), x, parameters)


def sharpness(x: Tensor, parameters: Tensor) -> Tensor:
    """Blend with the image smoothed by (1 1 1, 1 5 1, 1 1 1) / 13; edges stay as they are."""
    if min(x.shape[2:]) < 3:
        return x
    sharp = x.clone()
    inner = sharp[:, :, 1:-1, 1:-1]
    column = (x[:, :, :-2] + x[:, :, 1:-1]).add_(x[:, :, 2:])
    square = (column[..., :-2] + column[..., 1:-1]).add_(column[..., 2:])
    smooth = square.add_(inner, alpha=4).div_(13)
    inner.copy_(_blend(smooth, inner, parameters))
    return sharp


def posterize(x: Tensor, parameters: Tensor) -> Tensor:
    """Round down to the levels that are kept, of 256."""
    step = _first(parameters)
    coarse = (x * 255).round_().div_(step).floor_().mul_(step).div_(255)
    return torch.where(step > 1, coarse, x)


def solarize(x: Tensor, parameters: Tensor) -> Tensor:
    """Invert values from the threshold on, after an amount was added."""
    threshold, amount = parameters[:, :2, None, None, None].unbind(1)
    x = (x + amount).clamp_(0, 1)
    return torch.where(x >= threshold, 1 - x, x)


def autocontrast(x: Tensor, parameters: Tensor) -> Tensor:  # noqa: ARG001  (it has none)
    """Stretch every channel to [0, 1]; a constant channel stays as it is."""
    low, high = x.amin(dim=(2, 3), keepdim=True), x.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (x - low) / (high - low), x)


def equalize(x: Tensor, parameters: Tensor) -> Tensor:  # noqa: ARG001  (it has none)
    """Make all of 256 levels about equally frequent, in every channel.

    With s = (pixels - those of the highest level) // 255, a pixel becomes level
    (pixels of lower levels + s // 2) // s; where s is 0, the channel stays as it is.
    """
    levels = (x * 255).round_().long().clamp_(0, 255).flatten(2).flatten(0, 1)
    counts = levels.new_zeros(len(levels), 256).scatter_add_(1, levels, torch.ones_like(levels))
    below = counts.cumsum(dim=1).sub_(counts)
    step = below.gather(1, levels.amax(dim=1, keepdim=True)).div_(255, rounding_mode="floor")
    even = (below + step // 2).div_(step.clamp(min=1), rounding_mode="floor").clamp_(max=255)
    equal = even.gather(1, levels).to(x.dtype).div_(255)
    return torch.where((step > 0).view(*x.shape[:2], 1, 1), equal.view(x.shape), x)


def _first(parameters: Tensor) -> Tensor:
    return parameters[:, 0, None, None, None]


def _blend(degenerate: Tensor, x: Tensor, parameters: Tensor) -> Tensor:
    """Move from the degenerate image, factor 0, to the image, factor 1, and beyond."""
    return torch.lerp(degenerate, x, _first(parameters)).clamp_(0, 1)


def _make_grey(x: Tensor) -> Tensor:
    """Grey value of ITU-R 601, (n, 1, H, W)."""
    if x.shape[1] == 1:
        return x
    grey = x[:, :1] * 0.299
    return grey.add_(x[:, 1:2], alpha=0.587).add_(x[:, 2:], alpha=0.114)


OPERATIONS: dict[Kind, Callable[[Tensor, Tensor], Tensor]] = {
    Kind.SCALE: scale,
    Kind.SHIFT: shift,
    Kind.COLOUR: colour,
    Kind.SATURATION: saturation,
    Kind.CONTRAST: contrast,
    Kind.SHARPNESS: sharpness,
    Kind.POSTERIZE: posterize,
    Kind.SOLARIZE: solarize,
    Kind.AUTOCONTRAST: autocontrast,
    Kind.EQUALIZE: equalize,
}
"""Operations on pixels and their neighbours; `warp` is the one on places."""


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
