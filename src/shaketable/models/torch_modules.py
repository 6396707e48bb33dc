"""Torch modules as models: points in, scores out, on the device of the module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from shaketable.core.errors import InputError
from shaketable.core.image_layout import find_channels
from shaketable.core.types import Array

_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
"""What layers raise when points have the wrong shape for them."""


@dataclass(frozen=True, eq=False)
class ModuleAnswer:
    """Scores of a module in evaluation mode, one column per class.

    The module gets points in the layout of `arrange_images`, on its device and in the type of its
    first floating parameter (float32 if it has none). They are copies: layers may work in place.

    >>> answer = ModuleAnswer("sign", nn.Linear(1, 2))
    >>> answer(np.zeros((5, 1))).shape, answer.device
    ((5, 2), device(type='cpu'))
    """

    name: str
    module: nn.Module

    @property
    def device(self) -> torch.device:
        """Device of the module; the CPU if it has neither parameters nor buffers."""
        tensors = chain(self.module.parameters(), self.module.buffers())
        devices = list(dict.fromkeys(tensor.device for tensor in tensors))
        if len(devices) > 1:
            raise InputError(
                f"model {self.name} must be on one device, got {', '.join(map(str, devices))}; "
                "wrap it in a function from points to scores"
            )
        return devices[0] if devices else torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """Floating type that the module takes."""
        dtypes = (parameter.dtype for parameter in self.module.parameters())
        return next((dtype for dtype in dtypes if dtype.is_floating_point), torch.float32)

    def __call__(self, x: Array | Tensor) -> Array:
        """Return the scores of every row; a tensor on the module's device is not moved."""
        device = self.device
        try:
            points = arrange_images(as_tensor(x), self.module).to(
                device, self.dtype, copy=True, memory_format=torch.contiguous_format
            )
            with _evaluation_mode(self.module), torch.inference_mode():
                return self._scores(self.module(points))
        except InputError:
            raise
        except _REFUSALS as error:
            raise self._refusal(x, error) from error

    def _scores(self, answer: Any) -> Array:
        scores = getattr(answer, "logits", answer)  # Hugging Face's models return a record
        if not isinstance(scores, Tensor):
            got = type(scores).__name__
        elif scores.ndim != 2 or scores.shape[1] < 2 or scores.is_complex():
            got = f"{scores.dtype} of shape {tuple(scores.shape)}"
        else:
            small = scores.dtype.is_floating_point and scores.dtype != torch.float64
            return np.asarray(scores.to("cpu", torch.float32 if small else torch.float64).numpy())
        raise InputError(
            f"model {self.name} must return a tensor of scores, one column per class, got {got}; "
            "wrap it in a function from points to scores or labels"
        )

    def _refusal(self, x: Array | Tensor, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0] or type(error).__name__
        message = f"model {self.name} refused points of shape {tuple(x.shape[1:])}: {reason}"
        if "out of memory" in reason or "can't allocate memory" in reason:
            message += f"; {len(x)} points are too many for it on {self.device}: use a smaller "
            message += "model, or move it to another device"
        return InputError(message)


def as_tensor(x: Array | Tensor) -> Tensor:
    """Return points as a tensor; an array becomes one on the CPU, without a copy if possible."""
    return x if isinstance(x, Tensor) else torch.from_numpy(np.require(x, None, ["C", "W"]))


def arrange_images(x: Tensor, module: nn.Module) -> Tensor:
    """Return a view of points in the layout that convolutions take: channels first.

    Points of shape (H, W, C), with a last axis of 1, 3 or 4 and a first axis that is none of these,
    become (C, H, W). Points of shape (H, W) become (1, H, W) if the module's first convolution is
    two-dimensional. All others stay as they are. For a module that takes another layout, pass a
    function that calls it.

    >>> arrange_images(torch.zeros(5, 32, 32, 3), nn.Flatten()).shape
    torch.Size([5, 3, 32, 32])
    """
    shape = x.shape[1:]
    if find_channels(shape) == "last":
        return x.permute(0, 3, 1, 2)
    if len(shape) == 2:
        convolutions = (part for part in module.modules() if isinstance(part, _ConvNd))
        if isinstance(next(convolutions, None), nn.Conv2d | nn.ConvTranspose2d):
            return x[:, None]
    return x


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards every part is back in the mode it was in before."""
    before = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for part, training in before:
            part.training = training
