"""Models that are not better than guessing on clean points, and data where guessing is easy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shaketable.core.errors import either
from shaketable.core.types import IntArray
from shaketable.evaluation.records import AS_GIVEN, Record
from shaketable.findings.series import Series
from shaketable.statistics.estimate import Estimate
from shaketable.views.numbers import format_share, format_spec
from shaketable.views.text import name_notes

_NEAR = 0.25  # of the way from guessing to always right
_KAPPA = 0.1  # share of the agreement beyond chance that is too little to speak of
_UNEVEN = 0.8  # share of one class above which accuracy says little about the others
_NORMAL = 1.96  # 97.5 % of a normal variable lie below it


_CAUSES = {
    False: "if it came trained, a likely cause is values outside the range that the model was "
    "trained on, such as 0 to 1 in place of 0 to 255; if it was trained here, features that tell "
    "little of the classes",
    True: "a likely cause is training that is too short for this model, or noise that hides the "
    "classes",
}
"""Likely causes for models of `evaluate`, and for those of studies."""


def note_guessing(
    model: str,
    clean: Estimate,
    y: IntArray,
    answers: IntArray,
    classes: Sequence[Any],
    *,
    trained: bool = False,
) -> list[tuple[str, str]]:
    """Return a sentence about a model whose answers tell little or nothing of the classes.

    It comes with the model's name, as `name_notes` takes it; nothing of other models.

    Its clean accuracy is about that of the most frequent class, or below, and its answers agree
    with the classes no more than by chance. Where classes are uneven, a sound model may be hardly
    more accurate than always answering the most frequent one; its answers show that it knows more.

    Parameters
    ----------
    model
        Name of the model.
    clean
        Its accuracy on clean points.
    y, answers
        Class codes of these points, and those that the model answers; -1 for none of them.
    classes
        Labels that the codes stand for.
    trained
        Whether it was trained in a study, on these data.

    >>> about = Estimate(0.52, 0.45, 0.59, 0.95, "by hand")
    >>> y, always_a = np.array([0, 1, 1, 0]), np.zeros(4, dtype=int)
    >>> len(note_guessing("net", about, y, always_a, ("a", "b")))
    1
    """
    counts = np.bincount(y, minlength=len(classes))
    frequent = int(counts.argmax())
    rate = float(counts[frequent] / len(y))
    if clean.low > rate or clean.value > rate + _NEAR * (1 - rate) or _knows_classes(y, answers):
        return []
    return [
        (
            f"{model} ({format_share(clean.value)})",
            f"clean accuracy is hardly above that of always answering {classes[frequent]!r}, "
            f"{format_share(rate)}, or below it; {_CAUSES[trained]}",
        )
    ]


def _knows_classes(y: IntArray, answers: IntArray) -> bool:
    """Whether answers agree with the classes more than the same answers in random order would.

    Both the significance and the size of the agreement count: Cohen's kappa, and its variance
    under all orders.
    """
    n, size = len(y), int(max(y.max(), answers.max())) + 2  # answers of no class are the last
    true = np.bincount(y, minlength=size)
    given = np.bincount(answers % size, minlength=size)
    both = true * given.astype(float)
    expected = both.sum() / n
    beyond = float((y == answers).sum() - expected)
    least = _KAPPA * (n - expected)
    others = both @ ((n - true) * (n - given)) + both.sum() ** 2 - both @ both
    return bool(beyond > max(least, _NORMAL * np.sqrt(others / (n * n * max(n - 1, 1)))))


def note_guessing_models(series: Iterable[Series]) -> list[str]:
    """Return sentences about models and training noise whose clean accuracy is near guessing."""
    notes: list[tuple[str, str]] = []
    for clean in {id(s.on_clean): s.on_clean for s in series if s.clean}.values():
        notes += _note_series(clean)
    return name_notes(notes)


def is_guessing(clean: Series) -> bool:
    """Whether the clean accuracy of a model is near guessing, so that it has little to lose."""
    return bool(_note_series(clean))


def _note_series(clean: Series) -> list[tuple[str, str]]:
    cell = clean.first
    y = np.concatenate([c.points.y for c in clean.noisy])  # of all runs
    answers = np.concatenate([_list_answers(c) for c in clean.noisy])
    name = cell.model
    if cell.train_epsilon:
        name += f" trained with {format_spec(cell.train)}"
    trained = cell.train != AS_GIVEN
    return note_guessing(name, clean.accuracy, y, answers, cell.points.classes, trained=trained)


def note_uneven_classes(series: Iterable[Series]) -> list[str]:
    """Return a sentence about data most of whose points are of one class."""
    notes: list[tuple[str, str]] = []
    for cell in {
        s.first.fingerprint: s.first for s in series if s.first.train == AS_GIVEN
    }.values():
        counts = np.bincount(cell.points.y, minlength=len(cell.points.classes))
        share = float(counts.max() / counts.sum())
        if share > _UNEVEN and (counts > 0).sum() > 1:
            label = cell.points.classes[int(counts.argmax())]
            choice = either("--metric balanced_accuracy", "metric='balanced_accuracy'")
            notes.append(
                (
                    cell.data,
                    f"{format_share(share)} of the points are of class {label!r}, so accuracy says "
                    f"little about the others; {choice} counts all classes alike",
                )
            )
    return name_notes(notes)


def _list_answers(cell: Record) -> IntArray:
    """Class codes that a model answers on clean points; -1 where they were not kept."""
    return np.full_like(cell.points.y, -1) if cell.predictions is None else cell.predictions
