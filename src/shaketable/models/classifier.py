"""Models as shaketable sees them: points in, class codes out."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.types import Array, IntArray
from shaketable.data.dataset import Dataset
from shaketable.models.identity import content_hash, is_module
from shaketable.models.onnx_models import OnnxModel

if TYPE_CHECKING:
    from torch import Tensor

BUILTIN: Mapping[str, str] = {
    "rf": "random forest, 100 trees",
    "1nn": "nearest neighbour",
    "svm": "support vector machine on standardised features",
    "mlp": "neural network, one hidden layer of 100, on standardised features",
    "logistic": "logistic regression on standardised features",
}
"""Models the command line knows by name and trains, with their descriptions."""

EXAMPLES: Mapping[str, str] = {
    "f1": "on toy1d: 1 from 1 on, no room at the edge of the class",
    "f2": "on toy1d: 1 from 0 on, and again far to the left",
    "f3": "on toy1d: 1 from 0 on, the oracle",
    "circle": "on sunset: A on the hypersphere and in it, no room around",
    "oracle": "on sunset: A above the paraboloid that is as far from both classes",
    "flat": "on sunset: A above a plane, blind to changes that matter",
}
"""Classifiers of the teaching examples (`adversary.examples`), which need no training."""

_TORCH_FILES = (".pt", ".pth")
_FILES = (".joblib", ".pkl", ".pickle", *_TORCH_FILES, ".onnx")


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted model that answers with the data's class codes; -1 for a class they do not have."""

    name: str
    answer: Callable[[Any], Any]
    codes: Mapping[Any, int]
    identity: str | None
    """Hash of the model's content; None when it cannot be known, and results are never reused."""
    device: Any = None
    """Device of torch's that a module is on, where it also takes tensors; None for others."""

    def __call__(self, x: Array | Tensor) -> IntArray:
        """Class code of every row."""
        try:
            answer = np.asarray(self.answer(x))
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(
                f"model {self.name} refused points of shape {tuple(x.shape[1:])}: {error}"
            ) from error
        if answer.ndim == 0 or len(answer) != len(x):
            raise InputError(
                f"model {self.name} must return one answer a point, got shape {answer.shape} "
                f"for {len(x)} points"
            )
        if answer.ndim == 2 and answer.shape[1] == 1:
            answer = answer[:, 0]
        return self._from_labels(answer) if answer.ndim == 1 else self._from_scores(answer)

    def moved(self, x: Array) -> Tensor:
        """Points as a tensor on the module's device."""
        from shaketable.models.torch_modules import as_tensor

        return as_tensor(x).to(self.device)

    def _from_scores(self, scores: Array) -> IntArray:
        n_classes = sum(code >= 0 for code in self.codes.values())
        if scores.ndim != 2 or scores.shape[1] != n_classes:
            raise InputError(
                f"model {self.name} must return labels or one score a class, got shape "
                f"{scores.shape} for {n_classes} classes; name all classes, in the scores' order "
                "(make_dataset(…, classes=[…]))"
            )
        if np.isnan(scores).any():
            raise InputError(
                f"model {self.name} returned NaN scores; no class can be read off them"
            )
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)

    def _from_labels(self, labels: Array) -> IntArray:
        try:
            found, inverse = np.unique(labels, return_inverse=True)
        except TypeError:  # labels of several types have no order
            found, inverse = labels, np.arange(len(labels))
        codes = [self.codes.get(label) for label in found.tolist()]
        if None in codes:
            stranger = found.tolist()[codes.index(None)]
            known = ", ".join(map(repr, list(self.codes)[:10]))
            what = (
                "scores of one column are not labels; return one score a class or the labels"
                if labels.dtype.kind == "f" and len(found) > len(self.codes)
                else f"the data's are {known}; train and test on the same labels"
            )
            raise InputError(
                f"model {self.name} must answer with the data's labels, got {stranger!r}; {what}"
            )
        return np.array(codes, dtype=np.int64)[inverse.reshape(-1)]


def as_classifier(
    model: Any,
    data: Dataset,
    *,
    name: str | None = None,
    model_id: str | None = None,
    unscale: bool = False,
) -> Classifier:
    """Bolt a fitted model to the table.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator, or any callable from points to labels or to scores, one
        column a class in the order of ``data.classes``. A torch module gives scores; it runs in
        evaluation mode on its own device, and gets images channels first (`modules.arranged`). An
        `OnnxModel` gets them as its graph declares.
    data
        Whose classes the answers are read as.
    name, model_id
        What to call it, and what tells it from other models. Estimators, modules and ONNX files are
        told by their content; a bare callable is only recognised again by its `model_id`.
    unscale
        Give the model features that were scaled to [0, 1] back in the raw units it was trained on.
    """
    name, device = name or _name(model), None
    if _is_estimator(model):
        _require_fitted(model, name)
        answer = _estimator_answer(model, data.features, name)
    elif is_module(model):
        from shaketable.models.torch_modules import ModuleAnswer  # torch

        answer = ModuleAnswer(name, model)
        device = answer.device
    elif callable(model):
        answer = model
    elif hasattr(model, "predict"):
        answer = model.predict
    else:
        raise InputError(
            f"model must be an estimator or a callable, got {type(model).__name__}; "
            "wrap it in a function from points to labels"
        )
    if model_id is None and isinstance(model, OnnxModel):
        model_id = model.identity
    elif model_id is None and (_is_estimator(model) or is_module(model)):
        model_id = content_hash(model)
    if data.scaling is not None and unscale:
        raw, undo, device = answer, data.scaling.undo, None  # scaling takes arrays
        answer = lambda x: raw(undo(x))  # noqa: E731  (one expression, used once)
        if model_id is not None:
            model_id = f"{model_id} behind {content_hash(data.scaling)}"
    codes: dict[Any, int] = {label: code for code, label in enumerate(data.classes)}
    known = np.asarray(getattr(model, "classes_", [])).tolist()
    if set(data.classes) <= set(known):  # the model may know classes these data happen to lack
        codes = dict.fromkeys(known, -1) | codes
    return Classifier(name, answer, codes, model_id, device)


