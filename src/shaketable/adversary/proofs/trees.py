"""The prover of trees and their ensembles: the nearest failure, exact within a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shaketable.adversary.attacks.registry import AttackResult
from shaketable.adversary.proofs.registry import PROVERS, Prover, confirm_nearest
from shaketable.adversary.proofs.tree_kernels import bound_at_once, bracket, sum_leaves
from shaketable.adversary.proofs.tree_models import Trees, read_trees
from shaketable.adversary.proofs.unfolding import Unfolded, unfold
from shaketable.adversary.region import Region
from shaketable.core.checks import TINY
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.data.dataset import Dataset
from shaketable.models.classifier import Classifier


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Search for the nearest misclassified points of a sum of trees, and prove that none is nearer.

    For every point and every other class, `tree_kernels` brackets the distance at which that class
    can win. Where the budget does not allow the exact distance, the bracket is wider.
    """

    trees: Trees
    unfolded: Unfolded
    budget: int = 30_000_000
    """Nodes of trees that are looked at per point, about ten nanoseconds each."""

    @property
    def spec(self) -> str:
        """Name and budget."""
        return f"trees(budget={self.budget})"

    @property
    def why(self) -> str:
        """How distances are known."""
        n = len(self.trees.roots)
        return f"exact search over the leaves of {n} tree{'s' if n > 1 else ''}"

    def suits(self, region: Region) -> bool:
        """Whether nearer points of the region are closer to its centre, in numbers with a point."""
        return region.constraint != "genuine-exact" and region.dtype.kind == "f"

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Bracket the distances of all rows; nothing is random."""
        del keys
        points = region.cast_for_model(rows, region.x[rows])
        labels = model(points) if region.labels is None else region.labels[rows]
        queries = len(rows) if region.labels is None else 0
        right = labels == y
        low = np.zeros(len(rows))
        moved, hit = np.array(region.x[rows]), ~right
        axes = _Axes.of(self, region, rows, points)
        same = np.zeros(len(rows), bool) if axes is None else axes.explain(labels)
        if axes is None or same.mean() < _SAME:  # these trees are not the model
            return AttackResult(moved, hit, queries, low)
        todo = np.flatnonzero(right & same)
        for certain in (False, True):
            if not len(todo):
                break
            nearest = np.empty((len(todo), region.x.shape[1]))
            proven, found = np.empty(len(todo)), np.empty(len(todo))
            for j, i in enumerate(todo):
                each = axes.search(int(i), int(y[i]), low[i], certain=certain)
                proven[j], found[j], nearest[j] = each.low, each.high, each.moved
            if not certain:
                low[todo] = proven
            some = np.isfinite(found)
            todo, nearest = todo[some], nearest[some]
            tried, new, asked = confirm_nearest(model, region, rows[todo], y[todo], nearest)
            queries += asked
            moved[todo[new]], hit[todo[new]] = tried[new], True
            todo = todo[~new]
        away = pnorm(moved - region.x[rows], region.p)
        return AttackResult(moved, hit, queries, np.where(hit, np.minimum(low, away), low))


_SAME = 0.98  # share of points whose label the trees must give; some may lie on a cut


@dataclass(eq=False)
class _Axes:
    """Rows of a region as cells between the cuts of trees; see `tree_kernels`."""

    search_for: TreeSearch
    region: Region
    x: FloatArray
    """The rows, (rows, d)."""
    column: IntArray
    """Column of the region that an axis is; -1 for a feature that no column moves."""
    first: IntArray
    """Place of the first cut of every axis, and the number of all."""
    down: FloatArray
    """Largest value of the column that may be left of every cut."""
    up: FloatArray
    """Smallest value that may be right of it."""
    surely_down: FloatArray
    surely_up: FloatArray
    """The same for values that are beyond the cut however the model rounds."""
    cells: IntArray
    """Cell of every row on every axis."""
    free: Array
    """Whether rows move along an axis."""
    nodes: tuple[Array, ...]
    """The trees as the kernels take them."""
    margins: dict[tuple[int, int], tuple[IntArray, float, FloatArray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = [np.int32] * 3 + [np.float64] * 3 + [np.int64] * 2
        self.arena = tuple(np.empty(len(self.nodes[0]) + 2, kind) for kind in sizes)
        self.gains = np.full((2, self.first[-1]), -1.0)

    @classmethod
    def of(cls, search: TreeSearch, region: Region, rows: IntArray, points: Array) -> _Axes | None:
        """Find cells of rows; None if features do not follow columns as is known."""
        trees, unfolded = search.trees, search.unfolded
        x, features = region.extract(points).astype(np.float64), unfolded.transform(points)
        gaps = np.zeros(x.shape, bool)
        if region.held is not None:
            gaps = np.isnan(region.held.rows[rows][:, region.held.table.moved])
        inner = np.flatnonzero(trees.feature >= 0)
        of_node = trees.feature[inner]
        used = np.unique(trees.feature[inner])
        source, scale = unfolded.source[used], unfolded.scale[used]
        moves = source >= 0
        columns = np.unique(source[moves])
        if (scale[moves] <= 0).any() or (gaps.any() and len(columns) < moves.sum()):
            return None
        # Axes are the columns that features in use follow, then features that follow none.
        column = np.concatenate([columns, np.full((~moves).sum(), -1)])
        axis = np.where(
            moves, np.searchsorted(columns, source), len(columns) - 1 + np.cumsum(~moves)
        )
        order = np.argsort(of_node, kind="stable")
        groups = np.split(inner[order], np.searchsorted(of_node[order], used[1:]))
        cut, slack = np.array(trees.cut), np.zeros(len(trees.cut))
        free = np.zeros((len(x), len(column)), bool)
        of_axis: list[list[IntArray]] = [[] for _ in column]
        at = np.empty((len(x), len(column)))  # where rows are
        # a frame may have columns in coarser numbers than those that move
        rounds = bool(unfolded.steps) or unfolded.grain > np.finfo(region.dtype).eps
        for j, feature in enumerate(used):
            a, mine, now = axis[j], groups[j], features[:, feature]
            of_axis[a].append(mine)
            at[:, a] = now
            if not moves[j]:
                continue
            here, gap = x[:, source[j]], gaps[:, source[j]]
            free[:, a] = ~gap
            same = np.array_equal(now[~gap], here[~gap])
            if rounds or not same or abs(scale[j] - 1) > unfolded.grain:
                shift, size = _find_shift(now[~gap], scale[j] * here[~gap])
                size += float(unfolded.size[feature])
                around = np.where(np.isfinite(cut[mine]), np.abs(cut[mine]) + size, 0.0)
                slack[mine] = 4 * (len(unfolded.steps) + 2) * unfolded.grain * around / scale[j]
                cut[mine] = (cut[mine] - shift) / scale[j]
                at[:, a] = (now - shift) / scale[j]
            slack[mine] += unfolded.blur[source[j]]
            at[~gap, a] = here[~gap]
        node_axis, number = np.full(len(cut), -1, np.int32), np.zeros(len(cut), np.int32)
        cells, ends = np.empty((len(x), len(column)), np.int64), []
        for a, each in enumerate(of_axis):
            mine = np.concatenate(each)
            cuts, place, last = _sort_cuts(region, column[a], cut[mine], slack[mine])
            node_axis[mine], number[mine] = a, place
            ends.append(last)
            cells[:, a] = np.where(np.isnan(at[:, a]), -1, np.searchsorted(cuts, at[:, a]))
        first = np.concatenate([[0], np.cumsum([len(each[0]) for each in ends])])
        nodes = node_axis, number, trees.right, trees.left_if_missing, trees.leaf
        down, up, *sure = np.concatenate([np.empty((4, 0)), *ends], axis=1)
        x = region.x[rows]
        return cls(search, region, x, column, first, down, up, sure[0], sure[1], cells, free, nodes)

    def explain(self, labels: IntArray) -> Array:
        """Whether the trees give each row the label that the model gives it."""
        trees, codes = self.search_for.trees, self.search_for.unfolded.codes
        axis, cut, right, left_if_missing, leaf = self.nodes
        nodes = axis.astype(np.int64), cut.astype(np.float64), right, left_if_missing, leaf
        cells = np.where(self.cells < 0, np.nan, self.cells)
        sums = sum_leaves(nodes, trees.roots, trees.values, trees.base, cells)
        mine = np.where(codes == labels[:, None], sums, -np.inf).max(axis=1)
        return np.asarray(mine >= sums.max(axis=1) - 2 * trees.rounding.max())

    def search(self, i: int, label: int, low: float, *, certain: bool) -> _Bracket:
        """Bracket the distance of row i to the nearest point that gets another label.

        If `certain`, points at which rounding may decide are left out, and distances up to `low`.
        """
        search, region, x = self.search_for, self.region, self.x[i]
        trees, codes, p = search.trees, search.unfolded.codes, region.p
        p = p if p <= _LARGE else math.inf  # whose distances are not larger
        own = int(np.flatnonzero(codes == label)[0])
        cells = self.cells[i]
        moving = np.repeat(self.free[i], np.diff(self.first))
        at = np.repeat(np.where(self.column >= 0, x[self.column], 0.0), np.diff(self.first))
        index = np.arange(len(at)) - np.repeat(self.first[:-1], np.diff(self.first))
        ahead = index >= np.repeat(cells, np.diff(self.first))
        dist = np.where(ahead, self.up - at, at - self.down)
        dist = np.where(moving, np.maximum(dist, 0.0), np.inf)
        finite = dist[np.isfinite(dist)]
        everything = _Bracket(region.epsilon, math.inf, x)
        if not len(finite):
            return everything
        far = float(finite.max()) * (1 if math.isinf(p) else len(cells) ** (1 / p))
        reach = min(region.epsilon, far * (1 + 1e-9) + TINY)
        with np.errstate(under="ignore"):
            cost = dist if math.isinf(p) else np.where(dist <= reach, dist / reach, 2.0) ** p
        lo, hi = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64)
        arena = self.arena
        rivals = []
        for c in np.flatnonzero(codes != label).tolist():
            sums = self.compare(own, c)
            rounding = float(trees.rounding[own] + trees.rounding[c])
            least = rounding if certain else -rounding
            if rounding == 0 and c > own:  # of equal sums the first wins
                least = TINY
            known, _ = bound_at_once(
                self.nodes, *sums, least, cells, dist, self.first, reach, lo, hi, arena
            )
            rivals.append((max(known, low), c, sums, least))
        rivals.sort(key=lambda rival: rival[:2])
        proven, found, best = reach, math.inf, x
        left = search.budget
        for j, (start, c, sums, least) in enumerate(rivals):
            end = min(reach, found * (1 - 1e-9))
            if start >= end:
                break
            box = np.array(cells)
            votes = trees.roots[: len(trees.roots) * trees.votes], trees.values, own, c, trees.even
            known, away, work, arena = bracket(
                self.nodes, votes, *sums, least, cells, dist, cost,
                self.first, start, end, p, reach, left // (len(rivals) - j), lo, hi, arena,
                self.gains, box,
            )  # fmt: skip
            left -= work
            proven = min(proven, known)
            if away < found:
                found, best = away, self.place(i, box)
        self.arena = arena
        if math.isinf(found) and proven >= reach:
            return everything
        return _Bracket(min(proven, found), found, best)

    def compare(self, own: int, other: int) -> tuple[IntArray, float, FloatArray]:
        """Trees that tell two classes apart: roots, what is added, and what their leaves add."""
        if (own, other) not in self.margins:
            trees = self.search_for.trees
            weight = trees.values[:, other] - trees.values[:, own]
            leaves = np.flatnonzero(trees.feature < 0)
            first = np.searchsorted(leaves, trees.roots)
            tells = np.maximum.reduceat(np.abs(weight), first) > 0
            tells |= trees.votes and not trees.even  # then they may decide how sums are rounded
            base = float(trees.base[other] - trees.base[own])
            self.margins[own, other] = trees.roots[tells], base, weight
        return self.margins[own, other]

    def place(self, i: int, box: IntArray) -> FloatArray:
        """Nearest point to row i in the cells of a box."""
        moved = np.array(self.x[i])
        for a in np.flatnonzero((box != self.cells[i]) & self.free[i]):
            up = box[a] > self.cells[i, a]
            ends = self.surely_up if up else self.surely_down
            moved[self.column[a]] = ends[self.first[a] + box[a] - up]
        return moved


_LARGE = 32  # a power of distances beyond which numbers run out


@dataclass(frozen=True, eq=False)
class _Bracket:
    """Up to where no failure is, where one is as far as the trees say, and that point."""

    low: float
    high: float
    moved: FloatArray


def _find_shift(features: FloatArray, scaled: FloatArray) -> tuple[float, float]:
    """What is added to a scaled column to make a feature, and the size of numbers it is from."""
    if not len(features):
        return 0.0, 0.0
    i = int(np.abs(scaled).argmin())
    return float(features[i] - scaled[i]), float(np.abs(features[i]) + np.abs(scaled[i]))


def _sort_cuts(
    region: Region, column: int, cut: FloatArray, slack: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Different cuts of an axis in order, the place of each one given, and `_find_ends`."""
    if column >= 0 and not slack.any():  # of cuts with no value between them, one
        last = _find_last(region, column, cut)
        cut = np.where(np.isfinite(last), last, cut)
    cuts, place = np.unique(cut, return_inverse=True)
    margin = np.zeros(len(cuts))
    np.maximum.at(margin, place, slack)
    return cuts, place, _find_ends(region, column, cuts, margin)


