"""Other results of the same models at the same points, for the picture of the worst case.

Accuracy under random noise, the share of points that fail rarely, and certificates by smoothing, as
far as a results file holds them in the same norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shaketable.adversary.smoothing.finding import restore
from shaketable.core.errors import InputError
from shaketable.corruptions import PNormNoise, parse
from shaketable.evaluation.certificate_record import CertificateRecord
from shaketable.evaluation.rare_record import RareRecord
from shaketable.evaluation.records import Record, Records
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

if TYPE_CHECKING:
    from shaketable.adversary.curve import Curve

RANDOM = "random noise"
"""Name of the accuracy under random noise of the same size."""

RARE = 1e-6
"""Probability of a wrong answer that points with rare failures have at most."""


@dataclass(frozen=True, eq=False)
class Line:
    """Shares of points by epsilon, of one kind."""

    name: str
    by_epsilon: Mapping[float, Estimate]


def list_lines(records: Records, curve: Curve) -> list[Line]:
    """Return what records hold on the model of a curve beside it, the most frequent faults first.

    Parameters
    ----------
    records
        Records of any models and data.
    curve
        One of the model's curves.
    """
    p = curve.accuracies[0].p
    sizes = [a.epsilon for a in curve]
    noisy = {
        size: intervals.mean_share(r.hits, r.k)
        for r in records.cells
        if r.run == 0
        and _is_about(curve, r.model, r)
        and (size := _read_size(r.corruption, p)) is not None
    }
    rare: dict[float, Estimate] = {}
    for r in records.rare:
        size = _read_size(r.corruption, p)
        if size is not None and _is_about(curve, r.model, r):
            below, _, _ = r.risks.count_above(RARE)
            rare[size] = intervals.proportion(below, len(r.value))
    lines = [Line(RANDOM, noisy), Line(f"wrong at most {RARE:g} of the time", rare)]
    for kept in records.certificates:
        if _is_about(curve, kept.inside, kept):
            found = restore(kept)
            shares = dict(zip(sizes, found.curve(sizes, p), strict=True))
            lines.append(Line(f"smoothed {kept.sigma:g}, certified", shares))
    return [line for line in lines if line.by_epsilon]


def _is_about(curve: Curve, model: str, r: Record | RareRecord | CertificateRecord) -> bool:
    """Whether a record is about the model of a curve at the same points, in any order."""
    about = curve.attacked
    return (
        (model, r.fingerprint) == (about.model, about.fingerprint)
        and len(r.points.rows) == len(about.rows)
        and bool((np.sort(r.points.rows) == about.rows).all())
    )


def _read_size(spec: str, p: float) -> float | None:
    """Size of noise uniform in the ball of this norm; None of everything else."""
    try:
        noise = parse(spec)
    except InputError:  # of a package that is not here
        return None
    if not isinstance(noise, PNormNoise) or noise.p != p or noise.kind != "ball":
        return None
    return float(noise.epsilon)
