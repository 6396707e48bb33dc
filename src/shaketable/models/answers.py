"""What models answer: labels, scores, or both; and how estimators are asked for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shaketable.core.types import Array, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Answer:
    """Answers to some points: class codes of the data, and scores where the model gives them."""

    codes: IntArray
    """Class codes; -1 for a class that the data lack."""
    scores: Array | None = None
    """As the model returns them, one column per class."""
    columns: tuple[int, ...] = ()
    """Class code of every column of scores."""
    others: Array | None = None
    """Names of the answers that the data lack, elsewhere empty; None if there are none."""

    @classmethod
    def join(cls, parts: Sequence[Answer]) -> Answer:
        """Return the answers of several parts, one after the other."""
        scores = [part.scores for part in parts if part.scores is not None]
        others = [np.full(len(p.codes), "") if p.others is None else p.others for p in parts]
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate(scores) if len(scores) == len(parts) else None,
            parts[0].columns,
            np.concatenate(others) if any(p.others is not None for p in parts) else None,
        )


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of a model that also gives scores, with one column for each of its classes."""

    labels: Array
    scores: Array
    classes: Sequence[Any] | None
    """Class of every column; None for those of the data, in their order."""


@dataclass(frozen=True, eq=False)
class EstimatorAnswer:
    """The answers of an estimator: labels by `predict`, and scores by `predict_proba`."""

    model: Any
    arrange: Callable[[Any], Any]
    """Turns points into what the estimator takes."""

    def __call__(self, x: Any) -> Any:
        """Return labels, or scores if `predict` returns such."""
        return self.model.predict(self.arrange(x))

    def score(self, x: Any) -> Any:
        """Return labels with their scores, if the estimator gives any."""
        return ask_for_both(self.model, self.arrange(x))


@dataclass(frozen=True, eq=False)
class ComposedAnswer:
    """A model behind something that is done to its points first."""

    first: Callable[[Any], Any]
    answer: Callable[[Any], Any]

    def __call__(self, x: Any) -> Any:
        """Return what the model answers."""
        return self.answer(self.first(x))

    def score(self, x: Any) -> Any:
        """Return what the model answers, with its scores."""
        return get_scorer(self.answer)(self.first(x))


def get_scorer(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what answers with scores where a model has them, or else the answer itself."""
    scorer: Callable[[Any], Any] = getattr(answer, "score", answer)
    return scorer


_BY_SCORES = ("ForestClassifier.predict", "BaseDecisionTree.predict")
"""Methods of scikit-learn that return the class with the highest score of `predict_proba`."""


def ask_for_both(model: Any, rows: Any) -> Any:
    """Return labels of an estimator with its scores as `Labelled`, or labels if it has no scores.

    Steps of a pipeline before the last are done once. Labels of trees and forests are read off
    their scores, as their `predict` does.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or not hasattr(model, "predict_proba"):
        return model.predict(rows)
    count = len(rows)  # what steps make of them may be sparse, without a length
    if _is_pipeline(model):
        rows, model = model[:-1].transform(rows), model.steps[-1][1]
    try:
        scores = np.asarray(model.predict_proba(rows))
    except (AttributeError, NotImplementedError):  # it has none after all
        return model.predict(rows)
    classes = np.asarray(classes)
    if scores.shape != (count, len(classes)) or not np.isfinite(scores).all():
        return model.predict(rows)
    predict: Any = getattr(type(model), "predict", None)
    if getattr(predict, "__qualname__", "") in _BY_SCORES and _is_of_sklearn(predict):
        labels = classes[scores.argmax(axis=1)]
    else:
        labels = model.predict(rows)
    return Labelled(np.asarray(labels), scores, classes.tolist())


def _is_pipeline(model: Any) -> bool:
    """Whether this is a pipeline of scikit-learn with steps before the model."""
    predict: Any = getattr(type(model), "predict", None)
    known = getattr(predict, "__qualname__", "") == "Pipeline.predict" and _is_of_sklearn(predict)
    return known and len(model.steps) > 1


def _is_of_sklearn(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("sklearn.")


def as_probabilities(scores: Array) -> FloatArray:
    """Return scores as probabilities: rows that are such as they are, of others the softmax.

    >>> as_probabilities(np.array([[0.25, 0.75], [2.0, 2.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    kept = are_probabilities(scores)
    if kept.all():
        return scores
    with np.errstate(invalid="ignore"):  # infinite scores: the highest share all
        shifted = scores - scores.max(axis=1, keepdims=True)
    powers = np.exp(np.where(np.isnan(shifted), 0, shifted))
    softmax = powers / powers.sum(axis=1, keepdims=True)
    return np.where(kept[:, None], scores, softmax)


def are_probabilities(scores: Array) -> BoolArray:
    """Whether every row of scores is at least 0 and adds up to 1, but for rounding."""
    return np.asarray((scores.min(axis=1) >= 0) & (np.abs(scores.sum(axis=1) - 1) < 1e-3))
