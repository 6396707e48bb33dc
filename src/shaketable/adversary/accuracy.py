"""Adversarial accuracy, standard and genuine, with the evidence behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypedDict, cast

import numpy as np

from shaketable.adversary.region import Constraint
from shaketable.core.errors import UndefinedError
from shaketable.core.norms import NormJson, norm_title, norm_to_json, pnorm
from shaketable.core.schemas import NotesJson
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Dataset
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate, EstimateJson

TITLES: dict[Constraint, str] = {
    "none": "standard adversarial accuracy",
    "genuine-max": "genuine adversarial accuracy, up to epsilon",
    "genuine-exact": "genuine adversarial accuracy, exactly epsilon",
}
"""Name of the adversarial accuracy under each constraint."""


class TrialJson(TypedDict):
    """One run of an attack."""

    spec: str
    tried: int
    found: int
    queries: int
    covers: str


class AdversarialAccuracyJson(TypedDict):
    """Adversarial accuracy in per cent, and the evidence behind it."""

    constraint: str
    norm: NormJson
    epsilon: float
    mean: float | None
    low: float | None
    high: float | None
    n: int
    share: Annotated[float, "Share of the points whose regions are not empty, in per cent."]
    share_is_exact: bool
    proven: Annotated[str | None, "Why the accuracy is exact; null if it is an upper bound."]
    lower: Annotated[
        EstimateJson | None, "Share of points that are proven to withstand, in per cent."
    ]
    bound: str
    found: Annotated[int, "Number of adversarial examples."]
    queries: int
    trials: list[TrialJson]
    notes: NotesJson


@dataclass(frozen=True)
class Trial:
    """One run of an attack."""

    spec: str
    tried: int
    """Points it was run on: those that no earlier attack had misclassified."""
    found: int
    """Points for which it found a misclassified one."""
    queries: int
    """Points that the model was asked about."""
    covers: str = ""
    """How closely the attack searched the whole region, in words; empty if it did not."""

    def json(self) -> TrialJson:
        """Trial as a JSON object."""
        return cast(TrialJson, {**vars(self)})


@dataclass(frozen=True, eq=False)
class Examples:
    """Adversarial examples: points that are misclassified, and the rows they belong to."""

    rows: IntArray
    """Rows of the data."""
    moved: Array
    """Adversarial points as the model takes them, one per row."""
    codes: IntArray
    """Class codes that the model gives them."""

    def __len__(self) -> int:
        return len(self.rows)

    def distances(self, data: Dataset, p: float) -> FloatArray:
        """Distances from the rows' own points."""
        return pnorm(self.steps(data), p)

    def measure(self, data: Dataset | None, p: float) -> FloatArray | None:
        """Distances from the rows' own points; None where neither data nor file tells them."""
        return None if data is None else self.distances(data, p)

    def steps(self, data: Dataset) -> FloatArray:
        """How far every number moved, one row per example; missing values do not move."""
        step = self.moved.astype(np.float64) - data.rows(self.rows)
        step = step if data.table is None else np.nan_to_num(step)
        return step.reshape(len(self), data.d)

    def choose(self, places: IntArray) -> Examples:
        """Return some of them."""
        return Examples(self.rows[places], self.moved[places], self.codes[places])


@dataclass(frozen=True, eq=False)
class KeptExamples(Examples):
    """Examples from a results file, which holds no points; `moved` is empty."""

    away: FloatArray | None
    """Their distances from the rows' own points."""
    nearest: IntArray | None
    """Places of those whose steps are kept."""
    kept_steps: FloatArray | None

    def measure(self, data: Dataset | None, p: float) -> FloatArray | None:  # noqa: ARG002
        """Distances from the rows' own points, as the file has them."""
        return self.away

    def draw(self, data: Dataset) -> Examples | None:
        """Return the nearest examples; None where their steps are not kept."""
        if self.nearest is None or self.kept_steps is None:
            return None
        rows = self.rows[self.nearest]
        x = data.rows(rows)
        moved = x + self.kept_steps.reshape(x.shape)
        return Examples(rows, moved.astype(x.dtype), self.codes[self.nearest])


