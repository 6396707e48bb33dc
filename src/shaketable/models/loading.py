"""Models by name: built-in ones, teaching examples, ``package.module:attribute``, and files.

A kind of model file is one `ModelLoader`, declared in the module that reads such files. Other
packages add theirs by an entry point in the group ``shaketable.model_loaders``, whose name is the
file ending; it refers to a `ModelLoader`, or to a function from a path to a model::

    [project.entry-points."shaketable.model_loaders"]
    ".toy" = "toypackage.files:load"
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.importing import import_object
from shaketable.core.registry import Registry
from shaketable.models.builtin import BUILTIN, builtin
from shaketable.models.examples import EXAMPLES, example


@dataclass(frozen=True)
class ModelLoader:
    """Reads models from files of one kind."""

    endings: tuple[str, ...]
    """Endings of such files, with their dot."""
    load: Callable[[Path], Any]
    """Returns the model in an existing file; whatever it raises becomes an `InputError`."""
    help: str
    """What such a file holds, in a few words."""
    needs: str | None = None
    """Optional package that `load` needs, by the name under which it is imported."""
    install: str | None = None
    """What to install to get that package, if it has another name."""

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

    def __call__(self, path: Path) -> Any:
        """Return the model in a file."""
        if not path.is_file():
            raise InputError(f"model file {str(path)!r} does not exist; check the path")
        self.import_needed()
        try:
            return self.load(path)
        except InputError:
            raise
        except (AttributeError, ImportError) as error:  # classes are saved by name only
            raise InputError(
                f"model file {str(path)!r} cannot be loaded: {error}; "
                "run from the directory that holds its classes, or install their package"
            ) from error
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"model file {str(path)!r} cannot be loaded: {reason}") from error


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
        "shaketable.models.pickled_models",
        "shaketable.models.torch_files",
        "shaketable.models.onnx_models",
    ),
)
"""Loaders of model files, by file ending."""


def declare_loader(loader: ModelLoader) -> ModelLoader:
    """Enter a loader into `LOADERS` under each of its endings, and return it."""
    for ending in loader.endings:
        LOADERS.add(ending, loader)
    return loader


def load_model(source: str) -> tuple[Any, bool]:
    """Return the model that a text names, and whether it still has to be fitted.

    `source` is the name of a built-in model or of a teaching example, a file with one of the
    endings in `LOADERS`, or ``package.module:attribute``; modules in the working directory can be
    imported. Importing and unpickling run the code of the model; ONNX files hold none.
    """
    if source in BUILTIN:
        return builtin(source), True
    if source in EXAMPLES:
        return example(source), False
    path = Path(source)
    if path.suffix in LOADERS:
        if "" not in sys.path:  # pickles refer to classes, which may be defined in this directory
            sys.path.insert(0, "")
        return LOADERS.get(path.suffix)(path), False
    module, _, attribute = source.partition(":")
    if not module or not attribute:
        files = (f"file{ending}" for ending in LOADERS)
        raise unknown_name(
            "model", source, [*BUILTIN, *EXAMPLES, "package.module:attribute", *files]
        )
    model = import_object("model", source)
    if isinstance(model, type):
        raise InputError(f"model {source!r} is a class; name an object of it, fitted or with --fit")
    return model, False
