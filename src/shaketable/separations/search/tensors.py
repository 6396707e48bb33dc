"""Nearest neighbours across groups of points on a device of torch's, exact.

The device bounds the distances between two blocks of points at a time, and the pairs that bounds
leave open are kept. On uint8 in L1, L2 and L-inf, and on floats in L-inf, bounds are the measures
themselves: whole numbers that the device's arithmetic holds, or maxima. Elsewhere they allow for
rounding, and the few pairs left are measured as `blocks` measures them. So results are the same to
the last bit on every device.

A device holds the points, in their own type, and a few hundred MB besides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shaketable.core.errors import InputError
from shaketable.core.progress import show_progress
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.separations.search.answer import Nearest

_BLOCK = 2048  # points of a block
_PENDING = 1 << 22  # pairs that wait for their measures, about
_NONE = np.iinfo(np.int64).max  # a row that is none
_DEPTH = 1024  # products of centred bytes whose sums are whole numbers that float32 holds
_EPSILON = 2.0**-52
_TINY = 1e-300  # more than a term loses by underflow
_MAX_POWER = 100  # above this most powers underflow


def search(
    x: Array,
    group: IntArray,
    p: float,
    *,
    device: Any,
    of: Array | None = None,
    cell: IntArray | None = None,
    part: IntArray | None = None,
    top: int = 0,
    progress: bool = False,
) -> Nearest:
    """Find nearest points of other groups, as `neighbours.search` describes."""
    asked = np.zeros(len(x), bool) if of is None else of
    points = _Points(x, p, group, asked, device=device, cell=cell, part=part)
    state = _State(points, cell is not None, part is not None, top)
    tasks = list(points.tasks(asked_only=cell is None and part is None and not top))
    for a, b in show_progress(tasks, "comparing points", enabled=progress, total=len(tasks)):
        state.compare(a, b)
    return state.result()


def pairs_within(
    x: Array, group: IntArray, p: float, radius: FloatArray, *, device: Any, progress: bool = False
) -> IntArray:
    """Rows (i, j) of all pairs of different groups within `radius`, as `neighbours` describes."""
    points = _Points(x, p, group, radius >= 0, device=device)
    radii = points.placed(radius)
    limits = points.bounds.limit(radii)
    tasks = list(points.tasks(asked_only=True))
    found = [np.empty((0, 2), np.int64)]
    for a, b in show_progress(tasks, "collecting near points", enabled=progress, total=len(tasks)):
        low, _ = points.bounds.between(a, b)
        near = points.opponents(a, b) & (low <= torch.maximum(limits[a, None], limits[None, b]))
        i, j, low = _pairs(near, low, a, b)
        within = points.measures(i, j, low) <= torch.maximum(radii[i], radii[j])
        found.append(points.pairs(i[within], j[within]))
    return np.concatenate(found)


class _Points:
    """Points at positions that ascend by group, then by part, those asked for first."""

    def __init__(
        self,
        x: Array,
        p: float,
        group: IntArray,
        asked: Array,
        *,
        device: Any,
        cell: IntArray | None = None,
        part: IntArray | None = None,
    ) -> None:
        zeros = np.zeros(len(x), np.int64)
        cell, part = zeros if cell is None else cell, zeros if part is None else part
        self.given, self.p, self.device = x, p, _device(device)
        self.order = np.lexsort((~asked, part, group))
        self.rows = torch.from_numpy(self.order).to(self.device)
        self.group, self.cell, self.part = (self.placed(v) for v in (group, cell, part))
        self.asked = self.placed(asked)
        self.bounds = _Bounds(self.placed(x), p)
        self._group, self._asked = group[self.order], asked[self.order]
        changes = np.diff(cell[self.order]) | np.diff(part[self.order])
        self._starts = np.flatnonzero(np.concatenate([[1], changes, [1]]))

    def placed(self, values: Array) -> Tensor:
        """Values at their points' positions, on the device."""
        return torch.from_numpy(values[self.order]).to(self.device)

    def tasks(self, *, asked_only: bool) -> Iterator[tuple[slice, slice]]:
        """Every two blocks once, where they hold opponents that may be asked for."""
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
        """Runs of one cell and one part in a block: first positions, and where they lie in it."""
        inside = self._starts[(self._starts > block.start) & (self._starts < block.stop)]
        starts = np.array([block.start, *inside.tolist()])
        ends = [*(starts - block.start).tolist(), block.stop - block.start]
        return torch.from_numpy(starts).to(self.device), [slice(*ends) for ends in pairwise(ends)]

    def measures(self, i: Tensor, j: Tensor, low: Tensor) -> Tensor:
        """Measures of pairs of positions with given lower bounds, to the last bit."""
        if self.bounds.exact:
            return low
        from shaketable.separations.search.blocks import measured  # compiles

        return torch.from_numpy(measured(self.given, self.pairs(i, j), self.p)).to(self.device)

    def pairs(self, i: Tensor, j: Tensor) -> IntArray:
        """Rows of pairs of positions."""
        return np.asarray(torch.stack([self.rows[i], self.rows[j]], dim=1).cpu().numpy())


class _Bounds:
    """Lower and upper bounds of measures in units of their own, apart by what rounding can do."""

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
        """Measures in the units of bounds: no lower bound of a measure is above; -1 stays below."""
        if self.exact:
            return measure
        value = measure / self.scale
        value = (value.square() if self.p == 2 else value) * (1 + 16 * _EPSILON)
        return torch.where(measure < 0, -1.0, value)


