"""Queries of a classifier, in batches and counted, for attacks that need labels only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shaketable.adversary.attacks.attack import confirm
from shaketable.adversary.region import Region
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.evaluation.cells import BATCH_ROWS, BATCH_VALUES
from shaketable.models.classifier import Classifier


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
