"""Torch modules and exported programs in files. Torch itself is imported when a file is read."""

from __future__ import annotations

import sys
import warnings
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from shaketable.core.errors import InputError, either
from shaketable.core.importing import import_object, is_reference
from shaketable.models.failures import report_failures
from shaketable.models.loading import ModelLoader, declare_loader
from shaketable.models.networks.files import is_network_file, load_network, make_empty
from shaketable.models.networks.weights import check_parts, match_names, read_weights


def load_file(path: Path, *, trust: bool) -> Any:
    """Return the model in a file: a trained network of ours, or what `load_module` reads.

    The former holds no code; the latter must be trusted.
    """
    if is_network_file(path):
        return load_network(path, trust=trust).as_model()
    if not trust:
        raise TORCH.require_trust(path)
    return load_module(path)


def load_module(path: Path) -> Any:
    """Return the whole module that ``torch.save`` wrote, or the TorchScript in a file.

    This runs the code in the file. Tensors come back on the device they were saved from, or on the
    CPU if it is missing.
    """
    import torch

    if check_parts(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("constants.pkl") for name in archive.namelist()):
                return _load_script(path)
    loaded = torch.load(path, map_location=_restore, weights_only=False)
    if not callable(loaded):
        raise InputError(
            f"model file {str(path)!r} must hold a whole module, got {type(loaded).__name__}: it "
            "holds weights only; name their network too, as in package.module:network@"
            f"{path.name}"
        )
    if isinstance(loaded, torch.nn.Module):
        _check_parts(loaded)
    return loaded


def _load_script(path: Path) -> Any:
    """Return a TorchScript module, on its device, or on the CPU if this machine has no such one."""
    import torch

    load: Any = torch.jit.load  # has no types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the user has the file already
        try:
            return load(path)
        except RuntimeError:
            return load(path, map_location="cpu")


def load_exported(path: Path) -> Any:
    """Return the program that ``torch.export.save`` wrote; this unpickles parts of the file."""
    import torch.export

    check_parts(path)
    return wrap(torch.export.load(path), path.name)


def wrap(model: Any, name: str = "ExportedProgram") -> Any:
    """Return an exported program as a module; None for other objects."""
    torch_export: Any = sys.modules.get("torch.export")  # imported already if there is a program
    if torch_export is None or not isinstance(model, torch_export.ExportedProgram):
        return None
    from shaketable.models.torch_modules import ExportedModule

    return ExportedModule(model, name)


def load_weights(network: str, path: Path, *, shape: Sequence[int] | None = None) -> Any:
    """Return a module with the weights in a file, which runs no code in the file.

    `network` is ``package.module:network``: a module, or a class or function that makes one when
    it is called without arguments; or one of our networks, which is made for points of `shape`.
    The file is one that `read_weights` reads.
    """
    TORCH.import_needed()
    named = is_reference(network)
    if not named and shape is None:
        raise InputError(
            f"network {network!r} must be made for points of some shape, which is not known here; "
            f"give it ({either('--data', 'load_model(…, shape=data.shape)')}), or train it from "
            f"these weights ({either('--network SPEC@FILE.pt', 'training.UntrainedNetwork')})"
        )
    if is_network_file(path):
        raise InputError(
            f"file {str(path)!r} holds a whole network, with its labels and scaling; name it as it "
            f"is, {either('--model ', '')}{path}"
        )
    module = _import_network(network) if named else None
    weights = read_weights(path, place=_restore)
    try:
        if module is None:
            classes = len(next(reversed(weights.values())))  # the bias of the last layer
            module = make_empty(network, shape=tuple(shape or ()), classes=classes)
        module.load_state_dict(match_names(weights, module), assign=not named)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise InputError(
            f"weights in {str(path)!r} do not fit network {network!r}"
            f"{'' if named else f' for points of shape {tuple(shape or ())}'}: "
            f"{' '.join(str(error).split())[:300]}; name the network that they were saved from"
        ) from error
    return module


def _import_network(reference: str) -> Any:
    """Return the module that ``package.module:network`` is or makes."""
    import torch

    network = import_object("network", reference)
    with report_failures(reference, "could not be made"):
        module = deepcopy(network) if isinstance(network, torch.nn.Module) else network()
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"network {reference!r} must be a torch module, or a class or function that makes one, "
            f"got {type(module).__name__}"
        )
    return module


def _check_parts(module: Any) -> None:
    """Fail with an `AttributeError` if a module lacks parts that all modules have."""
    module.state_dict()
    for part in module.modules():
        _ = part.training


def _restore(storage: Any, location: str) -> Any:
    """Put a storage on its device; leave it on the CPU if this machine has no such device."""
    import torch

    restore: Any = torch.serialization.default_restore_location  # has no types
    try:
        return restore(storage, location)
    except RuntimeError:
        return storage


TORCH = declare_loader(
    ModelLoader(
        (".pt", ".pth"),
        load_file,
        help="trained network of shaketable, whole torch module of torch.save, or TorchScript",
        needs="torch",
        install="shaketable[torch]",
        safer="an .onnx file, or weights with their network (package.module:network@weights.pt)",
        asks_for_trust=True,
    )
)
declare_loader(
    ModelLoader(
        (".pt2",),
        load_exported,
        help="program of torch.export, saved with torch.export.save",
        needs="torch",
        install="shaketable[torch]",
        safer="an .onnx file",
    )
)
