"""Voronoi cells in an embedding: points whose vector is closer to that of x than to any other.

The ball around x stays in the space of the points; only which of its points count is decided by
distances of vectors. Such a cell need be neither convex nor star-shaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.errors import InputError, either
from shaketable.core.types import Array, BoolArray, FloatArray, IntArray
from shaketable.models.embedding import PlacedEmbedding

if TYPE_CHECKING:
    from shaketable.adversary.region import Region

_HALVINGS = 20  # of a segment that ends outside
_BATCH = 1 << 22  # values of the points that are embedded at a time


@dataclass(frozen=True, eq=False)
class EmbeddedCells:
    """Voronoi cells of embedded points, in the norm of the ball.

    >>> from shaketable.adversary.region import Region
    >>> x = np.array([[1.0], [2.0], [-3.0]])
    >>> ball = Region(x, (1,), np.dtype(float), 2, 5.0, "genuine-max")
    >>> square = PlacedEmbedding("square", None, np.square)
    >>> cells = EmbeddedCells.of(ball, square)  # vectors 1, 4 and 9
    >>> cells.contains(np.array([0, 0, 0]), np.array([[1.5], [1.6], [-1.5]]))
    array([ True, False,  True])
    >>> cells.pull_inside(np.array([0]), np.array([[2.0]])).round(3)  # the square root of 2.5
    array([[1.581]])
    """

    ball: Region
    """The region without cells: how points become those that models take."""
    embedding: PlacedEmbedding
    cells: VoronoiCells
    """Cells of the vectors."""

    @classmethod
    def of(
        cls, ball: Region, embedding: PlacedEmbedding, *, progress: bool = False
    ) -> EmbeddedCells:
        """Embed the points of a region, and find the neighbours of every vector.

        How far vectors move is not known, so lists of neighbours are as long as they can be.
        """
        rows = np.arange(len(ball.x))
        vectors = _embed(ball, embedding, rows, ball.x)
        cells = VoronoiCells.of(vectors, ball.p, math.inf, dtype=np.float64, progress=progress)
        return cls(ball, embedding, cells)

    def contains(self, rows: IntArray, moved: Array) -> BoolArray:
        """Whether the vectors of points, one per row, lie in the cell of their row's vector."""
        vectors = _embed(self.ball, self.embedding, rows, moved)
        return np.asarray(self.cells.contains(rows, vectors))

    def pull_inside(self, rows: IntArray, moved: Array) -> FloatArray:
        """Pull points back towards their rows' points until their vectors lie in their cells.

        Along the segment by bisection, to a place where the segment leaves the cell. Points are
        rounded to the numbers that the model takes, so that they stay inside.
        """
        moved = np.array(moved, np.float64)
        out = np.flatnonzero(~self.contains(rows, moved))
        rows, origin = rows[out], self.ball.x[rows[out]]
        step = moved[out] - origin
        low, high = np.zeros(len(out)), np.ones(len(out))
        moved[out] = origin
        for _ in range(_HALVINGS if len(out) else 0):
            middle = (low + high) / 2
            tried = self._round(rows, origin + middle[:, None] * step)
            inside = self.contains(rows, tried)
            moved[out[inside]] = tried[inside]
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return moved

    def push_inside(self, rows: IntArray, moved: Array, width: int) -> FloatArray:  # noqa: ARG002
        """Return points as they are: their cells have no flat walls to push them across."""
        return np.array(moved, np.float64)

    def find_crowded(self) -> BoolArray:
        """Whether a row may have neighbours that matter: every row may."""
        return np.ones(len(self.ball.x), bool)

    def refuse_clashes(self, y: IntArray) -> None:
        """Raise `InputError` if points of different classes, given as codes, coincide."""
        if (y != y[self.cells.lists.first]).any():
            drop = either("--drop-clashes", "Dataset.drop_clashes(embedded=vectors)")
            raise InputError(
                f"points of different classes must not coincide in embedding {self.embedding.name}:"
                f" their Voronoi cells have no unique label; leave them out with {drop}"
            )

    def _round(self, rows: IntArray, moved: FloatArray) -> FloatArray:
        rounded = self.ball.extract(self.ball.round_for_model(rows, moved))
        return rounded.astype(np.float64)


def check_use(embedding: Any, constraints: Iterable[str]) -> None:
    """Raise `InputError` for an embedding that no constraint needs."""
    if embedding is not None and set(constraints) == {"none"}:
        raise InputError(
            "embedding is for Voronoi cells, and the constraint none has none; add "
            + either("--constraint genuine-max", "constraints='genuine-max'")
        )


def _embed(ball: Region, embedding: PlacedEmbedding, rows: IntArray, moved: Array) -> FloatArray:
    """Vectors of points, one per row, as the model takes them."""
    size = max(1, _BATCH // max(1, ball.x.shape[1]))
    parts = [
        embedding(ball.cast_for_model(rows[i : i + size], moved[i : i + size]))
        for i in range(0, max(1, len(rows)), size)
    ]
    return np.concatenate(parts).astype(np.float64)
