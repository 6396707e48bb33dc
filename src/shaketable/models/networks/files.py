"""Files of trained networks: weights and the spec of their network, but no code.

Such a file is a dictionary of plain values and tensors, saved with ``torch.save``::

    format   "shaketable network"          labels   label of every score, or None
    version  1                             weights  state_dict(), on the CPU
    network  spec, with all options        info     how it was trained, plain JSON values
    shape    of a point                    classes  number of scores
    scaling  low and span of features in training, or None

It is read with ``weights_only=True``, which runs no code, and the network is made by its name. A
file whose network is ``package.module:factory`` has that module imported, which runs it; as the
file, not the user, chose the module, the file must be trusted.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.errors import InputError, either
from shaketable.core.importing import is_reference
from shaketable.core.spec import parse_call
from shaketable.core.types import IntArray
from shaketable.core.writing import check_writable
from shaketable.data.dataset import Scaling
from shaketable.models.adapted import Adapted, adapt
from shaketable.models.feature_scaling import FeatureScaling
from shaketable.models.networks.registry import (
    NETWORKS,
    build_network,
    import_torch,
    resolve_network,
)
from shaketable.models.networks.weights import match_names, read_content, write_content

if TYPE_CHECKING:
    from torch import nn

FORMAT = "shaketable network"
VERSION = 1

_START = 1024
"""Bytes within which a file says what it is."""

Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What a file of a trained network holds."""

    module: nn.Module
    network: str
    """Spec of the network, with all its options."""
    shape: tuple[int, ...]
    """Shape of a point, as in the data that it was trained on."""
    classes: int
    labels: tuple[Label, ...] | None = None
    """Label of the data of every score; None if scores are in the order of the data's classes."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained."""
    scaling: Scaling | None = None
    """How the features were scaled in training; None if they were not."""

    def as_model(self) -> Any:
        """Return the model as `evaluate` takes it: it answers with the labels of the data.

        It takes features in their own units, before they were scaled.
        """
        scaling = None if self.scaling is None else FeatureScaling(self.scaling)
        if self.labels is None and scaling is None:
            return self.module
        return adapt(Adapted(self.module, scaling=scaling), classes=self.labels)


def save_network(
    path: str | Path,
    module: nn.Module,
    *,
    network: str,
    shape: Sequence[int],
    classes: int,
    labels: Sequence[Any] | None = None,
    info: Mapping[str, Any] | None = None,
    scaling: Scaling | None = None,
) -> None:
    """Write a trained network to a file, which `evaluate` takes as a model without ``--trust``.

    Parameters
    ----------
    path
        File to write, ``.pt``; an older one is replaced once all is written.
    module
        The trained module, as `build_network` made it; on any device.
    network
        Spec from which it was made.
    shape
        Shape of a point.
    classes
        Number of classes.
    labels
        Labels of the data in the order of the scores, such as ``data.classes``.
    info
        How it was trained: values that JSON can hold.
    scaling
        How features were scaled in training, such as ``data.scaling``.
    """
    torch = import_torch()
    if labels is not None:
        labels = [getattr(label, "item", lambda label=label: label)() for label in labels]
        _check_labels(labels, classes)
    try:
        plain = json.loads(json.dumps(dict(info or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"info must hold values that JSON can hold: {error}") from error
    spec = resolve_network(network)
    empty = make_empty(spec, shape=tuple(shape), classes=classes)
    given = {name: tensor.detach().cpu() for name, tensor in module.state_dict().items()}
    weights = match_names(given, empty)
    try:
        empty.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"network must be the spec that makes the module, for its shape and classes, got "
            f"{network!r}: {reason}"
        ) from error
    content = {
        "format": FORMAT,
        "version": VERSION,
        "network": spec,
        "shape": [int(side) for side in shape],
        "classes": int(classes),
        "labels": labels,
        "weights": weights,
        "info": plain,
        "scaling": None
        if scaling is None
        else {"low": torch.tensor(scaling.low), "span": torch.tensor(scaling.span)},
    }
    check_writable(path, "network")
    write_content(path, "network", content)


def is_network_file(path: Path) -> bool:
    """Whether a file claims to be one of `save_network`; nothing in it is run to find out.

    One that was cut short has no list of its parts, but still begins with what it claims.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            return any(FORMAT.encode() in archive.read(name) for name in names)
    except zipfile.BadZipFile:
        with path.open("rb") as file:
            start = file.read(_START)
        return start.startswith(b"PK") and FORMAT.encode() in start
    except (OSError, ValueError, RuntimeError, NotImplementedError):
        return False


def find_held_out(path: str | Path, fingerprint: str) -> IntArray | None:
    """Return the rows of data that the network in a file was not trained on.

    None if the file does not tell: it is no network, or was trained on data of another fingerprint.
    """
    if not is_network_file(Path(path)):
        return None
    try:
        content = import_torch().load(path, map_location="cpu", weights_only=True, mmap=True)
        info = content["info"]
        known = info.get("data") == fingerprint and isinstance(info.get("held_out"), list)
        return np.array(info["held_out"], dtype=np.int64) if known else None
    except Exception:  # of many kinds, for a damaged file, which loading it will say
        return None


def load_network(path: str | Path, *, trust: bool = False) -> TrainedNetwork:
    """Return the trained network in a file that `save_network` wrote; its module is on the CPU.

    `trust` is needed only if its network is ``package.module:factory``.

    Parameters
    ----------
    path
        The ``.pt`` file.
    trust
        Whether code of other packages may make the network.

    Returns
    -------
    TrainedNetwork
        The network, with its shape, classes and labels.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> trained = st.training.train("mlp(width=4)", st.load("bands(n=40)"), epochs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained.save(Path(folder) / "net.pt")
    ...     print(load_network(Path(folder) / "net.pt").network)
    mlp(width=4, depth=3)
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"file of a network {str(file)!r} does not exist; check the path")
    try:
        content = read_content(file)
    except Exception as error:  # of many kinds, for a damaged file
        raise _damaged(file, type(error).__name__) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            f"file {str(file)!r} does not hold a trained network; name one that save_network wrote"
        )
    if content.get("version") != VERSION:
        raise InputError(
            f"network file {str(file)!r} must have version {VERSION}, got "
            f"{content.get('version')!r}; update shaketable, or train the network again"
        )
    try:
        spec, shape, labels = _check_content(content)
        scaling = _read_scaling(content.get("scaling"), math.prod(shape))
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # InputError: a ValueError
        raise _damaged(file, str(error) or type(error).__name__) from error
    if is_reference(parse_call(spec).name) and not trust:
        raise InputError(
            f"model file {str(file)!r} must be trusted: its network is {spec}, and importing "
            "that module runs its code; if you know who made the file, add "
            f"{either('--trust', 'trust=True')}"
        )
    module = make_empty(spec, shape=shape, classes=content["classes"])
    try:
        module.load_state_dict(content["weights"], assign=True)
    except Exception as error:  # of several kinds, for weights of another network
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"weights in {str(file)!r} do not fit network {spec!r}: {reason}; train the network "
            "again, or restore the file"
        ) from error
    return TrainedNetwork(
        module.eval(), spec, shape, content["classes"], labels, content["info"], scaling
    )


