"""Probabilities of rare failures of models, from records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from shaketable.core.types import IntArray
from shaketable.evaluation.rare_record import RareRecord
from shaketable.evaluation.records import Records
from shaketable.findings.choosing import list_ways
from shaketable.findings.subjects import distinguish
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.statistics.independent import subtract_independent
from shaketable.statistics.rare import PointRisks


@dataclass(frozen=True, eq=False)
class RareRisk:
    """The probability of a wrong answer of one model under one corruption."""

    label: str
    """The model; unique among those on record."""
    record: RareRecord

    @cached_property
    def risks(self) -> PointRisks:
        """Of every point."""
        return self.record.risks

    @cached_property
    def mean(self) -> Estimate:
        """Over the points."""
        return self.risks.mean

    @cached_property
    def highest(self) -> Estimate:
        """Of the point where it is highest, with a bound for all points at once."""
        return self.risks.highest

    @property
    def queries(self) -> int:
        """Answers of the model that it took."""
        return int(self.record.queries.sum())

    @cached_property
    def worst(self) -> IntArray:
        """Places of the points, those with the highest probability first."""
        _, high = self.risks.limits(0.025)
        return np.lexsort((-high, -self.risks.value))

    def decide(self, limit: float) -> Literal["met", "not met", "inconclusive"]:
        """Return whether the mean is shown to be at most at a limit, or above it."""
        if self.mean.high <= limit:
            return "met"
        return "not met" if self.mean.low > limit else "inconclusive"

    def is_under(self, spec: str, records: Records) -> bool:
        """Whether it is about a corruption, given as a spec; eps_min is that of the data."""
        known = {s.norm: s for s in records.separations if s.fingerprint == self.record.fingerprint}
        return self.record.corruption in list_ways(spec, lambda p: known[p].epsilon_min)


def list_risks(records: Sequence[RareRecord]) -> list[RareRisk]:
    """Return the probabilities on record, in their order, with a label for every model."""
    models = dict.fromkeys((r.model, r.model_id, r.data, r.fingerprint) for r in records)
    facts = [{"data": data} for _, _, data, _ in models]
    labels = dict(zip(models, distinguish([name for name, *_ in models], facts), strict=True))
    return [RareRisk(labels[r.model, r.model_id, r.data, r.fingerprint], r) for r in records]


def compare(risks: Sequence[RareRisk]) -> list[tuple[str, Difference]]:
    """Return every noise with the differences of the means of every two models under it.

    Their intervals are those of independent estimates. Models start from the same noise, so the
    differences vary less, if anything.
    """
    return [
        (
            a.record.corruption,
            Difference(
                a.label, b.label, subtract_independent(a.mean, b.mean), "fails less often", True
            ),
        )
        for a, b in combinations(risks, 2)
        if a.label != b.label and get_setting(a) == get_setting(b)
    ]


def get_setting(risk: RareRisk) -> tuple[str, ...]:
    """Return what two models must share to be under the same noise."""
    r = risk.record
    return r.fingerprint, r.points.id, r.corruption, r.bounds
