"""Attacks on a smoothed model: what they find for its vote, confirmed with noise drawn anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.adversary.attacks.random_search import RandomSearch
from shaketable.adversary.attacks.rays import RayBisection
from shaketable.adversary.attacks.registry import Attacks
from shaketable.adversary.curve import compute_curve
from shaketable.adversary.region import Region
from shaketable.adversary.smoothing.model import Vote
from shaketable.adversary.smoothing.numbers import Refuted
from shaketable.adversary.target import Target
from shaketable.core.arrays import Parts
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.norms import pnorm
from shaketable.core.types import Array, BoolArray, FloatArray, IntArray

_QUERIES = 100
"""Queries of the default attacks, per point; each is a vote."""

_COPIES = 1 << 19
"""Noisy copies whose keys are in memory at a time."""


def refute(
    target: Target,
    epsilons: Sequence[float],
    *,
    p: float,
    draws: int,
    confidence: float,
    attacks: Attacks,
    keep: Parts | None = None,
    progress: bool = False,
) -> Iterator[Refuted]:
    """Yield what is refuted at every epsilon, the smallest first; see `Certificates.attack`."""
    attacks = attacks or [RandomSearch(_QUERIES // 4), RayBisection(_QUERIES)]
    curve = compute_curve(target, epsilons, norm=p, attacks=attacks, keep=keep, progress=progress)
    base = target.make_region(p, max(epsilons), "none")
    refuted = np.zeros(len(target.y), bool)
    level = (1 - confidence) / len(epsilons)
    for accuracy in curve:
        rows, found = choose_candidates(target, base, accuracy)
        new = ~refuted[rows]
        refuted[rows[new]] = are_wrong(target, rows[new], found[new], draws, level)
        attacked = tuple(trial.spec for trial in accuracy.trials)
        unconfirmed = int((~refuted[rows]).sum())
        yield Refuted(accuracy.epsilon, refuted.copy(), unconfirmed, attacked)


def choose_candidates(
    target: Target, base: Region, accuracy: AdversarialAccuracy
) -> tuple[IntArray, Array]:
    """Places of points at which the vote can be made wrong, and the points where it is.

    What attacks find lies just behind the boundary, where no number of draws shows much. So it is
    moved on along its ray to the surface of the ball, where the vote is wrong there, too.
    """
    wrong = np.flatnonzero(~target.right)
    rows = np.searchsorted(target.rows, accuracy.examples.rows)
    region = replace(base, epsilon=accuracy.epsilon)
    near = region.extract(accuracy.examples.moved).astype(np.float64)
    step = near - base.x[rows]
    length = pnorm(step, base.p)
    factor = accuracy.epsilon / np.where(length > 0, length, 1)
    far = region.project(rows, base.x[rows] + step * factor[:, None])
    far_points = region.round_for_model(rows, far)
    is_wrong = target.predict(far_points) != target.y[rows]
    moved = accuracy.examples.moved.copy()
    moved[is_wrong] = far_points[is_wrong]
    return np.concatenate([wrong, rows]), np.concatenate([target.points[wrong], moved])


def are_wrong(target: Target, rows: IntArray, points: Array, draws: int, level: float) -> BoolArray:
    """Whether it is shown that the smoothed model answers wrongly at points.

    If its answer were right, the right class would be at least as probable as any other. Of the
    draws that give one of the two, at most half would then give the wrong one: an exact binomial
    test of the class that the vote gives there against the right one.
    """
    vote = target.classifier.answer
    assert isinstance(vote, Vote), "the target is a smoothed model"
    codes, y = target.predict(points), target.y[rows]
    stream = digest("refuting", SCHEME, target.data.fingerprint, target.seed)
    shown = np.zeros(len(rows), bool)
    size = max(1, _COPIES // draws)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        keys = row_keys(stream, target.rows[rows[part]], np.arange(draws))
        votes = vote.count_answers(points[part], keys)
        every = np.arange(len(votes))
        shown[part] = find_p_values(votes[every, codes[part]], votes[every, y[part]]) <= level
    return shown


def find_p_values(wrong: IntArray, right: IntArray) -> FloatArray:
    """Probability of so many wrong ones among those of both, or more, if half are expected.

    >>> find_p_values(np.array([0, 8]), np.array([3, 2])).round(4)
    array([1.    , 0.0547])
    """
    tail = special.betainc(np.maximum(wrong, 1), right + 1, 0.5)
    return np.asarray(np.where(wrong > 0, tail, 1.0))
