"""Regions as tensors: projection, and steps of steepest ascent, on the model's device.

Into Voronoi cells points are pushed and pulled as `VoronoiCells` does: on the CPU by compiled
loops, which give up distances early and are ten times as fast as torch; elsewhere they are pulled
by torch, without leaving the device, and those to be pushed leave it. All compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.embedded import EmbeddedCells
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.pnorm import Kind, PNormNoise

L1_SHARE = 0.01
"""Share of values that a step in L1 moves, as in Tramèr & Boneh (NeurIPS 2019)."""

_ROUNDS = 8  # alternations of scaling to the sphere and clipping to the value range
_FLAT = 1e-30  # least divisor: float32 has no direction below


@dataclass(frozen=True, eq=False)
class TensorRegion:
    """Regions of some rows as tensors on a device.

    In float64 if the model's points are, else in float32, with limits rounded such that what
    `project` returns lies in the region in float64 too.
    """

    region: Region
    voronoi: TensorVoronoi | None
    """Voronoi cells on the device; None if there are none, or none that matters."""
    rows: Tensor
    x: Tensor
    """Points at the centres of the regions, (rows, d)."""
    low: Tensor
    high: Tensor
    """Limits of every value: of the value range and of the ball, rounded inwards."""
    radius: Tensor
    """Radius, (rows, 1): smaller than epsilon by what rounding may add."""

    @classmethod
    def of(cls, region: Region, rows: IntArray, device: Any) -> TensorRegion:
        """Put the regions of these rows on a device."""
        x, eps, bounds = region.x[rows], region.epsilon, region.bounds
        voronoi = None
        if region.voronoi is not None and region.voronoi.find_crowded()[rows].any():
            voronoi = voronoi_on(region.voronoi, device)  # other cells contain the balls
        low, high = x - eps, x + eps
        if bounds is not None:
            low, high = np.maximum(low, bounds.low), np.minimum(high, bounds.high)
        radius = np.full(len(rows), eps)
        if region.constraint != "genuine-exact":
            # every value is off by half a unit at most, in x and in what is moved
            lost = float(np.finfo(region.dtype).eps) * (pnorm(x, region.p) + eps)
            radius = np.clip(eps * (1 + TOLERANCE) - lost, 0, eps)
        low, high = (
            _round_inward(low, region.dtype, np.inf),
            _round_inward(high, region.dtype, -np.inf),
        )
        double = region.dtype == np.float64 and torch.device(device).type != "mps"

        def send(values: Array) -> Tensor:
            return torch.from_numpy(values).to(device, torch.float64 if double else torch.float32)

        there = torch.from_numpy(rows).to(device)
        return cls(region, voronoi, there, send(x), send(low), send(high), send(radius[:, None]))

    @classmethod
    def around(
        cls, region: Region, voronoi: TensorVoronoi | None, rows: Tensor, x: Tensor
    ) -> TensorRegion:
        """Regions around float32 points that are on the device already, such as a batch.

        Their limits are narrower than those of `of` by a few units of rounding, also in `x`.
        """
        eps, bounds = region.epsilon, region.bounds
        lost = torch.finfo(x.dtype).eps * (_compute_pnorms(x, region.p) + eps)
        radius = (eps * (1 + TOLERANCE / 2) - lost).clamp(0, eps)
        low, high = x - radius, x + radius
        if bounds is not None:  # a point's own values may exceed them: see `Region.value_range`
            ends = (np.array([bounds.low]), np.inf), (np.array([bounds.high]), -np.inf)
            least, most = (float(_round_inward(end, region.dtype, way)[0]) for end, way in ends)
            low, high = low.maximum(x.clamp(max=least)), high.minimum(x.clamp(min=most))
        return cls(region, voronoi, rows, x, low, high, radius)

    def select(self, keep: Tensor) -> TensorRegion:
        """Regions of the rows where `keep` is true."""
        tensors = ("rows", "x", "low", "high", "radius")
        return replace(self, **{name: getattr(self, name)[keep] for name in tensors})

    def draw_noise(self, keys: KeyArray, kind: Kind | None = None) -> Tensor:
        """Noise uniform in the unit ball, one row per key; on its surface for genuine-exact."""
        if kind is None:
            kind = "surface" if self.region.constraint == "genuine-exact" else "ball"
        points: Any = self.x  # corruptions take tensors for arrays
        unit = PNormNoise(self.region.p, 1.0, kind).draw(points, keys)
        return torch.as_tensor(unit).to(self.x)

    def project(self, moved: Tensor) -> Tensor:
        """Bring points back into the ball, the value range and the cell; or to the ball's surface.

        Exact projection onto the ball for L-inf, L2 and L1 (Duchi et al., ICML 2008), scaling along
        the ray for other norms; then clipping; then into the cell, as `Region.project` does.
        """
        p, step = self.region.p, moved - self.x
        if self.region.constraint == "genuine-exact":
            return self._round(self._project_to_surface(step))
        if p == 1:
            step = _project_to_l1_ball(step, self.radius)
        elif not math.isinf(p):
            step = step * (self.radius / _compute_pnorms(step, p).clamp(min=_FLAT)).clamp(max=1)
        projected = self._round((self.x + step).clamp(self.low, self.high))
        if self.voronoi is None:
            return projected
        pushed = self.voronoi.push_inside(self.rows, projected)
        pushed = self._round(pushed.clamp(self.low, self.high))
        return self._round(self.voronoi.pull_inside(self.rows, pushed))

    def find_base(self, moved: Tensor) -> Tensor:
        """Starts of steps: the points, pulled into their cells with ``genuine-exact``."""
        if self.region.constraint != "genuine-exact" or self.voronoi is None:
            return moved
        return self.voronoi.pull_inside(self.rows, moved)

    def find_ascent(self, moved: Tensor, gradient: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        r"""Steps of p-norm 1 along which the loss rises most, and the rows that have one.

        .. math:: \arg\max_{\lVert v \rVert_p = 1} g \cdot v
            = \operatorname{sign}(g) |g|^{q-1} / \lVert g \rVert_q^{q-1}, \quad 1/p + 1/q = 1

        In L1 that would move one value alone; instead the `share` of values with the steepest
        slopes move alike (Tramèr & Boneh, NeurIPS 2019). Slopes that lead out of the value range
        count as 0.
        """
        p, bounds = self.region.p, self.region.bounds
        if bounds is not None and not math.isinf(p):
            out = ((moved >= bounds.high) & (gradient > 0)) | (
                (moved <= bounds.low) & (gradient < 0)
            )
            gradient = gradient.masked_fill(out, 0)
        steepest = gradient.abs().amax(dim=1, keepdim=True)
        known = steepest.isfinite() & (steepest > 0)
        gradient = torch.where(known, gradient / steepest, 0)
        if math.isinf(p):
            return gradient.sign(), known[:, 0]
        size = gradient.abs()
        size = _mark_largest(size, share) if p == 1 else size ** (1 / (p - 1))
        size = size / _compute_pnorms(size, p).clamp(min=_FLAT)
        return size.copysign(gradient), known[:, 0]

    def _project_to_surface(self, step: Tensor) -> Tensor:
        """Points at distance epsilon, or closer where the value range ends before that."""
        p, moved = self.region.p, self.x
        for _ in range(1 if self.region.bounds is None else _ROUNDS):
            factor = self.radius / _compute_pnorms(step, p).clamp(min=_FLAT)
            step = step * (factor.clamp(min=1) if math.isinf(p) else factor)
            moved = (self.x + step).clamp(self.low, self.high)
            step = moved - self.x
        return moved

    def _round(self, moved: Tensor) -> Tensor:
        """Points rounded to the number type of the model."""
        if self.region.dtype == np.float16:
            return moved.half().to(moved)
        return moved


def _round_inward(limits: FloatArray, dtype: np.dtype[Any], towards: float) -> Array:
    """Limits in another number type, rounded up or down, never beyond the exact ones."""
    rounded = limits.astype(dtype)
    beyond = rounded < limits if towards > 0 else rounded > limits
    return np.where(beyond, np.nextafter(rounded, dtype.type(towards)), rounded)


def _compute_pnorms(step: Tensor, p: float) -> Tensor:
    """p-norm of every row, (rows, 1), scaled by the largest value against underflow."""
    if math.isinf(p):
        return step.abs().amax(dim=1, keepdim=True)
    if p == 1:
        return step.abs().sum(dim=1, keepdim=True)
    largest = step.abs().amax(dim=1, keepdim=True).clamp(min=_FLAT)
    norms: Tensor = torch.linalg.vector_norm(step / largest, p, dim=1, keepdim=True)
    return largest * norms


def _mark_largest(size: Tensor, share: Tensor) -> Tensor:
    """1 where a value is among this share of its row's largest, at least one; 0 elsewhere."""
    count = (share * size.shape[1]).long().clamp(1, size.shape[1])[:, None]
    least = size.sort(dim=1, descending=True).values.gather(1, count - 1)
    return ((size >= least) & (size > 0)).to(size)


