r"""Stability: mean and CV of one model's accuracy over the sets of a suite, with intervals.

The CV is a function of the sets' accuracies :math:`a_s`, which are means over the same points, so
it can be linearised. Point i is classified correctly in a share :math:`y_{si}` of its draws in set
s, and has the value

.. math:: CV + \sum_s w_s y_{si}, \quad
          w_s = \frac{\partial CV}{\partial a_s} = \frac{1}{S \mu} \left(
          \frac{a_s - \mu}{\sigma} - \frac{\sigma}{\mu} \right), \quad \sum_s w_s a_s = 0

The limits are those of the mean of these values, with one imagined worst point (`imagine_worst`).

Chance adds to the spread: if all sets were equally hard, their accuracies would still differ, since
every set has its own draws. What chance adds to :math:`\sigma^2` follows from the points,

.. math:: B = \frac{1}{n} \frac{1}{S} \sum_s \mathrm{var}_i (y_{si} - \bar y_i)

The value is the published formula and includes this amount. The lower limit is computed from
:math:`\sigma^2 - B`, since the square is nearly linear, the upper limit from :math:`\sigma`. So the
interval contains the value and covers the CV of the true accuracies, also if that is 0. If the CV
is about as large as `floor`, the interval covers it more often than 95 %:
``benchmarks/results/cv_coverage.md``.

Over several runs, :math:`a_s` are means over runs, and so is the spread that belongs to the CV: the
interval is for all runs like these, and what chance adds is taken from the spread between runs if
this is larger,

.. math:: B = \frac{1}{R} \frac{1}{S} \sum_s \mathrm{var}_r (\bar y_{rs} - \bar y_r)

If all sets have the same accuracy, :math:`(a_s - \mu) / \sigma` is not defined. In its place are
the directions, with either sign, in which the sets' answers differ most; the widest limits count,
so they do not depend on the order of the sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Annotated, TypedDict

import numpy as np

from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.spec import display_name
from shaketable.core.types import FloatArray
from shaketable.evaluation.records import Records
from shaketable.findings.choosing import choose_suite_result
from shaketable.findings.mce.numbers import mean_error
from shaketable.findings.mcv.variation import Variation
from shaketable.findings.series import allow_for_looks
from shaketable.findings.suite_results import SuiteResult, meets_same_suite, share_suite_points
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate, EstimateJson, EstimateWithMethodJson
from shaketable.statistics.own_intervals import imagine_worst

_METHOD = "linearised CV, lower limit corrected for chance"
_compute_mean = partial(intervals.mean_of_values, imagine=imagine_worst)
_ROUNDING = 1e-12  # accuracies that differ by less are equal


class ExtremeSetJson(TypedDict):
    """The set with the lowest or highest accuracy."""

    set: str
    accuracy: float


class StabilityJson(TypedDict):
    """Mean accuracy of a model over the sets of a suite, and its variation."""

    mean: Annotated[EstimateJson, "Mean accuracy over the sets."]
    cv: EstimateWithMethodJson
    cv_by_chance: Annotated[float, "CV of a model with the same accuracy on all sets."]
    clean: EstimateJson
    least: ExtremeSetJson
    most: ExtremeSetJson
    sets: Annotated[dict[str, float], "Accuracy on every set."]


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """One model over the sets of a suite; numbers are fractions, except `variation.cv`."""

    result: SuiteResult

    @cached_property
    def shares(self) -> FloatArray:
        """Share of right answers, (sets, points), or (runs, sets, points)."""
        return self.result.shares()

    @cached_property
    def variation(self) -> Variation:
        """Accuracy on every set, by the set's name, and on clean points."""
        return make_variation(self.result)

    @cached_property
    def mean(self) -> Estimate:
        """Mean accuracy over all sets."""
        return mean_error(self.result).subtract_from(1)

    @cached_property
    def clean(self) -> Estimate:
        """Accuracy on clean points."""
        return self.result.series[0].on_clean.accuracy

    @cached_property
    def cv(self) -> Estimate:
        """Coefficient of variation over the sets, as a fraction."""
        return allow_for_looks(coefficient(self.shares), self.result.series[0].noisy)

    @cached_property
    def floor(self) -> float:
        """CV to expect by chance alone if all sets were equally hard, as a fraction."""
        return _linearise(self.shares)[0].floor

    def __str__(self) -> str:
        v = self.variation
        return (
            f"{self.result.first.model}: mean accuracy {self.mean}, CV {self.cv} "
            f"({self.floor:.3f} by chance alone); clean {v.clean:.3f}, from {v.least:.3f} "
            f"({v.lowest}) to {v.most:.3f} ({v.highest}) over {len(v.scores)} sets"
        )

    def json(self) -> StabilityJson:
        """Return all numbers in per cent; mean, CV and clean accuracy with intervals."""
        v = self.variation
        return {
            "mean": self.mean.json(),
            "cv": self.cv.json_with_method(),
            "cv_by_chance": 100 * self.floor,
            "clean": self.clean.json(),
            "least": {"set": v.lowest, "accuracy": 100 * v.least},
            "most": {"set": v.highest, "accuracy": 100 * v.most},
            "sets": {name: 100 * score for name, score in v.scores.items()},
        }


