"""Tensors pulled back into their Voronoi cells, as `VoronoiCells.pull_inside` does.

On the CPU by compiled loops, which give up distances early and are ten times as fast as torch;
elsewhere by torch, without leaving the device. Both compute in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.voronoi.cells import VoronoiCells
from shaketable.core.types import Array

_VALUES = 1 << 23  # gaps held at a time
_HALVINGS = 40  # bisection steps in search of a boundary
_COARSE = 1e-8  # grain from which on the lead covers the rounding of products
_TINY = 1e-300  # least divisor where powers are scaled by the largest gap


class TensorVoronoi(Protocol):
    """Voronoi cells for the steps of a gradient attack."""

    def pull_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Pull points back, one per row, as `VoronoiCells.pull_inside` does.

        Points are (rows, d), on the device of the cells, and within reach of their rows' points;
        rows without neighbours within reach cost nothing.
        """


def voronoi_on(voronoi: VoronoiCells, device: Any) -> TensorVoronoi:
    """Voronoi cells for tensors on a torch device, created once per device."""
    place = str(torch.device(device))
    if place not in voronoi.by_device:
        on_host = torch.device(device).type in {"cpu", "mps"}
        cells = HostVoronoi(voronoi) if on_host else DeviceVoronoi(voronoi, device)
        voronoi.by_device[place] = cells
    placed: TensorVoronoi = voronoi.by_device[place]
    return placed


