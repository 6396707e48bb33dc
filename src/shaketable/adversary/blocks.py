"""Attacks on blocks of points, which are kept when they are done, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from shaketable.adversary.attacks.registry import Attack, AttackResult
from shaketable.adversary.region import Region
from shaketable.adversary.target import Target, fast_device
from shaketable.core.arrays import Parts, keep_arrays, load_arrays
from shaketable.core.keys import SCHEME, digest
from shaketable.core.types import IntArray, KeyArray
from shaketable.core.versions import list_versions
from shaketable.core.workers.tasks import on_cluster, run_tasks
from shaketable.models.classifier import Classifier

_BLOCK, _MODULE_BLOCK = 250, 1000  # points per block; torch modules are faster with many


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
    return AttackResult(moved, arrays["hit"], int(arrays["queries"]), arrays.get("low"))


def _keep_block(block: _Block, result: AttackResult, target: Target, keep: Parts | None) -> None:
    """Keep the result of a block."""
    if keep is None:
        return
    arrays = {
        "hit": result.hit,
        "moved": np.asarray(result.moved[result.hit], np.float64),
        "queries": np.array(result.queries),
    }
    if result.low is not None:
        arrays["low"] = np.asarray(result.low, np.float64)
    keep_arrays(keep, block.key(target), arrays)


def _join_blocks(results: list[AttackResult]) -> AttackResult:
    """One result from those of all blocks, in their order."""
    low = [result.low for result in results if result.low is not None]
    return AttackResult(
        np.concatenate([result.moved for result in results]),
        np.concatenate([result.hit for result in results]),
        sum(result.queries for result in results),
        np.concatenate(low) if low else None,
    )
