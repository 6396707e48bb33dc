"""Random search: points of the region drawn at random, for any classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.attacks.directions import Directions
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, declare, split_rows
from shaketable.adversary.region import Region
from shaketable.core.checks import check_whole
from shaketable.core.spec import Call
from shaketable.core.types import IntArray, KeyArray
from shaketable.models.classifier import Classifier

ROUND = 32
"""Points per row that the model is asked about at a time."""


@declare("random", "queries=1000", "random points of the region, for any model")
@dataclass(frozen=True)
class RandomSearch:
    """Random points of the region, half of them towards points with another predicted label.

    Such points lie beyond a decision boundary, and the nearest of them, in L2, show where it may be
    near. The other half is noise: uniform in the ball, on its surface, at its corners for L-inf, in
    Gaussian directions and along single coordinates. All points are projected to the region; with
    ``genuine-exact`` all are epsilon away, and those outside the cell are not asked about. The
    search of a row ends with its first hit.

    >>> RandomSearch(500).spec
    'random(queries=500)'
    """

    queries: int = 1000
    """Queries per row, at most; all evaluated points are labelled once in addition."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=1))

    @property
    def spec(self) -> str:
        """Name and budget."""
        return str(Call("random", (), {"queries": self.queries}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        queries = LabelQueries(model, region)
        best = region.x[rows]
        hit = queries.are_hits(rows, y, best)
        directions = Directions.of(queries, rows, y, keys)
        directions = replace(directions, reach=np.full(len(rows), region.epsilon))
        for start in range(0, self.queries - 1, ROUND):
            draws = range(start, min(start + ROUND, self.queries - 1))
            for part in split_rows(np.flatnonzero(~hit), len(draws) * region.x.shape[1]):
                moved = directions.select(part).draw_points(draws)
                hits = queries.are_hits_by_row(rows[part], y[part], moved)
                hit[part] = hits.any(axis=1)
                best[part] = moved[np.arange(len(part)), hits.argmax(axis=1)]
        return AttackResult(best, hit, queries.count)
