"""mCV as a finding: every model over the sets of a suite, compared with a reference model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypedDict

from shaketable.core.checks import unknown_name
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.mce.numbers import mean_error_difference
from shaketable.findings.mcv import numbers, view
from shaketable.findings.mcv.effects import Effects, EffectsJson
from shaketable.findings.mcv.numbers import (
    Stability,
    StabilityJson,
    make_variation,
    subtract_cvs,
)
from shaketable.findings.mcv.variation import (
    Group,
    ScoreCorrelationJson,
    Variation,
    VariationTable,
    VariationTableJson,
)
from shaketable.findings.subjects import make_suite_labels
from shaketable.findings.suite_results import SuiteResult, meets_same_suite
from shaketable.statistics.estimate import Estimate, EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart


class MCVEntryJson(StabilityJson):
    """A model over the sets of a suite, compared with a reference."""

    model: str
    label: str
    group: str | None
    reference: str
    mean_change: EstimateJson | None
    cv_change: EstimateJson | None
    effects: EffectsJson


class MCVBoardJson(TypedDict):
    """All models over the sets of a suite."""

    suite: str
    data: str
    sets: int
    reference: str | None
    reference_words: str
    correlations: dict[str, ScoreCorrelationJson | None]
    models: list[MCVEntryJson]
    left_out: Annotated[list[str], "Models that are wrong on all points of all sets."]


@dataclass(frozen=True, eq=False)
class Entry:
    """One model over all sets, compared with a reference."""

    label: str
    result: SuiteResult
    group: Group
    reference: SuiteResult | None
    """Result of the reference, if both can be paired; None for the reference itself."""
    reference_label: str

    @property
    def is_reference(self) -> bool:
        """Whether it is the reference itself."""
        return self.label == self.reference_label

    @cached_property
    def stability(self) -> Stability:
        """Mean and CV with their intervals, and the accuracy on every set."""
        return Stability(self.result)

    @cached_property
    def variation(self) -> Variation:
        """Accuracy on every set, as fractions."""
        return self.stability.variation

    @cached_property
    def effects(self) -> Effects:
        """Effects of the sets' factors on the model."""
        return Effects(self.result)

    @cached_property
    def mean_change(self) -> Estimate | None:
        """Mean accuracy minus the reference's, paired."""
        if self.reference is None:
            return None
        return mean_error_difference(self.reference, self.result)

    @cached_property
    def cv_change(self) -> Estimate | None:
        """CV minus the reference's, as a fraction, paired."""
        return None if self.reference is None else subtract_cvs(self.result, self.reference)

    @cached_property
    def words(self) -> str:
        """How the model compares with the reference, as far as intervals show it."""
        return view.describe_changes(self.mean_change, self.cv_change)

    @cached_property
    def sentences(self) -> tuple[str, str, str]:
        """Three sentences: on the factors, on their order, on two factors together."""
        effects = self.effects
        return effects.main_words, effects.order_words, effects.interaction_words

    def json(self) -> MCVEntryJson:
        """Return all numbers of the model, in per cent."""
        mean, cv = self.mean_change, self.cv_change
        return {
            "model": self.result.first.model,
            "label": self.label,
            "group": self.group,
            "reference": self.reference_label,
            **self.stability.json(),
            "mean_change": None if mean is None else mean.json(),
            "cv_change": None if cv is None else cv.json(),
            "effects": self.effects.json(),
        }


@dataclass(frozen=True, eq=False)
class MCVBoard:
    """All models over the sets of one suite on the same data."""

    suite: SuiteRecord
    results: Mapping[str, SuiteResult]
    """Results by the models' labels."""
    table: VariationTable
    left_out: tuple[str, ...]
    """Models that are wrong on all points of all sets: they have no CV."""

    @property
    def data(self) -> str:
        """Name of the data."""
        return next(iter(self.results.values())).first.data

    @property
    def draws(self) -> str:
        """Number of points and of draws per point, in words."""
        cells = [result.first for result in self.results.values()]
        k = sorted({cell.k for cell in cells})
        times = " or ".join(map(str, k))
        draws = f"{cells[0].n} test points, {times} {'draw' if k == [1] else 'draws'} each"
        runs = sorted({result.series[0].runs for result in self.results.values()})
        return draws if runs == [1] else f"{draws}, in {' or '.join(map(str, runs))} runs"

    @property
    def title(self) -> str:
        """Suite and data, in words."""
        return f"suite {self.suite.name} on {self.data}"

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """One entry per model."""
        entries = []
        for label, result in self.results.items():
            reference = self.table.references[label]
            base = self.results[reference]
            is_paired = label != reference and meets_same_suite(base, result)
            group = self.table.groups[label]
            entries.append(Entry(label, result, group, base if is_paired else None, reference))
        return tuple(entries)

    @property
    def has_effects(self) -> bool:
        """Whether some set is also in the suite without one of its factors."""
        return any(entry.effects.main for entry in self.entries)

    def json(self) -> MCVBoardJson:
        """Return all numbers of the board, scores in per cent."""
        table = self.table.json(times=100)
        return {
            "suite": self.suite.name,
            "data": self.data,
            "sets": len(self.suite.specs),
            "reference": table["reference"],
            "reference_words": table["reference_words"],
            "correlations": table["correlations"],
            "models": [entry.json() for entry in self.entries],
            "left_out": list(self.left_out),
        }


