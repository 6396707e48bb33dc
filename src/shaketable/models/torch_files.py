"""Torch modules in files. Torch itself is imported when a file is read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError
from shaketable.models.loading import ModelLoader, declare_loader


def load_module(path: Path) -> Any:
    """Return the whole module that ``torch.save`` wrote; this runs the code in the file.

    Tensors come back on the device they were saved from, or on the CPU if it is missing.
    """
    import torch

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("constants.pkl") for name in archive.namelist()):
                raise InputError(
                    f"model file {str(path)!r} holds TorchScript; name an object "
                    "package.module:attribute that loads it with torch.jit.load"
                )
    loaded = torch.load(path, map_location=_restore, weights_only=False)
    if not callable(loaded):
        raise InputError(
            f"model file {str(path)!r} must hold a whole module, got {type(loaded).__name__}: it "
            "holds weights only; name an object package.module:attribute that loads them"
        )
    if isinstance(loaded, torch.nn.Module):
        loaded.state_dict()  # fails if parts are missing
    return loaded


def _restore(storage: Any, location: str) -> Any:
    """Put a storage on its device; leave it on the CPU if this machine has no such device."""
    import torch

    restore: Any = torch.serialization.default_restore_location  # has no types
    try:
        return restore(storage, location)
    except RuntimeError:
        return storage


declare_loader(
    ModelLoader(
        (".pt", ".pth"),
        load_module,
        help="whole torch module, saved with torch.save",
        needs="torch",
        install="shaketable[torch]",
    )
)
