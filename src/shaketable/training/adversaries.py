"""Adversarial training: losses at the worst points that an attack finds around every point.

Regions and steps are those of `shaketable.adversary`, so that training and evaluation agree on
norms, value ranges and Voronoi cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from shaketable.adversary.attacks.gradient_search import (
    ActiveRows,
    PGDState,
    compute_losses,
    freeze,
)
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.region_tensors import TensorRegion, voronoi_on
from shaketable.adversary.voronoi import VoronoiCells
from shaketable.core.checks import HUGE, TINY, check_real, check_whole, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.norms import as_p
from shaketable.core.registry import as_whole
from shaketable.core.spec import Call, Value, resolve_size
from shaketable.core.tensors import move
from shaketable.core.types import Array, IntArray
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset
from shaketable.training.loop import Batch, StepOutcome

_CONSTRAINTS = ("none", "genuine-max")
_START, _WAY = 1000, 1001  # purposes of keys; augmentations and noise have the first numbers

_FORMS = {
    "pgd_at(EPS, norm=inf, steps=10, alpha=1)": (
        "adversarial training: weight alpha on the loss at the worst point within EPS, 1 - alpha "
        "on the loss at the point (Madry et al. 2018); constraint=genuine-max stays in Voronoi "
        "cells"
    ),
    "trades(EPS, norm=inf, steps=10, beta=6)": (
        "loss at the point, and beta times how much its scores change within EPS (Zhang et al. "
        "2019); constraint=genuine-max stays in Voronoi cells"
    ),
}


@dataclass(frozen=True)
class AdversarialTraining:
    r"""Training against an adversary that moves every point by up to `epsilon`.

    With :math:`x'` the point that projected gradient ascent finds in the region of :math:`x`:

    .. math::

        \text{pgd\_at} &= (1 - \alpha)\,\mathrm{CE}(f(x), y) + \alpha\,\mathrm{CE}(f(x'), y) \\
        \text{trades} &= \mathrm{CE}(f(x), y) + \beta\,\mathrm{KL}(f(x) \,\|\, f(x'))

    (Madry et al., ICLR 2018; Zhang et al., ICML 2019). The attack raises cross-entropy, or the
    divergence, with the network in evaluation mode; label smoothing is for the outer loss alone. It
    starts uniformly in the ball and takes steps of 2.5 epsilon / steps: the authors of TRADES start
    next to the point. Both losses see the network in training mode, so batch normalisation counts
    the points, then those that the attack found; with alpha = 1 only the latter, and with a weight
    of 0 there is no attack and training is plain.

    With ``constraint="genuine-max"``, the region is the part of the ball in the point's Voronoi
    cell, among the training points (Khoury & Hadfield-Menell 2019), so that no point of the region
    is nearer to a training point of another class, however large epsilon is.

    >>> AdversarialTraining("trades", 0.1).spec
    'trades(0.1, norm=inf, steps=10, beta=6)'
    """

    kind: Literal["pgd_at", "trades"]
    epsilon: float
    norm: float = float("inf")
    steps: int = 10
    weight: float | None = None
    """alpha or beta; by default 1 and 6."""
    constraint: Constraint = "none"

    WEIGHTS: ClassVar = {"pgd_at": ("alpha", 1.0), "trades": ("beta", 6.0)}

    def __post_init__(self) -> None:
        if self.kind not in self.WEIGHTS:
            raise unknown_name("adversarial training", self.kind, self.WEIGHTS)
        name, usual = self.WEIGHTS[self.kind]
        check_real("epsilon", self.epsilon, "be a distance above 0", low=TINY, high=HUGE)
        check_whole("steps", self.steps, least=1)
        object.__setattr__(self, "norm", as_p(self.norm))
        if self.norm < 1:
            raise InputError(f"norm must be 1 or more, got {self.norm:g}: steps need gradients")
        weight = usual if self.weight is None else self.weight
        most = 1.0 if self.kind == "pgd_at" else HUGE
        rule = "lie in [0, 1]" if self.kind == "pgd_at" else "be 0 or more"
        object.__setattr__(self, "weight", check_real(name, weight, rule, low=0, high=most))
        if self.constraint == "genuine-exact":
            raise InputError(
                "constraint must be none or genuine-max in training, got genuine-exact: points "
                "without neighbours at distance epsilon would have no loss; use genuine-max"
            )
        if self.constraint not in _CONSTRAINTS:
            raise unknown_name("constraint", self.constraint, _CONSTRAINTS)

    @property
    def spec(self) -> str:
        """Canonical spec; parses back to the same training."""
        options: dict[str, Value] = {
            "norm": self.norm,
            "steps": self.steps,
            self.WEIGHTS[self.kind][0]: self.weight or 0.0,
        }
        if self.constraint != "none":
            options["constraint"] = self.constraint
        return str(Call(self.kind, (self.epsilon,), options))

    def on(
        self,
        data: Dataset,
        rows: IntArray,
        bounds: Bounds | None,
        *,
        device: torch.device | None = None,
    ) -> AdversarialLoss:
        """Return the loss of this training on rows of the data; `device` may help to find cells."""
        points, cells = np.empty((0, data.d)), None
        if self.constraint != "none":
            points = data.rows(rows).reshape(len(rows), -1).astype(np.float64)
            there = None if device is None or device.type != "cuda" else str(device)
            cells = VoronoiCells.of(points, self.norm, self.epsilon, device=there)
            cells.refuse_clashes(data.y[rows])
        where = self.norm, self.epsilon, self.constraint, cells, bounds
        region = Region(points, data.shape, np.dtype(np.float32), *where)
        places = np.zeros(data.n, np.int64)
        places[rows] = np.arange(len(rows))
        return AdversarialLoss(self, region, places)


@dataclass(frozen=True, eq=False)
class AdversarialLoss:
    """The loss of adversarial training on rows of some data."""

    training: AdversarialTraining
    region: Region
    """Where points may be moved; it holds the points, and their cells, only if cells matter."""
    places: IntArray
    """Place of every row of the data among those that are trained on."""

    def __call__(
        self,
        network: nn.Module,
        ask: Callable[[Tensor], Tensor],
        batch: Batch,
        smoothing: float = 0.0,
    ) -> StepOutcome:
        """Loss and scores of a batch of points; `ask` gives their scores.

        The scores are those of the points, or with alpha = 1, which never asks for them, those of
        the points that the attack found.
        """
        targets, weight = batch.targets, self.training.weight or 0.0

        def plain_loss(scores: Tensor) -> Tensor:
            return cross_entropy(scores.float(), targets, label_smoothing=smoothing)

        if weight == 0:  # nothing else may be drawn, or counted by batch normalisation
            scores = ask(batch.x)
            return StepOutcome(plain_loss(scores), scores, targets)
        worst = self.find_worst(network, ask, batch)
        if self.training.kind == "trades":
            scores = ask(batch.x)
            change = _divergences(softmax(scores.float(), dim=1), ask(worst)).mean()
            return StepOutcome(plain_loss(scores) + weight * change, scores, targets)
        if weight == 1:
            scores = ask(worst)
            return StepOutcome(plain_loss(scores), scores, targets)
        scores = ask(batch.x)
        loss = (1 - weight) * plain_loss(scores) + weight * plain_loss(ask(worst))
        return StepOutcome(loss, scores, targets)

    def find_worst(
        self, network: nn.Module, ask: Callable[[Tensor], Tensor], batch: Batch
    ) -> Tensor:
        """Points that projected gradient ascent finds from random starts, one per point.

        Meanwhile the network is in evaluation mode, and its weights need no gradients.
        """
        flat, training = batch.x.reshape(len(batch.x), -1), self.training
        around = self._surround(flat, batch.rows)
        active = ActiveRows(
            batch.rows, around, batch.targets, batch.targets, fold(batch.keys, _WAY)
        )
        noise = around.draw_noise(fold(batch.keys, _START))
        start = around.project(flat + training.epsilon * noise)
        state = PGDState(start, 2.5 / training.steps * training.epsilon)
        with freeze(network):
            raised = self._choose_loss(ask, batch)
            for _ in range(training.steps):
                moved = state.moved.detach().requires_grad_()
                losses = raised(ask(moved.reshape(batch.x.shape)))
                (gradient,) = torch.autograd.grad(losses.sum(), moved)
                state = state.advance(active, losses.detach(), gradient)
        return state.moved.detach().reshape(batch.x.shape)

    def _choose_loss(
        self, ask: Callable[[Tensor], Tensor], batch: Batch
    ) -> Callable[[Tensor], Tensor]:
        """Return the loss of scores that the attack raises, one value per point.

        It knows no label smoothing, under which a score that is right by far has a high loss, too.
        """
        y = batch.targets
        if self.training.kind == "pgd_at":
            return lambda scores: compute_losses("ce", scores.float(), y, y)
        with torch.no_grad():
            shares = softmax(ask(batch.x).float(), dim=1)
        return lambda scores: _divergences(shares, scores)

    def _surround(self, flat: Tensor, rows: IntArray) -> TensorRegion:
        """Regions around points as they are now, which augmentation may have changed."""
        places, cells = self.places[rows], self.region.voronoi
        voronoi = None
        if cells is not None and self._crowded[places].any():
            voronoi = voronoi_on(cells, flat.device)
        there = move(places, flat.device)
        return TensorRegion.around(self.region, voronoi, there, flat)

    @cached_property
    def _crowded(self) -> Array:
        """Whether a place has neighbours that matter; see `VoronoiCells.find_crowded`."""
        assert self.region.voronoi is not None, "callers check"
        return self.region.voronoi.find_crowded()


def _divergences(shares: Tensor, scores: Tensor) -> Tensor:
    """Kullback-Leibler divergence KL(shares || softmax of scores), one value per point."""
    return kl_div(log_softmax(scores.float(), dim=1), shares, reduction="none").sum(dim=1)


def describe_adversaries() -> dict[str, str]:
    """Forms of the specs, with what they mean."""
    return dict(_FORMS)


def read_adversary(call: Call, eps_min: Callable[[float], float] | None) -> AdversarialTraining:
    """Return the adversarial training that a spec names; its size may be in units of eps_min.

    >>> from shaketable.core.spec import parse_call
    >>> read_adversary(parse_call("pgd_at(0.1, norm=2, alpha=0.5)"), None).spec
    'pgd_at(0.1, norm=2, steps=10, alpha=0.5)'
    """
    name = AdversarialTraining.WEIGHTS[call.name][0]
    known = {"norm", "steps", name, "constraint"}
    options = dict(call.options)
    if len(call.args) != 1 or not set(options) <= known:
        form = next(form for form in _FORMS if form.startswith(call.name))
        raise InputError(f"{call.name} must read like {form}, got {call}")
    norm = as_p(options.get("norm", "inf"))
    epsilon = resolve_size(call.args[0], norm, eps_min)
    values: Any = (
        call.name,
        epsilon,
        norm,
        as_whole(options.get("steps", 10)),
        options.get(name),
        options.get("constraint", "none"),
    )
    return AdversarialTraining(*values)  # which checks them
