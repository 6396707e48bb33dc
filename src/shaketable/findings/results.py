"""Results: all findings of some records, as JSON and in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from shaketable.core.errors import InputError, either
from shaketable.data.files import as_dataset
from shaketable.evaluation.records import AS_GIVEN, Records
from shaketable.evaluation.store import Store
from shaketable.findings.errata.errata import (
    Erratum,
    list_touching,
    name_errata,
    name_subjects,
    note_errata,
)
from shaketable.findings.finding import FINDINGS, Finding, load_kinds
from shaketable.findings.groups import Grouping, RecordGroups
from shaketable.findings.guessing import note_guessing_models, note_uneven_classes
from shaketable.findings.inputs.finding import FlippedInputs
from shaketable.findings.mscr.finding import Robustness
from shaketable.findings.section_order import PLACES
from shaketable.views.blocks import Block, order_sections
from shaketable.views.terminal import Displayed, print_notes

if TYPE_CHECKING:
    import pandas as pd

    from shaketable.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Results(Displayed):
    """All findings of some records; every number is computed once, for all views.

    Examples
    --------
    >>> import shaketable as st
    >>> data = [[0.2], [0.8]], [False, True]
    >>> found = st.find(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)"))
    >>> "notes" in found.json(), found.to_frame().shape[0] > 0
    (True, True)
    >>> found.with_data(st.make_dataset(*data)).json() == found.json()
    True
    """

    groups: RecordGroups
    findings: Mapping[str, Finding]
    """By the name of their kind."""
    notes: tuple[str, ...] = ()
    """Sentences that a reader should know."""

    def __repr__(self) -> str:
        return f"<Results: {', '.join(self.findings)} of {self.records!r}; .print() shows them>"

    @property
    def records(self) -> Records:
        """The records that the findings were taken from."""
        return self.groups.records

    @property
    def robustness(self) -> Robustness:
        """Accuracies and MSCR of all models."""
        finding = self.findings["mscr"]
        assert isinstance(finding, Robustness)
        return finding

    @property
    def errata(self) -> list[Erratum]:
        """Errata of published numbers like those of the results."""
        return list_touching(name_subjects(self.records))

    def _list_notes(self) -> list[str]:
        return [*self.notes, *self.groups.unfinished, *note_errata(self.errata)]

    def json(self) -> dict[str, Any]:
        """Return the numbers of all findings, and notes.

        Returns
        -------
        dict
            Keys as in ``--json`` of the commands.
        """
        result: dict[str, Any] = {}
        for name, finding in self.findings.items():
            numbers = _call(name, "json()", lambda f=finding: _check_json(f.json()))
            if taken := sorted((result.keys() | {"notes", "errata"}) & numbers.keys()):
                raise InputError(f"finding {name!r} must not use the JSON key {taken[0]!r}")
            result |= numbers
        return {**result, **name_errata(self.errata), "notes": self._list_notes()}

    def to_frame(self) -> pd.DataFrame:
        """Return every value with its interval as one row of a pandas DataFrame, in per cent.

        Returns
        -------
        pd.DataFrame
            One row per value.
        """
        from shaketable.findings.export import findings_frame  # it imports this module

        return findings_frame(self)

    def blocks(self) -> list[Block]:
        """Return the blocks of all findings, in the order of `PLACES`.

        Returns
        -------
        list[Block]
            Headlines first, then sections.
        """
        parts = [
            _call(name, "blocks()", lambda f=finding: _check_blocks(f))
            for name, finding in self.findings.items()
        ]
        return order_sections(parts, PLACES)

    def with_data(self, data: Dataset) -> Results:
        """Return the results with the data, where findings show more of them.

        Parameters
        ----------
        data
            The data of the records; findings leave others alone.

        Returns
        -------
        Results
            The same findings.
        """
        findings = {
            name: finding.with_data(data) if hasattr(finding, "with_data") else finding
            for name, finding in self.findings.items()
        }
        return replace(self, findings=findings)

    def with_findings(self, **others: Finding) -> Results:
        """Return the results with these findings in place of those of their names.

        Decisions on requirements are passed on to findings that have a method `decide`, and the
        problems that findings list (`list_problems`) to those that have a method `include`.

        Parameters
        ----------
        **others
            Findings by their names.

        Returns
        -------
        Results
            All findings.

        Examples
        --------
        >>> import shaketable as st
        >>> data = [[0.2], [0.8]], [False, True]
        >>> found = st.find(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)"))
        >>> found.with_findings().findings.keys() == found.findings.keys()
        True
        """
        findings = {**self.findings, **others}
        check = getattr(findings.get("requirements"), "check", None)
        if check is not None:
            number = len(getattr(findings["requirements"], "errors", ()))
            findings = {
                name: finding.decide(check.decisions, number)
                if hasattr(finding, "decide")
                else finding
                for name, finding in findings.items()
            }
        listing = [f for f in findings.values() if hasattr(f, "list_problems")]
        if problems := [problem for finding in listing for problem in finding.list_problems()]:
            findings = {
                name: finding.include(problems) if hasattr(finding, "include") else finding
                for name, finding in findings.items()
            }
        return replace(self, findings=findings)

    def show_inputs(self, data: Any, n: int = 5) -> Results:
        """Return the results with the inputs that flip: images, or rows with changed cells marked.

        Noise depends on the data, the row and the draw alone, so that the very inputs of the model
        are drawn again. Pages of these results hold them, and say so.

        Parameters
        ----------
        data
            The data that the models were evaluated on; others are refused.
        n
            Points per fitted model and corruption, those wrong most often.

        Returns
        -------
        Results
            The same findings, with the inputs.

        Examples
        --------
        >>> import shaketable as st
        >>> data = [[0.2], [0.8]], [False, True]
        >>> found = st.find(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.5)"))
        >>> found.show_inputs(data).findings["inputs"].redrawn.redrawn[0].most[0].clean
        array([0.2])
        """
        found = self.findings.get("inputs")
        if not isinstance(found, FlippedInputs):
            raise InputError(
                "inputs that flip need a fitted model under a corruption; evaluate one"
            )
        return replace(self, findings={**self.findings, "inputs": found.draw(as_dataset(data), n)})

    def print(self) -> None:
        """Print tables, cards and sentences of all findings, and notes to stderr."""
        super().print()
        print_notes(self._list_notes())


def find(
    records: Records,
    *,
    reference: str = "",
    baseline: str = "",
    group: Grouping = "regime",
    metric: str = "",
    notes: Iterable[str] = (),
) -> Results:
    """Take all findings from records.

    Parameters
    ----------
    records
        Of fitted models, of studies, or both.
    reference
        Label of the model that the groups of the mCV plot refer to; see `VariationTable`.
    baseline
        Training regime, or other group, that the others are compared with; by default ``clean``.
    group
        What models are grouped by: ``"regime"``, their training noise; ``"network"``; or a mapping
        from names of groups to patterns of models' names, such as ``{"noisy": "*(C?)"}``.
    metric
        Measure that results begin with in place of accuracy, such as ``balanced_accuracy`` or
        ``recall[fraud]``; see `metrics.measure`.
    notes
        Sentences that a reader should know, besides those of the records.

    Returns
    -------
    Results
        All findings: print them, or take numbers, tables and pages from them.

    Examples
    --------
    >>> import shaketable as st
    >>> records = st.evaluate(lambda x: x[:, 0] > 0, ([[-1.0], [1.0]], [False, True]), "linf(0.1)")
    >>> sorted(st.find(records).json())[:5]
    ['confusion', 'error_probabilities', 'feature_flips', 'flip_sizes', 'groups']
    >>> sorted(st.find(records).json())[5:]
    ['inputs', 'measures', 'models', 'mscr_differences', 'notes', 'suite_measures', 'summary']
    """
    if not records.holds_anything:
        raise InputError("records must hold at least one cell; evaluate a model first")
    kinds, problems = load_kinds()
    scored = frozenset(metric for kind in kinds.values() for metric in kind.suite_metrics)
    groups = RecordGroups(records, scored, reference, baseline, group, metric)
    findings = {
        name: finding
        for name, kind in kinds.items()
        if (len(records) or not kind.needs_cells)
        and (finding := _call(name, "find()", lambda kind=kind: groups.take(kind.find))) is not None
    }
    if groups.with_most_copies is not groups and findings.keys() & {"regimes", "correlation"}:
        notes = (*notes, "training regimes and correlations are those with the largest k alone")
    notes = (*notes, *map(str, records.failures))
    of_records = (
        *groups.fixed_parts,
        *note_guessing_models(groups.series),
        *_note_hits(records),
        *([] if metric else note_uneven_classes(groups.series)),
    )
    sentences = (*records.notes, *notes, *of_records, *problems)
    return Results(groups, findings, tuple(dict.fromkeys(sentences))).with_findings()


def _note_hits(records: Records) -> list[str]:
    """Say that the answers of fitted models were not kept, where that is so."""
    fitted = [cell for cell in records if cell.train == AS_GIVEN]
    lacking = sum(cell.answers is None for cell in fitted)
    again = either("evaluate with --record answers", "evaluate(…, record='answers')")
    return [
        f"{lacking} of {len(fitted)} cells keep hits alone, so nothing is said about what models "
        f"answered there; {again} measures them again"
    ] * bool(lacking)


Found: TypeAlias = Results | Records | str | Path
"""What figures, pages and files are made from: findings, records, or a results file."""


def as_results(found: Found, *, reference: str = "", notes: Iterable[str] = ()) -> Results:
    """Return findings as they are, or take them from records or a results file, as `find` does."""
    if isinstance(found, Results):
        return found
    return find(as_records(found), reference=reference, notes=notes)


def as_records(found: Found) -> Records:
    """Return records: as they are, those of findings, or those in a results file."""
    if isinstance(found, Results):
        return found.records
    if isinstance(found, Records):
        return found
    with Store(found, must_exist=True) as store:
        return store.records()


def _check_json(numbers: Any) -> dict[str, Any]:
    if not isinstance(numbers, dict):
        raise TypeError(f"it must return a dict, got {type(numbers).__name__}")
    json.dumps(numbers)  # raises for what JSON cannot hold
    return numbers


def _check_blocks(finding: Any) -> list[Block]:
    blocks = finding.blocks()
    if not isinstance(blocks, list) or not all(isinstance(block, Block) for block in blocks):
        raise TypeError(f"it must return a list of blocks, got {blocks!r:.80}")
    return blocks


def _call(name: str, what: str, function: Any) -> Any:
    """Call a function of a finding; turn exceptions of other packages into an `InputError`."""
    with FINDINGS.guard(name, f"failed in {what}: {{error}}"):
        return function()
