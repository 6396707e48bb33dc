"""Random search by scores: keep a change of the point if the margin does not fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, split_rows
from shaketable.core.keys import fold
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray


class Proposer(Protocol):
    """Where a search may go next."""

    def start(self) -> FloatArray:
        """First points to ask about, (rows, k, d); the best of them is where the search begins."""

    def propose(
        self, places: IntArray, moved: FloatArray, keys: KeyArray, done: float, size: FloatArray
    ) -> FloatArray:
        """One changed point per row.

        Parameters
        ----------
        places
            Which rows, by place.
        moved
            Their best points so far.
        keys
            Random keys, one per row.
        done
            Share of the budget that is spent.
        size
            Size of changes, one per row: it grows when they help, and shrinks when they do not.
        """


@dataclass(frozen=True)
class Pace:
    """How a search spends its budget."""

    queries: int
    """Per row, at most."""
    tried: int
    """Points per row that are asked about at a time."""
    grow: float = 1.5
    """Factor of the size of changes after one that helped."""
    shrink: float = 0.92
    """The same after one that did not."""


_SMALLEST = 1e-3  # size of changes
_LARGEST = 2.0


def climb(
    queries: LabelQueries,
    rows: IntArray,
    y: IntArray,
    keys: KeyArray,
    by: tuple[Proposer, Pace],
) -> AttackResult:
    """Search around these rows by proposals at a pace; a row ends with its first hit.

    Equal margins are accepted too, so that the search crosses the plateaus of trees.
    """
    (proposer, pace), d = by, queries.region.x.shape[1]
    best = queries.region.x[rows]
    hit, margin = queries.rate(rows, y, best)
    size = np.ones(len(rows))

    def ask(places: IntArray, tried: FloatArray, least: FloatArray) -> Array:
        """Move rows to the best of their points, if its margin is at least so high."""
        n, k, _ = tried.shape
        flat = tried.reshape(n * k, d)
        hits, margins = queries.rate(rows[places].repeat(k), y[places].repeat(k), flat)
        margins = np.where(hits, np.inf, margins).reshape(n, k)
        first = margins.argmax(axis=1)
        top = margins[np.arange(n), first]
        better = (top >= least) & (top > -np.inf)
        moved = places[better]
        best[moved], margin[moved] = tried[better, first[better]], top[better]
        hit[moved] = top[better] == np.inf
        return np.asarray(better)

    begin = proposer.start() if len(rows) else np.empty((0, 0, d))
    count = min(begin.shape[1], pace.queries - 1)
    if count > 0:
        for part in split_rows(np.flatnonzero(~hit), count * d):
            ask(part, begin[part, :count], np.full(len(part), -np.inf))
    spent = 1 + max(count, 0)
    while spent < pace.queries and not hit.all():
        k = min(pace.tried, pace.queries - spent)
        for part in split_rows(np.flatnonzero(~hit), k * d):
            tried = np.stack(
                [
                    proposer.propose(
                        part,
                        best[part],
                        fold(keys[part], spent + i),
                        spent / pace.queries,
                        size[part],
                    )
                    for i in range(k)
                ],
                axis=1,
            )
            before = margin[part]
            ask(part, tried, before)
            factor = np.where(margin[part] > before, pace.grow, pace.shrink)
            size[part] = np.clip(size[part] * factor, _SMALLEST, _LARGEST)
        spent += k
    return AttackResult(best, hit, queries.count)
