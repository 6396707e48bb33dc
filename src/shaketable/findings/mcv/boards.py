"""mCV boards: every model over the sets of a suite, against a reference, as all views show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shaketable.core.checks import unknown_name
from shaketable.evaluation.records import Records, SuiteRecord
from shaketable.findings.mce.numbers import mean_error_difference
from shaketable.findings.mce.scores import labels_of
from shaketable.findings.mcv.effects import Effects, MainEffect
from shaketable.findings.mcv.stability import Stability, cv_difference, variation_of
from shaketable.findings.mcv.variation import Group, Variation, VariationTable
from shaketable.findings.suite_results import SuiteResult, meets_same_suite, suite_results
from shaketable.statistics.estimate import Estimate

_CHANCE = ": the difference may be chance"


@dataclass(frozen=True, eq=False)
class Entry:
    """One fitted model over all sets, beside a reference."""

    label: str
    result: SuiteResult
    group: Group
    reference: SuiteResult | None
    """Of the reference, where both met the same noise; None for the reference itself."""
    is_reference: bool

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
        """What the factors of the sets do to the model."""
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
        return None if self.reference is None else cv_difference(self.result, self.reference)

    @property
    def words(self) -> str:
        """What the group says, and whether it is shown."""
        if self.mean_change is None or self.cv_change is None:
            return "not paired with the reference"
        mean = _told(self.mean_change, "more accurate", "less accurate", "mean")
        cv = _told(self.cv_change, "less steady", "steadier", "CV")
        both = mean.endswith(_CHANCE) and cv.endswith(_CHANCE)
        return f"mean and CV{_CHANCE}" if both else f"{mean}; {cv}"

    @property
    def sentences(self) -> tuple[str, str, str]:
        """What the factors do, in words: each alone, their order, both together."""
        effects = self.effects
        return effects.main_words, effects.order_words, effects.interaction_words

    def json(self) -> dict[str, Any]:
        """All numbers of the model, in per cent."""
        changes = {"mean_change": self.mean_change, "cv_change": self.cv_change}
        return {
            "model": self.result.first.model,
            "label": self.label,
            "group": self.group,
            **self.stability.json(),
            **{name: None if e is None else e.json() for name, e in changes.items()},
            "effects": self.effects.json(),
        }


@dataclass(frozen=True, eq=False)
class MCVBoard:
    """All models over the sets of one suite on the same data."""

    suite: SuiteRecord
    results: Mapping[str, SuiteResult]
    """By the models' labels."""
    table: VariationTable
    left_out: tuple[str, ...]
    """Models without a right answer in any set: they have no CV."""

    @property
    def data(self) -> str:
        """Name of the data."""
        return next(iter(self.results.values())).first.data

    @property
    def draws(self) -> str:
        """How many points there are, and how often each is drawn, in words."""
        cells = [result.first for result in self.results.values()]
        k = sorted({cell.k for cell in cells})
        times = " or ".join(map(str, k))
        return f"{cells[0].n} test points, {times} {'draw' if k == [1] else 'draws'} each"

    @property
    def title(self) -> str:
        """Suite and data, in words."""
        return f"suite {self.suite.name} on {self.data}"

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every model."""
        base = self.results[self.table.reference]

        def beside(label: str, result: SuiteResult) -> SuiteResult | None:
            other = label != self.table.reference and meets_same_suite(base, result)
            return base if other else None

        groups, chosen = self.table.groups, self.table.reference
        return tuple(
            Entry(label, result, groups[label], beside(label, result), label == chosen)
            for label, result in self.results.items()
        )

    def json(self) -> dict[str, Any]:
        """Board as an object, scores in per cent."""
        whole = self.table.json(times=100)
        return {
            "suite": self.suite.name,
            "data": self.data,
            "sets": len(self.suite.specs),
            **{name: whole[name] for name in ("reference", "reference_words", "correlations")},
            "models": [entry.json() for entry in self.entries],
            "left_out": list(self.left_out),
        }


def mcv_boards(records: Records, *, reference: str = "", suite: str = "") -> list[MCVBoard]:
    """Every suite of sets that was met completely, with all fitted models that met it.

    Parameters
    ----------
    records
        Of fixed models; studies and shared draws have no place here.
    reference
        Label of the model that the others are compared with; see `VariationTable`.
    suite
        Name of a suite, which may be any; by default all that are made for it.
    """
    found: dict[SuiteRecord, list[SuiteResult]] = {}
    for r in suite_results(records):
        wanted = r.suite.name == suite if suite else r.suite.kind == "sets"
        if wanted and r.series[0].runs == 1 and r.first.draws != "shared":
            found.setdefault(r.suite, []).append(r)
    boards = []
    for one, results in found.items():
        labelled = dict(zip(labels_of(results), results, strict=True))
        rows = {label: variation_of(r, label=label) for label, r in labelled.items()}
        kept = {label: labelled[label] for label, row in rows.items() if row.mean > 0}
        if kept:
            chosen = reference if reference in labelled or len(found) == 1 else ""
            table = VariationTable([rows[label] for label in kept], reference=chosen)
            boards.append(MCVBoard(one, kept, table, tuple(x for x in labelled if x not in kept)))
    if reference and not any(reference in board.results for board in boards) and boards:
        raise unknown_name("reference", reference, [x for board in boards for x in board.results])
    return boards


def mcv_json(boards: Sequence[MCVBoard]) -> dict[str, Any]:
    """Boards as one object; an empty one without any."""
    return {"mcv": [board.json() for board in boards]} if boards else {}


def _told(e: Estimate, more: str, less: str, what: str) -> str:
    return more if e.low > 0 else less if e.high < 0 else f"{what}{_CHANCE}"


def several(effect: MainEffect) -> tuple[MainEffect, ...]:
    """Levels of a factor, if it has more than one."""
    return effect.levels if len(effect.levels) > 1 else ()
