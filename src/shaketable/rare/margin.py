"""The margin of a model: how far its answer at a point is from a wrong one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.models.answers import are_probabilities, ask_raw
from shaketable.models.classifier import Classifier

_LEAST = 1e-300  # stands for probabilities of 0 in logarithms, and for margins of 0


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
        classifier = replace(classifier, answer=ask_raw(classifier.answer))
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
