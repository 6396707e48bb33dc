r"""Stability: mean and CV of one fitted model's accuracy over the sets of a suite, with intervals.

The CV is a function of the sets' accuracies :math:`a_s`, each a mean over the same points, so it is
linearised: point i, right in a share :math:`y_{si}` of its draws in set s, has the value

.. math:: CV + \sum_s w_s y_{si}, \quad
          w_s = \frac{\partial CV}{\partial a_s} = \frac{1}{S \mu} \left(
          \frac{a_s - \mu}{\sigma} - \frac{\sigma}{\mu} \right), \quad \sum_s w_s a_s = 0

and the limits are those of a mean of such values, with an imagined worst point (`limits`).

But chance adds to the spread: were all sets equally hard, accuracies would still differ, since each
set has draws of its own. What it adds to :math:`\sigma^2` is known from the points,

.. math:: B = \frac{1}{n} \frac{1}{S} \sum_s \mathrm{var}_i (y_{si} - \bar y_i)

The value is the published formula and keeps it; the lower limit is taken from
:math:`\sigma^2 - B`, on the scale of the square, where it is nearly linear, and the upper one from
:math:`\sigma`. So the interval holds the value, and covers the CV of the true accuracies for any
size of it, 0 included; where the CV is about the size of `floor`, it covers more often than it
says. ``benchmarks/results/cv_coverage.md`` has the figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import display_name
from shaketable.core.types import FloatArray
from shaketable.findings.mcv.variation import Variation
from shaketable.findings.suite_results import SuiteResult, meets_same_suite
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

_METHOD = "CV linearised, its lower limit free of what chance adds"


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """One fitted model over the sets of a suite; all as fractions, but for the variation's CV."""

    result: SuiteResult

    @cached_property
    def shares(self) -> FloatArray:
        """Share of right answers, (sets, points)."""
        return self.result.shares()

    @cached_property
    def variation(self) -> Variation:
        """Accuracy on every set, by the set's name, and on clean points."""
        return variation_of(self.result)

    @cached_property
    def mean(self) -> Estimate:
        """Mean accuracy over all sets."""
        _, (errors,) = self.result.errors()
        draws = self.result.draws
        estimate = intervals.mean_share(draws - errors, draws)
        return replace(estimate, method=f"{self.result.method}; {estimate.method}")

    @cached_property
    def clean(self) -> Estimate:
        """Accuracy on clean points."""
        return intervals.mean_share(self.result.series[0].on_clean.first.hits, 1)

    @cached_property
    def cv(self) -> Estimate:
        """Coefficient of variation over the sets, as a fraction."""
        return coefficient(self.shares)

    @cached_property
    def floor(self) -> float:
        """CV that chance alone would show if all sets were equally hard, as a fraction."""
        return _Linearised.of(self.shares).floor

    def __str__(self) -> str:
        v = self.variation
        return (
            f"{self.result.first.model}: mean accuracy {self.mean}, CV {self.cv}, of which chance "
            f"alone would show {self.floor:.3f}; clean {v.clean:.3f}, from {v.least:.3f} "
            f"({v.lowest}) to {v.most:.3f} ({v.highest}) over {len(v.scores)} sets"
        )

    def json(self) -> dict[str, Any]:
        """Numbers in per cent; intervals where they are told."""
        v = self.variation
        return {
            "mean": self.mean.json(),
            "cv": {**self.cv.json(), "method": self.cv.method},
            "cv_by_chance": 100 * self.floor,
            "clean": self.clean.json(),
            "least": {"set": v.lowest, "accuracy": 100 * v.least},
            "most": {"set": v.highest, "accuracy": 100 * v.most},
            "sets": {name: 100 * score for name, score in v.scores.items()},
        }


def variation_of(result: SuiteResult, *, label: str | None = None) -> Variation:
    """Accuracies of one fitted model on the sets of a suite, as fractions, by the sets' names."""
    names = [display_name(spec) for spec in result.specs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"sets of suite {result.suite.name!r} must have names of their own, got {name!r} "
                f"{names.count(name)} times; rename one (… as NAME)"
            )
    scores = map(float, result.shares().mean(axis=1))
    clean = result.series[0].clean[0].accuracy
    label = result.first.model if label is None else label
    return Variation(label, dict(zip(names, scores, strict=True)), clean=clean)