def _find_ends(region: Region, column: int, cuts: FloatArray, slack: FloatArray) -> FloatArray:
    """Last values that are left of cuts and first ones that are right of them.

    Four rows: values that may be left or right, and the same for values that surely are.
    """
    if column < 0:
        never = np.full(len(cuts), np.inf)
        return np.stack([-never, never, -never, never])
    return np.stack(
        [
            np.maximum.accumulate(_find_last(region, column, cuts + slack)),
            np.minimum.accumulate(_find_next(region, column, cuts - slack)[::-1])[::-1],
            _find_last(region, column, cuts - slack),
            _find_next(region, column, cuts + slack),
        ]
    )


def _find_last(region: Region, column: int, cuts: FloatArray) -> FloatArray:
    """Largest value of a column that is at most a cut; minus infinity if there is none."""
    value = cuts.astype(region.dtype)
    value = np.where(value > cuts, np.nextafter(value, region.dtype.type(-np.inf)), value)
    return -_choose(region, column, value.astype(np.float64), cuts, -1)


def _find_next(region: Region, column: int, cuts: FloatArray) -> FloatArray:
    """Smallest value of a column that is above a cut; infinity if there is none."""
    value = cuts.astype(region.dtype)
    value = np.where(value <= cuts, np.nextafter(value, region.dtype.type(np.inf)), value)
    return _choose(region, column, value.astype(np.float64), cuts, 1)


