"""One epsilon: run attacks one after the other, each on the points that still withstand.

Each runs on blocks of points, which are kept when they are done, here or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy, Examples, Trial
from shaketable.adversary.attacks.cover import has_room
from shaketable.adversary.attacks.one_nn_exact import OneNNExact
from shaketable.adversary.attacks.registry import Attack, AttackResult
from shaketable.adversary.effort import EFFORT, choose_attacks
from shaketable.adversary.one_nn import prove_robust
from shaketable.adversary.region import Region
from shaketable.adversary.target import Target, fast_device
from shaketable.core.arrays import Parts, keep_arrays, load_arrays
from shaketable.core.keys import SCHEME, digest, fold
from shaketable.core.types import Array, IntArray, KeyArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import on_cluster, run_tasks
from shaketable.corruptions.pnorm import unit_ball
from shaketable.models.classifier import Classifier

ROOM_TRIES = 64
"""Random points of a sphere that are tested for lying in the region."""

_BLOCK, _MODULE_BLOCK = 250, 1000  # points per block; torch modules are faster with many


def run_attacks(  # noqa: PLR0917  (the last ones are options)
    target: Target,
    region: Region,
    attacks: Sequence[Attack] | None = None,
    before: Sequence[AdversarialAccuracy] = (),
    keep: Parts | None = None,
    effort: int = EFFORT,
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
    effort
        From 1 to 5, where no attacks are given.
    """
    n, rows, exact = len(target.y), target.rows, region.constraint == "genuine-exact"
    setting = region.p, region.epsilon, region.constraint
    every = np.ones(n, bool)
    if region.epsilon == 0:
        none = Examples(rows[:0], target.points[:0], target.y[:0])
        return AdversarialAccuracy(
            *setting, target.right, every, True, none, (), "nothing may move"
        )
    remains, is_exact = _find_room(target, region) if exact else (every, True)
    proven = prove_robust(target.one_nn, region)
    withstood = every.copy() if exact and not proven else target.right.copy()
    moved, hit, settled = np.array(region.x), np.zeros(n, bool), np.zeros(n, bool)
    trials: list[Trial] = []
    proofs: list[str] = []
    for earlier in before:
        place = np.searchsorted(rows, earlier.examples.rows)
        hit[place], withstood[place] = True, False
        moved[place] = region.extract(earlier.examples.moved)
        trials += earlier.trials if earlier.epsilon == region.epsilon else ()
    if not proven:
        chosen = attacks or choose_attacks(target.classifier, region, target.one_nn, effort)
        for attack in chosen:
            if not len(todo := np.flatnonzero(withstood & remains & ~settled)):
                break
            result = attack_in_blocks(attack, target, region, todo, keep)
            new = todo[result.hit]
            hit[new], withstood[new], moved[new] = True, False, result.moved[result.hit]
            describe = getattr(attack, "covers", None)
            covers = describe(region) if describe else ""
            trials.append(Trial(attack.spec, len(todo), len(new), result.queries, covers))
            if result.proven is not None:
                settled[todo] = result.proven
                proofs.append(_describe_proof(attack))
    if not proven and not (withstood & remains & ~settled).any():
        settles = (withstood & settled).any()
        proven = "; ".join(dict.fromkeys(proofs)) if settles else "no point withstands"
    found = np.flatnonzero(hit)
    points = region.round_for_model(found, moved[found])
    examples = Examples(rows[found], points, target.predict(points))
    return AdversarialAccuracy(
        *setting, withstood, remains, is_exact, examples, tuple(trials), proven
    )


def _describe_proof(attack: Attack) -> str:
    """Why nothing is left to find around points that an attack marks as proven."""
    if isinstance(attack, OneNNExact):
        return "nearest wrong labels are computed, not searched for"
    return f"{attack.spec} states that nothing is left to find"


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


