"""What attacks would take: which run at which points, and queries and time from a few points.

Nothing is stored. The attacks run around few points first and then around twice as many, until they
have all points or 20 seconds are used up; the rest is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

import numpy as np

from shaketable.adversary.attacks.registry import Attack
from shaketable.adversary.effort import EFFORT, choose_attacks
from shaketable.adversary.nearest_search import NearestSearch
from shaketable.adversary.one_nn import prove_robust
from shaketable.adversary.region import Constraint, Region
from shaketable.adversary.target import Target
from shaketable.core.types import IntArray
from shaketable.evaluation.dry_run import extrapolate, time_on_more
from shaketable.views.blocks import Block, Column, Sentence, Table
from shaketable.views.numbers import format_distance, format_seconds
from shaketable.views.terminal import Displayed

_FEW = 8  # points of the smallest sample
_SECONDS = 20.0  # of the largest


class PlannedJson(TypedDict):
    """One attack at one epsilon."""

    model: str
    constraint: str
    epsilon: float
    attack: str
    points: Annotated[int, "estimated number of points that still withstand when it starts"]
    queries: Annotated[int, "estimated"]


class AdversaryDryRunJson(TypedDict):
    """What attacks would take."""

    data: str
    points: Annotated[int, "attacked points, wrong answers among them"]
    seconds: Annotated[float, "estimated"]
    queries: Annotated[int, "estimated"]
    sampled: Annotated[int, "points of the largest sample"]
    attacks: list[PlannedJson]


@dataclass(frozen=True)
class Planned:
    """One attack at one epsilon."""

    model: str
    constraint: Constraint
    epsilon: float
    attack: str
    points: float
    """Points that still withstand when it starts."""
    queries: float

    def json(self) -> PlannedJson:
        """Return all of it; estimates as whole numbers."""
        return {
            "model": self.model,
            "constraint": self.constraint,
            "epsilon": self.epsilon,
            "attack": self.attack,
            "points": round(self.points),
            "queries": round(self.queries),
        }


@dataclass(frozen=True)
class AdversaryDryRun(Displayed):
    """What attacks on one or several models would take."""

    data: str
    points: int
    seconds: float
    sampled: int
    """Points of the largest sample."""
    attacks: tuple[Planned, ...]

    @property
    def queries(self) -> float:
        """Of all attacks."""
        return sum(planned.queries for planned in self.attacks)

    def __add__(self, other: AdversaryDryRun) -> AdversaryDryRun:
        """Join those of two models."""
        return replace(
            self,
            seconds=self.seconds + other.seconds,
            sampled=min(self.sampled, other.sampled),
            attacks=self.attacks + other.attacks,
        )

    def json(self) -> AdversaryDryRunJson:
        """Return all numbers, and one entry per attack."""
        return {
            "data": self.data,
            "points": self.points,
            "seconds": self.seconds,
            "queries": round(self.queries),
            "sampled": self.sampled,
            "attacks": [planned.json() for planned in self.attacks],
        }

    def blocks(self) -> list[Block]:
        """Return the numbers, and a table with one row per attack."""
        columns = (
            *map(Column, ("model", "constraint", "epsilon", "attack")),
            Column("points", "count"),
            Column("queries", "count"),
        )
        rows = [
            (
                planned.model,
                planned.constraint,
                format_distance(planned.epsilon),
                planned.attack,
                round(planned.points),
                round(planned.queries),
            )
            for planned in self.attacks
        ]
        sentences = [
            Sentence(f"{self.points} of {self.data}", "points"),
            Sentence(f"about {format_seconds(self.seconds)}, in one process", "time"),
            Sentence(f"about {round(self.queries):,}", "queries"),
        ]
        title = f"Attacks in turn, as measured around {self.sampled} points"
        return [*sentences, Table(title, columns, rows, limit=200)]


def plan_attacks(
    target: Target,
    epsilons: Sequence[float],
    *,
    p: float,
    constraints: Sequence[Constraint],
    attacks: Sequence[Attack] | None = None,
    effort: int = EFFORT,
    nearest: bool = False,
) -> AdversaryDryRun:
    """Return what attacks on a target would take; nothing is stored.

    Parameters
    ----------
    target
        The model and its points.
    epsilons, p, constraints, attacks, effort
        As in `worst_case`, with sizes as numbers.
    nearest
        Whether the nearest failures are searched for, up to the largest of these sizes.
    """
    ladder = sorted({epsilon for epsilon in epsilons if epsilon > 0})
    ladder = ladder[-1:] if nearest else ladder
    right = np.flatnonzero(target.right)
    regions: dict[Constraint, Region] = {}

    def choose(region: Region) -> Sequence[Attack]:
        """Return what would be run."""
        provers = [prover for prover in target.provers if prover.suits(region)]
        if nearest:
            return [*provers, *(attacks or [NearestSearch.of(effort)])]
        return attacks or [*provers, *choose_attacks(target.classifier, region, effort)]

    def work(size: int) -> list[Planned]:
        """Attack so many points, evenly spread, and scale counts to all of them."""
        rows = right[np.linspace(0, len(right) - 1, size).astype(np.int64)]
        planned = []
        for constraint in constraints:
            if constraint not in regions:
                regions[constraint] = target.make_region(p, max(ladder), constraint)
            scale = len(right) / size
            planned += _attack(target, regions[constraint], rows, ladder, choose, scale)
        return planned

    found: list[Planned] = []
    seconds, sampled = 0.0, 0
    if len(right) and ladder:
        found, times = time_on_more(work, min(_FEW, len(right)), len(right), _SECONDS)
        seconds, sampled = extrapolate(times, len(right)), max(times)
    return AdversaryDryRun(target.data.name, len(target.y), seconds, sampled, tuple(found))


def _attack(  # noqa: PLR0917  (inner part of one function)
    target: Target,
    base: Region,
    rows: IntArray,
    ladder: Sequence[float],
    choose: Callable[[Region], Sequence[Attack]],
    scale: float,
) -> list[Planned]:
    """Run attacks around these rows, in the order of `run_attacks`, and count."""
    planned, left = [], rows
    for epsilon in ladder:
        region = replace(base, epsilon=epsilon, labels=target.codes)
        left = rows if base.constraint == "genuine-exact" else left
        if prove_robust(target.one_nn, region):
            continue
        for attack in choose(region):
            if not (count := len(left)):
                break
            y, keys = target.y[left], target.keys[left]
            result = attack(target.classifier, region, left, y, keys)
            left, queries = left[~result.settles(epsilon)], result.queries
            planned.append(
                Planned(
                    target.classifier.name,
                    base.constraint,
                    epsilon,
                    attack.spec,
                    scale * count,
                    scale * queries,
                )
            )
    return planned
