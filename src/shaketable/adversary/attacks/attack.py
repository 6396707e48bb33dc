"""The role every attack plays, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shaketable.adversary.region import Region
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.models.classifier import Classifier


@dataclass(frozen=True, eq=False)
class Found:
    """What an attack found: of every row a point of its region that is labelled wrongly, or none.

    What was not found may exist: an accuracy that hangs on it is an upper bound.
    """

    moved: Array
    """(rows, d), of the model's type; without meaning where there is no `hit`."""
    hit: Array
    """Whether a point was found, one a row."""
    queries: int
    """Points that the model was asked about, in all; a gradient counts as one more."""
    proven: Array | None = None
    """Of every row whether nothing is left to find: it was hit, or shown to have no wrong label."""


class Attack(Protocol):
    """A way to search the region; a frozen dataclass whose fields are its budget."""

    @property
    def spec(self) -> str:
        """Name and budget, such as ``pgd(steps=20, restarts=1, loss=margin)``."""

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> Found:
        """Search for wrong labels around these rows of the region's points.

        Parameters
        ----------
        model
            Answers with class codes.
        region
            Where to search.
        rows
            Rows of its points; `y` has their class codes, and `keys` one key each: nothing else is
            random, so that a row's result depends neither on the others nor on batches.
        """


def confirmed(
    model: Classifier, region: Region, rows: IntArray, y: IntArray, moved: Array
) -> Array:
    """Whether points count, one a row: in the region, as the model takes them, labelled wrongly.

    Every attack asks this of what it found, so that no rounding can pass for a hit.
    """
    given = region.given(rows, moved)
    hit = region.contains(rows, given.reshape(len(rows), region.x.shape[1]))
    if hit.any():
        hit[hit] = model(given[hit]) != y[hit]
    return np.asarray(hit)
