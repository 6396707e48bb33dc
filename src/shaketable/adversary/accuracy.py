"""Adversarial accuracy, standard and genuine, with the evidence that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shaketable.adversary.region import Constraint
from shaketable.core.errors import UndefinedError
from shaketable.core.norms import norm_title, pnorm
from shaketable.core.types import Array, FloatArray, IntArray
from shaketable.data.dataset import Dataset
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate

TITLES: dict[Constraint, str] = {
    "none": "standard adversarial accuracy",
    "genuine-max": "genuine adversarial accuracy, up to epsilon",
    "genuine-exact": "genuine adversarial accuracy, exactly epsilon",
}
"""Measures as people know them."""


@dataclass(frozen=True)
class Trial:
    """What one attack did."""

    spec: str
    tried: int
    """Points it was let loose on: those that no attack before it had hit."""
    found: int
    queries: int
    covers: str = ""
    """What an attack that looks everywhere says of how closely it looked."""

    def json(self) -> dict[str, Any]:
        """Trial as an object."""
        return vars(self) | {}


@dataclass(frozen=True, eq=False)
class Examples:
    """Adversarial examples that were found: which point, where, and what the model says there."""

    rows: IntArray
    """Rows of the data."""
    moved: Array
    """Points as the model takes them, one for each of these rows."""
    codes: IntArray
    """Class codes that the model gives them."""

    def __len__(self) -> int:
        return len(self.rows)

    def distances(self, data: Dataset, p: float) -> FloatArray:
        """How far they are from their points."""
        step = self.moved.astype(np.float64) - data.rows(self.rows)
        return pnorm(step.reshape(len(self), data.d), p)


@dataclass(frozen=True, eq=False, repr=False)
class AdversarialAccuracy:
    """Share of points that withstand the adversary, for a fixed model.

    What attacks find makes it an upper bound, unless `proven` says why nothing is left to find.
    """

    p: float
    epsilon: float
    constraint: Constraint
    withstood: Array
    """Of every evaluated point, whether it is labelled rightly wherever the adversary was."""
    remains: Array
    """Of every point, whether its region holds a point at all; else it is left out."""
    remains_exactly: bool
    """Whether `remains` is exact; else it counts the points for which one was found."""
    examples: Examples
    trials: tuple[Trial, ...]
    proven: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Points that the accuracy is a share of."""
        return int(self.remains.sum())

    @property
    def share(self) -> float:
        """Share of all points that remain."""
        return float(self.remains.mean())

    @cached_property
    def estimate(self) -> Estimate:
        """The accuracy with its interval, for new points of the same kind."""
        if not self.n:
            raise UndefinedError(
                f"{self.title} is undefined at epsilon {self.epsilon:g}: no point has room that is "
                "nearer to it than to others; take a smaller epsilon"
            )
        return intervals.proportion(int(self.withstood[self.remains].sum()), self.n)

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
        """Points that the model was asked about, in all."""
        return sum(trial.queries for trial in self.trials)

    @property
    def title(self) -> str:
        """Measure as people know it."""
        return TITLES[self.constraint]

    @property
    def name(self) -> str:
        """Measure in a word."""
        return "standard" if self.constraint == "none" else self.constraint

    @property
    def bound(self) -> str:
        """How much is known: proven, or an upper bound, and by what."""
        return f"proven: {self.proven}" if self.proven else self.upper_bound(self.queries)

    def upper_bound(self, queries: int) -> str:
        """By what it is bounded, as found in so many queries."""
        names = ", ".join(trial.spec for trial in self.trials) or "nothing"
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

    def json(self) -> dict[str, Any]:
        """All of it as an object, accuracies in per cent."""
        defined = self.n > 0
        return {
            "constraint": self.constraint,
            "norm": "inf" if np.isinf(self.p) else self.p,
            "epsilon": self.epsilon,
            **(self.estimate.json() if defined else {"mean": None, "low": None, "high": None}),
            "n": self.n,
            "share": 100 * self.share,
            "share_is_exact": self.remains_exactly,
            "proven": self.proven or None,
            "bound": self.bound,
            "found": len(self.examples),
            "queries": self.queries,
            "trials": [trial.json() for trial in self.trials],
            "notes": list(self.notes),
        }
