"""Numbers on their way to a torch device."""

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
