"""Row optima: the best training noise for every test noise, and where it lies in the matrix.

The diagonal of the matrix has the same noise in training and test (Siedel et al. 2022, Fig. 7). The
training noises that may be the best are those that are not shown to be less accurate than the best
as measured, paired over runs: with 95 % confidence, the best ones of all rows of a matrix are among
them (Bonferroni, for all rows and training noises together).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypedDict

from shaketable.core.norms import NormJson
from shaketable.findings.mscr.numbers import estimate_accuracy_difference
from shaketable.findings.series import Series, meets_same_noise
from shaketable.findings.study import view
from shaketable.findings.subjects import Subject, get_training_size
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson

Position = Literal["below", "on", "above", "off"]


class RowOptimumJson(TypedDict):
    """The best training noise of one test noise."""

    model: str
    data: str
    norm: NormJson | None
    test_eps: float
    best: Annotated[float, "Training noise, as measured."]
    may_be_best: Annotated[list[float], "Training noises that are not shown to be worse."]
    position: Annotated[
        Position | None,
        "Against the diagonal; below is less noise in training than in test; null without training "
        "noise of this size.",
    ]
    over_diagonal: Annotated[
        EstimateWithMethodJson | None,
        "Accuracy of the best minus that on the diagonal, in percentage points.",
    ]


@dataclass(frozen=True, eq=False)
class RowOptimum:
    """The best training noise under one test noise."""

    subject: Subject
    levels: tuple[Series, ...]
    """The model under the test noise, one series per training noise, the weakest first."""
    judged: int
    """Number of differences in the matrix that are judged together."""

    @property
    def test_eps(self) -> float:
        """Size of the test noise."""
        return self.levels[0].first.epsilon or 0.0

    @cached_property
    def best(self) -> Series:
        """The series with the highest mean accuracy as measured."""
        return max(self.levels, key=lambda s: s.accuracy.value)

    @cached_property
    def candidates(self) -> tuple[Series, ...]:
        """Series that may be the best."""
        return tuple(
            s
            for s in self.levels
            if s is self.best
            or not is_shown(estimate_accuracy_difference(s, self.best), self.judged)
        )

    @property
    def diagonal(self) -> Series | None:
        """The series with the same noise in training and test; None if there is none.

        Noise of the same size in another norm is other noise.
        """
        return next((s for s in self.levels if s.first.train == s.first.corruption), None)

    @property
    def position(self) -> Position | None:
        """Where the best training noise lies against the diagonal; None without a diagonal.

        ``below``: there is less noise in training than in test; ``on``: it may be the same;
        ``off``: it is not the same, but may be either.
        """
        if self.diagonal is None:
            return None
        if self.diagonal in self.candidates:
            return "on"
        sides = {get_training_size(s) < self.test_eps for s in self.candidates}
        if len(sides) > 1:
            return "off"
        return "below" if sides == {True} else "above"

    @cached_property
    def over_diagonal(self) -> Estimate | None:
        """Accuracy of the best as measured minus that on the diagonal, paired; None if it is it."""
        if self.diagonal is None or self.diagonal is self.best:
            return None
        return estimate_accuracy_difference(self.best, self.diagonal)

    @property
    def words(self) -> str:
        """Where it lies, in words."""
        return view.describe_position(self.position)

    def json(self) -> RowOptimumJson:
        """Return sizes of noise, and the difference from the diagonal in percentage points."""
        over = self.over_diagonal
        return {
            "model": self.subject.label,
            "data": self.subject.first.data,
            "norm": self.subject.norm_json,
            "test_eps": self.test_eps,
            "best": get_training_size(self.best),
            "may_be_best": [get_training_size(s) for s in self.candidates],
            "position": self.position,
            "over_diagonal": None if over is None else over.json_with_method(),
        }


def list_optima(subject: Subject) -> list[RowOptimum]:
    """Return the row optima of a model, by test noise; only rows with two training noises."""
    rows: dict[float, list[Series]] = {}
    for s in subject.all_series:
        if s.first.epsilon is not None and (s.runs > 1 or not s.first.shares_draws):
            row = rows.setdefault(s.first.epsilon, [])
            if not row or meets_same_noise(s, row[0]):
                row.append(s)
    kept = {size: row for size, row in rows.items() if len(row) > 1}
    judged = sum(len(row) - 1 for row in kept.values())
    return [RowOptimum(subject, tuple(kept[size]), judged) for size in sorted(kept)]
