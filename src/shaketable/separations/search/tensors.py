"""Search on a torch device, with the same results as `blocks` to the last bit.

The device computes bounds of the distances between two blocks of points at a time, and keeps the
pairs that the bounds leave open. On uint8 in L1, L2 and L-inf, and on floats in L-inf, the bounds
are the measures themselves: whole numbers that the device's floats hold exactly, or maxima. Else
they allow for rounding, and the few pairs left are measured by `blocks`.

The device holds the points, in their own type, and a few hundred MB more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.models.devices import choose_device
from shaketable.separations.search.question import Answer, Question
from shaketable.views.progress import show_progress

_BLOCK = 2048  # points per block
_PENDING = 1 << 22  # open pairs that are collected before they are measured
_NO_ROW = np.iinfo(np.int64).max
_DEPTH = 1024  # products of centred bytes whose sum float32 holds exactly
_EPSILON = 2.0**-52
_TINY = 1e-300  # bound of what a term loses by underflow
_MAX_POWER = 100  # above this most powers underflow


def search(question: Question) -> Answer:
    """Answer as `search.search` does."""
    points = _Points(question, question.asked)
    state = _State(points, question)
    tasks = list(points.tasks(asked_only=not question.concerns_all))
    for a, b in show_progress(
        tasks, "comparing points", enabled=question.progress, total=len(tasks)
    ):
        state.compare(a, b)
    return state.answer()


def pairs_within(question: Question, radius: FloatArray) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `search.pairs_within`."""
    points = _Points(question, radius >= 0)
    radii = points.place(radius)
    limits = points.bounds.limit(radii)
    tasks = list(points.tasks(asked_only=True))
    pairs = [np.empty((0, 2), np.int64)]
    for a, b in show_progress(
        tasks, "collecting near points", enabled=question.progress, total=len(tasks)
    ):
        low, _ = points.bounds.between(a, b)
        near = points.opponents(a, b) & (low <= torch.maximum(limits[a, None], limits[None, b]))
        i, j, low = _pairs(near, low, a, b)
        within = points.measure(i, j, low) <= torch.maximum(radii[i], radii[j])
        pairs.append(points.pairs(i[within], j[within]))
    return np.concatenate(pairs)


class _Points:
    """Points at positions sorted by group, then by part, with those asked about first."""

    def __init__(self, question: Question, asked: Array) -> None:
        x, group = question.x, question.group
        classes, parts = question.class_codes, question.part_codes
        self.given, self.p, self.device = (
            x,
            question.p,
            choose_device(question.device, torch.float64),
        )
        self.order = np.lexsort((~asked, parts, group))
        self.rows = torch.from_numpy(self.order).to(self.device)
        self.group, self.classes, self.parts = (self.place(v) for v in (group, classes, parts))
        self.asked = self.place(asked)
        self.bounds = _Bounds(self.place(x), question.p)
        self._group, self._asked = group[self.order], asked[self.order]
        changes = np.diff(classes[self.order]) | np.diff(parts[self.order])
        self._starts = np.flatnonzero(np.concatenate([[1], changes, [1]]))

    def place(self, values: Array) -> Tensor:
        """Values of all points, sorted by position, on the device."""
        return torch.from_numpy(values[self.order]).to(self.device)

    def tasks(self, *, asked_only: bool) -> Iterator[tuple[slice, slice]]:
        """Every two blocks once, if they hold opponents that may matter."""
        n = len(self.order)
        blocks = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
        asked = [not asked_only or bool(self._asked[block].any()) for block in blocks]
        for k, a in enumerate(blocks):
            for m, b in enumerate(blocks[k:], k):
                if self._group[a.start] != self._group[b.stop - 1] and (asked[k] or asked[m]):
                    yield a, b

    def opponents(self, a: slice, b: slice) -> Tensor:
        """Mask of the pairs of two blocks that count, each pair of positions once."""
        return self.group[a, None] < self.group[None, b]

    def runs(self, block: slice) -> tuple[Tensor, list[slice]]:
        """Runs of one class and one part in a block: first positions, and slices of the block."""
        inside = self._starts[(self._starts > block.start) & (self._starts < block.stop)]
        starts = np.array([block.start, *inside.tolist()])
        ends = [*(starts - block.start).tolist(), block.stop - block.start]
        return torch.from_numpy(starts).to(self.device), [slice(*ends) for ends in pairwise(ends)]

    def measure(self, i: Tensor, j: Tensor, low: Tensor) -> Tensor:
        """Measures of pairs of positions with given lower bounds, to the last bit."""
        if self.bounds.exact:
            return low
        from shaketable.separations.search.blocks import measure_in_threads  # compiles

        measures = measure_in_threads(self.given, self.pairs(i, j), self.p)
        return torch.from_numpy(measures).to(self.device)

    def pairs(self, i: Tensor, j: Tensor) -> IntArray:
        """Rows of pairs of positions."""
        return np.asarray(torch.stack([self.rows[i], self.rows[j]], dim=1).cpu().numpy())


