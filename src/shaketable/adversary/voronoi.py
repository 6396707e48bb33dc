"""Voronoi cells: everything closer to one evaluated point than to any other.

Points are tested and pulled back into their cells, exactly and in every dimension;
`voronoi_kernels` are the compiled loops, `region_tensors` has the same for torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from shaketable.core.errors import InputError, either
from shaketable.core.norms import pnorm
from shaketable.core.threads import count_threads
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import MAX_TREE_DIMENSION, pairs_within
from shaketable.separations.search.trees import MAX_TREE_P

TIE = 1e-11
"""Share of a distance by which a point must be closer; less is rounding and counts as a tie."""

_BEYOND = 1e-3  # share of reach that lists extend farther, for points moved out by rounding
_LONGEST = 512  # neighbours per list, at most
_ENTRIES = 1 << 24  # of all lists together, about
_PAIRS = 1 << 22  # pairs that a search may find, about
_SAMPLE = 1 << 13  # pairs whose distances estimate how many pairs there are
_SHORT = 1 - 1e-9  # share of a distance that remains certain after rounding in a tree


class NeighbourLists(NamedTuple):
    """Neighbours of every point, the nearest first; coinciding points share the first row's list.

    Lists only save time: beyond the distance to which one is complete, all points are compared.
    """

    first: IntArray
    """For every row the lowest row that coincides with it."""
    starts: IntArray
    """Where the list of every row starts, and where the last one ends."""
    others: Array
    """Rows of the neighbours."""
    distances: FloatArray
    """Distances of the neighbours."""
    complete_to: FloatArray
    """Distance up to which the list of every row is complete."""


@dataclass(frozen=True, eq=False)
class VoronoiCells:
    r"""Voronoi cells of points in a p-norm: :math:`\lVert x'-x_i\rVert < \lVert x'-x_j\rVert`.

    Exact in every dimension, for all :math:`x_j` that do not coincide with :math:`x_i`: any point
    closer to :math:`x'` than :math:`x_i` lies within :math:`2\lVert x'-x_i\rVert` of :math:`x_i`,
    so only neighbours are compared. Boundaries belong to no cell. Coinciding points share a cell.

    >>> cells = VoronoiCells.of(np.array([[0.0], [2.0], [10.0]]), 2, reach=4)
    >>> cells.contains(np.array([0, 1, 1]), np.array([[0.9], [1.0], [5.9]]))
    array([ True, False,  True])
    """

    x: FloatArray
    """Points, (n, d)."""
    p: float
    """Order of the norm: 1 or more, or infinite."""
    grain: float
    """Relative rounding error of the values of pulled points."""
    norms: FloatArray
    """Norms of the points."""
    radius: float
    """Neighbours farther than this cannot affect a point in the ball."""
    lists: NeighbourLists
    by_device: dict[str, Any] = field(default_factory=dict, repr=False)
    """The same cells for tensors, by device; filled by `region_tensors.voronoi_on`."""

    @classmethod
    def of(
        cls,
        x: FloatArray,
        p: float,
        reach: float,
        *,
        dtype: DTypeLike = np.float32,
        progress: bool = False,
        device: str | None = None,
    ) -> VoronoiCells:
        """Find the neighbours of every point.

        Parameters
        ----------
        x
            Points, (n, d).
        p
            Order of the norm, 1 or more: below, the triangle inequality does not hold.
        reach
            Distance from its point up to which an x' will be tested; farther ones are slower, and
            exact too.
        dtype
            Number type that pulled points are rounded to later: they stay inside even then.
        progress
            Show a progress bar where points of many dimensions are compared.
        device
            Torch device to compare them on, such as ``"cuda"``; the cells are the same.
        """
        if not p >= 1:
            raise InputError(f"p must be 1 or more, got {p!r}: cells need a norm")
        if not reach >= 0:
            raise InputError(f"reach must be a distance, 0 or more, got {reach!r}")
        x = np.ascontiguousarray(x, np.float64)
        grain = float(np.finfo(np.dtype(dtype)).eps)
        parts = np.array_split(x, len(x) // 256 + 1)
        with ThreadPoolExecutor(count_threads()) as pool:
            norms = np.concatenate([*pool.map(lambda part: pnorm(part, p), parts)])
        radius = 2 * reach * (1 + _BEYOND) + 4 * grain * (float(norms.max()) + reach)
        lists = _find_lists(x, p, radius, progress=progress, device=device)
        return cls(x, float(p), grain, norms, radius, lists)

    def contains(self, rows: IntArray, moved: Array) -> Array:
        """Whether points, one per row, lie in the cell of their row.

        Distances are computed in float64, and must be shorter by more than a share `TIE`. In L2 the
        half-space (x'-x_i)(x_j-x_i) < |x_j-x_i|^2/2 would be more exact for points that are far
        away and neighbours that are close together; but a nearest-neighbour classifier cannot make
        that distinction either, so it must not count.
        """
        from shaketable.adversary.voronoi_kernels import contains  # compiles

        moved = np.ascontiguousarray(moved, np.float64)
        return np.asarray(contains(self.x, self.lists, rows, moved, self.p, TIE))

    def pull_inside(self, rows: IntArray, moved: Array) -> FloatArray:
        r"""Pull points back towards their rows' points until they lie in their cells.

        Cells are star-shaped: the first part of the segment from :math:`x_i` to :math:`x'` is
        inside. The result is the farthest point of the segment for which

        .. math:: \lVert x'-x_j\rVert - \lVert x'-x_i\rVert \ge
            2 g\,(\lVert x_i\rVert + \lVert x'-x_i\rVert)

        for all j, where :math:`g` is the `grain`: rounding changes either distance by at most half
        of the right side. Where not even :math:`x_i` satisfies this, the result is :math:`x_i`.
        Points that satisfy it are returned unchanged.

        >>> cells = VoronoiCells.of(np.array([[0.0], [2.0]]), 2, reach=4)
        >>> cells.pull_inside(np.array([0, 0, 1]), np.array([[0.5], [3.0], [-1.0]])).round(5)
        array([[0.5],
               [1. ],
               [1. ]])
        """
        from shaketable.adversary.voronoi_kernels import find_kept_shares

        moved = np.array(moved, np.float64, order="C")
        lead = self.required_lead(rows)
        shares = np.asarray(find_kept_shares(self.x, self.lists, rows, moved, self.p, *lead))
        out = shares < 1
        origin = self.x[rows[out]]
        moved[out] = origin + shares[out, None] * (moved[out] - origin)
        return moved

    def push_inside(self, rows: IntArray, moved: Array, width: int) -> FloatArray:
        r"""Push points back into the cells of their rows, across the boundaries that they crossed.

        In L2 a cell is an intersection of half-spaces, and the result is its nearest point, found
        by Hildreth's method. In other norms points move away from the neighbour :math:`x_j` that is
        closest, along :math:`x_i-x_j`, until it is no longer closer; steps only become shorter.
        Only the first `width` columns move. What is not inside after some rounds stays outside:
        `pull_inside` does the rest.

        >>> cells = VoronoiCells.of(np.array([[0.0, 0.0], [2.0, 0.0]]), 2, reach=4)
        >>> cells.push_inside(np.array([0]), np.array([[3.0, 1.0]]), 2).round(5)
        array([[1., 1.]])
        """
        from shaketable.adversary.voronoi_kernels import push_back

        moved = np.array(moved, np.float64, order="C")
        crowded = np.flatnonzero(self.find_crowded()[rows])
        if len(crowded):
            lead, share = self.required_lead(rows[crowded])
            some = np.ascontiguousarray(moved[crowded])
            push_back(self.x, self.lists, rows[crowded], some, width, self.p, lead, share)
            moved[crowded] = some
        return moved

    def find_crowded(self) -> Array:
        """Whether a row may have neighbours that matter; other cells contain all within reach."""
        first, starts = self.lists.first, self.lists.starts
        alone = (np.diff(starts) == 0) & (self.lists.complete_to >= self.radius)
        return np.asarray(~alone[first])

    def required_lead(self, rows: IntArray) -> tuple[FloatArray, float]:
        """By how much pulled points are closer: one number per row, plus a share of the step."""
        return 2 * self.grain * self.norms[rows], 2 * self.grain + 2 * TIE

    def refuse_clashes(self, y: IntArray) -> None:
        """Raise `InputError` if points of different classes, given as codes, coincide."""
        if (y != y[self.lists.first]).any():
            raise InputError(
                "points of different classes must not coincide: their Voronoi cells have no unique "
                "label; leave them out with "
                f"{either('--drop-clashes', 'Dataset.drop_clashes()')}"
            )


def _find_lists(
    x: FloatArray, p: float, radius: float, *, progress: bool, device: str | None
) -> NeighbourLists:
    first = _find_first(x)
    places = np.flatnonzero(first == np.arange(len(x)))
    distinct = x if len(places) == len(x) else x[places]
    most = min(_LONGEST, max(64, _ENTRIES // len(x)))
    few = x.shape[1] <= MAX_TREE_DIMENSION and (p <= MAX_TREE_P or math.isinf(p))
    if few:
        parts = [_sort(*part, most) for part in _search_tree(distinct, p, radius, most)]
    else:
        radius = _limit_radius(distinct, p, radius)
        pairs = _search_pairs(distinct, p, radius, progress=progress, device=device)
        parts = [_sort(*pairs, most)]
    rows, others, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    sizes = np.bincount(places[rows], minlength=len(x))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    complete_to = np.full(len(x), radius)
    full = sizes >= most
    complete_to[full] = np.minimum(radius, distances[starts[1:][full] - 1] * _SHORT)
    return NeighbourLists(first, starts, places.astype(np.int32)[others], distances, complete_to)


def _find_first(x: FloatArray) -> IntArray:
    """For every row the lowest row that coincides with it."""
    first = np.arange(len(x))
    for rows in find_equal_rows(x):
        first[rows] = rows[0]
    return first


Neighbours = tuple[IntArray, Array, FloatArray]  # rows, other rows, and their distances


def _sort(rows: IntArray, others: Array, distances: FloatArray, most: int) -> Neighbours:
    """Sort neighbours by row, the nearest first, and keep at most `most` per row."""
    order = np.lexsort((others, distances, rows))
    rows = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    order = order[rank < most]
    return rows[rank < most], others[order], distances[order]


def _search_tree(x: FloatArray, p: float, radius: float, most: int) -> Iterator[Neighbours]:
    """Neighbours within a radius, in few dimensions."""
    from scipy.spatial import cKDTree

    exponent = math.frexp(np.abs(x).max())[1]
    unit = 2.0 ** -min(1000, max(-1000, exponent))  # powers in the tree stay finite
    tree = cKDTree(x * unit)
    near: dict[str, Any] = {"p": p, "distance_upper_bound": radius * unit / _SHORT, "workers": -1}
    count = max(1, _PAIRS // 16 // most)
    for start in range(0, len(x), count):
        part = x[start : start + count]
        rows = np.asarray(tree.query(part * unit, k=list(range(1, most + 2)), **near)[1])
        itself = rows == np.arange(start, start + len(part))[:, None]
        place, rank = np.nonzero((rows < len(x)) & ~itself)
        others = rows[place, rank]
        distances = pnorm(part[place] - x[others], p)
        near_enough = distances <= radius
        yield place[near_enough] + start, others[near_enough], distances[near_enough]


def _search_pairs(
    x: FloatArray, p: float, radius: float, *, progress: bool, device: str | None
) -> Neighbours:
    """Neighbours within a radius, in many dimensions."""
    from shaketable.separations.search.blocks import measure_in_threads  # compiles

    question = Question(x, np.arange(len(x)), p, progress=progress, device=device)
    pairs = pairs_within(question, np.full(len(x), radius))
    distances = measure_in_threads(x, pairs, p)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[:, 0], both[:, 1], np.concatenate([distances, distances])


def _limit_radius(x: FloatArray, p: float, radius: float) -> float:
    """The radius, or a smaller one within which, by a sample, at most `_PAIRS` pairs lie."""
    share = 2 * _PAIRS / len(x) ** 2
    if share >= 1:
        return radius
    from shaketable.separations.search.blocks import measure_in_threads

    sample = np.random.default_rng(0).integers(len(x), size=(_SAMPLE, 2))
    # just below the quantile: many pairs may be equally far apart
    return min(radius, float(np.quantile(measure_in_threads(x, sample, p), share)) * _SHORT)