def builtin(name: str) -> Any:
    """Unfitted built-in model."""
    from sklearn.ensemble import RandomForestClassifier  # heavy
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    makers: dict[str, Callable[[], Any]] = {
        "rf": lambda: RandomForestClassifier(100),
        "1nn": lambda: KNeighborsClassifier(1),
        "svm": lambda: make_pipeline(StandardScaler(), SVC()),
        "mlp": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=1000)),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    return makers[name]()


def load_model(source: str) -> tuple[Any, bool]:
    """Model named on the command line, and whether it still has to be fitted.

    `source` is a built-in name, ``package.module:attribute`` (the working directory is importable),
    a ``.joblib``, ``.pkl`` or ``.pickle`` file, a ``.pt`` or ``.pth`` file that holds a whole torch
    module, or a ``.onnx`` file. Importing and unpickling run the code in it; ONNX holds none.
    """
    if source in BUILTIN:
        return builtin(source), True
    if source in EXAMPLES:
        from shaketable.models import examples

        return getattr(examples, source), False
    if "" not in sys.path:
        sys.path.insert(0, "")
    if Path(source).suffix in _FILES:
        return _load_file(Path(source)), False
    module_name, colon, attribute = source.partition(":")
    if not colon or not module_name or not attribute:
        known = [
            *BUILTIN,
            *EXAMPLES,
            "package.module:attribute",
            *(f"file{suffix}" for suffix in _FILES),
        ]
        raise unknown_name("model", source, known)
    if module_name.endswith(".py"):
        raise InputError(
            f"model {source!r}: name the module, not its file, as in "
            f"{module_name.removesuffix('.py')}:{attribute}"
        )
    try:
        model: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            model = getattr(model, part)
    except ImportError as error:
        raise InputError(
            f"model {source!r}: cannot import {module_name!r} ({error}); "
            "run from the directory that holds it, or install its package"
        ) from error
    except AttributeError as error:
        raise InputError(f"model {source!r}: {error}; name an attribute of the module") from error
    if isinstance(model, type):
        raise InputError(f"model {source!r} is a class; name an object of it, fitted or with --fit")
    return model, False


def fit(model: Any, data: Dataset, rows: IntArray, *, seed: int) -> Any:
    """Fitted copy of an estimator, reproducible: see `seeded`."""
    return fit_arrays(seeded(model, seed), data.rows(rows), data.labels[rows])


def fit_arrays(model: Any, x: Array, y: Array) -> Any:
    """Fit an estimator in place on points of any shape and original labels."""
    try:
        return model.fit(x.reshape(len(x), -1), y)
    except (TypeError, ValueError) as error:
        raise InputError(f"model {_name(model)} could not be trained: {error}") from error


def seeded(model: Any, seed: int) -> Any:
    """Unfitted copy whose every nested ``random_state`` follows from `seed`, one thread each."""
    if not _is_estimator(model) or not hasattr(model, "fit"):
        raise InputError(
            f"model {_name(model)} cannot be fitted: it is no scikit-learn estimator; "
            "bring it fitted, or wrap it in one"
        )
    from sklearn.base import clone

    model = clone(model)
    settings: dict[str, Any] = {}
    for parameter, value in model.get_params(deep=True).items():
        leaf = parameter.rpartition("__")[2]
        if leaf == "random_state":
            settings[parameter] = digest(seed, parameter) % 2**31
        elif leaf == "n_jobs" and value is not None:
            settings[parameter] = 1
    return model.set_params(**settings)


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"model file {str(path)!r} does not exist; check the path")
    load = _loader(path.suffix)
    try:
        return load(path)
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


def _loader(suffix: str) -> Callable[[Path], Any]:
    if suffix == ".onnx":
        return OnnxModel
    if suffix not in _TORCH_FILES:
        import joblib

        load: Callable[[Path], Any] = joblib.load
        return load
    try:
        from shaketable.models.torch_modules import load_module  # torch
    except ImportError as error:
        raise InputError(
            f"model files {suffix} need torch, which is not installed; "
            "pip install 'shaketable[torch]'"
        ) from error
    return load_module


def _is_estimator(model: Any) -> bool:
    return hasattr(model, "predict") and hasattr(model, "get_params")


def _require_fitted(model: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise InputError(
            f"model {name} must be fitted; fit it first, or ask for it (--fit, refit=True)"
        ) from error


def _estimator_answer(
    model: Any, features: tuple[str, ...] | None, name: str
) -> Callable[[Array], Any]:
    """`predict` on flattened points; on a frame in its own order when it was fitted on one."""
    wanted = [str(feature) for feature in getattr(model, "feature_names_in_", ())]
    if wanted and features is not None and sorted(wanted) != sorted(features):
        odd = sorted({*wanted} ^ {*features})
        raise InputError(
            f"model {name} must have been fitted on the columns of the data, but only one of them "
            f"has {', '.join(odd[:5])}; give it the same columns"
        )

    def answer(x: Array) -> Any:
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        if not wanted:
            return model.predict(flat)
        import pandas as pd

        return model.predict(pd.DataFrame(flat, columns=features or wanted)[wanted])

    return answer


def _name(model: Any) -> str:
    if isinstance(model, OnnxModel):
        return model.name
    return getattr(model, "__name__", None) or type(model).__name__
