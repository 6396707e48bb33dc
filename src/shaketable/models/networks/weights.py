"""Files of weights, as ``torch.save`` writes them; reading one runs no code in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.models.networks.registry import import_torch

if TYPE_CHECKING:
    from torch import nn

_ENTRIES = ("weights", "state_dict", "model_state_dict", "model")
"""Where files have their weights that hold more: ours, and checkpoints of usual training loops."""

_PREFIXES = ("module.", "_orig_mod.")
"""What DataParallel and ``torch.compile`` put before every name."""


def read_weights(path: str | Path, *, place: Any = "cpu") -> dict[str, Any]:
    """Return the weights in a file by name: a ``state_dict()``, a checkpoint with one, or ours.

    `place` is where torch puts the tensors, its ``map_location``.
    """
    torch = import_torch()
    file = Path(path)
    if not file.is_file():
        raise InputError(f"file of weights {str(file)!r} does not exist; check the path")
    try:
        content = torch.load(file, map_location=place, weights_only=True)
    except Exception as error:  # of many kinds, for a file of another kind
        raise _refuse(file, type(error).__name__) from error
    if not isinstance(content, Mapping):
        raise _refuse(file, type(content).__name__)
    inner = (content.get(entry) for entry in _ENTRIES)
    weights = next((each for each in inner if isinstance(each, Mapping)), content)
    if not any(isinstance(tensor, torch.Tensor) for tensor in weights.values()):
        raise _refuse(file, f"it has {', '.join(map(str, list(weights)[:3])) or 'nothing'}")
    return {str(name): tensor for name, tensor in weights.items()}


def match_names(weights: Mapping[str, Any], module: nn.Module) -> dict[str, Any]:
    """Return weights without the prefixes of DataParallel and ``torch.compile``.

    A prefix stays if the module itself has it.
    """
    own = module.state_dict()
    for prefix in _PREFIXES * 2:  # in any order
        if all(name.startswith(prefix) for name in weights) and not own.keys() & weights.keys():
            weights = {name.removeprefix(prefix): tensor for name, tensor in weights.items()}
    return dict(weights)


def _refuse(file: Path, got: str) -> InputError:
    return InputError(
        f"file {str(file)!r} does not hold weights alone ({got}); save them with "
        "torch.save(network.state_dict(), file)"
    )
