"""The protocol that every attack follows, what it returns, and when a point counts as found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shaketable.adversary.region import Region
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.models.classifier import Classifier


@dataclass(frozen=True, eq=False)
class AttackResult:
    """What an attack found: for every row at most one misclassified point of its region.

    A point that was not found may still exist, so accuracies that rest on it are upper bounds.
    """

    moved: Array
    """Points, (rows, d); ignored where `hit` is false."""
    hit: Array
    """Whether a point was found, one value per row."""
    queries: int
    """Number of points that the model was asked about; a gradient counts as one more."""
    proven: Array | None = None
    """For every row whether it is settled: it was hit, or no misclassified point exists."""


class Attack(Protocol):
    """A way to search the region; usually a frozen dataclass whose fields are its budget."""

    @property
    def spec(self) -> str:
        """Name and budget, such as ``pgd(steps=20, restarts=1, loss=margin)``."""

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search for misclassified points around these rows of ``region.x``.

        Parameters
        ----------
        model
            Maps points to class codes.
        region
            Where to search.
        rows
            Rows of the region's points, (rows,).
        y
            Their class codes.
        keys
            One random key per row, the only source of randomness: the result of a row then depends
            neither on other rows nor on batches.
        """


def confirm(model: Classifier, region: Region, rows: IntArray, y: IntArray, moved: Array) -> Array:
    """Whether points count as found, one per row, shape (rows,).

    A point counts if, rounded to the numbers that the model takes, it lies in the region and is
    misclassified. So no rounding can pass for a hit.
    """
    rounded = region.round_for_model(rows, moved)
    hit = region.contains(rows, region.extract(rounded))
    if hit.any():
        hit[hit] = model(rounded[hit]) != y[hit]
    return np.asarray(hit)
