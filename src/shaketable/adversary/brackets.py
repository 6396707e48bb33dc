"""Between which distances the nearest failure of every point lies: what is proven and what found.

One computation serves all epsilons: a point withstands for certain up to `Brackets.low`, and falls
from `Brackets.high` on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shaketable.adversary.accuracy import Trial
from shaketable.adversary.attacks.registry import Attack
from shaketable.adversary.blocks import attack_in_blocks
from shaketable.adversary.proofs.registry import Prover
from shaketable.adversary.region import Region
from shaketable.adversary.target import Target
from shaketable.core.arrays import Parts
from shaketable.core.norms import pnorm
from shaketable.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Brackets:
    """Lower and upper bounds of every point's distance to its nearest failure.

    A failure is a point of the region that the model labels wrongly; that of a point that is
    labelled wrongly itself is the point, at distance 0.
    """

    low: FloatArray
    """Distance up to which no point is misclassified; at most `reach`, up to which was searched."""
    high: FloatArray
    """Distance of the nearest misclassified point that was found; infinite where none was."""
    moved: FloatArray
    """These points, (n, d); the row's own point where none was found."""
    trials: tuple[Trial, ...] = ()
    why: str = ""
    """How lower bounds are known; empty where there are none."""

    @classmethod
    def start(cls, target: Target, region: Region) -> Brackets:
        """Return what is known before any search."""
        high = np.where(target.right, np.inf, 0.0)
        return cls(np.zeros(len(high)), high, np.array(region.x))

    def narrow(
        self, attack: Attack, target: Target, region: Region, keep: Parts | None = None
    ) -> Brackets:
        """Return the brackets after an attack on all rows that are not settled within the region.

        A row is settled if its bounds are equal up to a share of 1e-6, or nothing within epsilon is
        misclassified.
        """
        todo = np.flatnonzero((self.low < region.epsilon) & (self.high > self.low * (1 + _EQUAL)))
        if not len(todo):
            return self
        result = attack_in_blocks(attack, target, region, todo, keep)
        low, high, moved = self.low.copy(), self.high.copy(), self.moved.copy()
        away = pnorm(result.moved - region.x[todo], region.p)
        better = np.flatnonzero(result.hit & (away < high[todo]))
        high[todo[better]], moved[todo[better]] = away[better], result.moved[better]
        why = self.why
        if result.low is not None:
            low[todo] = np.maximum(low[todo], np.minimum(result.low, region.epsilon))
            why = "; ".join(dict.fromkeys(part for part in (why, state_proof(attack)) if part))
        trial = Trial(attack.spec, len(todo), int(result.hit.sum()), result.queries)
        return Brackets(low, high, moved, (*self.trials, trial), why)


def state_proof(attack: Attack) -> str:
    """How an attack knows that nothing is left to find."""
    if isinstance(attack, Prover):
        return attack.why
    return f"{attack.spec} states that nothing is left to find"


_EQUAL = 1e-6  # share of a distance below which bounds count as equal


def prove(
    target: Target, region: Region, attacks: Sequence[Attack] = (), keep: Parts | None = None
) -> Brackets:
    """Bound the distances of all points within a region by the provers that know the model.

    Parameters
    ----------
    target
        The model and its points.
    region
        Where failures count; its epsilon is the largest distance of interest.
    attacks
        What searches on, behind the provers, for points that are not settled.
    keep
        Where results are kept, so that they are not computed again.
    """
    brackets = Brackets.start(target, region)
    for attack in (*(p for p in target.provers if p.suits(region)), *attacks):
        brackets = brackets.narrow(attack, target, region, keep)
    return brackets