class _Bounds:
    """Lower and upper bounds of measures, in units of their own, that allow for rounding."""

    def __init__(self, x: Tensor, p: float) -> None:
        whole, d = x.dtype == torch.uint8, x.shape[1]
        self.x, self.p = x, p
        self.exact = math.isinf(p) or (whole and p in {1, 2})
        self.norm = p if p <= _MAX_POWER else math.inf
        small = whole and self.exact and (p != 1 or 255 * d < 2**24)
        self.kind = torch.float32 if small else torch.float64
        self.depth = _DEPTH if small else d
        self.centre: float | Tensor = 128.0 if small else 0.0
        self.scale, self.share, self.floor, self.growth = 1.0, 0.0, 0.0, 1.0
        if self.exact:
            return
        self.share = 4 * ((d + 1000) / p + 4) * _EPSILON
        if p > _MAX_POWER:
            self.growth = d ** (1 / p)
        elif p > 1:
            least, most = (values.double() for values in torch.aminmax(x, dim=0))
            self.scale = math.ldexp(1.0, min(1023, math.frexp(float((most - least).max()))[1]))
            self.floor = _TINY if p == 2 else (d * _TINY) ** (1 / p)
            self.centre = (least + most) / 2 if p == 2 else 0.0

    def between(self, a: slice, b: slice) -> tuple[Tensor, Tensor]:
        """Bounds for all pairs of two blocks."""
        u, v = ((self.x[block].to(self.kind) - self.centre) / self.scale for block in (a, b))
        if self.p == 2:
            return self._squares(u, v)
        value = _distances(u, v, self.norm).double()
        if self.exact:
            return value, value
        low = value * (1 - self.share) - self.floor
        return low, value * (self.growth * (1 + self.share)) + self.floor

    def _squares(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        sizes = u.double().square().sum(1)[:, None] + v.double().square().sum(1)
        value = sizes.clone()
        for k in range(0, u.shape[1], self.depth):
            value -= 2 * (u[:, k : k + self.depth] @ v[:, k : k + self.depth].T)
        if self.exact:
            return value, value
        slack = sizes.mul_(self.share).add_(self.floor)
        return value - slack, value + slack

    def limit(self, measure: Tensor) -> Tensor:
        """Measures in the units of bounds, no less than their lower bounds; -1 if negative."""
        if self.exact:
            return measure
        value = measure / self.scale
        value = (value.square() if self.p == 2 else value) * (1 + 16 * _EPSILON)
        return torch.where(measure < 0, -1.0, value)


class _Least(NamedTuple):
    """Least values so far; -1 where they are not wanted."""

    nearest: Tensor  # of every position
    by_class: Tensor
    by_part: Tensor
    closest: Tensor  # ascending

    def lower_minima(self, points: _Points, i: Tensor, j: Tensor, values: Tensor) -> None:
        """Lower the minima of classes and parts to the values of pairs of positions."""
        place = points.classes[i] * len(self.by_class) + points.classes[j]
        self.by_class.view(-1).scatter_reduce_(0, place, values, "amin")
        self.by_part.scatter_reduce_(0, points.parts[i] + points.parts[j], values, "amin")

    def limit(self, points: _Points, i: Tensor, j: Tensor) -> Tensor:
        """Largest value of pairs of positions that may still improve a minimum."""
        by_class = self.by_class[points.classes[i], points.classes[j]]
        common = torch.maximum(by_class, self.by_part[points.parts[i] + points.parts[j]])
        nearest = torch.maximum(self.nearest[i], self.nearest[j])
        return torch.maximum(nearest, torch.maximum(common, self.closest[-1]))


class _State:
    """Least upper bounds so far, pairs still to be measured, and least measures of all others."""

    def __init__(self, points: _Points, question: Question) -> None:
        def start(*size: int, wanted: bool) -> Tensor:
            value = math.inf if wanted else -1.0
            return torch.full(size, value, dtype=torch.float64, device=points.device)

        n, count = question.n, int(points.classes.max()) + 1
        self.points, self.count = points, question.closest
        length = max(1, question.closest)
        self.upper = _Least(
            nearest=torch.where(points.asked, start(n, wanted=True), start(n, wanted=False)),
            by_class=start(count, count, wanted=question.classes is not None),
            by_part=start(3, wanted=question.parts is not None),
            closest=start(length, wanted=question.closest > 0),
        )
        self.least = _Least(*(values.clone() for values in self.upper))
        self.opponent = torch.full_like(points.rows, _NO_ROW)
        self.keys = self.opponent.new_full((length,), _NO_ROW)  # of the closest pairs, by rows
        self.pending: list[tuple[Tensor, Tensor, Tensor]] = []

    def compare(self, a: slice, b: slice) -> None:
        """Lower the upper bounds to those of two blocks' pairs; keep the pairs that may matter."""
        low, high = self.points.bounds.between(a, b)
        opponents = self.points.opponents(a, b)
        self._lower(high.masked_fill(~opponents, math.inf), a, b)
        i, j = (torch.arange(s.start, s.stop, device=self.points.device) for s in (a, b))
        limit = self.upper.limit(self.points, i[:, None], j[None])
        self.pending.append(_pairs(opponents & (low <= limit), low, a, b))
        if sum(len(i) for i, _, _ in self.pending) > _PENDING:
            self._settle()

    def _lower(self, high: Tensor, a: slice, b: slice) -> None:
        upper = self.upper
        (first, runs), (other, other_runs) = self.points.runs(a), self.points.runs(b)
        least = torch.stack([high[:, run].amin(1) for run in other_runs], dim=1)
        rows = least.amin(1)
        upper.nearest[a] = torch.minimum(upper.nearest[a], rows)
        upper.nearest[b] = torch.minimum(upper.nearest[b], high.amin(0))
        upper.closest.copy_(torch.cat([upper.closest, rows]).sort().values[: len(upper.closest)])
        least = torch.stack([least[run].amin(0) for run in runs])
        first = first.repeat_interleave(len(other))
        upper.lower_minima(self.points, first, other.repeat(len(runs)), least.flatten())

    def _settle(self) -> None:
        """Measure the pairs that are still open, and keep the least measures."""
        points, least = self.points, self.least
        i, j, low = (torch.cat(values) for values in zip(*self.pending, strict=True))
        self.pending.clear()
        still_open = low <= self.upper.limit(points, i, j)
        i, j = i[still_open], j[still_open]
        value = points.measure(i, j, low[still_open])
        for ends, others in ((i, j), (j, i)):
            nearest = least.nearest.scatter_reduce(0, ends, value, "amin")
            self.opponent[nearest < least.nearest] = _NO_ROW
            least.nearest.copy_(nearest)
            tied = value == nearest[ends]
            self.opponent.scatter_reduce_(0, ends[tied], points.rows[others[tied]], "amin")
        least.lower_minima(points, i, j, value)
        close = value <= least.closest[-1]
        rows = points.rows[i[close]], points.rows[j[close]]
        keys = torch.minimum(*rows) * len(points.order) + torch.maximum(*rows)
        keys, order = torch.cat([self.keys, keys]).sort()
        value, second = torch.cat([least.closest, value[close]])[order].sort(stable=True)
        least.closest.copy_(value[: len(least.closest)])
        self.keys = keys[second][: len(least.closest)]

    def answer(self) -> Answer:
        """Least measures, by row."""
        if self.pending:
            self._settle()
        least, order, n = self.least, self.points.order, len(self.points.order)
        nearest, opponent = np.empty(n), np.empty(n, np.int64)
        nearest[order], opponent[order] = least.nearest.cpu().numpy(), self.opponent.cpu().numpy()
        closest, keys = (v[: self.count].cpu().numpy() for v in (least.closest, self.keys))
        known = np.isfinite(closest)
        return Answer(
            nearest,
            opponent,
            least.by_class.cpu().numpy(),
            least.by_part.cpu().numpy(),
            closest[known],
            np.column_stack(np.divmod(keys[known], n)),
            squared=self.points.p == 2 and self.points.given.dtype == np.uint8,
        )


def _pairs(mask: Tensor, low: Tensor, a: slice, b: slice) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of the pairs of two blocks that a mask selects, and their lower bounds."""
    i, j = mask.nonzero(as_tuple=True)
    return i + a.start, j + b.start, low[i, j]


def _distances(u: Tensor, v: Tensor, p: float) -> Tensor:
    """p-norm distances between the rows of u and those of v."""
    kernel = _kernel() if u.is_cuda and p in {1, math.inf} else None
    return kernel(u, v, p) if kernel else torch.cdist(u, v, p=p)


@functools.cache
def _kernel() -> Callable[[Tensor, Tensor, float], Tensor] | None:
    """A kernel that is faster than torch's, if Triton is installed and works."""
    try:
        from shaketable.separations.search.tensor_kernels import distances

        point = torch.zeros(1, 1, device="cuda")
        distances(point, point, 1)
    except Exception:  # no Triton, no compiler, a GPU that Triton does not support
        return None
    return distances