def attack_in_blocks(
    attack: Attack, target: Target, region: Region, rows: IntArray, keep: Parts | None
) -> AttackResult:
    """Run an attack on rows of a region, one block of them after the other.

    Blocks depend on the number of rows alone, so results do not depend on where they are computed.
    """
    size = _BLOCK if target.classifier.device is None else _MODULE_BLOCK
    blocks: list[_Block] = []
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        # All points are labelled once, by the first block.
        where = replace(region, labels=target.codes) if start else region
        used = (target.one_nn, target.codes)
        blocks.append(
            _Block(attack, target.classifier, where, some, target.y[some], target.keys[some], used)
        )
    if target.classifier.identity is None:
        keep = None
    results = {block: result for block in blocks if (result := _load_block(block, target, keep))}
    for block, result in _run_blocks(block for block in blocks if block not in results):
        results[block] = result
        _keep_block(block, result, target, keep)
    return _join_blocks([results[block] for block in blocks])


@dataclass(frozen=True, eq=False)
class _Block:
    """An attack on some of the points."""

    attack: Attack
    classifier: Classifier
    region: Region
    rows: IntArray
    y: IntArray
    keys: KeyArray
    used: tuple[object, ...]
    """Objects that the attack and the region of other blocks refer to as well."""

    @property
    def name(self) -> str:
        """Model, attack and region."""
        region = self.region
        place = f"epsilon {region.epsilon:g}, constraint {region.constraint}"
        return f"model {self.classifier.name} under {self.attack.spec}, {place}"

    @property
    def shared(self) -> tuple[object, ...]:
        """The model, and what regions of all sizes have in common."""
        region = self.region
        things = (self.classifier, region.x, region.voronoi, region.held, region.beside, *self.used)
        return tuple(thing for thing in things if thing is not None)

    @property
    def uses_gpu(self) -> bool:
        """Whether the model is on one."""
        return fast_device(self.classifier) is not None

    def work(self, report: Callable[[str], None]) -> AttackResult:
        """Run the attack."""
        report(self.name)
        return self.attack(self.classifier, self.region, self.rows, self.y, self.keys)

    def key(self, target: Target) -> str:
        """Hash of all that the result depends on."""
        region = self.region
        setting = (
            "attack",
            SCHEME,
            str(sorted(list_versions().items())),
            target.data.fingerprint,
            target.rows.astype("<i8").tobytes(),
            str(target.classifier.identity),
            target.seed,
            self.attack.spec,
            repr((region.p, region.epsilon, region.constraint, region.bounds)),
            self.rows.astype("<i8").tobytes(),
            int(region.labels is None),
        )
        return f"{digest(*setting):016x}{digest('second half', *setting):016x}"


def _run_blocks(blocks: Iterable[_Block]) -> Iterator[tuple[_Block, AttackResult]]:
    """Yield blocks with their results, in any order."""
    if not on_cluster():
        for block in blocks:
            yield block, block.work(lambda _: None)
        return
    with closing(run_tasks(blocks)) as outcomes:
        for outcome in outcomes:
            assert isinstance(outcome.task, _Block)
            yield outcome.task, outcome.get()


def _load_block(block: _Block, target: Target, keep: Parts | None) -> AttackResult | None:
    """Return the result of a block if it is kept."""
    arrays = None if keep is None else load_arrays(keep, block.key(target))
    if arrays is None:
        return None
    moved = block.region.x[block.rows]
    moved[arrays["hit"]] = arrays["moved"]
    return AttackResult(moved, arrays["hit"], int(arrays["queries"]), arrays.get("proven"))


def _keep_block(block: _Block, result: AttackResult, target: Target, keep: Parts | None) -> None:
    """Keep the result of a block."""
    if keep is None:
        return
    arrays = {
        "hit": result.hit,
        "moved": np.asarray(result.moved[result.hit], np.float64),
        "queries": np.array(result.queries),
    }
    if result.proven is not None:
        arrays["proven"] = result.proven
    keep_arrays(keep, block.key(target), arrays)


def _join_blocks(results: list[AttackResult]) -> AttackResult:
    """One result from those of all blocks, in their order."""
    proven = [result.proven for result in results if result.proven is not None]
    return AttackResult(
        np.concatenate([result.moved for result in results]),
        np.concatenate([result.hit for result in results]),
        sum(result.queries for result in results),
        np.concatenate(proven) if proven else None,
    )
