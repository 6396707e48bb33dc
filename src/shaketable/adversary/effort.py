"""Which attacks run by default: what suits a model, with a stated effort from 1 to 5."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.adversary.attacks.cover import Cover
from shaketable.adversary.attacks.gradients import APGD, PGD, TARGETS
from shaketable.adversary.attacks.leaves import Leaves
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import Attack, gives_scores
from shaketable.adversary.attacks.square import Square
from shaketable.adversary.attacks.thresholds import read_thresholds
from shaketable.adversary.region import Region
from shaketable.core.checks import check_whole
from shaketable.core.errors import InputError
from shaketable.models.classifier import Classifier

EFFORT = 3
"""Default effort."""

_FEW = 10  # dimensions: in so few, random points find as much as rays do


@dataclass(frozen=True)
class _Budget:
    """What an effort spends."""

    line: float
    """Resolution of covers in one dimension."""
    plane: float
    """The same in two dimensions."""
    random: int
    """Queries of random search."""
    search: int
    """Queries of what follows it."""
    steps: int
    """Steps of APGD; 0 for none."""
    starts: int
    """Restarts of APGD, per class where it is targeted; 0: not targeted."""
    square: int
    """Queries of random search by scores, for networks."""
    masked: int
    """The same where gradients look masked."""


_BUDGETS = {
    1: _Budget(0.01, 0.2, 50, 250, 0, 0, 50, 500),
    2: _Budget(0.002, 0.1, 100, 500, 50, 0, 100, 1000),
    3: _Budget(0.001, 0.05, 200, 1000, 100, 1, 1000, 5000),
    4: _Budget(0.0005, 0.02, 500, 5000, 100, 2, 5000, 10_000),
    5: _Budget(0.0002, 0.01, 2000, 20_000, 200, 5, 10_000, 20_000),
}


def check_effort(effort: int) -> int:
    """Return an effort, or raise `InputError` if it is not 1, 2, 3, 4 or 5."""
    check_whole("effort", effort, least=1)
    if effort not in _BUDGETS:
        raise InputError(f"effort must be a whole number from 1 to 5, got {effort}")
    return effort


def choose_attacks(classifier: Classifier, region: Region, effort: int = EFFORT) -> list[Attack]:
    """Attacks that suit a model, in the order in which they run, behind what provers leave open.

    In one and two dimensions the region is covered. Torch modules are attacked along their
    gradients, with margin, cross-entropy and DLR losses, from effort 3 on aimed at single classes,
    and by a search that needs no gradients. Of all other models, trees are searched among their
    leaves, those that give scores by these, and those that give labels alone along rays; after some
    random points.
    """
    d, budget = region.x.shape[1], _BUDGETS[check_effort(effort)]
    if d <= 2 and region.p >= 1 and region.has_plain_cells:
        return [Cover(budget.line if d == 1 else budget.plane)]
    if classifier.device is not None:
        return _follow_gradients(classifier, budget)
    return _search(classifier, region, budget)


def choose_without_gradients(effort: int) -> list[Attack]:
    """Attacks that are added where the gradients of a torch module look masked."""
    return [Square(_BUDGETS[effort].masked), RayBisection(500, aim="first")]


def _follow_gradients(classifier: Classifier, budget: _Budget) -> list[Attack]:
    """Attacks of torch modules."""
    attacks: list[Attack] = [PGD(20)]
    if budget.steps:
        attacks.append(APGD(budget.steps, max(budget.starts, 1), loss="ce"))
        if budget.starts:
            codes = {code for code in classifier.codes.values() if code >= 0}
            targets = min(TARGETS, max(len(codes) - 1, 1))
            attacks.append(APGD(budget.steps, budget.starts * targets, loss="targeted"))
        else:
            attacks.append(APGD(budget.steps, loss="dlr"))
    return [*attacks, Square(budget.square)]


def _search(classifier: Classifier, region: Region, budget: _Budget) -> list[Attack]:
    """Attacks of models without gradients."""
    few, many = budget.random, budget.search
    if region.constraint != "genuine-exact" and read_thresholds(classifier, region.x.shape[1]):
        return [RandomSearch(few), Leaves(many)]
    if gives_scores(classifier, region):
        return [RandomSearch(few), Square(many)]
    if region.x.shape[1] <= _FEW:
        few = many = (few + many) // 2
    return [RandomSearch(few), RayBisection(many, aim="first")]
