"""The finding: paired differences in accuracy of models, on clean points and everywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Annotated, TypedDict

from shaketable.evaluation.records import SuiteRecord
from shaketable.findings.comparison.pairs import (
    GapJson,
    MeanGapJson,
    Pair,
    compute_gaps,
    group_by_data,
    make_pairs,
)
from shaketable.findings.comparison.ranking import Ranking, RankingJson, rank_models
from shaketable.findings.comparison.view import make_blocks
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.findings.subjects import choose_reference
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

MAX_PAIRS = 10
"""Of more models than make so many pairs, each is compared with one reference only."""


class ComparisonJson(TypedDict):
    """Paired differences in accuracy."""

    accuracy_differences: Annotated[
        list[GapJson],
        "Accuracy of the first model minus that of the second, per pair and corruption.",
    ]
    mean_accuracy_differences: Annotated[
        list[MeanGapJson], "The same on average over all corruptions that a pair shares."
    ]
    accuracy_rankings: Annotated[
        list[RankingJson],
        "Which models may be the most accurate, on clean points and under corruptions.",
    ]


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """All pairs of models, on clean points and under every corruption."""

    pairs: tuple[Pair, ...]
    ranked: tuple[tuple[Condition, ...], ...] = ()
    """Conditions on which models are ranked, by their data."""
    suites: tuple[SuiteRecord, ...] = ()

    @cached_property
    def conditions(self) -> list[Condition]:
        """All conditions of the pairs, in order."""
        return list(dict.fromkeys(gap.condition for pair in self.pairs for gap in pair.gaps))

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Which models are shown to be more accurate than which, on the same data."""
        compute_gaps(self.pairs)
        return [
            ranking
            for conditions in self.ranked
            for ranking in rank_models(conditions, self.suites, self.pairs)
        ]

    def json(self) -> ComparisonJson:
        """Return every difference, and the means over corruptions, in percentage points."""
        compute_gaps(self.pairs)
        means = [pair.json() for pair in self.pairs]
        return {
            "accuracy_differences": [gap.json() for pair in self.pairs for gap in pair.gaps],
            "mean_accuracy_differences": [mean for mean in means if mean is not None],
            "accuracy_rankings": [ranking.json() for ranking in self.rankings],
        }

    def blocks(self) -> list[Block]:
        """Return the answer, then all differences."""
        compute_gaps(self.pairs)
        return make_blocks(self)


def find(groups: RecordGroups) -> Comparison | None:
    """Take the finding from records; None without two models under the same noise."""
    by_data = group_by_data(groups.conditions)
    pairs = [
        pair
        for conditions in by_data
        for pair in make_pairs(conditions, _choose_pairs(conditions, groups.reference))
    ]
    if not pairs:
        return None
    return Comparison(tuple(pairs), tuple(map(tuple, by_data)), tuple(groups.records.suites))


def _choose_pairs(conditions: Sequence[Condition], reference: str) -> list[tuple[str, str]]:
    """Return the pairs of labels to compare.

    Models as given are compared with each other, or with the reference if there are many. Of a
    study, models with the same training noise are compared, and every training noise with the
    first one of the same model.
    """
    models = {label: s.first for c in conditions for label, s in c.series.items()}
    fitted = [label for label, cell in models.items() if cell.train_epsilon is None]
    pairs = list(combinations(fitted, 2))
    if len(pairs) > MAX_PAIRS:
        base, _ = choose_reference(fitted, reference if reference in fitted else "")
        pairs = [(label, base) for label in fitted if label != base]
    studied = [(label, cell) for label, cell in models.items() if cell.train_epsilon is not None]
    weakest: dict[str, str] = {}
    for label, cell in sorted(studied, key=lambda item: item[1].train_epsilon or 0.0):
        weakest.setdefault(cell.recipe, label)
    for (a, first), (b, second) in combinations(studied, 2):
        to_weakest = first.recipe == second.recipe and weakest[first.recipe] in (a, b)
        if first.train == second.train or to_weakest:
            pairs.append((a, b))
    return pairs


FINDINGS.add("comparison", FindingKind(find, json=ComparisonJson))
