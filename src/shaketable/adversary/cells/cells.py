"""Voronoi cells: what is nearer to one evaluated point than to any other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from shaketable.core.errors import InputError
from shaketable.core.norms import pnorm
from shaketable.core.threads import count_threads
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.duplicates import find_equal_rows
from shaketable.separations.search.question import Question
from shaketable.separations.search.search import MAX_TREE_DIMENSION, pairs_within, search
from shaketable.separations.search.trees import MAX_TREE_P

TIE = 1e-11
"""Share of its distance by which a point must be nearer: less is rounding, and counts as a tie."""

_BEYOND = 1e-3  # share of reach that lists go farther, for points that rounding carried out
_LONGEST = 512  # neighbours that a list holds, at most
_ENTRIES = 1 << 24  # of all lists together, about
_PAIRS = 1 << 22  # that a search may find, about
_SAMPLE = 1 << 13  # pairs that tell how many there are
_SHORT = 1 - 1e-9  # share of a distance that rounding in a tree leaves


class Lists(NamedTuple):
    """Neighbours of every point, the nearest first; points that coincide with another have none.

    Beyond what a list is known to be complete for, all points are compared: it saves time only.
    """

    first: IntArray
    """Of every row the lowest one that coincides with it."""
    starts: IntArray
    """Where the list of every row starts, and where the last one ends."""
    others: Array
    """Rows of the neighbours."""
    apart: FloatArray
    """Their distances."""
    known: FloatArray
    """Distance up to which the list of every row is complete."""


@dataclass(frozen=True, eq=False)
class Cells:
    r"""Voronoi cells of points in a p-norm: :math:`\lVert x'-x_i\rVert < \lVert x'-x_j\rVert`.

    Exact in every dimension, for all :math:`x_j` that do not coincide with :math:`x_i`: what is
    nearer to :math:`x'` lies within :math:`2\lVert x'-x_i\rVert` of :math:`x_i`, so only those near
    it are compared. Boundaries belong to no cell. Points that coincide share theirs.

    >>> cells = Cells.of(np.array([[0.0], [2.0], [10.0]]), 2, reach=4)
    >>> cells.inside(np.array([0, 1, 1]), np.array([[0.9], [1.0], [5.9]]))
    array([ True, False,  True])
    >>> cells.intervals()
    array([[-inf,   1.],
           [  1.,   6.],
           [  6.,  inf]])
    """

    x: FloatArray
    """Points, (n, d)."""
    p: float
    """Order of the norm: 1 or more, or infinite."""
    grain: float
    """Share of its size by which a number of a pulled point may be off after rounding."""
    sizes: FloatArray
    """Norms of the points."""
    radius: float
    """How near a neighbour must be to matter to any point within reach."""
    lists: Lists
    on_devices: dict[str, Any] = field(default_factory=dict, repr=False)
    """The same for torch's tensors, by device: see `cell_tensors`."""

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
    ) -> Cells:
        """Find the neighbours of every point.

        Parameters
        ----------
        x
            Points, (n, d).
        p
            Order of the norm, 1 or more: below, the triangle inequality does not hold.
        reach
            How far from its point an x' will be asked about; farther ones are slow, and exact too.
        dtype
            What pulled points are rounded to before they are used: they stay inside even then.
        progress
            Show a bar where points of many dimensions are compared.
        device
            Device of torch's to compare them on, such as ``"cuda"``; the cells are the same.
        """
        if not p >= 1:
            raise InputError(f"p must be 1 or more, got {p!r}: cells need a norm")
        if not reach >= 0:
            raise InputError(f"reach must be a distance, 0 or more, got {reach!r}")
        x = np.ascontiguousarray(x, np.float64)
        grain = float(np.finfo(np.dtype(dtype)).eps)
        parts = np.array_split(x, len(x) // 256 + 1)
        with ThreadPoolExecutor(count_threads()) as pool:
            sizes = np.concatenate([*pool.map(lambda part: pnorm(part, p), parts)])
        radius = 2 * reach * (1 + _BEYOND) + 4 * grain * (float(sizes.max()) + reach)
        lists = _lists(x, p, radius, progress=progress, device=device)
        return cls(x, float(p), grain, sizes, radius, lists)

    def inside(self, rows: IntArray, moved: Array) -> Array:
        """Whether points, one for each of these rows, lie in the row's cell.

        By distances in float64, nearer by more than a share `TIE`. In L2 the half-space
        (x'-x_i)(x_j-x_i) < |x_j-x_i|^2/2 would be more exact for points that are far away and
        neighbours that are close together; but what only it can tell apart no nearest-neighbour
        classifier can, so it must not count.
        """
        from shaketable.adversary.cells.kernels import inside  # compiles

        moved = np.ascontiguousarray(moved, np.float64)
        return np.asarray(inside(self.x, self.lists, rows, moved, self.p, TIE))

    def pulled(self, rows: IntArray, moved: Array) -> FloatArray:
        r"""Points, pulled back towards their rows' points as far as it takes to be in their cells.

        Cells are star-shaped: of the segment from :math:`x_i` to :math:`x'` a first part is inside.
        The farthest of its points comes back for which

        .. math:: \lVert x'-x_j\rVert - \lVert x'-x_i\rVert \ge
            2 g\,(\lVert x_i\rVert + \lVert x'-x_i\rVert)

        for all j, :math:`g` the `grain`: rounding changes either distance by half of that at most.
        Where not even :math:`x_i` has that much room, it is :math:`x_i` that comes back. Points
        that have it come back as they are.

        >>> cells = Cells.of(np.array([[0.0], [2.0]]), 2, reach=4)
        >>> cells.pulled(np.array([0, 0, 1]), np.array([[0.5], [3.0], [-1.0]])).round(5)
        array([[0.5],
               [1. ],
               [1. ]])
        """
        moved = np.array(moved, np.float64, order="C")
        shares = self.kept_shares(rows, moved)
        out = shares < 1
        origin = self.x[rows[out]]
        moved[out] = origin + shares[out, None] * (moved[out] - origin)
        return moved

    def kept_shares(self, rows: IntArray, moved: Array) -> FloatArray:
        """Share of their way from their rows' points that `pulled` leaves; 1 for points inside."""
        from shaketable.adversary.cells.kernels import kept_shares

        moved = np.ascontiguousarray(moved, np.float64)
        room = self.room(rows)
        return np.asarray(kept_shares(self.x, self.lists, rows, moved, self.p, *room))

    def crowded(self) -> Array:
        """Whether rows may have neighbours that matter; other cells hold all within reach."""
        first, starts = self.lists.first, self.lists.starts
        alone = (np.diff(starts) == 0) & (self.lists.known >= self.radius)
        return np.asarray(~alone[first])

    def room(self, rows: IntArray) -> tuple[FloatArray, float]:
        """By how much pulled points are nearer: one number a row, and a share of their step."""
        return 2 * self.grain * self.sizes[rows], 2 * self.grain + 2 * TIE

    def radius_free(self, rows: IntArray) -> FloatArray:
        """Half the distance to the nearest other point: the ball of that radius is in the cell."""
        lists, home = self.lists, self.lists.first[rows]
        start = lists.starts[home]
        listed = lists.starts[home + 1] > start
        near = np.full(len(rows), math.inf)
        near[listed] = lists.apart[start[listed]]
        places = np.flatnonzero(lists.first == np.arange(len(self.x)))
        if not listed.all() and len(places) > 1:
            asked = np.isin(places, home[~listed])
            groups = np.arange(len(places))
            answer = search(Question(self.x[places], groups, self.p, nearest_of=asked))
            near[~listed] = answer.nearest[np.searchsorted(places, home[~listed])]
        return near / 2

    def intervals(self) -> FloatArray:
        """Ends of every row's cell, in one dimension: halfway to the points on either side."""
        if self.x.shape[1] != 1:
            raise InputError(f"cells are intervals in 1 dimension, got {self.x.shape[1]}")
        places, place = np.unique(self.x, return_inverse=True)
        halfway = places[:-1] + np.diff(places) / 2
        ends = np.concatenate([[-math.inf], halfway, [math.inf]])
        return np.column_stack([ends[:-1], ends[1:]])[place.ravel()]

    def contested(self, y: IntArray) -> Array:
        """Whether a point of another class coincides with a row's: no label suits such a cell."""
        first = self.lists.first
        mixed = np.zeros(len(y), bool)
        mixed[first[y != y[first]]] = True
        return np.asarray(mixed[first])


def _lists(x: FloatArray, p: float, radius: float, *, progress: bool, device: str | None) -> Lists:
    first = _first(x)
    places = np.flatnonzero(first == np.arange(len(x)))
    distinct = x if len(places) == len(x) else x[places]
    most = min(_LONGEST, max(64, _ENTRIES // len(x)))
    few = x.shape[1] <= MAX_TREE_DIMENSION and (p <= MAX_TREE_P or math.isinf(p))
    if few:
        found = [_sorted(*part, most) for part in _by_tree(distinct, p, radius, most)]
    else:
        radius = _affordable(distinct, p, radius)
        pairs = _by_pairs(distinct, p, radius, progress=progress, device=device)
        found = [_sorted(*pairs, most)]
    rows, others, apart = (np.concatenate(part) for part in zip(*found, strict=True))
    sizes = np.bincount(places[rows], minlength=len(x))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    known = np.full(len(x), radius)
    full = sizes >= most
    known[full] = np.minimum(radius, apart[starts[1:][full] - 1] * _SHORT)
    return Lists(first, starts, places.astype(np.int32)[others], apart, known)


def _first(x: FloatArray) -> IntArray:
    """Of every row the lowest one that coincides with it."""
    first = np.arange(len(x))
    for rows in find_equal_rows(x):
        first[rows] = rows[0]
    return first


Found = tuple[IntArray, Array, FloatArray]  # rows, others, and their distances


def _sorted(rows: IntArray, others: Array, apart: FloatArray, most: int) -> Found:
    """Neighbours by row, the nearest first, and no more than `most` of each."""
    order = np.lexsort((others, apart, rows))
    rows = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    order = order[rank < most]
    return rows[rank < most], others[order], apart[order]


def _by_tree(x: FloatArray, p: float, radius: float, most: int) -> Iterator[Found]:
    """Neighbours in few dimensions."""
    from scipy.spatial import cKDTree

    exponent = math.frexp(np.abs(x).max())[1]
    unit = 2.0 ** -min(1000, max(-1000, exponent))  # powers in the tree stay finite
    tree = cKDTree(x * unit)
    near: dict[str, Any] = {"p": p, "distance_upper_bound": radius * unit / _SHORT, "workers": -1}
    count = max(1, _PAIRS // 16 // most)
    for start in range(0, len(x), count):
        part = x[start : start + count]
        found = np.asarray(tree.query(part * unit, k=list(range(1, most + 2)), **near)[1])
        itself = found == np.arange(start, start + len(part))[:, None]
        place, rank = np.nonzero((found < len(x)) & ~itself)
        others = found[place, rank]
        apart = pnorm(part[place] - x[others], p)
        near_enough = apart <= radius
        yield place[near_enough] + start, others[near_enough], apart[near_enough]


def _by_pairs(
    x: FloatArray, p: float, radius: float, *, progress: bool, device: str | None
) -> Found:
    """Neighbours in many dimensions."""
    from shaketable.separations.search.blocks import measure_in_threads  # compiles

    question = Question(x, np.arange(len(x)), p, progress=progress, device=device)
    pairs = pairs_within(question, np.full(len(x), radius))
    apart = measure_in_threads(x, pairs, p)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[:, 0], both[:, 1], np.concatenate([apart, apart])


def _affordable(x: FloatArray, p: float, radius: float) -> float:
    """The radius, or less where it would hold too many pairs, by a sample of them."""
    share = 2 * _PAIRS / len(x) ** 2
    if share >= 1:
        return radius
    from shaketable.separations.search.blocks import measure_in_threads

    sample = np.random.default_rng(0).integers(len(x), size=(_SAMPLE, 2))
    # below what it must not hold: many pairs may be equally far apart
    return min(radius, float(np.quantile(measure_in_threads(x, sample, p), share)) * _SHORT)
