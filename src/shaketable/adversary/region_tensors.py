"""Regions as tensors: projection, and steps of steepest ascent, on the model's device."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.region import TOLERANCE, Region
from shaketable.adversary.voronoi.tensors import TensorVoronoi, voronoi_on
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
        the ray for other norms; then clipping; then along the ray into the cell.
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
        return self._round(self.voronoi.pull_inside(self.rows, projected))

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
