"""Inputs that flip, drawn again from the data: as they were, and as the model got them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array
from shaketable.data.dataset import Dataset
from shaketable.evaluation.redrawing import check_redrawable, draw_again
from shaketable.findings.inputs.numbers import Flips

CORRUPTIONS = 3
"""Corruptions per fitted model whose inputs are shown."""

LEAST = 2
"""Points that are shown of those affected least."""


@dataclass(frozen=True, eq=False)
class Example:
    """One point, clean and in one draw of a corruption, and what the model answered to that."""

    place: int
    """Position among the points of the cell."""
    clean: Array
    corrupted: Array
    answer: str
    confidence: float | None
    """Score of the answer; None without scores."""


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Points of one fitted model under one corruption."""

    label: str
    flips: Flips
    most: tuple[Example, ...] = ()
    """Those wrong most often, in the first draw that is wrong."""
    least: tuple[Example, ...] = ()
    """Those wrong least often, in the first draw."""
    lacks: str = ""
    """Why they cannot be drawn again; empty if they can."""


@dataclass(frozen=True, eq=False)
class RedrawnInputs:
    """Inputs of all fitted models, with the data that they were drawn from."""

    data: Dataset
    redrawn: tuple[Redrawn, ...]
    left_out: dict[str, int]
    """Corruptions that are not shown, by the label of a model."""


def redraw(flips: Iterable[tuple[str, Flips]], data: Dataset, n: int) -> RedrawnInputs:
    """Draw again the n points that are wrong most often, of every model under a few corruptions.

    Raises `InputError` for data that none of the models was evaluated on.
    """
    check_whole(either("--inputs", "n"), n, least=1)
    groups: dict[str, list[Flips]] = {}
    listed = [*flips]
    for label, each in listed:
        if each.cell.fingerprint == data.fingerprint:
            groups.setdefault(label, []).append(each)
    if not groups:
        check_redrawable(listed[0][1].cell, data)
    return RedrawnInputs(
        data,
        tuple(
            _redraw_points(label, each, data, n)
            for label, found in groups.items()
            for each in found[:CORRUPTIONS]
        ),
        {label: len(found) - CORRUPTIONS for label, found in groups.items()},
    )


def _redraw_points(label: str, flips: Flips, data: Dataset, n: int) -> Redrawn:
    if flips.cell.answers is None:
        again = either("--record answers", "record='answers'")
        lacks = f"which draws were wrong is not on record; evaluate with {again}"
        return Redrawn(label, flips, lacks=lacks)
    try:
        most = _draw_examples(flips, data, flips.rank(n), wrong=True)
        least = _draw_examples(flips, data, flips.rank_least(LEAST), wrong=False)
    except InputError as error:
        return Redrawn(label, flips, lacks=str(error))
    return Redrawn(label, flips, most, least)


def _draw_examples(
    flips: Flips, data: Dataset, places: Iterable[int], *, wrong: bool
) -> tuple[Example, ...]:
    """Draw points again, each in its first draw or in the first one that is wrong."""
    cell, answers = flips.cell, flips.cell.answers
    assert answers is not None
    confidence = answers.confidence if answers.has_scores else None
    examples = []
    for i in places:
        missed = answers.predicted[i] != cell.points.y[i]
        draw = int(np.argmax(missed)) if wrong else 0
        code = int(answers.exact[i, draw])
        (corrupted,) = draw_again(cell, data, [i], range(draw, draw + 1))[0]
        examples.append(
            Example(
                i,
                data.rows(cell.points.rows[i : i + 1])[0],
                corrupted,
                str(answers.name(code, cell.points.classes)),
                None if confidence is None else float(confidence[i, draw]),
            )
        )
    return tuple(examples)