def coefficient(shares: FloatArray, *, confidence: float = 0.95) -> Estimate:
    """CV over sets for a fixed model, as a fraction, from every point's share of right answers.

    `shares` has the shape (sets, points): the same points, in the same order, in every set. With
    fewer than ten points the interval cannot hold: the CV is no longer near linear in them, and the
    upper limit can be too low.

    >>> right = np.array([[1] * 90 + [0] * 10, [1] * 80 + [0] * 20, [1] * 60 + [0] * 40])
    >>> print(coefficient(right))
    0.163 (95 % interval 0.076 to 0.225)
    """
    at = _Linearised.of(shares)
    if len(shares) == 1:
        return Estimate(0.0, 0.0, 0.0, confidence, "one set does not vary")
    e = intervals.mean_of_values(at.values, low=at.low, high=at.high, confidence=confidence)
    squared = at.cv**2 - at.floor**2 - 2 * at.cv * (at.cv - e.low)
    low, method = math.sqrt(max(0.0, squared)), f"{_METHOD}; {e.method}, {len(shares)} sets"
    return Estimate(at.cv, low, max(e.high, at.cv), confidence, method)


def cv_difference(first: SuiteResult, second: SuiteResult) -> Estimate:
    """CV of the first fitted model minus that of the second, as a fraction, paired by point.

    Positive: the first one varies more. Chance may have added to either CV, so the limits allow for
    it; two models that are alike but for chance are not told apart by it.
    """
    if not meets_same_suite(first, second):
        raise InputError(
            "a difference needs two models that met the same suite on the same points; evaluate "
            "both with the same data, suite, draws, k and seed"
        )
    return coefficient_difference(first.shares(), second.shares())


def coefficient_difference(
    first: FloatArray, second: FloatArray, *, confidence: float = 0.95
) -> Estimate:
    """CV of the first minus that of the second, from two tables such as `coefficient` takes.

    >>> steady = np.array([[1] * 90 + [0] * 10, [1] * 88 + [0] * 12])
    >>> shaky = np.array([[1] * 90 + [0] * 10, [1] * 60 + [0] * 40])
    >>> print(coefficient_difference(shaky, steady))
    0.189 (95 % interval 0.103 to 0.276)
    """
    a, b = _Linearised.of(first), _Linearised.of(second)
    value = a.cv - b.cv
    if len(first) == 1:
        return Estimate(0.0, 0.0, 0.0, confidence, "one set does not vary")
    e = intervals.mean_of_values(
        a.values - b.values, low=a.low - b.high, high=a.high - b.low, confidence=confidence
    )
    low, high = min(e.low, value) - a.excess, max(e.high, value) + b.excess
    method = f"{_METHOD}, paired by point; {e.method}, {len(first)} sets"
    return Estimate(value, low, high, confidence, method)


@dataclass(frozen=True, eq=False)
class _Linearised:
    """CV as the mean of one value a point, the ends of their range, and what chance adds."""

    cv: float
    values: FloatArray
    low: float
    high: float
    floor: float

    @property
    def excess(self) -> float:
        """How much of the CV chance may have added."""
        return self.cv - math.sqrt(max(0.0, self.cv**2 - self.floor**2))

    @classmethod
    def of(cls, shares: FloatArray) -> _Linearised:
        sets, n = shares.shape
        accuracies = shares.mean(axis=1)
        mu = float(accuracies.mean())
        if not mu > 0:
            raise UndefinedError(
                "CV is undefined at a mean accuracy of 0: nothing varies; check that the model's "
                "labels are the data's"
            )
        # a point's own level is the same in all sets, and no part of the spread between them
        own = shares - shares.mean(axis=0)
        residual = own - own.mean(axis=1, keepdims=True)
        chance = float((residual**2).sum()) / (sets * n * max(n - 1, 1))
        sigma = float(accuracies.std()) if np.ptp(accuracies) > 0 else 0.0
        direction = (accuracies - mu) / sigma if sigma else _widest(residual)
        cv = sigma / mu
        weights = (direction - cv) / (sets * mu)
        low, high = (cv + float(part(weights, 0).sum()) for part in (np.minimum, np.maximum))
        return cls(cv, cv + weights @ shares, low, high, math.sqrt(chance) / mu)


def _widest(residual: FloatArray) -> FloatArray:
    """Direction in which sets of equal accuracy most likely differ: that of the widest spread.

    Where all points are alike in all sets: half of the sets against the other half.
    """
    sets = len(residual)
    if residual.any():
        direction = np.linalg.eigh(residual @ residual.T).eigenvectors[:, -1]
    else:
        direction = np.sign(np.arange(sets) - (sets - 1) / 2)
    size = math.sqrt(float((direction**2).mean()))
    return np.asarray(direction / size if size > 0 else direction)
