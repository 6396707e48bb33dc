"""The search of PGD and APGD: losses and their gradients, how rows move up, and what was hit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from shaketable.adversary.attacks.gradients import APGD, PGD, Objective
from shaketable.adversary.attacks.registry import AttackResult, confirm
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import L1_SHARE, TensorRegion
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.models.classifier import Classifier
from shaketable.models.failures import free_memory, is_out_of_memory
from shaketable.models.torch_modules import ModuleAnswer, arrange_images

_L1_START = 0.02  # share of values that APGD moves in L1, before it is halved


class AscentState(Protocol):
    """Where rows are, and all that a method remembers of them from step to step."""

    @property
    def moved(self) -> Tensor:
        """Points to evaluate next, (rows, d)."""

    def advance(self, active: ActiveRows, loss: Tensor, gradient: Tensor) -> AscentState:
        """Take one step from points with this loss and gradient."""

    def select(self, keep: Tensor) -> AscentState:
        """State of the rows where `keep` is true."""


@dataclass(frozen=True, eq=False)
class ActiveRows:
    """Rows of one restart that have not been hit yet."""

    places: IntArray
    """Places of these rows among the rows that the attack was given."""
    region: TensorRegion
    y: Tensor
    targets: Tensor
    keys: KeyArray

    def select(self, keep: Tensor) -> ActiveRows:
        """Rows where `keep` is true."""
        host = keep.cpu().numpy()
        return ActiveRows(
            self.places[host],
            self.region.select(keep),
            self.y[keep],
            self.targets[keep],
            self.keys[host],
        )

    def find_steps(self, moved: Tensor, gradient: Tensor, share: Tensor) -> Tensor:
        """Steps of size 1 up the loss, or along noise where the gradient has no direction."""
        step, known = self.region.find_ascent(moved, gradient, share)
        if not known.all():
            step[~known] = self.region.draw_noise(self.keys)[~known]
        return step


@dataclass(frozen=True, eq=False)
class PGDState:
    """Steps of one size."""

    moved: Tensor
    size: float

    def advance(self, active: ActiveRows, loss: Tensor, gradient: Tensor) -> PGDState:
        """Take one step from points with this gradient."""
        del loss
        share = gradient.new_full((len(gradient),), L1_SHARE)
        step = self.size * active.find_steps(self.moved, gradient, share)
        base = active.region.find_base(self.moved)
        return PGDState(active.region.project(base + step), self.size)

    def select(self, keep: Tensor) -> PGDState:
        """State of the rows where `keep` is true."""
        return PGDState(self.moved[keep], self.size)


@dataclass(frozen=True, eq=False)
class APGDState:
    """State of Algorithm 1 of Croce & Hein (ICML 2020), one value per row.

    In the paper's letters `moved` is x, `best_loss` f_max, `size` eta and `checkpoints` W.
    """

    moved: Tensor
    previous: Tensor
    best: Tensor
    best_gradient: Tensor
    best_loss: Tensor
    last_loss: Tensor
    size: Tensor
    """Step size, (rows, 1)."""
    share: Tensor
    """Share of values that a step moves in L1."""
    rises: Tensor
    """Number of steps since the last checkpoint that raised the loss."""
    halved: Tensor
    """Whether the step size was halved at the last checkpoint."""
    checked_loss: Tensor
    """Best loss at the last checkpoint."""
    checkpoints: tuple[int, ...]
    """The last checkpoint and those to come."""
    k: int = 0
    """Number of steps taken."""

    @classmethod
    def start(cls, moved: Tensor, epsilon: float, checkpoints: tuple[int, ...]) -> APGDState:
        """State before the first step, with steps of size epsilon."""
        low = moved.new_full((len(moved),), -math.inf)
        return cls(
            moved=moved,
            previous=moved,
            best=moved,
            best_gradient=torch.zeros_like(moved),
            best_loss=low,
            last_loss=-low,
            size=moved.new_full((len(moved), 1), epsilon),
            share=torch.full_like(low, _L1_START),
            rises=torch.zeros_like(low),
            halved=torch.ones_like(low, dtype=torch.bool),
            checked_loss=low,
            checkpoints=checkpoints,
        )

    def select(self, keep: Tensor) -> APGDState:
        """State of the rows where `keep` is true."""
        tensors = (f.name for f in fields(self) if isinstance(getattr(self, f.name), Tensor))
        return replace(self, **{name: getattr(self, name)[keep] for name in tensors})

    def advance(self, active: ActiveRows, loss: Tensor, gradient: Tensor) -> APGDState:
        """Take one step with momentum; rows whose step is halved start from their best point."""
        base = active.region.find_base(self.moved)
        state = self._remember(base, loss, gradient)
        if self.k == self.checkpoints[1]:
            state, base, gradient = state._look_back(base, gradient)
        moved, region = state.moved, active.region
        step = state.size * active.find_steps(moved, gradient, state.share)
        onward = region.project(base + step)
        if self.k:  # momentum: alpha = 3/4
            onward = region.project(
                moved + 0.75 * (onward - moved) + 0.25 * (moved - state.previous)
            )
        return replace(state, moved=onward, previous=moved, k=self.k + 1)

    def _remember(self, base: Tensor, loss: Tensor, gradient: Tensor) -> APGDState:
        """Keep the loss, and the point if it is the best so far and inside its cell."""
        inside = (base == self.moved).all(dim=1)
        better = (loss > self.best_loss) & inside
        return replace(
            self,
            best=torch.where(better[:, None], self.moved, self.best),
            best_gradient=torch.where(better[:, None], gradient, self.best_gradient),
            best_loss=torch.where(better, loss, self.best_loss),
            last_loss=loss,
            rises=self.rises + (loss > self.last_loss),
        )

    def _look_back(self, base: Tensor, gradient: Tensor) -> tuple[APGDState, Tensor, Tensor]:
        """Halve steps that rose too rarely (condition 1) or found nothing better (condition 2)."""
        window = self.checkpoints[1] - self.checkpoints[0]
        stuck = ~self.halved & (self.best_loss <= self.checked_loss)
        halve = (self.rises < 0.75 * window) | stuck
        at = halve[:, None]
        moved = torch.where(at, self.best, self.moved)
        state = replace(
            self,
            moved=moved,
            previous=torch.where(at, self.best, self.previous),
            last_loss=torch.where(halve, self.best_loss, self.last_loss),
            size=torch.where(at, self.size / 2, self.size),
            share=torch.where(halve, self.share / 2, self.share),
            rises=torch.zeros_like(self.rises),
            halved=halve,
            checked_loss=self.best_loss,
            checkpoints=self.checkpoints[1:],
        )
        base, gradient = (
            torch.where(at, best, now)
            for best, now in ((self.best, base), (self.best_gradient, gradient))
        )
        return state, base, gradient


def plan_checkpoints(steps: int) -> tuple[int, ...]:
    """Steps at which APGD may halve its step size, from 0 on; the last is beyond `steps`.

    The first comes after 22 % of all steps, and every interval is 3 % of them shorter than the one
    before, down to 6 %: whole steps, rounded down, at least one.

    >>> plan_checkpoints(100)
    (0, 22, 41, 57, 70, 80, 87, 93, 99, 105)
    >>> plan_checkpoints(20)
    (0, 4, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)
    """
    wait, less, least = (max(1, steps * percent // 100) for percent in (22, 3, 6))
    checkpoints = [0]
    while checkpoints[-1] <= steps:
        checkpoints.append(checkpoints[-1] + wait)
        wait = max(wait - less, least)
    return tuple(checkpoints)


BATCH_VALUES = 1 << 20
"""Values of the points in a batch: backward passes keep the outputs of every layer."""


class GradientSearch:
    """One call of an attack: the points it has hit so far, and its queries."""

    def __init__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> None:
        self.model, self.region, self.rows, self.y, self.keys = model, region, rows, y, keys
        self.moved = region.x[rows].astype(region.dtype)
        self.hit = np.zeros(len(rows), bool)
        self.queries = 0

    def run(self, attack: PGD | APGD, begin: Callable[[Tensor], AscentState]) -> AttackResult:
        """Search all rows; `begin` makes the state of a restart from its first points."""
        first, size = 0, max(1, BATCH_VALUES // self.region.x.shape[1])
        with open_gradients(self.model, self.region.shape) as module:
            while first < len(self.rows):
                batch = np.arange(first, min(first + size, len(self.rows)))
                if self._fits(attack, begin, module, batch):
                    first += len(batch)
                else:
                    size = len(batch) // 2
        return AttackResult(self.moved, self.hit, self.queries)

    def _fits(
        self,
        attack: PGD | APGD,
        begin: Callable[[Tensor], AscentState],
        module: ModuleGradients,
        batch: IntArray,
    ) -> bool:
        """Search a batch; if memory runs out, undo what was found in it, and return False."""
        queries = self.queries
        try:
            around = TensorRegion.of(self.region, self.rows[batch], module.device)
            self._search_batch(attack, begin, module, batch, around)
        except (RuntimeError, MemoryError) as error:
            if len(batch) < 2 or not is_out_of_memory(error):
                raise
        else:
            return True
        self.queries, self.hit[batch] = queries, False
        self.moved[batch] = self.region.x[self.rows[batch]]
        free_memory()
        return False

    def _search_batch(
        self,
        attack: PGD | APGD,
        begin: Callable[[Tensor], AscentState],
        module: ModuleGradients,
        batch: IntArray,
        around: TensorRegion,
    ) -> None:
        y = torch.from_numpy(self.y[batch]).to(around.x.device)
        ranked = y[:, None]
        if attack.loss == "targeted":
            scores = module.score(around.x)
            self.queries += len(batch)
            ranked = scores.scatter(1, y[:, None], -torch.inf).argsort(1, descending=True)[:, :-1]
        for restart in range(attack.restarts):
            left = torch.from_numpy(~self.hit[batch]).to(y.device)
            if not left.any():
                return
            target = ranked[:, restart % ranked.shape[1]]
            keys = fold(self.keys[batch], restart)
            active = ActiveRows(batch, around, y, target, keys).select(left)
            start = active.region.x
            if restart >= ranked.shape[1]:
                noise = active.region.draw_noise(active.keys)
                start = active.region.project(start + self.region.epsilon * noise)
            self._climb(attack, begin(start), module, active)

    def _climb(
        self, attack: PGD | APGD, state: AscentState, module: ModuleGradients, active: ActiveRows
    ) -> None:
        """Take all steps of a restart; rows leave with their first hit."""
        for _ in range(attack.steps):
            scores, loss, gradient = module.differentiate(
                attack.objective, state.moved, active.y, active.targets
            )
            self.queries += 2 * len(scores)
            left = self._record_hits(state.moved, scores, active)
            if not left.all():
                active, state = active.select(left), state.select(left)
                loss, gradient = loss[left], gradient[left]
            if not len(loss):
                return
            state = state.advance(active, loss, gradient)
        scores = module.score(state.moved)
        self.queries += len(scores)
        self._record_hits(state.moved, scores, active)

    def _record_hits(self, moved: Tensor, scores: Tensor, active: ActiveRows) -> Tensor:
        """Write down confirmed hits, and return which rows are left."""
        wrong = scores.argmax(dim=1) != active.y
        if wrong.any():
            places = active.places[wrong.cpu().numpy()]
            points: Array = moved[wrong].cpu().numpy().astype(self.region.dtype)
            hit = confirm(self.model, self.region, self.rows[places], self.y[places], points)
            self.queries += len(places)
            self.moved[places[hit]] = points[hit]
            self.hit[places[hit]] = True
            wrong[wrong.clone()] = torch.from_numpy(hit).to(wrong.device)
        return ~wrong


def compute_losses(kind: Objective, scores: Tensor, y: Tensor, targets: Tensor) -> Tensor:
    r"""How close scores z are to a misclassification, one value per row; higher is closer.

    .. math::

        \text{ce}       &= \log \textstyle\sum_{j \ne y} e^{z_j} - z_y \\
        \text{margin}   &= \max_{j \ne y} z_j - z_y \\
        \text{dlr}      &= \text{margin} / (z_{(1)} - z_{(3)}) \\
        \text{targeted} &= z_t - z_y \\
        \text{targeted-dlr} &= \text{targeted} / (z_{(1)} - (z_{(3)} + z_{(4)}) / 2)

    All but ce are above 0 where the label is wrong. ce grows with cross-entropy, which is
    :math:`\log(1 + e^{ce})`: its gradients have the same directions, but do not vanish when the
    model is confident. margin is that of Carlini & Wagner (S&P 2017), dlr the difference of logits
    ratio (Croce & Hein, ICML 2020, Eq. 6), which needs three classes: with two it is the margin.
    targeted aims at one class t per row (Gowal et al. 2019); targeted-dlr is the same, divided so
    that the scale of scores does not matter (Croce & Hein, Eq. 8), which needs four classes: with
    fewer it is targeted.

    >>> z, y = torch.tensor([[3.0, 1.0, -1.0]]), torch.tensor([0])
    >>> compute_losses("margin", z, y, y), compute_losses("dlr", z, y, y)
    (tensor([-2.]), tensor([-0.5000]))
    """
    right = scores.gather(1, y[:, None])[:, 0]
    if kind in {"targeted", "targeted-dlr"}:
        ahead = scores.gather(1, targets[:, None])[:, 0] - right
        if kind == "targeted" or scores.shape[1] < 4:
            return ahead
        first, _, third, fourth = scores.topk(4, dim=1).values.unbind(dim=1)
        return ahead / (first - (third + fourth) / 2).clamp(min=torch.finfo(scores.dtype).tiny)
    wrong = scores.scatter(1, y[:, None], -torch.inf)
    if kind == "ce":
        return wrong.logsumexp(dim=1) - right
    margin = wrong.amax(dim=1) - right
    if kind == "margin" or scores.shape[1] < 3:
        return margin
    first, _, third = scores.topk(3, dim=1).values.unbind(dim=1)
    return margin / (first - third).clamp(min=torch.finfo(scores.dtype).tiny)


@dataclass(frozen=True, eq=False)
class ModuleGradients:
    """Scores of a module and gradients of losses; the module is called as `ModuleAnswer` does."""

    answer: ModuleAnswer
    shape: tuple[int, ...]
    """Shape of a point, as the model takes it."""

    @property
    def device(self) -> torch.device:
        """Device of the module."""
        return self.answer.device

    def score(self, points: Tensor) -> Tensor:
        """Scores of flat points, in float32 or float64."""
        given = arrange_images(points.reshape(-1, *self.shape), self.answer.module)
        given = given.to(self.answer.dtype).clone(memory_format=torch.contiguous_format)
        answer = self.answer.module(given)
        scores: Tensor = getattr(answer, "logits", answer)
        return scores if scores.dtype == torch.float64 else scores.float()

    def differentiate(
        self, kind: Objective, points: Tensor, y: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of flat points, losses, and gradients, which are 0 if the loss has none."""
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            scores = self.score(points)
            loss = compute_losses(kind, scores, y, targets)
            gradient = None
            if loss.requires_grad:
                try:
                    (gradient,) = torch.autograd.grad(loss.sum(), points, allow_unused=True)
                except RuntimeError as error:
                    if is_out_of_memory(error):
                        raise
                    reason = str(error).partition("\n")[0]
                    raise InputError(
                        f"model {self.answer.name} gives no gradients: {reason}; use an attack "
                        "that needs labels only, such as random or rays"
                    ) from error
        gradient = torch.zeros_like(points) if gradient is None else gradient
        return scores.detach(), loss.detach(), gradient.detach()


@contextmanager
def open_gradients(model: Classifier, shape: tuple[int, ...]) -> Iterator[ModuleGradients]:
    """Gradients of a torch module; on exit its modes and flags are restored.

    Inside, the module is in evaluation mode and its parameters need no gradients: none is computed
    for them, and none is left behind.
    """
    if not isinstance(model.answer, ModuleAnswer):
        raise InputError(
            f"model must be a torch module for an attack by gradients, got {model.name}; use an "
            "attack that needs labels only, such as random or rays"
        )
    with torch.inference_mode(False), torch.no_grad(), freeze(model.answer.module):
        yield ModuleGradients(model.answer, shape)


@contextmanager
def freeze(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients of parameters, restored on exit."""
    modes = [(part, part.training) for part in module.modules()]
    flags = [(parameter, parameter.requires_grad) for parameter in module.parameters()]
    try:
        module.eval()
        for parameter, _ in flags:
            parameter.requires_grad_(False)
        yield
    finally:
        for part, training in modes:
            part.training = training
        for parameter, needed in flags:
            parameter.requires_grad_(needed)
