"""The page of results: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.records import Records
from shaketable.findings.errata.errata import (
    list_touching,
    name_one_nn,
    name_subjects,
    show_errata,
)
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.missing import show_missing
from shaketable.findings.provenance import (
    group_notes,
    list_commands,
    list_models,
    list_settings,
    make_title,
)
from shaketable.findings.results import Found, Results, as_results, find
from shaketable.findings.section_order import PLACES
from shaketable.separations.audit import Audit, audit
from shaketable.separations.pair import note_eps_min
from shaketable.separations.separation import Separation, SeparationRecord
from shaketable.separations.view import list_exact_values, show_audit, show_record
from shaketable.views import page
from shaketable.views.blocks import Block, Column, Facts, Heading, Sentence, Table, order_sections

_AVOIDABLE = (
    "Every model was evaluated under known random noise on every test point. What counts is the "
    "accuracy it loses under noise that is too weak to carry a point to another class: that loss "
    "is avoidable."
)
_CORRUPTED = (
    "Every test point was corrupted in many known ways, the same for every model. What counts is "
    "how many answers are wrong."
)

_HELD = "What was measured on these data, and what was not."
_NOTED = {"data": "the data", "models": "the models", "measurement": "the measurement"}


class Reported(Protocol):
    """A result that writes its own page, such as that of `assess`, `audit` or `worst_case`."""

    def report(self, path: str | Path) -> Path:
        """Write the page, and return its path."""


def report(
    found: Found | Separation | Reported,
    path: str | Path,
    *,
    dataset: Dataset | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    reference: str = "",
) -> Path:
    """Write a result as one HTML page that needs no other file.

    Parameters
    ----------
    found
        Records, their findings, or a results file; a result of `assess`, `audit`, `separation` or
        `worst_case`.
    path
        File to write, ``.html``; an existing one is replaced.
    dataset
        The data. A separation needs them; of records, two-dimensional points are drawn.
    title
        Heading of the page; by default it names models and data.
    notes
        Sentences that a reader should know, besides those of the results.
    reference
        Label of the model that the groups of the mCV plot refer to; see `VariationTable`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import shaketable as st
    >>> points = [[0.0], [0.4], [1.0]], [False, False, True]
    >>> records = st.evaluate(lambda x: x[:, 0] > 0.5, points, ["linf(eps_min)"], name="step")
    >>> st.report(records, "page.html").name  # doctest: +SKIP
    'page.html'
    """
    if isinstance(found, Separation):
        if dataset is None:
            raise InputError("dataset must be the data of the separation, got None; pass it")
        checked = audit(found, dataset)
        results = find(record_audit(checked), notes=notes)
        return write_report(path, results, dataset=dataset, title=title, audits=[checked])
    if isinstance(found, Results | Records | str | Path):
        results = as_results(found, reference=reference, notes=notes)
        return write_report(path, results, dataset=dataset, title=title)
    return found.report(path)


def record_audit(found: Audit, *commands: CommandRecord) -> Records:
    """Return the records that a results file would have of a separation."""
    record = SeparationRecord.of(found.separation, found.data.fingerprint)
    return Records((), (record,), data=(DataRecord.of(found.data),), commands=commands)


def write_report(
    path: str | Path,
    records: Records | Results,
    *,
    dataset: Dataset | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    reference: str = "",
    audits: Iterable[Audit] = (),
) -> Path:
    """Write all findings of the records as one HTML page, and return its path.

    Sections stand in the order of `section_order.PLACES`. The file holds its charts and the code
    that draws them.

    Parameters
    ----------
    path
        File to write; an existing file is replaced.
    records
        Records of fitted models, of studies, or of both; or their results.
    dataset
        The data of the records; two-dimensional points are drawn.
    title
        Heading of the page; by default it names models and data.
    notes
        Sentences that a reader should know, besides those of the results.
    reference
        Label of the model that the groups of the mCV plot refer to; see `VariationTable`.
    audits
        Audits of separations that were just measured, which know more than the records.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> records = st.evaluate(lambda x: x[:, 0] > 0, ([[-1.0], [1.0]], [False, True]), "linf(0.1)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_report(Path(folder) / "page.html", records).name)
    page.html
    """
    if isinstance(records, Results):
        results = records
    else:
        results = find(records, reference=reference, notes=notes)
    results = results if dataset is None else results.with_data(dataset)
    known = results.records
    parts = *list_parts(results, dataset, audits), show_missing(results)
    blocks = order_sections(parts, PLACES)
    avoidable = len(known) and any(s.at_eps_min for s in results.robustness.subjects)
    return page.write_blocks(
        path,
        blocks,
        title=title or make_title(known),
        lead=_AVOIDABLE if avoidable else _CORRUPTED if len(known) else _HELD,
        notes=list_warnings(results),
    )


def list_parts(
    results: Results, dataset: Dataset | None = None, audits: Iterable[Audit] = ()
) -> list[list[Block]]:
    """Return the sections of all that results show, and of how they were made, part by part."""
    known, audits = results.records, list(audits)
    return [
        results.blocks(),
        _show_data(known, dataset, audits),
        show_errata(list_touching(name_subjects(known) | _name_neighbours(audits))),
        _show_notes(results, _note_data(dataset, known)),
        _show_method(results, dataset),
    ]


def _name_neighbours(audits: Iterable[Audit]) -> set[str]:
    """Return 1-NN of audits, in the words of `Erratum.touches`."""
    return {name_one_nn(audit.one_nn.p) for audit in audits if audit.one_nn is not None}


def list_warnings(results: Results) -> list[str]:
    """Return what stands above all: what failed, and what is not finished."""
    return [*map(str, results.records.failures), *results.groups.unfinished]


def _show_data(records: Records, dataset: Dataset | None, audits: Iterable[Audit]) -> list[Block]:
    """Return every separation, with its closest points where the data are given."""
    separations = _list_separations(records)
    audited = {(a.data.fingerprint, a.separation.p): a for a in audits}
    names = name_separated(records)
    blocks: list[Block] = []
    for s in separations:
        found = audited.get((s.fingerprint, s.norm))
        if found is None and (data := _match_data(s, dataset)) is not None:
            found = audit(s.restore(data), data)
        blocks += (
            show_record(s, name=names.get(s.fingerprint, ""))
            if found is None
            else _drop_places(show_audit(found), separations)
        )
    if not blocks:
        return []
    return [Heading("How far apart the classes are", "data", "Data"), *blocks]


def name_separated(records: Records) -> dict[str, str]:
    """Return the names of the data whose separation is known, by fingerprint; nothing if of one."""
    known = {separation.fingerprint for separation in records.separations}
    names = {data.fingerprint: data.name for data in records.data if data.fingerprint in known}
    return names if len(known) > 1 else {}


def _drop_places(blocks: list[Block], separations: list[SeparationRecord]) -> Iterator[Block]:
    """Leave out the first heading; of several separations, all are in one section."""
    for block in blocks[1:]:
        if isinstance(block, Heading) and len(separations) > 1:
            yield replace(block, place="", contents="")
        else:
            yield block


def _show_notes(results: Results, more: Iterable[str]) -> list[Block]:
    """Return all notes, each once, by what they are about; failures stand at the top."""
    above = {*map(str, results.records.failures)}
    notes = [note for note in (*results.notes, *more) if note not in above]
    grouped = group_notes(results.records, notes)
    if not grouped:
        return []
    blocks: list[Block] = [Heading("What to know about these results", "notes", "Notes")]
    for about, texts in grouped.items():
        blocks += [Heading(f"On {_NOTED[about]}"), *map(Sentence, texts)]
    return blocks


def _show_method(results: Results, dataset: Dataset | None) -> list[Block]:
    records = results.records
    settings = list_settings(records, describe_suites(results))
    for name in ("Data", "Fingerprint of the data", "Classes") if records.data else ():
        settings.pop(name, None)
    exact = [
        fact
        for s in _list_separations(records)
        for fact in list_exact_values(s, _match_data(s, dataset))
    ]
    commands = list_commands(records)
    return [
        Heading("How it was made", "method", "Commands and method"),
        *([Facts(commands, "Commands, to be pasted into a shell", code=True)] * bool(commands)),
        *(Facts([*data.summary.items()], "Data") for data in records.data),
        *([Facts([*settings.items(), *exact], "Settings")] if settings or exact else []),
        *([_tabulate_models(results)] if len(records) else []),
    ]


def _tabulate_models(results: Results) -> Table:
    return Table(
        "Models",
        (Column("model"), Column("training noise"), Column("identity")),
        list_models(results.groups.subjects),
        level="detail",
        limit=1000,
    )


def _list_separations(records: Records) -> list[SeparationRecord]:
    fingerprints = {cell.fingerprint for cell in records}
    fingerprints |= {each.fingerprint for each in records.beside_cells}
    return [s for s in records.separations if s.fingerprint in fingerprints or not fingerprints]


def _match_data(separation: SeparationRecord, dataset: Dataset | None) -> Dataset | None:
    """Return the data set if it is the one that the separation was measured on."""
    is_same = dataset is not None and dataset.fingerprint == separation.fingerprint
    return dataset if is_same else None


def _note_data(dataset: Dataset | None, records: Records) -> list[str]:
    """Say how large eps_min is beside the columns, or that the data are others."""
    separations = _list_separations(records)
    if dataset is None or not separations:
        return []
    of_data = [s for s in separations if s.fingerprint == dataset.fingerprint]
    if of_data:
        return list(note_eps_min(dataset, of_data))
    return [f"The points of {dataset.name} are not drawn: they are not the data of these results."]


def describe_suites(results: Results) -> list[tuple[tuple[str, ...], str]]:
    """Return the corruptions and a description of every suite that is scored by its mean error."""
    finding = results.findings.get("mce")
    if not isinstance(finding, SuiteErrors):
        return []
    return [
        (b.suite.specs, f"suite {b.suite.name} ({len(b.suite.specs)} corruptions, {b.sizes})")
        for b in finding.boards
    ]
