"""Modules of torch's as models: points in, scores out, on the device the module is on."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from shaketable.core.errors import InputError
from shaketable.core.types import Array
from shaketable.data.images import CHANNELS

_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
"""What layers raise at points of a shape they do not take."""


@dataclass(frozen=True, eq=False)
class ModuleAnswer:
    """Scores of a module in evaluation mode, one column a class.

    Points reach the module as `arranged` puts them, on its device and in the type of its first
    floating parameter (float32 if it has none). They are copies: layers may work in place.

    >>> answer = ModuleAnswer("sign", nn.Linear(1, 2))
    >>> answer(np.zeros((5, 1))).shape, answer.device
    ((5, 2), device(type='cpu'))
    """

    name: str
    module: nn.Module

    @property
    def device(self) -> torch.device:
        """Where the module is; the CPU for one without parameters and buffers."""
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
        """Type of the numbers the module takes."""
        dtypes = (parameter.dtype for parameter in self.module.parameters())
        return next((dtype for dtype in dtypes if dtype.is_floating_point), torch.float32)

    def __call__(self, x: Array | Tensor) -> Array:
        """Scores of every row, also of a tensor's; one on the module's device stays there."""
        device = self.device
        try:
            points = arranged(as_tensor(x), self.module).to(
                device, self.dtype, copy=True, memory_format=torch.contiguous_format
            )
            with _evaluating(self.module), torch.inference_mode():
                return self._scores(self.module(points))
        except InputError:
            raise
        except _REFUSALS as error:
            raise self._refusal(x, error) from error

    def _scores(self, answer: Any) -> Array:
        scores = getattr(answer, "logits", answer)  # Hugging Face's models answer with a record
        if not isinstance(scores, Tensor):
            got = type(scores).__name__
        elif scores.ndim != 2 or scores.shape[1] < 2 or scores.is_complex():
            got = f"{scores.dtype} of shape {tuple(scores.shape)}"
        else:
            small = scores.dtype.is_floating_point and scores.dtype != torch.float64
            return np.asarray(scores.to("cpu", torch.float32 if small else torch.float64).numpy())
        raise InputError(
            f"model {self.name} must return a tensor of scores, one column a class, got {got}; "
            "wrap it in a function from points to scores or labels"
        )

    def _refusal(self, x: Array | Tensor, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0] or type(error).__name__
        what = f"model {self.name} refused points of shape {tuple(x.shape[1:])}: {reason}"
        if "out of memory" in reason or "can't allocate memory" in reason:
            what += f"; {len(x)} points are too many for it on {self.device}, so give a smaller "
            what += "model, or move it to another device"
        return InputError(what)


def as_tensor(x: Array | Tensor) -> Tensor:
    """Points as a tensor, where they are."""
    return x if isinstance(x, Tensor) else torch.from_numpy(np.require(x, None, ["C", "W"]))


def arranged(x: Tensor, module: nn.Module) -> Tensor:
    """View of points as convolutions take them: channels first.

    Images of shape (H, W, C), told by a last axis of 1, 3 or 4 and a first axis that is none of
    these, become (C, H, W), and images of shape (H, W) become (1, H, W) where the module's first
    convolution is in two dimensions. All other points stay as they are. A module that wants them
    otherwise is given wrapped in a function.

    >>> arranged(torch.zeros(5, 32, 32, 3), nn.Flatten()).shape
    torch.Size([5, 3, 32, 32])
    """
    shape = x.shape[1:]
    if len(shape) == 3 and shape[-1] in CHANNELS and shape[0] not in CHANNELS:
        return x.permute(0, 3, 1, 2)
    if len(shape) == 2:
        convolutions = (part for part in module.modules() if isinstance(part, _ConvNd))
        if isinstance(next(convolutions, None), nn.Conv2d | nn.ConvTranspose2d):
            return x[:, None]
    return x


def load_module(path: Path) -> Any:
    """Whole module that was saved with ``torch.save``, on its device or, where it is missing, CPU.

    Unpickling runs the code in the file.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("constants.pkl") for name in archive.namelist()):
                raise InputError(
                    f"model file {str(path)!r} holds TorchScript; name an object "
                    "package.module:attribute that loads it with torch.jit.load"
                )
    loaded = torch.load(path, map_location=_here, weights_only=False)
    if not callable(loaded):
        raise InputError(
            f"model file {str(path)!r} must hold a whole module, got {type(loaded).__name__}: it "
            "holds weights only; name an object package.module:attribute that loads them"
        )
    return loaded


def _here(storage: Any, location: str) -> Any:
    restore: Any = torch.serialization.default_restore_location  # has no types
    try:
        return restore(storage, location)
    except RuntimeError:  # that device is not here
        return storage


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode, and afterwards the modes that all parts were in before."""
    before = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for part, training in before:
            part.training = training
