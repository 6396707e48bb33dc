"""Models of other packages that are neither estimators nor modules, by the package they are of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
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
            inner.threshold if model.threshold is None else model.threshold,
            inner.restrict_classes or model.restrict_classes,
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


def prepare_for(model: Any) -> Callable[[Any], Any]:
    """Return what turns a data frame into one that a model takes.

    XGBoost and LightGBM are fitted on categories, and a file such as CSV has text instead. They
    recognise categories by their values, not by their places, so text becomes categories for them.
    XGBoost does so from version 3.1; to earlier ones, and to all other models, frames go as they
    are.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "lightgbm" in packages:
        return make_categories
    if "xgboost" in packages:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        if hasattr(booster, "get_categories"):
            return make_categories
    return lambda rows: rows


def make_categories(rows: Any) -> Any:
    """Return a data frame with categories in place of text; arrays as they are."""
    if not hasattr(rows, "columns"):
        return rows
    from pandas.api.types import is_object_dtype, is_string_dtype

    text = [
        name
        for name, column in rows.items()
        if is_object_dtype(column.dtype) or is_string_dtype(column.dtype)
    ]
    return rows.astype(dict.fromkeys(text, "category")) if text else rows
