"""Files of weights, as ``torch.save`` writes them; reading one runs no code in it.

They are zip archives since torch 1.6, with a checksum of every part, which torch itself does not
compare. Older ones have none.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError, ShaketableWarning
from shaketable.core.writing import write_beside
from shaketable.models.networks.registry import import_torch

if TYPE_CHECKING:
    from torch import nn

_ENTRIES = ("weights", "state_dict", "model_state_dict", "model")
"""Where files have their weights that hold more: ours, and checkpoints of usual training loops."""

_PREFIXES = ("module.", "_orig_mod.")
"""What DataParallel and ``torch.compile`` put before every name."""


def check_parts(path: Path) -> bool:
    """Compare the checksums of a file of torch, and return whether it has any.

    Raises ``zipfile.BadZipFile`` for one that was changed.
    """
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                raise zipfile.BadZipFile("it was cut short")
        return False
    with zipfile.ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"checksum of {part}")
    return True


def read_content(path: Path, place: Any = "cpu") -> Any:
    """Return the plain values and tensors in a file of torch, whose parts must be as written."""
    if not check_parts(path):
        raise zipfile.BadZipFile("it has no checksums")
    return import_torch().load(path, map_location=place, weights_only=True)


def write_content(path: str | Path, what: str, content: Mapping[str, Any]) -> None:
    """Write plain values and tensors with ``torch.save``; `what` names them if that fails."""
    torch = import_torch()
    with write_beside(path, what) as beside, beside.open("wb") as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:
            if isinstance(error.__context__, OSError):  # the reason, such as a full disk
                raise error.__context__ from error
            raise


def read_weights(path: str | Path, *, place: Any = "cpu") -> dict[str, Any]:
    """Return the weights in a file by name: a ``state_dict()``, a checkpoint with one, or ours.

    `place` is where torch puts the tensors, its ``map_location``.
    """
    torch = import_torch()
    file = Path(path)
    if not file.is_file():
        raise InputError(f"file of weights {str(file)!r} does not exist; check the path")
    try:
        if not check_parts(file):
            _note_missing_checksums(file)
        content = torch.load(file, map_location=place, weights_only=True)
    except zipfile.BadZipFile as error:
        raise InputError(
            f"file of weights {str(file)!r} is damaged ({error}); restore it"
        ) from error
    except Exception as error:  # of many kinds, for a file of another kind
        raise _refuse(file, type(error).__name__) from error
    if not isinstance(content, Mapping):
        raise _refuse(file, type(content).__name__)
    inner = (content.get(entry) for entry in _ENTRIES)
    weights = next((each for each in inner if isinstance(each, Mapping)), content)
    if not any(isinstance(tensor, torch.Tensor) for tensor in weights.values()):
        raise _refuse(file, f"it has {', '.join(map(str, list(weights)[:3])) or 'nothing'}")
    return {str(name): tensor for name, tensor in weights.items()}


def _note_missing_checksums(file: Path) -> None:
    warnings.warn(
        f"file {str(file)!r} has no checksums, as torch before 1.6 wrote none: damage may go "
        "unnoticed; load it once, and save it again with torch.save",
        ShaketableWarning,
        stacklevel=3,
    )


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
