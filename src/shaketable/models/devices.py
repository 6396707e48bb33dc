"""On which device models compute: networks on a GPU if there is one, all others on the CPU."""

from __future__ import annotations

from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any, cast

from shaketable.core.errors import InputError
from shaketable.models.adapted import Adapted, Derived
from shaketable.models.identity import is_module
from shaketable.models.onnx_models import OnnxModel

if TYPE_CHECKING:
    import torch


def choose_device(
    device: str | torch.device | None = None, dtype: torch.dtype | None = None
) -> torch.device:
    """Return the torch device of this name, which must be usable; by default CUDA if there is one.

    `dtype` is a type of values that it must have, by default torch's usual floats.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    import torch

    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reason = "torch knows none of this name"
    try:
        place = torch.device(device)
        reason = ""
        torch.zeros(1, device=place, dtype=dtype).cpu()  # meta holds no values
    except Exception as error:  # of many kinds, by device
        there = ", ".join(["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))])
        raise InputError(
            f"device must be one that torch can use here ({there}), got {str(device)!r}: "
            f"{reason or shorten(str(error), 80, placeholder=' …')}; name another, or leave it out"
        ) from error
    return place


def describe_device(device: torch.device) -> str:
    """Return the name of a device, with that of the GPU.

    >>> import torch
    >>> describe_device(torch.device("cpu"))
    'cpu'
    """
    if device.type != "cuda":
        return str(device)
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})"


def place_model(model: Any, device: str | None = None) -> Any:
    """Return a model on a device, by default on the GPU if there is one.

    A torch module is moved there, and an ONNX file is run there by onnxruntime. Exported programs
    stay on the device that they were exported for, and models of other kinds have none.
    """
    if isinstance(model, Adapted | Derived):
        return replace(cast(Any, model), model=place_model(model.model, device))
    if isinstance(model, OnnxModel):
        return model.on(device)
    if not is_module(model):
        return model
    from shaketable.models.torch_modules import ExportedModule

    place = choose_device(device)
    if not isinstance(model, ExportedModule):
        return model.to(place)
    here = find_device(model)
    if device is not None and here is not None and not here.startswith(place.type):
        raise InputError(
            f"device of model {model.name} must be the one it was exported for, {here}, got "
            f"{device!r}; leave it out, or export it there"
        )
    return model


def find_device(model: Any) -> str | None:
    """Return where a network computes, in words; None for models of other kinds.

    >>> find_device(max) is None
    True
    """
    if isinstance(model, Adapted | Derived):
        return find_device(model.model)
    if isinstance(model, OnnxModel):
        return model.device
    if not is_module(model):
        return None
    from shaketable.models.torch_modules import ModuleAnswer

    return describe_device(ModuleAnswer(type(model).__name__, model).device)
