"""Adversarial training: losses at the worst points that an attack finds around every point.

Regions and steps are those of `shaketable.adversary`, so that training and evaluation agree on
norms, value ranges and Voronoi cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from shaketable.adversary.attacks.ascent import ActiveRows, PGDState
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.region_tensors import TensorRegion
from shaketable.adversary.voronoi.cells import VoronoiCells
from shaketable.adversary.voronoi.tensors import TensorVoronoi, voronoi_on
from shaketable.core.checks import HUGE, TINY, check_real, check_whole, unknown_name
from shaketable.core.errors import InputError
from shaketable.core.norms import as_p
from shaketable.core.spec import Call, Value
from shaketable.core.types import IntArray
from shaketable.data.bounds import Bounds
from shaketable.data.dataset import Dataset
from shaketable.training.loop import Batch, Outcome

Kind = Literal["pgd_at", "trades"]

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

    (Madry et al., ICLR 2018; Zhang et al., ICML 2019). The attack raises the second term, from a
    random start, with the network in evaluation mode. With ``constraint="genuine-max"``, the region
    is the part of the ball in the point's Voronoi cell, among the training points (Khoury &
    Hadfield-Menell 2019).

    >>> AdversarialTraining("trades", 0.1).spec
    'trades(0.1, norm=inf, steps=10, beta=6)'
    """

    kind: Kind
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
        if self.constraint not in get_args(Constraint):
            raise unknown_name("constraint", self.constraint, get_args(Constraint))

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

    def on(self, data: Dataset, rows: IntArray, bounds: Bounds | None) -> AdversarialLoss:
        """Return the loss of this training on rows of the data."""
        points = data.rows(rows).reshape(len(rows), -1)
        region = Region(
            np.asarray(points, np.float64),
            data.shape,
            np.dtype(np.float32),
            self.norm,
            self.epsilon,
            self.constraint,
            bounds=bounds,
        )
        cells = None
        if self.constraint != "none":
            cells = VoronoiCells.of(region.x, self.norm, self.epsilon)
            if cells.find_clashes(data.y[rows]).any():
                raise InputError(
                    "points of different classes must not coincide: their Voronoi cells have no "
                    "unique label; leave them out with drop_clashes (--drop-clashes)"
                )
        places = np.full(data.n, -1)
        places[rows] = np.arange(len(rows))
        return AdversarialLoss(self, region, cells, places)


@dataclass(frozen=True, eq=False)
class AdversarialLoss:
    """The loss of adversarial training on rows of some data."""

    training: AdversarialTraining
    region: Region
    cells: VoronoiCells | None
    places: IntArray
    """Place of every row of the data among those that are trained on."""

    def __call__(
        self,
        network: nn.Module,
        ask: Callable[[Tensor], Tensor],
        batch: Batch,
        smoothing: float = 0.0,
    ) -> Outcome:
        """Loss and scores of a batch of points; `ask` gives their scores."""
        training, targets = self.training, batch.targets
        weight = training.weight or 0.0

        def plain_loss(scores: Tensor) -> Tensor:
            return cross_entropy(scores, targets, label_smoothing=smoothing)

        if training.kind == "pgd_at":
            worst = self.find_worst(network, ask, batch, plain_loss)
            scores = ask(worst)
            loss = plain_loss(scores)
            if weight < 1:
                scores = ask(batch.x)
                loss = weight * loss + (1 - weight) * plain_loss(scores)
            return Outcome(loss, scores, targets)
        with torch.no_grad(), _evaluation_mode(network):
            shares = softmax(ask(batch.x).float(), dim=1)
        worst = self.find_worst(network, ask, batch, lambda scores: _divergence(shares, scores))
        scores = ask(batch.x)
        change = _divergence(softmax(scores.float(), dim=1), ask(worst))
        return Outcome(plain_loss(scores) + weight * change, scores, targets)

    def find_worst(
        self,
        network: nn.Module,
        ask: Callable[[Tensor], Tensor],
        batch: Batch,
        loss_of: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """Points that projected gradient ascent of a loss of scores finds, one per point."""
        flat, training = batch.x.reshape(len(batch.x), -1), self.training
        around = self._surround(flat, batch.rows)
        active = ActiveRows(batch.rows, around, batch.targets, batch.targets, batch.keys)
        start = around.project(flat + training.epsilon * around.draw_noise(batch.keys))
        state = PGDState(start, 2.5 / training.steps * training.epsilon)
        with _evaluation_mode(network):
            for _ in range(training.steps):
                moved = state.moved.detach().requires_grad_()
                loss = loss_of(ask(moved.reshape(batch.x.shape)))
                (gradient,) = torch.autograd.grad(loss, moved)
                state = state.advance(active, loss.detach(), gradient)
        return state.moved.detach().reshape(batch.x.shape)

    def _surround(self, flat: Tensor, rows: IntArray) -> TensorRegion:
        """Regions around points as they are now, which augmentation may have changed."""
        bounds, epsilon = self.region.bounds, self.training.epsilon
        low, high = flat - epsilon, flat + epsilon
        if bounds is not None:
            low, high = low.clamp(min=bounds.low), high.clamp(max=bounds.high)
        voronoi: TensorVoronoi | None = None
        if self.cells is not None:
            voronoi = voronoi_on(self.cells, flat.device)
        places = torch.from_numpy(self.places[rows]).to(flat.device)
        radius = flat.new_full((len(flat), 1), epsilon)
        return TensorRegion(self.region, voronoi, places, flat, low, high, radius)


def _divergence(shares: Tensor, scores: Tensor) -> Tensor:
    """Kullback-Leibler divergence of scores from shares of classes, mean over points."""
    return kl_div(log_softmax(scores.float(), dim=1), shares, reduction="batchmean")


@contextmanager
def _evaluation_mode(network: nn.Module) -> Iterator[None]:
    network.eval()
    try:
        yield
    finally:
        network.train()


def describe_adversaries() -> dict[str, str]:
    """Forms of the specs, with what they mean."""
    return dict(_FORMS)


def read_adversary(call: Call, eps_min: Callable[[float], float] | None) -> AdversarialTraining:
    """Return the adversarial training that a spec names; ``eps_min`` may stand for its size.

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
    epsilon = call.args[0]
    if epsilon == "eps_min" and eps_min is not None:
        epsilon = eps_min(norm)
    steps = options.get("steps", 10)
    whole = isinstance(steps, float) and steps.is_integer()
    values: Any = (
        call.name,
        epsilon,
        norm,
        int(steps) if whole else steps,
        options.get(name),
        options.get("constraint", "none"),
    )
    return AdversarialTraining(*values)  # which checks them