def make_empty(spec: str, *, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return a network for weights that take the place of its own (``assign=True``).

    Ours get no memory for weights, so that the shape in a damaged file does not use it up, and no
    random numbers are drawn. Others may keep tensors that are no weights.
    """
    torch = import_torch()
    if parse_call(spec).name not in NETWORKS.declared:
        return build_network(spec, shape=shape, classes=classes, seed=0)
    with torch.device("meta"):
        return build_network(spec, shape=shape, classes=classes)


def _check_content(
    content: Mapping[str, Any],
) -> tuple[str, tuple[int, ...], tuple[Label, ...] | None]:
    """Return spec, shape and labels of a file; what is not as it is written is an error."""
    spec, shape, classes, labels = (
        content[key] for key in ("network", "shape", "classes", "labels")
    )
    weights, info = content["weights"], content["info"]
    if not isinstance(spec, str) or not isinstance(info, dict) or not isinstance(weights, dict):
        raise TypeError("network, info or weights are of another type")
    if type(classes) is not int or not isinstance(shape, list):
        raise TypeError("classes or shape are of another type")
    if not all(type(side) is int for side in shape) or math.prod(shape) <= 0:
        raise ValueError(f"shape is {shape!r}")
    if labels is not None:
        _check_labels(labels, classes)
    parse_call(spec)
    return spec, tuple(shape), None if labels is None else tuple(labels)


def _read_scaling(content: Any, d: int) -> Scaling | None:
    """Return the scaling in a file; older files, and those of unscaled data, have none."""
    if content is None:
        return None
    low, span = (content[name].numpy() for name in ("low", "span"))
    if not (low.shape == span.shape == (d,) and low.dtype.kind == span.dtype.kind == "f"):
        raise ValueError(f"scaling is of {low.shape} and {span.shape} features")
    return Scaling(low, span)


def _check_labels(labels: Any, classes: int) -> None:
    if (
        not isinstance(labels, list)
        or not all(isinstance(label, Label) for label in labels)
        or len({str(label) for label in labels}) != classes
        or len(labels) != classes
    ):
        raise InputError(
            f"labels must be {classes} different texts or numbers, one per class, got {labels!r}"
        )


def _damaged(file: Path, reason: str) -> InputError:
    return InputError(
        f"network file {str(file)!r} is damaged ({reason}); restore it, or train the network again"
    )
