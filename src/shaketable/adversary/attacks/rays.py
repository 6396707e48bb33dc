"""Bisection along rays: the nearest misclassified point, for any classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from shaketable.adversary.attacks.directions import Directions, find_steepest_steps, scale_to_unit
from shaketable.adversary.attacks.random_search import ROUND, RandomSearch
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries, declare, split_rows
from shaketable.adversary.region import Region
from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.keys import fold, uniforms
from shaketable.core.norms import pnorm
from shaketable.core.spec import Call, Value
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.pnorm import unit_ball
from shaketable.models.classifier import Classifier

Aim: TypeAlias = Literal["closest", "first"]

_HALVINGS = 8  # bisection steps per ray
_PROBES = 24  # points around the boundary that estimate its normal
_TILTS = range(-3, 2)  # powers of two: weights of the normal in new directions
_GLOBAL = ROUND + _HALVINGS  # queries of a round of rays in all directions
_LOCAL = _PROBES + len(_TILTS) + 1 + _HALVINGS  # queries of a round about the best direction
_MEMORY = 0.9  # weight of earlier estimates of the normal
_CLOSER = 1 - 1e-3  # share of the best distance at which a new direction must succeed


@declare(
    "rays", "queries=1000, aim=closest|first", "bisection along rays to wrong labels, any model"
)
@dataclass(frozen=True)
class RayBisection:
    """Bisect rays from a point to misclassified ones, then follow the decision boundary.

    A quarter of the budget goes to rays: first to points with another predicted label, then at
    random (with the distributions of `RandomSearch`). The rest goes to directions about the best
    one, tilted towards the normal of the boundary, which is estimated from labels around it (Chen,
    Jordan & Wainwright, HopSkipJump, S&P 2020). Misclassified points farther away than epsilon are
    used too, as they lead to nearer ones; only points of the region count in the end.

    The distance found is an upper bound of the distance to the nearest misclassified point. In many
    dimensions the bound is weak: for a linear model 1000 queries miss one misclassified point in
    fifteen in 30 dimensions, and one in three in 400 dimensions. With ``genuine-exact`` all
    distances are equal, and `RandomSearch` is run instead.

    >>> RayBisection(500).spec
    'rays(queries=500)'
    """

    queries: int = 1000
    """Queries per row, at most; all evaluated points are labelled once in addition."""
    aim: Aim = "closest"
    """``closest`` spends the whole budget; with ``first`` a row ends with its first hit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", check_whole("queries", self.queries, least=2 + _GLOBAL))
        if self.aim not in get_args(Aim):
            raise unknown_name("aim", str(self.aim), get_args(Aim))

    @property
    def spec(self) -> str:
        """Name and budget."""
        aim: dict[str, Value] = {} if self.aim == "closest" else {"aim": self.aim}
        return str(Call("rays", (), {"queries": self.queries, **aim}))

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        if region.constraint == "genuine-exact":
            return RandomSearch(self.queries)(model, region, rows, y, keys)
        queries = LabelQueries(model, _widen(region))
        best = region.x[rows]
        distance = np.where(queries.are_hits(rows, y, best), 0.0, np.inf)
        directions = Directions.of(queries, rows, y, keys)
        directions = replace(directions, reach=np.maximum(region.epsilon, directions.reach))
        enough = 0 if self.aim == "closest" else region.epsilon
        for part in split_rows(np.arange(len(rows)), _PROBES * region.x.shape[1]):
            search = _RaySearch(
                directions.select(part), queries, y[part], best[part], distance[part]
            )
            search.run(self.queries - 2, enough=enough)
            best[part], distance[part] = search.best, search.distance
        hit = np.isfinite(distance)
        queries.region = region
        hit[hit] = queries.are_hits(rows[hit], y[hit], best[hit])
        return AttackResult(best, hit, queries.count)


