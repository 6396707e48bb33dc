"""Regions of an adversary as tensors: steps of steepest ascent, and the way back inside."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.cells.tensors import TensorCells, tensor_cells
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, FloatArray, IntArray, KeyArray
from shaketable.corruptions.pnorm import Kind, PNormNoise

L1_SHARE = 0.01
"""Of all values, those that a step in L1 moves, as in Tramèr & Boneh (NeurIPS 2019)."""

_ROUNDS = 8  # of scaling to the sphere and clipping to the value range, in turn
_FLAT = 1e-30  # a gradient whose largest slope is below that has no direction in float32


def cells_on(device: Any, region: Region) -> TensorCells | None:
    """Cells of a region on a device; None if it has none."""
    return None if region.cells is None else tensor_cells(region.cells, device)


@dataclass(frozen=True, eq=False)
class TensorRegion:
    """Regions of some rows on a device, held in the type that the model's points have.

    Float64 where those are, else float32: rounded so that what `held` returns stays inside when it
    is looked at in float64.
    """

    region: Region
    cells: TensorCells | None
    """The region's, on the device."""
    rows: Tensor
    x: Tensor
    """Points that the regions are around, (rows, d)."""
    low: Tensor
    high: Tensor
    """Ends of every value: of the range and of the ball, rounded inwards."""
    radius: Tensor
    """(rows, 1), smaller than epsilon by what rounding may add."""

    @classmethod
    def of(
        cls, region: Region, rows: IntArray, device: Any, cells: TensorCells | None = None
    ) -> TensorRegion:
        """Regions of these rows on a device, with the cells that `cells_on` put there."""
        x, eps, bounds = region.x[rows], region.epsilon, region.bounds
        if region.cells is not None and not region.cells.crowded()[rows].any():
            cells = None  # they hold the balls
        low, high = x - eps, x + eps
        if bounds is not None:
            low, high = np.maximum(low, bounds.low), np.minimum(high, bounds.high)
        radius = np.full(len(rows), eps)
        if region.constraint != "genuine-exact":
            # every value is off by half a unit at most, in x and in what is moved
            lost = float(np.finfo(region.dtype).eps) * (pnorm(x, region.p) + eps)
            radius = np.clip(eps * (1 + TOLERANCE) - lost, 0, eps)
        low, high = _inward(low, region.dtype, np.inf), _inward(high, region.dtype, -np.inf)
        double = region.dtype == np.float64 and torch.device(device).type != "mps"

        def sent(values: Array) -> Tensor:
            return torch.from_numpy(values).to(device, torch.float64 if double else torch.float32)

        there = torch.from_numpy(rows).to(device)
        return cls(region, cells, there, sent(x), sent(low), sent(high), sent(radius[:, None]))

    def kept(self, keep: Tensor) -> TensorRegion:
        """The regions of fewer rows, where `keep` is true."""
        tensors = ("rows", "x", "low", "high", "radius")
        return replace(self, **{name: getattr(self, name)[keep] for name in tensors})

    def noise(self, keys: KeyArray, kind: Kind | None = None) -> Tensor:
        """Uniform in the unit ball, or on its surface where only that counts; one row a key."""
        if kind is None:
            kind = "surface" if self.region.constraint == "genuine-exact" else "ball"
        points: Any = self.x  # corruptions take tensors for arrays
        unit = PNormNoise(self.region.p, 1.0, kind).draw(points, keys)
        return torch.as_tensor(unit).to(self.x)

    def held(self, moved: Tensor) -> Tensor:
        """Points brought back into the ball, the range and the cell; or to the ball's surface.

        Exact projection onto the ball for L-inf, L2 and L1 (Duchi et al., ICML 2008), scaling along
        the ray for other norms; then clipping; then along the ray into the cell.
        """
        p, step = self.region.p, moved - self.x
        if self.region.constraint == "genuine-exact":
            return self._rounded(self._on_surface(step))
        if p == 1:
            step = _onto_l1_ball(step, self.radius)
        elif not math.isinf(p):
            step = step * (self.radius / _pnorms(step, p).clamp(min=_FLAT)).clamp(max=1)
        held = self._rounded((self.x + step).clamp(self.low, self.high))
        return held if self.cells is None else self._rounded(self.cells.pulled(self.rows, held))

    def base(self, moved: Tensor) -> Tensor:
        """Where a step starts: where the point is, or inside the cell when it lies outside."""
        if self.region.constraint != "genuine-exact" or self.cells is None:
            return moved
        return self.cells.pulled(self.rows, moved)

    def ascent(self, moved: Tensor, gradient: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        r"""Step of size 1 along which the loss rises most, and the rows for which there is one.

        .. math:: \arg\max_{\lVert v \rVert_p = 1} g \cdot v
            = \operatorname{sign}(g) |g|^{q-1} / \lVert g \rVert_q^{q-1}, \quad 1/p + 1/q = 1

        In L1 that would move one value alone: the `share` of values with the steepest slopes move
        alike instead (Tramèr & Boneh, NeurIPS 2019). Slopes that lead out of the range count as 0.
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
        size = _largest(size, share) if p == 1 else size ** (1 / (p - 1))
        size = size / _pnorms(size, p).clamp(min=_FLAT)
        return size.copysign(gradient), known[:, 0]

    def _on_surface(self, step: Tensor) -> Tensor:
        """Points whose steps have norm epsilon, or less where the range has no room for it."""
        p, moved = self.region.p, self.x
        for _ in range(1 if self.region.bounds is None else _ROUNDS):
            factor = self.radius / _pnorms(step, p).clamp(min=_FLAT)
            step = step * (factor.clamp(min=1) if math.isinf(p) else factor)
            moved = (self.x + step).clamp(self.low, self.high)
            step = moved - self.x
        return moved

    def _rounded(self, moved: Tensor) -> Tensor:
        """Points in numbers that the model's type can hold."""
        if self.region.dtype == np.float16:
            return moved.half().to(moved)
        return moved


def _inward(ends: FloatArray, dtype: np.dtype[Any], towards: float) -> Array:
    """Ends in another type, rounded up or down, so that nothing between them is beyond."""
    rounded = ends.astype(dtype)
    beyond = rounded < ends if towards > 0 else rounded > ends
    return np.where(beyond, np.nextafter(rounded, dtype.type(towards)), rounded)


def _pnorms(step: Tensor, p: float) -> Tensor:
    """p-norm of every row, (rows, 1), scaled by the largest value so that nothing underflows."""
    if math.isinf(p):
        return step.abs().amax(dim=1, keepdim=True)
    if p == 1:
        return step.abs().sum(dim=1, keepdim=True)
    largest = step.abs().amax(dim=1, keepdim=True).clamp(min=_FLAT)
    norms: Tensor = torch.linalg.vector_norm(step / largest, p, dim=1, keepdim=True)
    return largest * norms


def _largest(size: Tensor, share: Tensor) -> Tensor:
    """1 where a value is among the given share of its row's largest, one at least; 0 elsewhere."""
    count = (share * size.shape[1]).long().clamp(1, size.shape[1])[:, None]
    least = size.sort(dim=1, descending=True).values.gather(1, count - 1)
    return ((size >= least) & (size > 0)).to(size)


def _onto_l1_ball(step: Tensor, radius: Tensor) -> Tensor:
    """Nearest point of the L1 ball in L2: every value shrinks by the same amount, 0 at least."""
    size = step.abs()
    falling, _ = size.sort(dim=1, descending=True)
    count = torch.arange(1, step.shape[1] + 1, device=step.device)
    shrink = (falling.cumsum(dim=1) - radius) / count
    last = (falling > shrink).sum(dim=1, keepdim=True).clamp(min=1)
    amount = shrink.gather(1, last - 1).clamp(min=0)
    return (size - amount).clamp(min=0).copysign(step)
