"""Operations on images of 8 bits, rounded after each as Pillow and torchvision round.

Images are floats that hold levels, 0 to 255. Pillow works on one image at a time, torchvision on
tensors; both cut off what is behind the point after blending, but they differ in the grey image and
in the mean of it. Sums are in their order and in float32, as the last bit decides about a level.
Only `operations` has a kernel; these run as they are on any device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from shaketable.core.tensors import move
from shaketable.core.types import FloatArray
from shaketable.training.augmentations import operations
from shaketable.training.augmentations.plans import Kind

Rules = Mapping[Kind, Callable[[Tensor, Tensor], Tensor]]
"""What is computed for every kind, from images and parameters."""


def as_levels(x: Tensor) -> Tensor:
    """Images as levels 0 to 255 in float32; no gradient is followed."""
    if x.dtype == torch.uint8:
        return x.detach().to(torch.float32)
    return (operations.as_floats(x) * 255).round_().to(torch.float32)


def from_levels(levels: Tensor, x: Tensor) -> Tensor:
    """Return levels in the type of the images that were given."""
    if x.dtype == torch.uint8:
        return levels.to(torch.uint8)
    return (levels.to(torch.promote_types(x.dtype, torch.float32)) / 255).to(x.dtype)


def _column(parameters: Tensor, i: int = 0) -> Tensor:
    return parameters[:, i, None, None, None]


def _blend_as_pillow(degenerate: Tensor, x: Tensor, parameters: Tensor) -> Tensor:
    return ((x - degenerate) * _column(parameters) + degenerate).clamp_(0, 255).floor_()


def _blend_as_torchvision(degenerate: Tensor, x: Tensor, parameters: Tensor) -> Tensor:
    blended = x * _column(parameters) + degenerate * _column(parameters, 1)
    return blended.clamp_(0, 255).floor_()


def _grey_of_pillow(x: Tensor) -> Tensor:
    """Grey levels, rounded; whole numbers below 2**24, so that float32 is exact."""
    if x.shape[1] == 1:
        return x
    total = x[:, :1] * 19595 + x[:, 1:2] * 38470 + x[:, 2:] * 7471
    return ((total + 32768) / 65536).floor_()


def _grey_of_torchvision(x: Tensor) -> Tensor:
    """Grey levels, cut off."""
    if x.shape[1] == 1:
        return x
    return (x[:, :1] * 0.2989 + x[:, 1:2] * 0.587 + x[:, 2:] * 0.114).floor_()


def _contrast_of_pillow(x: Tensor, parameters: Tensor) -> Tensor:
    grey = _grey_of_pillow(x).to(torch.int64)
    pixels = grey.shape[2] * grey.shape[3]
    total = grey.sum(dim=(2, 3), keepdim=True)
    mean = (2 * total + pixels).div(2 * pixels, rounding_mode="floor")
    return _blend_as_pillow(mean.to(x.dtype), x, parameters)


def _colour_of_torchvision(x: Tensor, parameters: Tensor) -> Tensor:
    grey = _grey_of_torchvision(x)
    return x if grey is x else _blend_as_torchvision(grey, x, parameters)


def _contrast_of_torchvision(x: Tensor, parameters: Tensor) -> Tensor:
    mean = _grey_of_torchvision(x).mean(dim=(2, 3), keepdim=True)
    return _blend_as_torchvision(mean, x, parameters)


def _smooth(x: Tensor) -> Tensor:
    """Image smoothed by (1 1 1, 1 5 1, 1 1 1) / 13, rounded; edges stay as they are."""
    smooth = x.clone()
    if min(x.shape[2:]) < 3:
        return smooth
    column = x[:, :, :-2] + x[:, :, 1:-1] + x[:, :, 2:]
    square = column[..., :-2] + column[..., 1:-1] + column[..., 2:]
    inner = smooth[:, :, 1:-1, 1:-1]
    inner.copy_(square.add_(inner, alpha=4).div_(13).round_())
    return smooth


def _sharpness_of_torchvision(x: Tensor, parameters: Tensor) -> Tensor:
    return x if min(x.shape[2:]) < 3 else _blend_as_torchvision(_smooth(x), x, parameters)


def _autocontrast_as_pillow(x: Tensor, parameters: Tensor) -> Tensor:  # noqa: ARG001  (it has none)
    low, high = (end(dim=(2, 3), keepdim=True).double() for end in (x.amin, x.amax))
    scale = low.new_full((), 255).div(high - low)  # 255 / tensor would multiply by the reciprocal
    stretched = (x * scale + -low * scale).clamp_(0, 255).floor_()
    return torch.where(high > low, stretched.to(x.dtype), x)


def _autocontrast_as_torchvision(x: Tensor, parameters: Tensor) -> Tensor:  # noqa: ARG001  (none)
    low, high = (end(dim=(2, 3), keepdim=True) for end in (x.amin, x.amax))
    stretched = ((x - low) * (255 / (high - low))).clamp_(0, 255).floor_()
    return torch.where(high > low, stretched, x)


def _posterize(x: Tensor, parameters: Tensor) -> Tensor:
    step = _column(parameters)
    return (x / step).floor_() * step


def _solarize(x: Tensor, parameters: Tensor) -> Tensor:
    return torch.where(x >= _column(parameters), 255 - x, x)


def _equalize(x: Tensor, parameters: Tensor) -> Tensor:
    return (operations.equalize(x / 255, parameters) * 255).round_()


def _warp_as_pillow(x: Tensor, parameters: Tensor) -> Tensor:
    return operations.warp(x, parameters, "nearest")


def _warp_as_torchvision(x: Tensor, parameters: Tensor) -> Tensor:
    return operations.warp(x, parameters, "bilinear", edges="zeros").round_()


_SAME: Rules = {Kind.POSTERIZE: _posterize, Kind.SOLARIZE: _solarize, Kind.EQUALIZE: _equalize}

PILLOW: Rules = {
    **_SAME,
    Kind.AFFINE: _warp_as_pillow,
    Kind.SCALE: lambda x, p: _blend_as_pillow(torch.zeros_like(x), x, p),
    Kind.COLOUR: lambda x, p: _blend_as_pillow(_grey_of_pillow(x), x, p),
    Kind.CONTRAST: _contrast_of_pillow,
    Kind.SHARPNESS: lambda x, p: _blend_as_pillow(_smooth(x), x, p),
    Kind.AUTOCONTRAST: _autocontrast_as_pillow,
}
"""Those of Pillow, with the nearest pixel: what torchvision does with one of its images."""

TORCHVISION: Rules = {
    **_SAME,
    Kind.AFFINE: _warp_as_torchvision,
    Kind.SCALE: lambda x, p: _blend_as_torchvision(torch.zeros_like(x), x, p),
    Kind.COLOUR: _colour_of_torchvision,
    Kind.CONTRAST: _contrast_of_torchvision,
    Kind.SHARPNESS: _sharpness_of_torchvision,
    Kind.AUTOCONTRAST: _autocontrast_as_torchvision,
}
"""Those of torchvision on tensors, bilinear: at edges of the image, pixels are mixed with black.

A blend has two parameters: the share of the image, and that of what it is blended with.
"""


def mix_levels(images: Tensor, chains: Sequence[Tensor], weights: FloatArray) -> Tensor:
    """Return the weighted sum of images and their chains, cut off as torchvision does.

    Weights add up to 1 only up to rounding, so that equal levels may become the one below.
    """
    own = move(weights.T.astype(np.float32), images.device)[:, :, None, None, None]
    total = images * own[0]
    for chain, share in zip(chains, own[1:], strict=True):
        total += chain * share  # not fused, so that a result does not depend on the batch
    return total.floor_()
