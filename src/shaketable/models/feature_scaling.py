"""The scaling of the data that a model was trained on, which belongs to the model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shaketable.core.checks import list_names, quote
from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset, Scaling
from shaketable.models.adapted import Adapted

if TYPE_CHECKING:
    from shaketable.data.frames.schema import TableSchema


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Scales features as in the training data of a model, which then takes them in their own units.

    It is also the first step of the scikit-learn pipelines that `attach_scaling` makes.

    >>> halve = FeatureScaling(Scaling(np.array([0.0, 1.0]), np.array([2.0, 2.0])))
    >>> halve.transform([[1.0, 1.0]])
    array([[0.5, 0. ]])
    """

    scaling: Scaling
    labels: tuple[Any, ...] | None = None
    """Columns of a data frame that are scaled; None for arrays, of which all are."""

    @classmethod
    def of(cls, data: Dataset) -> FeatureScaling | None:
        """Return the scaling of data as their models see it; None if they were not scaled."""
        scaling, table = data.scaling, data.schema
        if scaling is None or table is None or not table.decodes:
            return None if scaling is None else cls(scaling)
        numbers = np.flatnonzero(table.numeric)
        labels = tuple(table.columns[i].labels[0] for i in numbers)
        low, span = scaling.low[numbers], scaling.span[numbers]
        if table.is_frame:
            return cls(Scaling(low, span), labels)
        wide = Scaling(np.zeros(len(table.flat_names)), np.ones(len(table.flat_names)))
        wide.low[list(labels)], wide.span[list(labels)] = low, span
        return cls(wide)

    def is_of(self, data: Dataset) -> bool:
        """Whether data were scaled this way already."""
        other = FeatureScaling.of(data)
        return (
            other is not None
            and self.labels == other.labels
            and np.array_equal(self.scaling.low, other.scaling.low)
            and np.array_equal(self.scaling.span, other.scaling.span)
        )

    def bind(self, data: Dataset, table: TableSchema | None, name: str) -> Callable[[Any], Any]:
        """Return what scales points of these data, in their own units; `name` is the model's."""
        frame = table is not None and table.is_frame
        if self.labels is None:
            d = data.d if table is None else len(table.flat_names)
            if d != len(self.scaling.low):
                raise InputError(
                    f"model {name} must get the {len(self.scaling.low)} features that it was "
                    f"trained on, which were scaled, got {d}; give it the same columns"
                )
            return self.transform
        names: tuple[Any, ...] = (
            table.labels if table is not None and frame else data.features or ()
        )
        if not names and data.d == len(self.labels):
            names = self.labels  # columns without names are those of the fit, in its order
        if missing := [str(label) for label in self.labels if label not in names]:
            raise InputError(
                f"model {name} must get the columns that it was trained on, which were scaled, got "
                f"data without {list_names([quote(m) for m in missing])}; give it the same columns"
            )
        return self.transform if frame else lambda x: self.transform(_make_frame(x, names))

    def fit(self, x: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's arguments)
        """Return the same; nothing is learnt."""
        return self

    def transform(self, x: Any) -> Any:
        """Return points scaled: an array, or a data frame with the other columns as they are."""
        if self.labels is None:
            return self.scaling.apply(np.asarray(x))
        if not hasattr(x, "columns"):
            if np.shape(x)[1:] != (len(self.labels),):
                raise InputError(
                    f"x must be a data frame with the columns {self.labels}, got an array"
                )
            x = _make_frame(x, self.labels)
        columns, scaled = list(self.labels), x.copy()
        numbers = x[columns].to_numpy(np.float64, na_value=np.nan)
        scaled[columns] = self.scaling.apply(numbers)
        return scaled


def attach_scaling(model: Any, data: Dataset) -> Any:
    """Return a fitted estimator as one that takes the features of its data before they were scaled.

    That is a pipeline of scikit-learn, or an `Adapted` with its scaling. Models of data that were
    not scaled, and those that save themselves, are returned as they are.
    """
    scaling = FeatureScaling.of(data)
    if scaling is None or hasattr(model, "save"):
        return model
    if isinstance(model, Adapted):
        return replace(model, scaling=scaling)
    from sklearn.pipeline import Pipeline  # heavy

    return Pipeline([("scaling", scaling), ("model", model)])


def detach_scaling(model: Any) -> tuple[Any, FeatureScaling | None]:
    """Return the model in a pipeline of `attach_scaling` and its scaling; others as they are."""
    pipeline: Any = sys.modules.get("sklearn.pipeline")  # imported already if there is one
    if pipeline is None or not isinstance(model, pipeline.Pipeline) or len(model.steps) != 2:
        return model, None
    (_, first), (_, inner) = model.steps
    return (inner, first) if isinstance(first, FeatureScaling) else (model, None)


def _make_frame(x: Any, names: Any) -> Any:
    import pandas as pd  # slow to import

    return pd.DataFrame(x, columns=list(names))
