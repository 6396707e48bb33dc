"""The protocol of attacks, when a point counts as found, and queries of labels in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from shaketable.adversary.region import Region
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.evaluation.cells import BATCH_ROWS, BATCH_VALUES
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


@dataclass(eq=False)
class LabelQueries:
    """A model that is asked for labels in batches, and the number of points asked about so far."""

    model: Classifier
    region: Region
    count: int = 0

    def are_hits(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Whether points, one per row, lie in the region and are misclassified; see `confirm`."""
        model = self._make_counting()
        hit = np.zeros(len(rows), bool)
        for part in split_rows(np.arange(len(rows)), moved.shape[1]):
            hit[part] = confirm(model, self.region, rows[part], y[part], moved[part])
        return hit

    def are_hits_by_row(self, rows: IntArray, y: IntArray, moved: FloatArray) -> Array:
        """Do the same for k points per row: (rows, k, d) to (rows, k)."""
        n, k, d = moved.shape
        flat = self.are_hits(rows.repeat(k), y.repeat(k), moved.reshape(n * k, d))
        return flat.reshape(n, k)

    def label_all(self) -> IntArray:
        """Class codes that the model gives all evaluated points."""
        if self.region.labels is not None:
            return self.region.labels
        x = self.region.x
        model = self._make_counting()
        parts = split_rows(np.arange(len(x)), x.shape[1])
        return np.concatenate([model(self.region.cast_for_model(part, x[part])) for part in parts])

    def _make_counting(self) -> Classifier:
        """Return the model as one that counts; as any callable, also if it is a torch module."""
        return replace(self.model, answer=self._count_and_answer, device=None)

    def _count_and_answer(self, x: Array) -> Any:
        self.count += len(x)
        return self.model.answer(x)


def split_rows(rows: IntArray, values: int) -> Iterator[IntArray]:
    """Split rows, of `values` values each, into batches for a model."""
    size = max(1, min(BATCH_VALUES // max(1, values), BATCH_ROWS))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
