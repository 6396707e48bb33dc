"""Sentences about data that a reader of results should know."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.checks import quote
from shaketable.core.errors import either
from shaketable.data.frames.columns import NUMBERS
from shaketable.views.numbers import format_distance

if TYPE_CHECKING:
    from shaketable.core.types import Array
    from shaketable.data.dataset import Dataset

FEW_ROWS = 20
"""With fewer rows, whole numbers may be evenly spaced by chance."""


def list_notes(data: Dataset, *, distances: bool) -> list[str]:
    """What a reader of results on these data should know; see `Dataset.notes`."""
    notes = []
    if data.sampled:
        note = "the points are a random sample"
        if data.table is None or data.table.moved.any():
            rest = "" if data.n_train is None else " and the other part"
            note += f", and eps_min is that of the sample{rest}: that of all points may be smaller"
        notes.append(note)
    if data.x.dtype == np.uint8:
        notes.append(
            "uint8 values count as x/255: models and noise see values in [0, 1]; for a model "
            "of values from 0 to 255, give floats (in Python x.astype('float32'))"
        )
    if data.table is not None:
        whole = ("integer",) if data.scaling is None else NUMBERS  # scaling makes them floats
        for column, x in zip(data.table.columns, data.x.T, strict=True):
            if column.kind in whole and _is_numbering(x):
                word = shlex.quote(f"{column.name}=drop")
                drop = either(f"--column {word}", f".drop(columns={column.name!r}) on the frame")
                notes.append(f"{quote(column.name)} seems to number the rows; {drop} leaves it out")
        notes += data.table.note(distances=distances)
    if distances and data.has_uneven_ranges:
        notes.append(_describe_ranges(data))
    return notes


def _is_numbering(x: Array) -> bool:
    """Whether the values are a number per row: 0, 1, 2, …, in any order; scaled, too."""
    if len(x) < FEW_ROWS:
        return False
    steps = np.diff(np.sort(x))
    return bool(steps[0] > 0 and np.allclose(steps, steps[0], atol=0))


def _describe_ranges(data: Dataset) -> str:
    ranges = data.ranges
    wide, narrow = int(ranges.argmax()), int(np.where(ranges > 0, ranges, np.inf).argmin())
    return (
        "distances are in the units of the features, whose ranges differ by a factor of "
        f"{data.range_ratio:,.0f}: {data.feature_name(wide)} spans "
        f"{format_distance(ranges[wide])}, {data.feature_name(narrow)} only "
        f"{format_distance(ranges[narrow])}; "
        f"{either('--scale', '.scaled()')} scales every feature to [0, 1]"
    )
