"""Models of other packages that are neither estimators nor modules, by the package they are of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from shaketable.data.readers.maite_data import has_metadata
from shaketable.models.adapted import Adapted
from shaketable.models.feature_scaling import detach_scaling
from shaketable.models.identity import Identified
from shaketable.models.networks.files import TrainedNetwork

KINDS: Mapping[str, str] = {
    "xgboost": "boosters",
    "lightgbm": "boosters",
    "torch": "torch_files",
    "keras": "keras_models",
    "mlflow": "mlflow_models",
    "transformers": "image_pipelines",
}
"""Modules here whose `wrap` knows the models of a package; imported when such a model is given."""


class TableModel(Identified):
    """A model of tables: like a fitted estimator, it takes flat points or a data frame."""

    feature_names_in_: tuple[str, ...] = ()
    """Names of the columns that it was fitted on; empty if it knows none."""

    @abstractmethod
    def predict(self, rows: Any) -> Any:
        """Return labels, or scores with one column per class."""


def recognise(model: Any) -> Any:
    """Return a model of a known package as one that `as_classifier` can ask; others as they are."""
    model = model.as_model() if isinstance(model, TrainedNetwork) else model
    if isinstance(model, Adapted):
        inner = recognise(model.model)
        if not isinstance(inner, Adapted):
            return replace(model, model=inner)
        return Adapted(
            inner.model,
            inner.classes if model.classes is None else model.classes,
            inner.preprocess if model.preprocess is None else model.preprocess,
            inner.scaling if model.scaling is None else model.scaling,
        )
    inner, scaling = detach_scaling(model)
    if scaling is not None:
        return recognise(Adapted(inner, scaling=scaling))
    if has_metadata(model):
        from shaketable.models.maite_models import wrap

        return wrap(model) or model
    for cls in type(model).__mro__:
        home = KINDS.get(cls.__module__.partition(".")[0])
        if home is not None:
            wrapped = import_module(f"shaketable.models.{home}").wrap(model)
            if wrapped is not None:
                return wrapped
    return model
