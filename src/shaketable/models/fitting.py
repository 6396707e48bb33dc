"""Fitting scikit-learn estimators, reproducibly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.core.types import Array, IntArray
from shaketable.data.dataset import Dataset
from shaketable.models.adapted import Adapted, Derived
from shaketable.models.classifier import is_estimator, model_name
from shaketable.models.failures import report_failures
from shaketable.models.feature_scaling import detach_scaling


def fit(model: Any, data: Dataset, rows: IntArray, *, seed: int, name: str | None = None) -> Any:
    """Return a copy of an estimator, fitted on rows of the data; `clone_seeded` says how.

    `name` is that of the model in messages.
    """
    copy = clone_seeded(model, seed, name=name)
    return fit_arrays(copy, data.decode(data.rows(rows)), data.labels[rows], name=name)


def fit_arrays(model: Any, x: Any, y: Array, *, name: str | None = None) -> Any:
    """Fit an estimator in place on points of any shape, flattened, and their original labels.

    A data frame is passed as it is. A model that `adapt` declares gets its own labels, behind its
    own preprocessing.
    """
    if isinstance(model, Adapted):
        x = x if model.preprocess is None else model.preprocess(x)
        return replace(model, model=fit_arrays(model.model, x, model.encode_labels(y), name=name))
    if isinstance(model, Derived):
        return replace(cast(Any, model), model=fit_arrays(model.model, x, y, name=name))
    what, is_frame = "could not be trained", hasattr(x, "columns")
    if is_frame and not (all(t.kind in "biuf" for t in x.dtypes) and x.notna().to_numpy().all()):
        what += (
            " on a frame with text, dates or gaps, which a pipeline can prepare (built-in models "
            "bring one)"
        )
    with report_failures(name or model_name(model), what):
        return model.fit(x if is_frame else x.reshape(len(x), -1), y)


def clone_seeded(model: Any, seed: int, *, name: str | None = None) -> Any:
    """Return an unfitted copy that fits the same way each time.

    Every nested ``random_state`` follows from `seed`, and every nested ``n_jobs`` that is set
    becomes 1. The scaling of earlier training data is left out.
    """
    if isinstance(model, Adapted):
        copy = clone_seeded(model.model, seed, name=name)
        return replace(model, model=copy, scaling=None)
    if isinstance(model, Derived):
        return replace(cast(Any, model), model=clone_seeded(model.model, seed, name=name))
    model, _ = detach_scaling(model)
    if not is_estimator(model) or not hasattr(model, "fit"):
        raise InputError(
            f"model {name or model_name(model)} cannot be fitted: it is no scikit-learn estimator; "
            "pass a fitted model, or wrap it in an estimator"
        )
    from sklearn.base import clone

    with report_failures(name or model_name(model), "could not be copied"):
        model = clone(model)
    settings: dict[str, Any] = {}
    for parameter, value in model.get_params(deep=True).items():
        leaf = parameter.rpartition("__")[2]
        if leaf == "random_state":
            settings[parameter] = digest(seed, parameter) % 2**31
        elif leaf == "n_jobs" and value is not None:
            settings[parameter] = 1
    return model.set_params(**settings)
