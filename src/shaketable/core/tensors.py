"""Numbers on their way to a torch device, and kernels that are started there."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from shaketable.core.types import Array


def move(values: Array, device: torch.device) -> Tensor:
    """Move numbers to a device without waiting for it.

    CUDA may first finish all that it was given before, unless the copy is from pinned memory.
    """
    here = torch.from_numpy(values)
    if device.type == "cuda":
        here = here.pin_memory()
    return here.to(device, non_blocking=True)


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Context in which Triton starts kernels on this device; its interpreter runs on the CPU."""
    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return nullcontext()
    context: AbstractContextManager[object] = torch.cuda.device(device)
    return context