@dataclass(eq=False)
class _RaySearch:
    """Rows that are searched together, and the nearest misclassified point of each so far."""

    directions: Directions
    queries: LabelQueries
    y: IntArray
    best: FloatArray
    distance: FloatArray
    """Distance of the best point; infinite where nothing was found."""

    def __post_init__(self) -> None:
        self.p, self.rows = self.directions.region.p, self.directions.rows
        self.origin = self.directions.region.x[self.rows]
        self.normal = np.zeros_like(self.origin)  # of the boundary, an estimate
        self.spread = np.full(len(self.rows), 0.25)  # of probes, as a share of the distance

    def run(self, queries: int, *, enough: float) -> None:
        """Spend `queries` points per row; a row stops when its distance is `enough` or less."""
        rounds = max(1, queries // 4 // _GLOBAL)
        for turn in range(rounds + (queries - rounds * _GLOBAL) // _LOCAL):
            self._advance(turn, turn >= rounds, enough)

    def _advance(self, turn: int, local: bool, enough: float) -> None:
        todo = self.distance > enough
        found = todo & np.isfinite(self.distance) & local
        if found.any():
            places = np.flatnonzero(found)
            better = self._try_rays(places, self._aim_around(places, turn))
            self.spread[places] *= np.where(better, 1.2, 0.8)
        if (todo & ~found).any():
            places = np.flatnonzero(todo & ~found)
            draws = range(turn * ROUND // 2, (turn + 1) * ROUND // 2)
            ends = self.directions.select(places).draw_points(draws)
            origin = self.origin[places, None]
            share = uniforms(fold(self.directions.keys[places], -1 - turn), len(draws))
            before = origin + share[:, :, None] * (ends - origin)
            self._try_rays(places, np.concatenate([ends, before], axis=1))

    def _aim_around(self, places: IntArray, turn: int) -> FloatArray:
        """Ends of rays about the best direction, tilted towards the normal of the boundary."""
        best, rows, d = self.best[places], self.rows[places], self.origin.shape[1]
        directions = self.directions.select(places)
        keys = fold(self.directions.keys[places], -1 - turn)
        noise = [np.asarray(unit_ball(fold(keys, i), d, 2, kind="surface")) for i in range(_PROBES)]
        radius = (self.spread * self.distance)[places, None]
        project = directions.region.project
        probes = np.stack([project(rows, best + radius * n) for n in noise], axis=1)
        hits = self.queries.are_hits_by_row(rows, self.y[places], probes)
        signs = hits - hits.mean(axis=1, keepdims=True)
        normal = np.einsum("nk,nkd->nd", signs, probes - best[:, None])
        self.normal[places] = _MEMORY * self.normal[places] + scale_to_unit(normal, 2)
        ahead = scale_to_unit(best - self.origin[places], self.p)
        across = scale_to_unit(find_steepest_steps(self.normal[places], self.p), self.p)
        tilted = [ahead + 2.0**power * across for power in _TILTS]
        tilted.append(ahead + self.spread[places, None] * noise[0])
        length = self.distance[places, None]
        return directions.follow([length * scale_to_unit(t, self.p) for t in tilted])

    def _try_rays(self, places: IntArray, ends: FloatArray) -> Array:
        """Ask along rays, nearer than the best point, and bisect the nearest hit of each row."""
        n, k, d = ends.shape
        origin, rows, y = self.origin[places], self.rows[places], self.y[places]
        steps = ends - origin[:, None]
        length = pnorm(steps.reshape(n * k, d), self.p).reshape(n, k)
        limit = _CLOSER * self.distance[places, None]
        share = np.minimum(1, limit / np.where(length > 0, length, 1))
        tried = origin[:, None] + share[:, :, None] * steps
        hits = self.queries.are_hits_by_row(rows, y, tried)
        better = hits.any(axis=1)
        if better.any():
            nearest = np.where(hits, share * length, np.inf).argmin(axis=1)
            self._bisect(places[better], tried[better, nearest[better]])
        return np.asarray(better)

    def _bisect(self, places: IntArray, moved: FloatArray) -> None:
        """Move misclassified points towards their rows' points while they stay misclassified."""
        origin, rows, y = self.origin[places], self.rows[places], self.y[places]
        step = moved - origin
        low, high = np.zeros(len(places)), np.ones(len(places))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tried = origin + middle[:, None] * step
            hit = self.queries.are_hits(rows, y, tried)
            moved[hit] = tried[hit]
            low, high = np.where(hit, low, middle), np.where(hit, middle, high)
        self.best[places], self.distance[places] = moved, pnorm(moved - origin, self.p)


def _widen(region: Region) -> Region:
    """Return the region with an epsilon that reaches from every evaluated point to all others."""
    span = float(pnorm(np.ptp(region.x, axis=0)[None], region.p)[0])
    return replace(region, epsilon=max(region.epsilon, span))