class HostVoronoi:
    """Voronoi cells for tensors on the CPU, or on a device without float64.

    Computed by numpy: torch would wait for its threads, which costs more than the work.
    """

    def __init__(self, voronoi: VoronoiCells) -> None:
        self.voronoi = voronoi
        self._crowded = voronoi.find_crowded()

    def pull_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Pull points back; see `TensorVoronoi`."""
        row, point = rows.cpu().numpy(), moved.detach().cpu().numpy()
        at = np.flatnonzero(self._crowded[row])
        at = at[self.voronoi.find_kept_shares(row[at], point[at]) < 1]
        if not len(at):
            return moved
        result = point.copy()
        result[at] = self.voronoi.pull_inside(row[at], point[at])
        return torch.from_numpy(result).to(moved.device)


class DeviceVoronoi:
    """Voronoi cells for tensors on a device, which holds the points that have neighbours.

    The neighbour that a point has come closest to, relative to its own row, decides how far it is
    pulled; then the next of those still too close, until there are none: two or three rounds. Where
    lists of neighbours end early, in L2, all points are compared instead, by matrix products.
    """

    def __init__(self, voronoi: VoronoiCells, device: Any) -> None:
        lists, crowded = voronoi.lists, voronoi.find_crowded()
        ended = bool((lists.complete_to < voronoi.radius).any())
        self._dense = ended and voronoi.p == 2 and voronoi.grain > _COARSE
        listed = np.unique(np.concatenate([lists.first[crowded], lists.others]))
        held = np.arange(len(voronoi.x)) if self._dense else listed
        place = np.full(len(voronoi.x), -1)
        place[held] = np.arange(len(held))
        lead, self._lead_share = voronoi.required_lead(np.arange(len(voronoi.x)))

        def send(values: Array) -> Tensor:
            return torch.from_numpy(values).to(device)

        self.voronoi = voronoi
        self._crowded, self._points = send(crowded), send(voronoi.x[held])
        self._squares = self._points.square().sum(1)
        self._place, self._lead = send(place[lists.first]), send(lead)
        self._start, self._count = (
            send(values[lists.first]) for values in (lists.starts[:-1], np.diff(lists.starts))
        )
        self._others, self._distances = send(place[lists.others]), send(lists.distances)
        self._complete_to = send(lists.complete_to[lists.first])

    def pull_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Pull points back; see `TensorVoronoi`."""
        at = self._crowded[rows].nonzero()[:, 0]
        if not len(at):
            return moved
        rows, given = rows[at], moved[at]
        steps = self._measure_steps(rows, given)
        compare = self._compare_all if self._dense else self._find_kept_shares
        share = compare(rows, steps)
        result = torch.where((share < 1)[:, None], steps.end_at(share), given.double())
        if self._dense:
            return torch.index_copy(moved, 0, at, result.to(moved))
        # lists may end before neighbours that matter: see `NeighbourLists`
        short = (2 * share * steps.length + steps.lead >= self._complete_to[rows]).nonzero()[:, 0]
        if len(short):
            far = self.voronoi.pull_inside(rows[short].cpu().numpy(), given[short].cpu().numpy())
            result[short] = torch.from_numpy(far).to(result)
        return torch.index_copy(moved, 0, at, result.to(moved))

    def _measure_steps(self, rows: Tensor, moved: Tensor) -> _Steps:
        origin = self._points[self._place[rows]]
        way = moved.double() - origin
        length = _compute_norms(way, self.voronoi.p)
        return _Steps(origin, way, length, self._lead[rows] + self._lead_share * length)

    def _find_kept_shares(self, rows: Tensor, steps: _Steps) -> Tensor:
        """Share of every step that stays inside with the required lead."""
        count = self._count[rows]
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(count)
        rank = torch.arange(len(owner), device=rows.device) - (count.cumsum(0) - count)[owner]
        entry = self._start[rows][owner] + rank
        near = self._distances[entry] < (2 * steps.length + steps.lead)[owner]
        owner, other = owner[near], self._others[entry[near]]
        share = torch.ones_like(steps.length)
        while len(owner):
            ends = steps.end_at(share)
            lead = self._measure_pairs(ends, owner, other) - (share * steps.length)[owner]
            near = lead < steps.lead[owner]
            owner, other, lead = owner[near], other[near], lead[near]
            least = torch.full_like(share, math.inf).scatter_reduce(0, owner, lead, "amin")
            worst = lead == least[owner]
            rows_of_worst = owner[worst]
            selected = _Steps(*(values[rows_of_worst] for values in steps))
            kept = self._find_boundary(selected, other[worst])
            share = share.scatter_reduce(0, rows_of_worst, kept, "amin")
            owner, other = owner[~worst], other[~worst]
        return share

    def _compare_all(self, rows: Tensor, steps: _Steps) -> Tensor:
        """Share of every step that stays inside, by the formula of `_find_boundary` for all points.

        Squared distances come from products, which are off by some 1e-13 for images. That moves a
        boundary by far less than the required lead, as no point closer than that is kept apart.
        """
        kept = []
        size = _VALUES // len(self._points) + 1
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            step = _Steps(*(values[some] for values in steps))
            length, lead = step.length[:, None], step.lead[:, None]
            here, way = (values @ self._points.T for values in (step.origin, step.way))
            across = self._squares - 2 * here + step.origin.square().sum(1, keepdim=True) - lead**2
            along = way - (step.way * step.origin).sum(1, keepdim=True) + length * lead
            share = torch.where(along > 0, across / (2 * along), math.inf)
            share = torch.where(across <= 0, 0, share)
            own = self._place == self._place[rows[some], None]
            kept.append(share.masked_fill(own, 1).amin(1).clamp(max=1))
        return torch.cat(kept)

    def _measure_pairs(self, points: Tensor, owner: Tensor, other: Tensor) -> Tensor:
        """Distances between pairs of a point and a neighbour, a few at a time."""
        size = max(1, _VALUES // points.shape[1])
        return torch.cat(
            [
                _compute_norms(points[i] - self._points[j], self.voronoi.p)
                for i, j in zip(torch.split(owner, size), torch.split(other, size), strict=True)
            ]
        )

    def _find_boundary(self, steps: _Steps, other: Tensor) -> Tensor:
        """Largest share of each step whose end is closer to its own point, by `lead`."""
        if self.voronoi.p == 2:  # the formula of `kernels._shorten`
            gaps = self._points[other] - steps.origin
            across, along = gaps.square().sum(1), (gaps * steps.way).sum(1)
            share = (across - steps.lead**2) / (2 * (along + steps.length * steps.lead))
            return torch.where(across <= steps.lead**2, 0, share).clamp(max=1)
        low, high = torch.zeros_like(steps.length), torch.ones_like(steps.length)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            far = _compute_norms(steps.end_at(middle) - self._points[other], self.voronoi.p)
            inside = far - middle * steps.length >= steps.lead
            low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
        return low


class _Steps(NamedTuple):
    """Steps from points to where they were moved."""

    origin: Tensor
    way: Tensor
    length: Tensor
    lead: Tensor  # by which they must be closer to their own points

    def end_at(self, share: Tensor) -> Tensor:
        """Points at a share of every step."""
        return self.origin + share[:, None] * self.way


def _compute_norms(gaps: Tensor, p: float) -> Tensor:
    """p-norm of every row, scaled by the largest value where powers could underflow."""
    scaled = p not in {1, 2, math.inf}
    largest = gaps.abs().amax(1, keepdim=True).clamp_min(_TINY) if scaled else gaps.new_ones(1, 1)
    norms: Tensor = torch.linalg.vector_norm(gaps / largest if scaled else gaps, p, dim=1)
    return norms * largest[:, 0]