@dataclass(frozen=True, eq=False, repr=False)
class AdversarialAccuracy:
    """Share of points that a fixed model labels correctly throughout their regions.

    Attacks may miss misclassified points, so it is an upper bound, unless `proven` says why nothing
    is left to find.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.9]], [False, True]
    >>> found = st.adversary.adversarial_accuracy(lambda x: x[:, 0] > 0.5, *data, epsilon=0.35)
    >>> float(found.value), sorted(found.json())[:2]
    (0.5, ['bound', 'constraint'])
    >>> found.describe_bound(100)[:31]
    'an upper bound: cover(resolutio'
    """

    p: float
    epsilon: float
    constraint: Constraint
    withstood: Array
    """For every evaluated point whether no misclassified point of its region is known."""
    remains: Array
    """For every point whether its region is not empty; the others are left out."""
    remains_exactly: bool
    """Whether `remains` is exact; else it marks the points whose region was found not empty."""
    examples: Examples
    trials: tuple[Trial, ...]
    proven: str = ""
    """Why the accuracy is exact; empty if it is an upper bound."""
    notes: tuple[str, ...] = ()
    proven_to: FloatArray = field(default_factory=lambda: np.zeros(0))
    """For every point a distance up to which it is proven that none of its region is misclassified;
    0 where nothing is proven, empty where nothing is proven of any point."""

    @property
    def n(self) -> int:
        """Number of points that the accuracy is a share of."""
        return int(self.remains.sum())

    @property
    def share(self) -> float:
        """Share of all points whose region is not empty."""
        return float(self.remains.mean())

    @cached_property
    def estimate(self) -> Estimate:
        """The accuracy with its 95 % interval, for new points of the same distribution."""
        if not self.n:
            raise UndefinedError(
                f"{self.title} is undefined at epsilon {self.epsilon:g}: every point at that "
                "distance is closer to another one; take a smaller epsilon"
            )
        return intervals.proportion(int(self.withstood[self.remains].sum()), self.n)

    @property
    def settled(self) -> Array:
        """For every evaluated point whether it is proven to withstand."""
        if self.proven:
            return self.withstood
        if not len(self.proven_to):
            return np.zeros(len(self.withstood), bool)
        return np.asarray((self.proven_to >= self.epsilon) & self.withstood)

    @cached_property
    def lower(self) -> Estimate:
        """Share of points that are proven to withstand, of which the accuracy is at least this."""
        return intervals.proportion(int(self.settled[self.remains].sum()), self.n)

    @property
    def value(self) -> float:
        """The accuracy."""
        return self.estimate.value

    @property
    def low(self) -> float:
        """Lower end of its 95 % interval."""
        return self.estimate.low

    @property
    def high(self) -> float:
        """Upper end of its 95 % interval."""
        return self.estimate.high

    @property
    def queries(self) -> int:
        """Points that the model was asked about, over all attacks."""
        return sum(trial.queries for trial in self.trials)

    @property
    def title(self) -> str:
        """Full name, such as ``standard adversarial accuracy``."""
        return TITLES[self.constraint]

    @property
    def name(self) -> str:
        """Short name: ``standard`` or the constraint."""
        return "standard" if self.constraint == "none" else self.constraint

    @property
    def bound(self) -> str:
        """Whether the accuracy is proven or an upper bound, and why."""
        return f"proven: {self.proven}" if self.proven else self.describe_bound(self.queries)

    def describe_bound(self, queries: int, names: str = "") -> str:
        """The attacks and the number of queries behind the upper bound.

        Parameters
        ----------
        queries
            Number of queries.
        names
            The attacks; by default those of this epsilon.

        Returns
        -------
        str
            A part of a sentence.
        """
        names = names or ", ".join(trial.spec for trial in self.trials) or "nothing"
        of = "" if self.remains_exactly else " for the points found to have room"
        bound = f"an upper bound{of}: {names} found no more in {queries:,} queries"
        return "; ".join([bound, *(trial.covers for trial in self.trials if trial.covers)])

    def __repr__(self) -> str:
        return f"<{self}>" if self.n else f"<{self.title}: no point has room>"

    def __str__(self) -> str:
        left = "" if self.remains.all() else f", {self.n} of {len(self.remains)} points have room"
        return (
            f"{self.title} {self.estimate} under {norm_title(self.p)} epsilon {self.epsilon:g}"
            f"{left}; {self.bound}"
        )

    def json(self) -> AdversarialAccuracyJson:
        """Accuracy and evidence as a JSON object; accuracies are percentages.

        Returns
        -------
        dict
            Keys as in ``shaketable adversary --json``.
        """
        estimate = self.estimate.json() if self.n else None
        return {
            "constraint": self.constraint,
            "norm": norm_to_json(self.p),
            "epsilon": self.epsilon,
            "mean": estimate and estimate["mean"],
            "low": estimate and estimate["low"],
            "high": estimate and estimate["high"],
            "n": self.n,
            "share": 100 * self.share,
            "share_is_exact": self.remains_exactly,
            "proven": self.proven or None,
            "lower": self.lower.json() if self.n else None,
            "bound": self.bound,
            "found": len(self.examples),
            "queries": self.queries,
            "trials": [trial.json() for trial in self.trials],
            "notes": list(self.notes),
        }


def find_doubt(
    a: AdversarialAccuracy, b: AdversarialAccuracy, trials: Sequence[Sequence[Trial]]
) -> str:
    """Why a difference does not show which model is better: one was attacked less hard.

    `trials` are those of both models at any epsilon, which count where there are none at this one.
    """
    better = max(a, b, key=lambda accuracy: (accuracy.value, bool(accuracy.proven)))
    ran = (one.trials or every for one, every in zip((a, b), trials, strict=True))
    specs = [[trial.spec for trial in each] for each in ran]
    alike = all(first == second for first, second in zip(*specs, strict=False))
    return "" if better.proven or alike else "attacked by other means: not comparable"
