"""The search of PGD and APGD: batches, restarts, steps, and what was hit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from shaketable.adversary.attacks.ascent import ActiveRows, AscentState
from shaketable.adversary.attacks.attack import AttackResult, confirm
from shaketable.adversary.attacks.gradients import APGD, PGD
from shaketable.adversary.attacks.losses import ModuleGradients, open_gradients
from shaketable.adversary.region import Region
from shaketable.adversary.region_tensors import TensorRegion
from shaketable.core.keys import fold
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.models.classifier import Classifier
from shaketable.models.failures import is_out_of_memory
from shaketable.models.memory import free_memory

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
                attack.loss, state.moved, active.y, active.targets
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
