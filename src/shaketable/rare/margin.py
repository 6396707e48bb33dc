"""The margin of a model: how far its answer at a point is from a wrong one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.models.answers import (
    ComposedAnswer,
    EstimatorAnswer,
    Labelled,
    are_probabilities,
    ask_for_both,
)
from shaketable.models.classifier import Classifier

_RAW = {
    "LGBMClassifier": {"raw_score": True},
    "XGBClassifier": {"output_margin": True},
}
"""Arguments with which boosters return sums of trees, by the name of their class."""

_LEAST = 1e-300  # stands for probabilities of 0 in logarithms, and for margins of 0


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


def score_raw(classifier: Classifier) -> Classifier:
    """Return a classifier that gives the scores behind probabilities, where it has them."""
    return replace(classifier, answer=_unwrap(classifier.answer))


def _unwrap(answer: Any) -> Any:
    if isinstance(answer, ComposedAnswer):
        return ComposedAnswer(answer.first, _unwrap(answer.answer))
    if isinstance(answer, EstimatorAnswer):
        return RawAnswer(answer.model, answer.arrange)
    return answer


@dataclass(frozen=True, eq=False)
class Margin:
    """Score of the right class minus the highest other score; logarithms of probabilities.

    It is at most 0 where the answer is wrong, and above 0 elsewhere, whatever the scores are.
    """

    classifier: Classifier
    in_logarithms: bool
    """Whether scores are probabilities."""

    @classmethod
    def of(cls, classifier: Classifier, x: Array) -> Margin | None:
        """Return the margin of a model, as it scores these points; None if it gives labels only."""
        classifier = score_raw(classifier)
        scores = classifier.start(x, scored=True)().scores
        if scores is None or not np.isfinite(scores).all():
            return None
        return cls(classifier, bool(are_probabilities(np.asarray(scores)).all()))

    def __call__(self, x: Array, y: IntArray) -> FloatArray:
        """Return the margin of every row; `y` are the right class codes."""
        answer = self.classifier.start(x, scored=True)()
        wrong = answer.codes != y
        if answer.scores is None:
            return np.where(wrong, -1.0, 1.0)
        scores = np.asarray(answer.scores, np.float64)
        if self.in_logarithms:
            scores = np.log(np.maximum(scores, _LEAST))
        right = np.asarray(answer.columns)[None, :] == y[:, None]
        own = np.where(right, scores, -np.inf).max(axis=1)
        other = np.where(right, -np.inf, scores).max(axis=1)
        with np.errstate(invalid="ignore"):
            margin = np.clip(np.nan_to_num(own - other), -1e300, 1e300)
        return np.asarray(np.where(wrong, np.minimum(margin, 0.0), np.maximum(margin, _LEAST)))