def make_variation(result: SuiteResult, *, label: str | None = None) -> Variation:
    """Return the accuracies of one model on all sets, as fractions, by the sets' names.

    They are means over runs. The label is by default the model's name.
    """
    names = [display_name(spec) for spec in result.specs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"sets of suite {result.suite.name!r} must have different names, got {name!r} "
                f"{names.count(name)} times; rename one (… as NAME)"
            )
    scores = map(float, _compute_accuracies(result.shares()))
    clean = float(np.mean([cell.accuracy for cell in result.series[0].clean]))
    label = result.first.model if label is None else label
    return Variation(label, dict(zip(names, scores, strict=True)), clean=clean)


def coefficient(shares: FloatArray, *, confidence: float = 0.95) -> Estimate:
    """CV over sets, as a fraction, from every point's share of right answers.

    `shares` has the shape (sets, points), with the same points in the same order in every set, or
    (runs, sets, points) for the CV of the means over runs; otherwise it is for a fixed model. With
    fewer than ten points the interval is not reliable: the CV is no longer nearly linear, and the
    upper limit can be too low.

    >>> right = np.array([[1] * 90 + [0] * 10, [1] * 80 + [0] * 20, [1] * 60 + [0] * 40])
    >>> print(coefficient(right))
    0.163 (95 % interval 0.076 to 0.225)
    """
    linearisations = _linearise(shares)
    cv, floor = linearisations[0].cv, linearisations[0].floor
    if shares.shape[-2] == 1:
        return _make_zero(confidence)
    estimates = [
        _compute_mean(a.values, low=a.low, high=a.high, confidence=confidence)
        for a in linearisations
    ]

    def limits(confidence: float, times: float, _: bool = True) -> tuple[float, float]:
        means = [e.again(confidence=confidence, times=times) for e in estimates]
        squared = cv**2 - floor**2 / times - 2 * cv * (cv - min(e.low for e in means))
        return math.sqrt(max(0.0, squared)), max(cv, *(e.high for e in means))

    method = f"{_METHOD}; {estimates[0].method}, {shares.shape[-2]} sets"
    return Estimate(cv, *limits(confidence, 1.0), confidence, method, limits)


def subtract_cvs(first: SuiteResult, second: SuiteResult) -> Estimate:
    """CV of the first model minus that of the second, as a fraction, paired by point and run.

    Positive: the first one varies more. Chance adds to either CV, and the limits allow for that, so
    two models that differ only by chance have an interval around 0.
    """
    if not meets_same_suite(first, second):
        raise InputError(
            "a difference needs two models evaluated under the same suite on the same points; "
            "evaluate both with the same data, suite, draws, k and seed"
        )
    first, second = share_suite_points(first, second)
    e = coefficient_difference(first.shares(), second.shares())
    return allow_for_looks(e, first.series[0].noisy, second.series[0].noisy)