def _project_to_l1_ball(step: Tensor, radius: Tensor) -> Tensor:
    """Nearest point of the L1 ball in L2: all values shrink by the same amount, down to 0."""
    size = step.abs()
    falling, _ = size.sort(dim=1, descending=True)
    count = torch.arange(1, step.shape[1] + 1, device=step.device)
    shrink = (falling.cumsum(dim=1) - radius) / count
    last = (falling > shrink).sum(dim=1, keepdim=True).clamp(min=1)
    amount = shrink.gather(1, last - 1).clamp(min=0)
    return (size - amount).clamp(min=0).copysign(step)


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

    def push_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Push points back, one per row, as `VoronoiCells.push_inside` does."""


def voronoi_on(voronoi: VoronoiCells | EmbeddedCells, device: Any) -> TensorVoronoi:
    """Voronoi cells for tensors on a torch device, created once per device."""
    if isinstance(voronoi, EmbeddedCells):
        return HostVoronoi(voronoi)
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

    def __init__(self, voronoi: VoronoiCells | EmbeddedCells) -> None:
        self.voronoi = voronoi
        self._crowded = voronoi.find_crowded()

    def pull_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Pull points back; see `TensorVoronoi`."""
        return self._move(self.voronoi.pull_inside, rows, moved)

    def push_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Push points back; see `TensorVoronoi`."""
        return self._move(partial(self.voronoi.push_inside, width=moved.shape[1]), rows, moved)

    def _move(
        self, move: Callable[[IntArray, Array], FloatArray], rows: Tensor, moved: Tensor
    ) -> Tensor:
        row, point = rows.cpu().numpy(), moved.detach().cpu().numpy()
        at = np.flatnonzero(self._crowded[row])
        if not len(at):
            return moved
        result = point.copy()
        result[at] = move(row[at], point[at])
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

    def push_inside(self, rows: Tensor, moved: Tensor) -> Tensor:
        """Push points back; see `TensorVoronoi`. Those outside of their cells leave the device."""
        inside = (self.pull_inside(rows, moved) == moved).all(dim=1)
        at = (~inside).nonzero()[:, 0]
        if not len(at):
            return moved
        row, point = rows[at].cpu().numpy(), moved[at].detach().cpu().numpy()
        pushed = self.voronoi.push_inside(row, point, point.shape[1])
        return torch.index_copy(moved, 0, at, torch.from_numpy(pushed).to(moved))

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
        if self.voronoi.p == 2:  # the formula of `voronoi_kernels._shorten`
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
