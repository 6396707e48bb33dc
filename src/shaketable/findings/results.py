"""Results: all findings of some records, as JSON and in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from shaketable.core.errors import InputError
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.finding import FINDINGS, Finding, Methods, Section, load_kinds
from shaketable.findings.groups import Grouping, RecordGroups
from shaketable.findings.guessing import note_guessing_models
from shaketable.findings.mscr.finding import Robustness
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed, print_blocks, print_notes

if TYPE_CHECKING:
    import pandas as pd


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
    """

    groups: RecordGroups
    findings: Mapping[str, Finding]
    """By the name of their kind, in the order in which they are printed."""
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
            if taken := sorted((result.keys() | {"notes"}) & numbers.keys()):
                raise InputError(f"finding {name!r} must not use the JSON key {taken[0]!r}")
            result |= numbers
        return {**result, "notes": [*self.notes, *self.groups.unfinished]}

    def to_frame(self) -> pd.DataFrame:
        """Return every value with its interval as one row of a pandas DataFrame, in per cent.

        Returns
        -------
        pd.DataFrame
            One row per value.
        """
        from shaketable.findings.export import findings_frame  # it imports this module

        return findings_frame(self)

    def print(self) -> None:
        """Print the tables of all findings to the terminal, notes to stderr."""
        for name, finding in self.findings.items():
            if hasattr(finding, "sections"):  # until all findings are blocks
                _call(name, "print()", lambda f=finding: f.print())
            else:
                print_blocks(_call(name, "blocks()", lambda f=finding: _check_blocks(f)))
        print_notes([*self.notes, *self.groups.unfinished])

    def sections(self, methods: Methods) -> list[Section]:
        """Return the sections of all findings, in the order of the page.

        Parameters
        ----------
        methods
            Collects the methods of the estimates that are shown.

        Returns
        -------
        list[Section]
            Sections of the page.

        Examples
        --------
        >>> import shaketable as st
        >>> from shaketable.findings.finding import Methods
        >>> data = [[0.2], [0.8]], [False, True]
        >>> found = st.find(st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)"))
        >>> len(found.sections(Methods())) > 0
        True
        """
        sections: list[Section] = []
        for name, finding in self.findings.items():
            if hasattr(finding, "sections"):
                added = _call(name, "sections()", lambda f=finding: _check_sections(f, methods))
            else:
                added = _call(name, "blocks()", lambda f=finding: bridge(_check_blocks(f), methods))
            if taken := {section.id for section in sections} & {section.id for section in added}:
                raise InputError(f"finding {name!r} must not use the section id {min(taken)!r}")
            sections += added
        return sorted(sections, key=lambda section: section.order)


def find(
    records: Records,
    *,
    reference: str = "",
    baseline: str = "",
    group: Grouping = "regime",
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
    >>> sorted(st.find(records).json())
    ['error_probabilities', 'groups', 'models', 'mscr_differences', 'notes']
    """
    if not len(records):
        raise InputError("records must hold at least one cell; evaluate a model first")
    kinds, problems = load_kinds()
    scored = frozenset(metric for kind in kinds.values() for metric in kind.suite_metrics)
    groups = RecordGroups(records, scored, reference, baseline, group)
    findings = {
        name: finding
        for name, kind in kinds.items()
        if (finding := _call(name, "find()", lambda kind=kind: kind.find(groups))) is not None
    }
    if groups.with_most_copies is not groups and findings.keys() & {"regimes", "correlation"}:
        notes = (*notes, "training regimes and correlations are those with the largest k alone")
    notes = (*notes, *map(str, records.failures))
    of_records = (*groups.fixed_parts, *note_guessing_models(groups.series))
    sentences = (*records.notes, *notes, *of_records, *problems)
    return Results(groups, findings, tuple(dict.fromkeys(sentences)))


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


_ORDER = {
    "verdict": 10, "regimes": 12, "comparison": 15, "suite": 20, "sets": 30, "risk": 40,
    "features": 43, "groups": 45, "accuracy": 50, "study": 60, "differences": 70,
    "correlation": 72, "stopping": 71, "data": 80,
}  # fmt: skip


def bridge(blocks: Any, methods: Methods) -> list[Section]:
    """Sections of a finding that has blocks, until all have."""
    from markupsafe import Markup

    from shaketable.views import page
    from shaketable.views.blocks import Definition, collect_methods, number_places

    blocks = [*number_places(blocks)]
    for kind, texts in collect_methods(blocks).items():
        methods.by_kind.setdefault(kind, {}).update(dict.fromkeys(texts))
    headline, sections = page.make_sections(blocks, f"f{id(blocks)}")
    top = [Section(f"top-{id(blocks)}", "", Markup("".join(headline.parts)), 0)]
    made = []
    for s in sections:
        assert s.heading is not None
        title = Markup("<h2>{}</h2>").format(s.heading.title) if s.heading.title else ""
        body = Markup("").join([title, *s.parts])
        body = Markup(str(body).replace('id="figure-', f'id="{s.place}-figure-'))
        html = Markup('<section id="{}">{}</section>').format(s.place, body)
        order = _ORDER.get(s.place.split("-")[0], 35)
        made.append(Section(s.place, s.heading.contents, html, order))
    definitions = Markup("").join(
        Markup('<p class="formula">{}</p><p class="quiet">{}</p>').format(d.formula, d.about)
        for d in blocks
        if isinstance(d, Definition)
    )
    if made:
        made[0] = replace(made[0], definitions=definitions)
    return [*(top if headline.parts else []), *made]


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


def _check_sections(finding: Any, methods: Methods) -> list[Section]:
    sections = finding.sections(methods)
    if not isinstance(sections, list) or not all(isinstance(s, Section) for s in sections):
        raise TypeError(f"it must return a list of Section, got {sections!r:.80}")
    return sections


def _call(name: str, what: str, function: Any) -> Any:
    """Call a function of a finding; turn exceptions of other packages into an `InputError`."""
    with FINDINGS.guard(name, f"failed in {what}: {{error}}"):
        return function()