def make_boards(groups: RecordGroups, *, suite: str = "") -> list[MCVBoard]:
    """Return one board per suite of sets that was evaluated completely, with all models.

    One run with shared draws is left out: its points are not independent.

    Parameters
    ----------
    groups
        Groups of the records, with the label of the reference; see `VariationTable`.
    suite
        Name of one suite with any metric; by default all suites whose metric is mCV.
    """
    by_suite: dict[SuiteRecord, list[SuiteResult]] = {}
    for result in groups.suite_results:
        wanted = result.suite.name == suite if suite else result.suite.kind == "sets"
        if wanted and (result.series[0].runs > 1 or not result.first.shares_draws):
            by_suite.setdefault(result.suite, []).append(result)
    reference, boards = groups.reference, []
    for record, results in by_suite.items():
        labelled = dict(zip(make_suite_labels(results), results, strict=True))
        rows = {label: make_variation(r, label=label) for label, r in labelled.items()}
        kept = {label: labelled[label] for label, row in rows.items() if row.mean > 0}
        if kept:
            chosen = reference if reference in labelled or len(by_suite) == 1 else ""
            table = VariationTable([rows[label] for label in kept], reference=chosen)
            left_out = tuple(label for label in labelled if label not in kept)
            boards.append(MCVBoard(record, kept, table, left_out))
    if reference and boards and not any(reference in board.results for board in boards):
        labels = [label for board in boards for label in board.results]
        raise unknown_name("reference", reference, labels)
    return boards


class SetVariationJson(TypedDict):
    """Boards of all suites of sets."""

    mcv: Annotated[list[MCVBoardJson], "Mean and variation over the sets of every suite of sets."]


@dataclass(frozen=True, eq=False)
class SetVariation(Displayed):
    """Boards of all suites of sets."""

    boards: tuple[MCVBoard, ...]

    def json(self) -> SetVariationJson:
        """Return the boards; accuracies in per cent."""
        return {"mcv": [board.json() for board in self.boards]}

    def blocks(self) -> list[Block]:
        """Return the numbers of the mCV plot, differences and effects of every board."""
        return view.make_blocks(self.boards)

    def plot(self) -> Chart:
        """Draw the mCV plot, one panel per board."""
        from shaketable.findings.mcv.charts import mcv_plot  # slow to load

        return mcv_plot(self.boards)


@dataclass(frozen=True, eq=False)
class ScoreVariation(Displayed):
    """Mean and variation of the scores in any table, one row per model."""

    table: VariationTable
    title: str
    conditions: tuple[str, ...]
    """Empty if only summaries of the scores are known."""

    def json(self) -> VariationTableJson:
        """Return means, CVs and groups."""
        return self.table.json()

    def blocks(self) -> list[Block]:
        """Return one row per model."""
        names = list(self.conditions)
        shown = names if len(names) <= 10 else [*names[:9], f"and {len(names) - 9} more"]
        title = ": ".join(filter(None, (self.title, ", ".join(shown))))
        return view.make_score_blocks(self.table, title)

    def plot(self) -> Chart:
        """Draw the mCV plot."""
        from shaketable.findings.mcv.charts import table_plot  # slow to load

        return table_plot(self.table, title=self.title)


def find(groups: RecordGroups, *, suite: str = "") -> SetVariation | None:
    """Take the finding from records; None if no suite of sets was evaluated completely.

    `suite` chooses one suite by name, with any metric; by default all whose metric is mCV.
    """
    boards = make_boards(groups, suite=suite)
    return SetVariation(tuple(boards)) if boards else None


def find_asked_variation(records: Records, *, reference: str = "", suite: str = "") -> SetVariation:
    """Take the finding from records, with the arguments of `find`; an error says why there is none.

    `reference` is the label of the model that the others are compared with.
    """
    groups = RecordGroups(records, reference=reference)
    if (finding := find(groups, suite=suite)) is not None:
        return finding
    for sentence in groups.unfinished:
        raise InputError(sentence)
    complete = [result.suite for result in groups.suite_results]
    if any(s.name == suite if suite else s.kind == "sets" for s in complete):
        raise UndefinedError(
            "no model classifies any point of any set correctly, so there is no CV; check that "
            "their labels are the data's"
        )
    names = dict.fromkeys(s.name for s in records.suites)
    remedy = "fill one with evaluate --suite two-factor --store FILE"
    if names:
        remedy = f"choose one on record with --suite: {', '.join(names)}"
    raise InputError(f"results must hold a complete suite of sets, such as two-factor; {remedy}")


FINDINGS.add(
    "mcv",
    FindingKind(
        find,
        json=SetVariationJson,
        metrics={"mcv": numbers.mcv, "cv_difference": numbers.cv_difference},
        suite_metrics=("mcv",),
    ),
)
