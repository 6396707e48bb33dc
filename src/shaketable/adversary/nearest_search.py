"""The nearest misclassified points that searches find: upper bounds of distances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import AttackResult, LabelQueries
from shaketable.adversary.region import Region
from shaketable.adversary.rounds import choose_attacks
from shaketable.core.errors import InputError
from shaketable.core.keys import fold
from shaketable.core.types import IntArray, KeyArray
from shaketable.models.classifier import Classifier

NAME = "nearest"
"""How its spec begins."""

_HALVINGS = 12


@dataclass(frozen=True)
class NearestSearch:
    """Attack at growing sizes, each row until its first hit; then shorten the steps by bisection.

    Torch modules are attacked at `sizes` radii, each twice the one before, up to epsilon. Rays to
    the boundary have no radius, so other models are searched once.
    """

    sizes: int = 10
    """Number of radii for torch modules."""
    queries: int = 2000
    """Queries per row of other models."""

    @property
    def spec(self) -> str:
        """Name and budget."""
        return f"{NAME}(sizes={self.sizes}, queries={self.queries})"

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        if region.constraint == "genuine-exact":
            raise InputError(
                "distances need the constraint none or genuine-max, got genuine-exact, under which "
                "all are epsilon"
            )
        if model.device is None:
            found = RayBisection(self.queries)(model, region, rows, y, keys)
            moved, hit, queries = found.moved, found.hit, found.queries
        else:
            moved, hit, queries = np.array(region.x[rows]), np.zeros(len(rows), bool), 0
            for size in range(self.sizes):
                here = replace(region, epsilon=region.epsilon * 2.0 ** (size + 1 - self.sizes))
                for number, attack in enumerate(choose_attacks(model, here)):
                    left = np.flatnonzero(~hit)
                    if not len(left):
                        break
                    some = fold(keys[left], 16 * size + number)
                    result = attack(model, here, rows[left], y[left], some)
                    new = left[result.hit]
                    hit[new], moved[new] = True, result.moved[result.hit]
                    queries += result.queries
        asked = LabelQueries(model, region)
        found_rows = np.flatnonzero(hit)
        origin = region.x[rows[found_rows]]
        step = moved[found_rows] - origin
        low, high = np.zeros(len(step)), np.ones(len(step))
        for _ in range(_HALVINGS if len(step) else 0):
            middle = (low + high) / 2
            tried = origin + middle[:, None] * step
            fails = asked.are_hits(rows[found_rows], y[found_rows], tried)
            moved[found_rows[fails]] = tried[fails]
            low, high = np.where(fails, low, middle), np.where(fails, middle, high)
        return AttackResult(moved, hit, queries + asked.count)
