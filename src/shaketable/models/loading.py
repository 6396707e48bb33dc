"""Models by name: built-in ones, teaching examples, ``package.module:attribute``, and files.

A kind of model file is one `ModelLoader`, declared in the module that reads such files. Other
packages add theirs by an entry point in the group ``shaketable.model_loaders``, whose name is the
file ending; it refers to a `ModelLoader`, or to a function from a path to a model::

    [project.entry-points."shaketable.model_loaders"]
    ".toy" = "toypackage.files:load"

A module that is named is imported, and so runs: its name says so. A file is expected to hold data
only, so one that may hold code is loaded only if the user says that it is trusted.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import (
    InputError,
    ModelError,
    either,
    guard_foreign,
)
from shaketable.core.importing import import_object, is_reference, search_working_directory
from shaketable.core.registry import Registry
from shaketable.data.dataset import Dataset
from shaketable.models.builtin import BUILTIN, EXAMPLES, builtin, example
from shaketable.models.networks.registry import is_network

_MOST_CPU, _SLOWEST = 20, 10**6  # seconds that a child may compute, and bytes that take one more
_PATIENCE = 10  # seconds to wait for each of these, as other processes may be busy


@dataclass(frozen=True)
class ModelLoader:
    """Reads models from files of one kind."""

    endings: tuple[str, ...]
    """Endings of such files, with their dot."""
    load: Callable[..., Any]
    """Returns the model in an existing file; whatever it raises becomes an `InputError`."""
    help: str
    """What such a file holds, in a few words."""
    needs: str | None = None
    """Optional package that `load` needs, by the name under which it is imported."""
    install: str | None = None
    """What to install to get that package, if it has another name."""
    safer: str | None = None
    """What to use instead, if loading a file runs code in it; None if it runs none.

    Such a file is loaded only if the user trusts it.
    """
    asks_for_trust: bool = False
    """Whether `load` takes the keyword ``trust``, and refuses files that need it by itself."""
    try_model: Callable[[Any], None] | None = None
    """Visits all parts of a loaded model; None if damaged files only make the library raise errors.

    Some libraries end the process instead. With it, each file is loaded and visited in a child
    process first, and in this one only if the child lived.
    """

    def import_needed(self) -> Any:
        """Import the package that `needs` names; an error says how to install it."""
        if self.needs is None:
            return None
        try:
            return import_module(self.needs)
        except ImportError as error:
            raise InputError(
                f"model files {', '.join(self.endings)} need {self.needs}, which is not installed; "
                f"pip install '{self.install or self.needs}'"
            ) from error

    def require_trust(self, path: Path) -> InputError:
        """Error to raise for a file that may hold code and is not trusted."""
        return InputError(
            f"model file {str(path)!r} must be trusted: a {path.suffix or path.name} file may hold "
            "code, which runs when it is loaded; if you know who made it, add "
            f"{either('--trust', 'trust=True')}, else use {self.safer}"
        )

    def check(self, path: Path, *, trust: bool) -> None:
        """Refuse a file without loading it: one that is missing, or may hold code, untrusted."""
        if not path.is_file():
            raise InputError(f"model file {str(path)!r} does not exist; check the path")
        if self.safer is not None and not trust and not self.asks_for_trust:
            raise self.require_trust(path)
        self.import_needed()

    def __call__(self, path: Path, *, trust: bool = False) -> Any:
        """Return the model in a file; one that may hold code must be trusted."""
        self.check(path, trust=trust)
        if trust and (self.asks_for_trust or self.safer is not None):  # it may name classes
            search_working_directory()
        if self.try_model is not None:
            _try_in_child(path)
        failure = f"model file {str(path)!r} cannot be loaded: {{text}}"
        remedy = "run from the directory that holds its classes, or install their package"
        with (
            guard_foreign(failure, ModelError, but=(InputError,)),
            # classes are saved by name only
            guard_foreign(f"{failure}; {remedy}", only=(AttributeError, ImportError)),
        ):
            return self.load(path, trust=trust) if self.asks_for_trust else self.load(path)


_tried: set[str] = set()
"""Hashes of the files that a child process could load."""


def _try_in_child(path: Path) -> None:
    """Load a file in a process of its own, once; an `InputError` if that dies, fails or hangs."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest in _tried:
        return
    code = "import sys; from shaketable.models.loading import try_file; try_file(sys.argv[1])"
    paths = os.pathsep.join(filter(None, sys.path))
    refusal = f"model file {str(path)!r} is damaged, or no model of its kind"
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", code, str(path)],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            timeout=_PATIENCE * (_MOST_CPU + len(content) / _SLOWEST),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{refusal}: loading it does not end; save it again") from error
    if child.returncode or child.stdout:  # what the library prints itself would mix with ours
        said = (child.stdout or child.stderr).decode(errors="replace").strip().rpartition("\n")[2]
        ended = f"its library ended the process (exit code {child.returncode})"
        why = said if child.returncode in (0, 1) else ended
        raise InputError(f"{refusal}: {why}; save it again")
    _tried.add(digest)


