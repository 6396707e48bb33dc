"""One epsilon: attack after attack on the points that still withstand, and what is known then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy, Examples, Trial
from shaketable.adversary.attacks.attack import Attack
from shaketable.adversary.attacks.searches import RandomSearch, RayBisection
from shaketable.adversary.one_nn.fitted import FittedOneNN, proven_robust
from shaketable.adversary.one_nn.nearest_points import OneNNExact
from shaketable.adversary.region import Region
from shaketable.adversary.target import Target
from shaketable.core.keys import fold
from shaketable.core.types import Array
from shaketable.corruptions.pnorm import unit_ball
from shaketable.models.classifier import Classifier

TRIES = 64
"""Points of a sphere that are looked at for one with room."""


def attacked(
    target: Target,
    region: Region,
    attacks: Sequence[Attack] | None = None,
    before: Sequence[AdversarialAccuracy] = (),
) -> AdversarialAccuracy:
    """Measure at one epsilon.

    Parameters
    ----------
    target, region
        The model and its points, and where the adversary may go from them.
    attacks
        By default those that are `suited`.
    before
        What was found in the same region or in smaller balls: it still counts; and in the same,
        what was tried does as well.
    """
    n, rows, exact = len(target.y), target.rows, region.constraint == "genuine-exact"
    measure = region.p, region.epsilon, region.constraint
    every = np.ones(n, bool)
    if region.epsilon == 0:
        nothing = Examples(rows[:0], target.points[:0], target.y[:0])
        return AdversarialAccuracy(
            *measure, target.right, every, True, nothing, (), "nothing may move"
        )
    remains, known = _remaining(target, region) if exact else (every, True)
    proven = proven_robust(target.one_nn, region)
    withstood = every.copy() if exact and not proven else target.right.copy()
    moved, hit, settled = np.array(region.x), np.zeros(n, bool), np.zeros(n, bool)
    trials: list[Trial] = []
    for one in before:
        place = np.searchsorted(rows, one.examples.rows)
        hit[place], withstood[place] = True, False
        moved[place] = one.examples.moved.reshape(len(place), moved.shape[1])
        trials += one.trials if one.epsilon == region.epsilon else ()
    for attack in () if proven else attacks or suited(target.classifier, region, target.one_nn):
        if not len(todo := np.flatnonzero(withstood & remains & ~settled)):
            break
        found = attack(target.classifier, region, todo, target.y[todo], target.keys[todo])
        new = todo[found.hit]
        hit[new], withstood[new], moved[new] = True, False, found.moved[found.hit]
        closely = getattr(attack, "covers", None)
        covers = closely(region) if closely else ""
        trials.append(Trial(attack.spec, len(todo), len(new), found.queries, covers))
        settled[todo] = False if found.proven is None else found.proven
    if not proven and not (withstood & remains & ~settled).any():
        computed = "nearest wrong labels are computed, not searched for"
        proven = computed if (withstood & settled).any() else "no point withstands"
    at = np.flatnonzero(hit)
    given = region.given(at, moved[at])
    examples = Examples(rows[at], given, target.codes(given))
    return AdversarialAccuracy(*measure, withstood, remains, known, examples, tuple(trials), proven)


def suited(classifier: Classifier, region: Region, one_nn: FittedOneNN | None) -> list[Attack]:
    """Attacks that suit a model, in the order they are made.

    A 1-NN in L2 is solved exactly, and what rounding leaves open is searched. In one and two
    dimensions the region is covered. Torch modules are attacked along their gradients, with
    cross-entropy and margin, and by random search, which needs none (and where gradients look
    masked, by rays); all else by random search and rays to the boundary.
    """
    few = region.x.shape[1] <= 2 and region.p >= 1
    attacks: list[Attack] = [RandomSearch(200), RayBisection(1000, aim="first")]
    if few:
        from shaketable.adversary.attacks.covers import Cover

        attacks = [Cover(0.001 if region.x.shape[1] == 1 else 0.05)]
    elif classifier.device is not None:
        from shaketable.adversary.attacks.gradients import APGD, PGD

        attacks = [PGD(20), APGD(50, loss="ce"), APGD(50, loss="dlr"), RandomSearch(50)]
    if one_nn is not None and region.p == 2 and region.constraint != "genuine-exact":
        attacks = [OneNNExact(one_nn), *attacks]
    return attacks


def _remaining(target: Target, region: Region) -> tuple[Array, bool]:
    """Whether each region holds a point, and whether that is exact or only what was found."""
    every = np.arange(len(region.x))
    if region.x.shape[1] <= 2:
        from shaketable.adversary.attacks.covers import remaining

        return remaining(region, every), True
    found = np.zeros(len(every), bool)
    for i in range(TRIES):
        todo = every[~found]
        if not len(todo):
            break
        keys = fold(target.keys[todo], i)
        unit = unit_ball(keys, region.x.shape[1], region.p, kind="surface", dtype=np.float64)
        moved = region.held(todo, region.x[todo] + region.epsilon * unit)
        found[todo] = region.contains(todo, region.given(todo, moved).reshape(moved.shape))
    return found, False
