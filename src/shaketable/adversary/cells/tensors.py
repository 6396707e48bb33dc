"""Points of torch's pulled back into their Voronoi cells, as `Cells` pulls them.

On the CPU compiled loops do it, which give up distances early and so are ten times as fast as
torch; elsewhere torch, without leaving the device. Both are as exact as `Cells`: in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.cells.cells import Cells
from shaketable.core.types import Array

_VALUES = 1 << 23  # gaps held at a time
_HALVINGS = 40  # of a segment, in search of the boundary
_TINY = 1e-300  # no gap, where powers are divided by the largest


class TensorCells(Protocol):
    """Cells of points, for the steps of an attack."""

    def pulled(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Points, one for each of these rows, pulled back as `Cells.pulled` does.

        All are (rows, d), on the device of the cells, and within reach of their rows' points; rows
        without neighbours within reach cost nothing.
        """


def tensor_cells(cells: Cells, device: Any) -> TensorCells:
    """Cells for tensors on a device of torch's, put there once."""
    place = str(torch.device(device))
    if place not in cells.on_devices:
        on_host = torch.device(device).type in {"cpu", "mps"}
        cells.on_devices[place] = HostCells(cells) if on_host else DeviceCells(cells, device)
    found: TensorCells = cells.on_devices[place]
    return found


class HostCells:
    """Cells for tensors on the CPU, or on a device without float64.

    By numpy: torch's calls wait for their threads, which costs more than the work.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._crowded = cells.crowded()

    def pulled(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Points, pulled back as `TensorCells` describes."""
        row, point = rows.cpu().numpy(), moved.detach().cpu().numpy()
        at = np.flatnonzero(self._crowded[row])
        at = at[self.cells.kept_shares(row[at], point[at]) < 1]
        if not len(at):
            return moved
        result = point.copy()
        result[at] = self.cells.pulled(row[at], point[at])
        return torch.from_numpy(result).to(moved.device)


class DeviceCells:
    """Cells for tensors on a device, which holds the points that have neighbours.

    A row's worst neighbour, the one that a point is nearest to as against its own, decides how far
    it is pulled, and then those that are still too near, until there are none: two or three rounds.
    """

    def __init__(self, cells: Cells, device: Any) -> None:
        lists, crowded = cells.lists, cells.crowded()
        held = np.unique(np.concatenate([lists.first[crowded], lists.others]))
        place = np.full(len(cells.x), -1)
        place[held] = np.arange(len(held))
        room, self._room_share = cells.room(np.arange(len(cells.x)))

        def sent(values: Array) -> Tensor:
            return torch.from_numpy(values).to(device)

        self.cells = cells
        self._crowded, self._points = sent(crowded), sent(cells.x[held])
        self._place, self._room = sent(place[lists.first]), sent(room)
        self._start, self._count = (
            sent(values[lists.first]) for values in (lists.starts[:-1], np.diff(lists.starts))
        )
        self._others, self._apart = sent(place[lists.others]), sent(lists.apart)
        self._known = sent(lists.known[lists.first])

    def pulled(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Points, pulled back as `TensorCells` describes."""
        at = self._crowded[rows].nonzero()[:, 0]
        if not len(at):
            return moved
        rows, given = rows[at], moved[at]
        steps = self._steps(rows, given)
        share = self._kept_shares(rows, steps)
        result = torch.where((share < 1)[:, None], steps.at(share), given.double())
        # lists may end before what matters: see `Lists`
        short = (2 * share * steps.away + steps.room >= self._known[rows]).nonzero()[:, 0]
        if len(short):
            far = self.cells.pulled(rows[short].cpu().numpy(), given[short].cpu().numpy())
            result[short] = torch.from_numpy(far).to(result)
        return torch.index_copy(moved, 0, at, result.to(moved))

    def _steps(self, rows: Tensor, moved: Tensor) -> _Steps:
        origin = self._points[self._place[rows]]
        way = moved.double() - origin
        away = _norms(way, self.cells.p)
        return _Steps(origin, way, away, self._room[rows] + self._room_share * away)

    def _kept_shares(self, rows: Tensor, steps: _Steps) -> Tensor:
        """Share of every step that stays inside, with room."""
        count = self._count[rows]
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(count)
        rank = torch.arange(len(owner), device=rows.device) - (count.cumsum(0) - count)[owner]
        entry = self._start[rows][owner] + rank
        near = self._apart[entry] < (2 * steps.away + steps.room)[owner]
        owner, other = owner[near], self._others[entry[near]]
        share = torch.ones_like(steps.away)
        while len(owner):
            lead = self._distances(steps.at(share), owner, other) - (share * steps.away)[owner]
            near = lead < steps.room[owner]
            owner, other, lead = owner[near], other[near], lead[near]
            least = torch.full_like(share, math.inf).scatter_reduce(0, owner, lead, "amin")
            worst = lead == least[owner]
            some = owner[worst]
            kept = self._boundary(_Steps(*(values[some] for values in steps)), other[worst])
            share = share.scatter_reduce(0, some, kept, "amin")
            owner, other = owner[~worst], other[~worst]
        return share

    def _distances(self, points: Tensor, owner: Tensor, other: Tensor) -> Tensor:
        """Distances between pairs of a point and a neighbour, a few at a time."""
        size = max(1, _VALUES // points.shape[1])
        return torch.cat(
            [
                _norms(points[i] - self._points[j], self.cells.p)
                for i, j in zip(torch.split(owner, size), torch.split(other, size), strict=True)
            ]
        )

    def _boundary(self, steps: _Steps, other: Tensor) -> Tensor:
        """Largest shares of steps that one neighbour each leaves room for."""
        if self.cells.p == 2:  # as `cell_kernels` has it
            gaps = self._points[other] - steps.origin
            across, along = gaps.square().sum(1), (gaps * steps.way).sum(1)
            share = (across - steps.room**2) / (2 * (along + steps.away * steps.room))
            return torch.where(across <= steps.room**2, 0, share).clamp(max=1)
        low, high = torch.zeros_like(steps.away), torch.ones_like(steps.away)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            far = _norms(steps.at(middle) - self._points[other], self.cells.p)
            inside = far - middle * steps.away >= steps.room
            low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
        return low


class _Steps(NamedTuple):
    """Ways from points to where they were moved."""

    origin: Tensor
    way: Tensor
    away: Tensor  # lengths
    room: Tensor  # by which they must be nearer to their own points

    def at(self, share: Tensor) -> Tensor:
        """Points at a share of every step."""
        return self.origin + share[:, None] * self.way


def _norms(gaps: Tensor, p: float) -> Tensor:
    """p-norm of every row, scaled by the largest component where powers could underflow."""
    scaled = p not in {1, 2, math.inf}
    largest = gaps.abs().amax(1, keepdim=True).clamp_min(_TINY) if scaled else gaps.new_ones(1, 1)
    norms: Tensor = torch.linalg.vector_norm(gaps / largest if scaled else gaps, p, dim=1)
    return norms * largest[:, 0]
