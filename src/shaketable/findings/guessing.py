"""Models that are not better than guessing on clean points: more often than not a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shaketable.core.types import IntArray
from shaketable.evaluation.records import AS_GIVEN
from shaketable.findings.series import Series
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_full, format_share, format_spec

_NEAR = 0.25  # of the way from guessing to always right


_CAUSES = {
    False: "values outside the range that the model was trained on, such as 0 to 1 in place of 0 "
    "to 255",
    True: "training that is too short for this model, or noise that hides the classes",
}
"""Likely causes for models that came fitted, and for those that were trained here."""


def note_guessing(
    model: str, clean: Estimate, y: IntArray, classes: Sequence[Any], *, trained: bool = False
) -> list[str]:
    """Return a sentence if a clean accuracy is about that of the most frequent class, or below.

    Parameters
    ----------
    model
        Name of the model.
    clean
        Its accuracy on clean points.
    y, classes
        Class codes of these points, and the labels that they stand for.
    trained
        Whether it was trained here, on these data.

    >>> about = Estimate(0.52, 0.45, 0.59, 0.95, "by hand")
    >>> len(note_guessing("net", about, np.array([0, 1, 1, 0]), ("a", "b")))
    1
    """
    counts = np.bincount(y, minlength=len(classes))
    frequent = int(counts.argmax())
    rate = float(counts[frequent] / len(y))
    if clean.low > rate or clean.value > rate + _NEAR * (1 - rate):
        return []
    return [
        f"{model} has a clean accuracy of {format_full(clean)}, and always answering "
        f"{classes[frequent]!r} has {format_share(rate)}; a likely cause is {_CAUSES[trained]}"
    ]


def note_guessing_models(series: Iterable[Series]) -> list[str]:
    """Return one sentence per model and training noise whose clean accuracy is near guessing."""
    notes: dict[str, None] = {}
    for clean in {id(s.on_clean): s.on_clean for s in series if s.clean}.values():
        cell, y = clean.first, np.concatenate([c.points.y for c in clean.noisy])  # of all runs
        name = cell.model
        if cell.train_epsilon:
            name += f" trained with {format_spec(cell.train)}"
        trained = cell.train != AS_GIVEN
        notes |= dict.fromkeys(
            note_guessing(name, clean.accuracy, y, cell.points.classes, trained=trained)
        )
    return list(notes)