class _Least(NamedTuple):
    """Least values so far; -1 where they are not wanted."""

    near: Tensor  # of every position
    cells: Tensor
    parts: Tensor
    top: Tensor  # ascending

    def cover(self, points: _Points, i: Tensor, j: Tensor, values: Tensor) -> None:
        """Lower what is least between cells and in parts to the values of pairs of positions."""
        cells = points.cell[i] * len(self.cells) + points.cell[j]
        self.cells.view(-1).scatter_reduce_(0, cells, values, "amin")
        self.parts.scatter_reduce_(0, points.part[i] + points.part[j], values, "amin")

    def limit(self, points: _Points, i: Tensor, j: Tensor) -> Tensor:
        """Value above which pairs of positions are of no interest."""
        cells = self.cells[points.cell[i], points.cell[j]]
        common = torch.maximum(cells, self.parts[points.part[i] + points.part[j]])
        near = torch.maximum(self.near[i], self.near[j])
        return torch.maximum(near, torch.maximum(common, self.top[-1]))


class _State:
    """Least upper bounds so far, pairs that they leave open, and the least measures of others."""

    def __init__(self, points: _Points, cells: bool, parts: bool, top: int) -> None:
        def start(*size: int, wanted: bool) -> Tensor:
            value = math.inf if wanted else -1.0
            return torch.full(size, value, dtype=torch.float64, device=points.device)

        n, count, self.length = len(points.order), int(points.cell.max()) + 1, top
        self.points = points
        self.upper = _Least(
            near=torch.where(points.asked, start(n, wanted=True), start(n, wanted=False)),
            cells=start(count, count, wanted=cells),
            parts=start(3, wanted=parts),
            top=start(max(1, top), wanted=top > 0),
        )
        self.found = _Least(*(values.clone() for values in self.upper))
        self.who = torch.full_like(points.rows, _NONE)
        self.keys = self.who.new_full((max(1, top),), _NONE)  # of the closest pairs; ascend by rows
        self.pending: list[tuple[Tensor, Tensor, Tensor]] = []

    def compare(self, a: slice, b: slice) -> None:
        """Lower the bounds to the pairs of two blocks, and keep those that may matter."""
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
        upper.near[a] = torch.minimum(upper.near[a], rows)
        upper.near[b] = torch.minimum(upper.near[b], high.amin(0))
        upper.top.copy_(torch.cat([upper.top, rows]).sort().values[: len(upper.top)])
        least = torch.stack([least[run].amin(0) for run in runs])
        first = first.repeat_interleave(len(other))
        upper.cover(self.points, first, other.repeat(len(runs)), least.flatten())

    def _settle(self) -> None:
        """Measure the pairs that are still open, and keep the least."""
        points, found = self.points, self.found
        i, j, low = (torch.cat(values) for values in zip(*self.pending, strict=True))
        self.pending.clear()
        still = low <= self.upper.limit(points, i, j)
        i, j = i[still], j[still]
        value = points.measures(i, j, low[still])
        for ends, others in ((i, j), (j, i)):
            near = found.near.scatter_reduce(0, ends, value, "amin")
            self.who[near < found.near] = _NONE
            found.near.copy_(near)
            tied = value == near[ends]
            self.who.scatter_reduce_(0, ends[tied], points.rows[others[tied]], "amin")
        found.cover(points, i, j, value)
        close = value <= found.top[-1]
        rows = points.rows[i[close]], points.rows[j[close]]
        keys = torch.minimum(*rows) * len(points.order) + torch.maximum(*rows)
        keys, order = torch.cat([self.keys, keys]).sort()
        value, second = torch.cat([found.top, value[close]])[order].sort(stable=True)
        found.top.copy_(value[: len(found.top)])
        self.keys = keys[second][: len(found.top)]

    def result(self) -> Nearest:
        """What was found, by row."""
        if self.pending:
            self._settle()
        order, n = self.points.order, len(self.points.order)
        near, who = np.empty(n), np.empty(n, np.int64)
        near[order], who[order] = self.found.near.cpu().numpy(), self.who.cpu().numpy()
        top, keys = (values[: self.length].cpu().numpy() for values in (self.found.top, self.keys))
        known = np.isfinite(top)
        return Nearest(
            near,
            who,
            self.found.cells.cpu().numpy(),
            self.found.parts.cpu().numpy(),
            top[known],
            np.column_stack(np.divmod(keys[known], n)),
            squared=self.points.p == 2 and self.points.given.dtype == np.uint8,
        )


def _pairs(mask: Tensor, low: Tensor, a: slice, b: slice) -> tuple[Tensor, Tensor, Tensor]:
    """Positions of the pairs of two blocks under a mask, and their lower bounds."""
    i, j = mask.nonzero(as_tuple=True)
    return i + a.start, j + b.start, low[i, j]


def _distances(u: Tensor, v: Tensor, p: float) -> Tensor:
    """p-norm distances between the rows of u and those of v."""
    kernel = _kernel() if u.is_cuda and p in {1, math.inf} else None
    return kernel(u, v, p) if kernel else torch.cdist(u, v, p=p)


@functools.cache
def _kernel() -> Callable[[Tensor, Tensor, float], Tensor] | None:
    """A faster kernel than torch's, where Triton is there and works."""
    try:
        from shaketable.separations.search.tensor_kernels import distances

        point = torch.zeros(1, 1, device="cuda")
        distances(point, point, 1)
    except Exception:  # no Triton, no compiler for it, a GPU that it does not know
        return None
    return distances


def _device(device: Any) -> torch.device:
    """Device of torch's that holds float64."""
    try:
        chosen = torch.device(device)
        torch.ones(1, dtype=torch.float64, device=chosen).cpu()
    except (AssertionError, RuntimeError, TypeError) as error:  # whichever torch was built to raise
        there = ", ".join(["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))])
        raise InputError(
            f"device must be one that torch has here ({there}), got {str(device)!r}"
        ) from error
    return chosen
