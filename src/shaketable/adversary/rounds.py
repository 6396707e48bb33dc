"""One epsilon: run attacks one after the other, each on the points that still withstand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy, Examples, Trial
from shaketable.adversary.attacks.cover import Cover, has_room
from shaketable.adversary.attacks.gradients import APGD, PGD
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import Attack
from shaketable.adversary.blocks import attack_in_blocks
from shaketable.adversary.brackets import Brackets, state_proof
from shaketable.adversary.one_nn import prove_robust
from shaketable.adversary.region import TOLERANCE, Region
from shaketable.adversary.target import Target
from shaketable.core.arrays import Parts
from shaketable.core.keys import fold
from shaketable.core.types import Array
from shaketable.corruptions.pnorm import unit_ball
from shaketable.models.classifier import Classifier

NO_POINT = "no point withstands"
"""Why an accuracy of 0 is exact."""

ROOM_TRIES = 64
"""Random points of a sphere that are tested for lying in the region."""


def run_attacks(
    target: Target,
    region: Region,
    attacks: Sequence[Attack] | None = None,
    before: Sequence[AdversarialAccuracy] = (),
    *,
    keep: Parts | None = None,
    brackets: Brackets | None = None,
) -> AdversarialAccuracy:
    """Compute the adversarial accuracy at one epsilon.

    Parameters
    ----------
    target, region
        The model and its points, and where the adversary may move them.
    attacks
        By default those of `choose_attacks`.
    before
        Results for the same region or for smaller balls: their examples count, and for the same
        region their attacks are listed as well.
    keep
        Where results of attacks are kept, so that they are not run again.
    brackets
        What is known of the distances to the nearest failures, in the same region or a larger ball.
    """
    n, rows, exact = len(target.y), target.rows, region.constraint == "genuine-exact"
    epsilon, setting = region.epsilon, (region.p, region.epsilon, region.constraint)
    every = np.ones(n, bool)
    if epsilon == 0:
        none = Examples(rows[:0], target.points[:0], target.y[:0])
        return AdversarialAccuracy(
            *setting, target.right, every, True, none, (), "nothing may move"
        )
    remains, is_exact = _find_room(target, region) if exact else (every, True)
    proven = prove_robust(target.one_nn, region)
    withstood = every.copy() if exact and not proven else target.right.copy()
    moved, hit, proven_to = np.array(region.x), np.zeros(n, bool), np.zeros(n)
    trials: list[Trial] = []
    proofs: list[str] = []
    for earlier in before:
        place = np.searchsorted(rows, earlier.examples.rows)
        hit[place], withstood[place] = True, False
        moved[place] = region.extract(earlier.examples.moved)
        trials += earlier.trials if earlier.epsilon == region.epsilon else ()
        if earlier.epsilon == region.epsilon and len(earlier.proven_to):
            proven_to = np.maximum(proven_to, earlier.proven_to)
    if brackets is not None:
        proven_to = np.maximum(proven_to, brackets.low)
        proofs.append(brackets.why)
        if not exact:  # else a failure counts only at distance epsilon
            new = np.flatnonzero((brackets.high <= epsilon * (1 + TOLERANCE)) & target.right)
            hit[new], withstood[new], moved[new] = True, False, brackets.moved[new]
            trials += brackets.trials
    if not proven:
        if attacks is None:
            provers = [prover for prover in target.provers if prover.suits(region)]
            attacks = [*provers, *choose_attacks(target.classifier, region)]
        for attack in attacks:
            if not len(todo := np.flatnonzero(withstood & remains & (proven_to < epsilon))):
                break
            result = attack_in_blocks(attack, target, region, todo, keep)
            new = todo[result.hit]
            hit[new], withstood[new], moved[new] = True, False, result.moved[result.hit]
            describe = getattr(attack, "covers", None)
            covers = describe(region) if describe else ""
            trials.append(Trial(attack.spec, len(todo), len(new), result.queries, covers))
            if result.low is not None:
                proven_to[todo] = np.maximum(proven_to[todo], result.low)
                proofs.append(state_proof(attack))
    if not proven and not (withstood & remains & (proven_to < epsilon)).any():
        settles = (withstood & (proven_to >= epsilon)).any()
        proven = "; ".join(dict.fromkeys(proofs)) if settles else NO_POINT
    found = np.flatnonzero(hit)
    points = region.round_for_model(found, moved[found])
    examples = Examples(rows[found], points, target.predict(points))
    return AdversarialAccuracy(
        *setting, withstood, remains, is_exact, examples, tuple(trials), proven, proven_to=proven_to
    )


def choose_attacks(classifier: Classifier, region: Region) -> list[Attack]:
    """Attacks that suit a model, in the order in which they run, behind what provers leave open.

    In one and two dimensions the region is covered. Torch modules are attacked along their
    gradients, with cross-entropy and margin losses, and by random search, which needs no gradients
    (where these look masked, rays follow); all other models by random search and rays to the
    boundary.
    """
    d = region.x.shape[1]
    attacks: list[Attack] = [RandomSearch(200), RayBisection(1000, aim="first")]
    if d <= 2 and region.p >= 1 and region.beside is None:
        attacks = [Cover(0.001 if d == 1 else 0.05)]
    elif classifier.device is not None:
        attacks = [PGD(20), APGD(50, loss="ce"), APGD(50, loss="dlr"), RandomSearch(50)]
    return attacks


def _find_room(target: Target, region: Region) -> tuple[Array, bool]:
    """Whether each genuine-exact region holds a point, and whether the answers are exact."""
    every = np.arange(len(region.x))
    if region.x.shape[1] <= 2 and region.beside is None:
        return has_room(region, every), True
    found = np.zeros(len(every), bool)
    for i in range(ROOM_TRIES):
        todo = every[~found]
        if not len(todo):
            break
        keys = fold(target.keys[todo], i)
        unit = unit_ball(keys, region.x.shape[1], region.p, kind="surface", dtype=np.float64)
        moved = region.project(todo, region.x[todo] + region.epsilon * unit)
        rounded = region.extract(region.round_for_model(todo, moved))
        found[todo] = region.contains(todo, rounded)
    return found, False
