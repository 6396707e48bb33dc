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


def list_known(model: Any) -> list[Any]:
    """Classes that a model states; none if it has several outputs, with classes of their own."""
    stated = getattr(model, "classes_", None)
    if stated is None or (isinstance(stated, list) and any(np.ndim(each) for each in stated)):
        return []
    found: list[Any] = np.asarray(stated).tolist()
    return found


def knows_any(model: Any, classes: Sequence[Any]) -> bool:
    """Whether a model states any of these classes.

    Where these are sets of labels, it was then fitted on them, and not on 0 and 1 per label.
    """
    return not {*list_known(model)}.isdisjoint(classes)


_EXACT = {
    "BaggingClassifier.predict": "BaggingClassifier.predict_proba",
    "BaseDecisionTree.predict": "DecisionTreeClassifier.predict_proba",
    "CalibratedClassifierCV.predict": "CalibratedClassifierCV.predict_proba",
    "ForestClassifier.predict": "ForestClassifier.predict_proba",
    "KNeighborsClassifier.predict": "KNeighborsClassifier.predict_proba",
    "LGBMClassifier.predict": "LGBMClassifier.predict_proba",
    "MLPClassifier.predict": "MLPClassifier.predict_proba",
    "XGBClassifier.predict": "XGBClassifier.predict_proba",
}
"""Methods that answer the first class with the highest score of another method."""

_LIBRARIES = ("sklearn", "xgboost", "lightgbm")

_BUT_FOR_ROUNDING = {
    "GradientBoostingClassifier.predict": "GradientBoostingClassifier.predict_proba",
    "HistGradientBoostingClassifier.predict": "HistGradientBoostingClassifier.predict_proba",
    "LinearClassifierMixin.predict": "LogisticRegression.predict_proba",
    "_BaseNB.predict": "_BaseNB.predict_proba",
}
"""The same but for ties: scores are made of the values that are compared, by a growing function."""


def ask_for_both(model: Any, rows: Any) -> Any:
    """Return labels of an estimator with its scores as `Labelled`, or labels if it has no scores.

    Labels are those of `predict`. Those of known methods are read off the scores, so that the model
    computes once, unless rounding could decide between two scores. Steps of a pipeline before the
    last are done once, too.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or not hasattr(model, "predict_proba"):
        return model.predict(rows)
    count = len(rows)  # what steps make of them may be sparse, without a length
    model, rows = _unwrap(model, rows)
    try:
        scores = np.asarray(model.predict_proba(rows))
    except (AttributeError, NotImplementedError):  # it has none after all
        return model.predict(rows)
    classes = np.asarray(classes)
    if scores.shape != (count, len(classes)) or not np.isfinite(scores).all():
        return model.predict(rows)
    if _tell_labels(model, scores):
        return Labelled(classes[scores.argmax(axis=1)], scores, classes.tolist())
    return Labelled(np.asarray(model.predict(rows)), scores, classes.tolist())


def _unwrap(model: Any, rows: Any) -> tuple[Any, Any]:
    """Return the model inside pipelines and searches of parameters, and what it gets."""
    while True:
        if _is_known(model, "BaseSearchCV.predict"):
            model = model.best_estimator_
        elif _is_known(model, "Pipeline.predict"):
            rows = model[:-1].transform(rows) if len(model.steps) > 1 else rows
            model = model.steps[-1][1]
        else:
            return model, rows


def _tell_labels(model: Any, scores: Array) -> bool:
    """Whether `predict` would return the classes with the highest of these scores."""
    if any(_is_known(model, *pair) for pair in _EXACT.items()):
        objective, weights = (getattr(model, name, None) for name in ("objective", "weights"))
        other = callable(objective) or objective == "multi:softmax"  # of boosters
        return not other and weights in (None, "uniform")  # of neighbours
    if not any(_is_known(model, *pair) for pair in _BUT_FOR_ROUNDING.items()):
        return False
    near = scores.max(axis=1, keepdims=True) - 64 * np.finfo(scores.dtype).eps
    return bool((scores >= near).sum() == len(scores))


def _is_known(model: Any, *names: str) -> bool:
    """Whether the first methods of a model are these, of a known library, unchanged."""
    methods = (getattr(type(model), name.rpartition(".")[2], None) for name in names)
    return all(
        getattr(method, "__qualname__", "") == name
        and getattr(method, "__module__", "").partition(".")[0] in _LIBRARIES
        for name, method in zip(names, methods, strict=True)
    )


_RAW = {
    "LGBMClassifier": {"raw_score": True},
    "XGBClassifier": {"output_margin": True},
}
"""Arguments with which boosters return sums of trees, by the name of their class."""


@dataclass(frozen=True, eq=False)
class RawAnswer(EstimatorAnswer):
    """The answers of an estimator, with the scores that its probabilities are made of.

    Probabilities are rounded to 0 and 1 where these still differ.
    """

    def score(self, x: Any) -> Any:
        """Return labels with their scores, if the estimator gives any."""
        rows, model = self.arrange(x), self.model
        if type(model).__name__ in _RAW:
            scores = model.predict(rows, **_RAW[type(model).__name__])
        elif hasattr(model, "decision_function"):
            scores = model.decision_function(rows)
        else:
            return ask_for_both(model, rows)
        scores, classes = np.asarray(scores), np.asarray(model.classes_)
        if scores.ndim == 1 and len(classes) == 2:
            scores = np.stack([-scores, scores], axis=1)
        if scores.ndim != 2 or scores.shape[1] != len(classes):
            return ask_for_both(model, rows)
        return Labelled(np.asarray(model.predict(rows)), scores, classes.tolist())


def ask_raw(answer: Any) -> Any:
    """Return what answers with the scores behind probabilities, where a model has them."""
    if isinstance(answer, ComposedAnswer):
        return ComposedAnswer(answer.first, ask_raw(answer.answer))
    if isinstance(answer, EstimatorAnswer):
        return RawAnswer(answer.model, answer.arrange)
    return answer


def ask_decisions(answer: Any) -> Any:
    """Return the same with scores of `decision_function` if an estimator has no probabilities."""
    inner = answer
    while isinstance(inner, ComposedAnswer):
        inner = inner.answer
    model = getattr(inner, "model", None)
    able = hasattr(model, "decision_function") and hasattr(model, "classes_")
    return ask_raw(answer) if able and not hasattr(model, "predict_proba") else answer


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