def _choose(
    region: Region, column: int, value: FloatArray, cuts: FloatArray, sign: int
) -> FloatArray:
    """Of values around cuts, as columns of tables admit them, the first beyond; times a sign."""
    tried = value[:, None]
    if region.held is not None:
        table = region.held.table
        part = table.take([int(np.flatnonzero(table.moved)[column])])
        tried = value[:, None] + part.columns[0].step * np.array([-1.0, 0.0, 1.0])
        tried = part.enforce(tried.reshape(-1, 1)).astype(region.dtype).astype(np.float64)
        tried = tried.reshape(len(value), -1)
    beyond = tried > cuts[:, None] if sign > 0 else tried <= cuts[:, None]
    if region.bounds is not None:
        beyond &= tried <= region.bounds.high if sign > 0 else tried >= region.bounds.low
    return np.asarray(np.where(beyond, sign * tried, np.inf).min(axis=1, initial=np.inf))


def _recognise(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    unfolded = unfold(model, data, unscale)
    if unfolded is None or unfolded.classifier.restricts or unfolded.classifier.threshold:
        return None
    known = unfolded.codes[unfolded.codes >= 0]
    trees = read_trees(unfolded.estimator)
    if trees is None or trees.classes != len(unfolded.codes) or len(set(known)) < len(known):
        return None
    return TreeSearch(trees, unfolded)


PROVERS.add("trees", _recognise)