def coefficient_difference(
    first: FloatArray, second: FloatArray, *, confidence: float = 0.95
) -> Estimate:
    """CV of the first minus that of the second, from two arrays as for `coefficient`.

    >>> steady = np.array([[1] * 90 + [0] * 10, [1] * 88 + [0] * 12])
    >>> unsteady = np.array([[1] * 90 + [0] * 10, [1] * 60 + [0] * 40])
    >>> print(coefficient_difference(unsteady, steady))
    0.189 (95 % interval 0.103 to 0.276)
    """
    all_first, all_second = _linearise(first), _linearise(second)
    value = all_first[0].cv - all_second[0].cv
    if first.shape[-2] == 1:
        return _make_zero(confidence)
    if len(all_first) > 1 and len(all_second) > 1:  # both CVs are 0, all directions are possible
        both = [coefficient(shares, confidence=confidence) for shares in (first, second)]

        def reach(confidence: float, times: float, _: bool = True) -> tuple[float, float]:
            total = sum(e.again(confidence=confidence, times=times).high for e in both)
            return -total, total

        ends = reach(confidence, 1.0)
        return Estimate(0.0, *ends, confidence, both[0].method, reach)
    estimates = [
        _compute_mean(
            a.values - b.values, low=a.low - b.high, high=a.high - b.low, confidence=confidence
        )
        for a, b in product(all_first, all_second)
    ]

    def limits(confidence: float, times: float, _: bool = True) -> tuple[float, float]:
        means = [e.again(confidence=confidence, times=times) for e in estimates]
        low = min(value, *(e.low for e in means)) - all_first[0].compute_excess(times)
        return low, max(value, *(e.high for e in means)) + all_second[0].compute_excess(times)

    method = f"{_METHOD}, paired by point; {estimates[0].method}, {first.shape[-2]} sets"
    return Estimate(value, *limits(confidence, 1.0), confidence, method, limits)


@dataclass(frozen=True, eq=False)
class _Linearisation:
    """The CV as the mean of one value per point."""

    cv: float
    values: FloatArray
    low: float
    """Lowest value that a point can have."""
    high: float
    """Highest value that a point can have."""
    floor: float
    """CV to expect by chance alone if all sets were equally hard."""

    def compute_excess(self, times: float) -> float:
        """Part of the CV that may be due to chance, with `times` as many points."""
        squared = self.cv**2 - self.floor**2 / times
        # the root of a rounding error would be far larger than the error
        return self.cv - (math.sqrt(squared) if squared > _ROUNDING * self.cv**2 else 0.0)


def _make_zero(confidence: float) -> Estimate:
    """Return the CV over one set, however many points there are."""
    return Estimate(0.0, 0.0, 0.0, confidence, "one set does not vary", lambda *_: (0.0, 0.0))


def _linearise(shares: FloatArray) -> list[_Linearisation]:
    """Return the linearised CV, once per direction if all sets have the same accuracy."""
    sets, n = shares.shape[-2], shares.shape[-1]
    accuracies = _compute_accuracies(shares)
    mu = float(accuracies.mean())
    if not mu > 0:
        raise UndefinedError(
            "CV is undefined at a mean accuracy of 0; check that the model's labels are the data's"
        )
    # a point's mean over all sets does not contribute to the spread between sets
    own = shares - shares.mean(axis=-2, keepdims=True)
    residual = own - own.mean(axis=-1, keepdims=True)
    n_runs = shares.size // (sets * n)
    chance = float((residual**2).sum()) / (sets * n_runs**2 * n * max(n - 1, 1))
    if n_runs > 1:
        chance = max(chance, float(own.mean(axis=-1).var(axis=0, ddof=1).mean()) / n_runs)
        residual = np.moveaxis(residual, 0, 1).reshape(sets, -1)
    floor = math.sqrt(chance) / mu
    sigma = float(accuracies.std()) if np.ptp(accuracies) > _ROUNDING else 0.0
    cv = sigma / mu
    directions = [(accuracies - mu) / sigma] if sigma else _find_widest(residual)
    linearisations = []
    for direction in directions:
        weights = (direction - cv) / (sets * mu)
        low, high = (cv + float(part(weights, 0).sum()) for part in (np.minimum, np.maximum))
        if len(directions) > 2:  # any direction of a space: no value of any of them is beyond these
            low, high = -0.5 / mu, 0.5 / mu
        linearisations.append(_Linearisation(cv, cv + weights @ shares, low, high, floor))
    return linearisations