def try_file(path: str) -> None:
    """Load a model and visit all its parts; what a child process does with a file."""
    file = Path(path)
    loader = LOADERS.get(file.suffix or file.name)
    assert loader.try_model is not None, "only such files are tried"
    with suppress(ImportError):  # of Windows, where the parent ends what hangs
        import resource

        most = _MOST_CPU + file.stat().st_size // _SLOWEST
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    # ours come again when the parent loads the file
    guard = guard_foreign("{text}", SystemExit, but=(InputError,))
    with redirect_stdout(sys.stderr), suppress(InputError), guard:
        loader.try_model(loader.load(file))


def _admit(ending: str, loader: Any) -> ModelLoader:
    if isinstance(loader, ModelLoader):
        return loader
    if not callable(loader):
        raise InputError(
            f"model loader {ending!r} must be a ModelLoader or a function from a path to a model, "
            f"got {type(loader).__name__}; update or uninstall the package that declares it"
        )
    return ModelLoader((ending,), loader, (getdoc(loader) or "").partition("\n")[0])


LOADERS: Registry[ModelLoader] = Registry(
    "model loader",
    _admit,
    homes=(
        "shaketable.models.estimator_files",
        "shaketable.models.torch_files",
        "shaketable.models.onnx_models",
        "shaketable.models.boosters",
        "shaketable.models.estimator_files",
        "shaketable.models.mlflow_models",
    ),
)
"""Loaders of model files, by file ending."""


def declare_loader(loader: ModelLoader) -> ModelLoader:
    """Enter a loader into `LOADERS` under each of its endings, and return it."""
    for ending in loader.endings:
        LOADERS.add(ending, loader)
    return loader


def load_model(
    source: str,
    *,
    trust: bool = False,
    shape: Sequence[int] | None = None,
    data: Dataset | None = None,
) -> tuple[Any, bool]:
    """Return the model that a text names, and whether it still has to be fitted.

    Parameters
    ----------
    source
        Name of a built-in model or of a teaching example; ``package.module:attribute``, which is
        imported, also from the working directory; a file with one of the endings in `LOADERS`, or
        a folder with a file of such a name; or ``package.module:network@weights.pt``, weights of a
        torch module and the module, or what makes it when it is called, or one of our networks by
        name, as in ``resnet-50@weights.pt``.
    trust
        Whether files may be loaded that may hold code: those of joblib and pickle, whole torch
        modules, models of MLflow. Weights, boosters and ONNX files hold none.
    shape
        Shape of the points that the model will get; one of our networks with weights needs it.
    data
        Data that a built-in model will be fitted on; it brings the preparation that these need.
    """
    if source in BUILTIN:
        return builtin(source, data), True
    if source in EXAMPLES:
        return example(source), False
    network, _, weights = source.rpartition("@")
    if is_reference(network) or (network and not Path(source).exists() and is_network(network)):
        from shaketable.models.torch_files import load_weights

        return load_weights(network, Path(weights), shape=shape), False
    if (found := _find_file(source)) is not None:
        loader, path = found
        return loader(path, trust=trust), False
    model = import_object("model", source)
    if isinstance(model, type):
        raise InputError(
            f"model {source!r} is a class; name an object of it, made in a module as in model = "
            f"{source.partition(':')[2]}(…)"
        )
    return model, False


def check_source(source: str, *, trust: bool = False) -> None:
    """Raise what `load_model` would, as far as it can be known without loading the model.

    Of weights of a network this is nothing.
    """
    if source in BUILTIN or source in EXAMPLES or "@" in source:
        return
    if (found := _find_file(source)) is not None:
        loader, path = found
        loader.check(path, trust=trust)


def _find_file(source: str) -> tuple[ModelLoader, Path] | None:
    """Return the file that a text names, and its loader; None for ``package.module:attribute``."""
    path = Path(source)
    if path.is_dir():
        path = next((path / name for name in LOADERS if (path / name).is_file()), path)
    ending = path.suffix or path.name
    if ending in LOADERS:
        return LOADERS.get(ending), path
    if is_reference(source):
        return None
    files = (f"file{e}" if e.startswith(".") else f"folder with {e}" for e in LOADERS)
    raise unknown_name("model", source, [*BUILTIN, *EXAMPLES, "package.module:attribute", *files])
