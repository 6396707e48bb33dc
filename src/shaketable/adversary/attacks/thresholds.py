"""Thresholds of the splits of tree models: where in each column the answer can change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Scaling
from shaketable.models.answers import ComposedAnswer, EstimatorAnswer
from shaketable.models.boosters import BoosterModel
from shaketable.models.classifier import Classifier
from shaketable.models.feature_scaling import FeatureScaling

_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_ENSEMBLES = ("RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier")

Splits = Iterator[tuple[Any, Any]]  # columns and thresholds, alike in length


def read_thresholds(model: Classifier, d: int) -> list[FloatArray] | None:
    """Thresholds of every column in the units of points, sorted; None for other models than trees.

    Trees, forests and boosting of scikit-learn, XGBoost and LightGBM are read, also behind steps of
    a pipeline, or of this package, that scale every column by itself.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shaketable import load
    >>> from shaketable.models.classifier import as_classifier
    >>> data = load("bands(n=50)")
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(data.x, data.labels)
    >>> sum(len(each) for each in read_thresholds(as_classifier(tree, data), data.d))
    1
    """
    answer, scalings = model.answer, []
    while isinstance(answer, ComposedAnswer):
        scalings.append(answer.first)
        answer = answer.answer
    if not isinstance(answer, EstimatorAnswer):
        return None
    inner = answer.model
    while type(inner).__name__ in {"Pipeline", "PreparedModel"}:
        *first, (_, last) = inner.steps
        scalings += [step for _, step in first if step not in {None, "passthrough"}]
        inner = last
    splits = _find_splits(inner)
    if splits is None:
        return None
    columns, values = (np.concatenate([np.ravel(p) for p in part]) for part in _gather(splits))
    kept = np.isfinite(values.astype(np.float64)) & (columns >= 0) & (columns < d)
    columns, values = columns[kept].astype(np.int64), values[kept].astype(np.float64)
    for scaling in reversed(scalings):
        back = _undo(scaling, columns, values, d)
        if back is None:
            return None
        values = back
    return [np.unique(values[columns == column]) for column in range(d)]


def _gather(splits: Splits) -> tuple[list[Any], list[Any]]:
    columns, values = [np.zeros(0)], [np.zeros(0)]
    for column, value in splits:
        columns.append(column)
        values.append(value)
    return columns, values


def _find_splits(model: Any) -> Splits | None:
    """Splits of all trees of a model; None if it is none that is known."""
    model = model.booster if isinstance(model, BoosterModel) else model
    kind, home = type(model).__name__, type(model).__module__.partition(".")[0]
    if home == "xgboost":
        return _read_xgboost(model.get_booster() if hasattr(model, "get_booster") else model)
    if home == "lightgbm":
        return _read_lightgbm(getattr(model, "booster_", model))
    if home == "sklearn" and kind.startswith("HistGradientBoosting"):
        return _read_histograms(model)
    if home == "sklearn" and (kind in _ENSEMBLES or hasattr(model, "tree_")):
        trees = [model] if hasattr(model, "tree_") else np.ravel(model.estimators_)
        return ((each.tree_.feature, each.tree_.threshold) for each in trees)
    return None


def _read_histograms(model: Any) -> Splits:
    for predictor in np.ravel(model._predictors):
        nodes = predictor.nodes[(predictor.nodes["is_leaf"] == 0)]
        nodes = nodes[nodes["is_categorical"] == 0]
        yield nodes["feature_idx"], nodes["num_threshold"]


def _read_xgboost(booster: Any) -> Splits:
    names = booster.feature_names
    for text in booster.get_dump(dump_format="json"):
        found = [
            (node["split"], node["split_condition"])
            for node in _walk(json.loads(text), "children")
            if isinstance(node.get("split_condition"), int | float)
        ]
        places = [names.index(n) if names else int(n.removeprefix("f")) for n, _ in found]
        yield np.array(places, np.int64), np.array([value for _, value in found])


def _read_lightgbm(booster: Any) -> Splits:
    for tree in booster.dump_model()["tree_info"]:
        nodes = [
            node
            for node in _walk(tree["tree_structure"], "left_child", "right_child")
            if node.get("decision_type") == "<="
        ]
        columns = np.array([node["split_feature"] for node in nodes], np.int64)
        yield columns, np.array([node["threshold"] for node in nodes], np.float64)


def _walk(node: Any, *children: str) -> Iterator[Any]:
    """Nodes of a tree."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        for key in children:
            below = node.get(key, [])
            left += below if isinstance(below, list) else [below]


def _undo(scaling: Any, columns: IntArray, values: FloatArray, d: int) -> FloatArray | None:
    """Values before a step scaled their columns; None for a step that does something else."""
    owner = getattr(scaling, "__self__", scaling)
    if isinstance(owner, FeatureScaling) and owner.labels is None:
        low, span = owner.scaling.low, owner.scaling.span
        return values * span[columns] + low[columns]
    if isinstance(owner, Scaling):  # which undoes the scaling of data
        return np.asarray((values - owner.low[columns]) / owner.span[columns])
    if type(owner).__name__ not in _SCALERS or type(owner).__module__.split(".")[0] != "sklearn":
        return None
    at: Array = np.zeros((2, d))
    at[1] = 1
    base, end = owner.inverse_transform(at)
    return np.asarray(base[columns] + values * (end - base)[columns])