def _compute_accuracies(shares: FloatArray) -> FloatArray:
    """Return the accuracy on every set, over all points and runs."""
    return np.asarray(shares.mean(axis=-1).reshape(-1, shares.shape[-2]).mean(axis=0))


def _find_widest(residual: FloatArray) -> list[FloatArray]:
    """Return directions of the widest spread, in which sets of equal accuracy may differ most.

    Each comes with both signs. If the spread is equally wide in all directions of a space, they are
    the projections of the sets' axes on this space, which do not depend on the order of the sets.
    Without any spread one direction sets half of the sets against the other half.
    """
    sets = len(residual)
    if sets == 1:
        return [np.zeros(1)]
    if np.abs(residual).max() > _ROUNDING:
        sizes, vectors = np.linalg.eigh(residual @ residual.T)
        space = vectors[:, sizes >= sizes[-1] * (1 - 1e-9)]
        directions = space.T if space.shape[1] == 1 else space @ space.T
    else:
        directions = np.sign(np.arange(sets) - (sets - 1) / 2)[None]
    lengths = np.sqrt((directions**2).mean(axis=1))
    directions = directions[lengths > 1e-4] / lengths[lengths > 1e-4, None]
    return [*directions, *-directions]


def mcv(records: Records | SuiteResult) -> Stability:
    r"""mCV: mean accuracy over all sets of a suite, and how much it varies from set to set (CV).

    .. math:: \mu = \frac{1}{S} \sum_s a_s, \quad
              CV = \frac{1}{\mu} \sqrt{\frac{1}{S} \sum_s (a_s - \mu)^2}

    Dai & Berleant (2022), Eq. 1 to 4, as fractions; over runs, of the mean accuracies. Mean and CV
    have intervals; the clean, the lowest and the highest accuracy are included. A low CV means
    steady, not good.

    Parameters
    ----------
    records
        Of one model under a suite of sets, or its result.

    Returns
    -------
    Stability
        Mean and CV, with their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(200, 2))
    >>> suite = st.grid(["gaussian(0.05)", "gaussian(0.2)"], ["scaling(1.1)"])
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.5), suite)
    >>> print(st.metrics.mcv(records).cv)
    0.0638 (95 % interval 0.0366 to 0.0835)
    """
    return Stability(choose_suite_result(records, "mcv"))


def cv_difference(first: Records | SuiteResult, second: Records | SuiteResult) -> Estimate:
    """CV of the first model over a suite's sets minus that of the second, paired.

    Positive: the first one varies more.

    Parameters
    ----------
    first, second
        Records, or results, of one model each under the same suite.

    Returns
    -------
    Estimate
        The difference, with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import shaketable as st
    >>> x = np.random.default_rng(0).uniform(size=(200, 2))
    >>> suite = st.grid(["gaussian(0.05)", "gaussian(0.2)"], ["scaling(1.1)"])
    >>> models = {"a": lambda x: x[:, 0] > 0.5, "b": lambda x: x[:, 0] > 0.6}
    >>> records = st.evaluate(models, (x, x[:, 0] > 0.5), suite)
    >>> a, b = (records.select(model=name) for name in "ab")
    >>> print(st.metrics.cv_difference(a, b))
    0.0113 (95 % interval -0.0154 to 0.0393)
    """
    return subtract_cvs(*(choose_suite_result(r, "mcv") for r in (first, second)))
