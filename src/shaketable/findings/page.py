"""The page of results: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.findings.mce.finding import SuiteErrors
from shaketable.findings.provenance import list_models, list_settings, make_title
from shaketable.findings.results import Found, Results, as_results, find
from shaketable.findings.section_order import PLACES
from shaketable.separations.audit import audit
from shaketable.separations.separation import Separation, SeparationRecord
from shaketable.separations.view import list_exact_values, show_record
from shaketable.views import page
from shaketable.views.blocks import Block, Column, Facts, Heading, Table, order_sections

_AVOIDABLE = (
    "Every model was evaluated under known random noise on every test point. What counts is the "
    "accuracy it loses under noise that is too weak to carry a point to another class: that loss "
    "is avoidable."
)
_CORRUPTED = (
    "Every test point was corrupted in many known ways, the same for every model. What counts is "
    "how many answers are wrong."
)


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
        Sentences that a reader should know, shown near the top.
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
        return audit(found, dataset).report(path, title=title, notes=notes)
    if isinstance(found, Results | Records | str | Path):
        results = as_results(found, reference=reference, notes=notes)
        return write_report(path, results, dataset=dataset, title=title)
    return found.report(path)


def write_report(
    path: str | Path,
    records: Records | Results,
    *,
    dataset: Dataset | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    reference: str = "",
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
        Sentences that a reader should know, shown near the top.
    reference
        Label of the model that the groups of the mCV plot refer to; see `VariationTable`.

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
    separations = _list_separations(results.records)
    known = [(s, _match_data(s, dataset)) for s in separations]
    parts = results.blocks(), _show_data(known), _show_method(results, known)
    blocks = order_sections(parts, PLACES)
    has_verdict = any(isinstance(b, Heading) and b.place == "verdict" for b in blocks)
    return page.write_blocks(
        path,
        blocks,
        title=title or make_title(results.records),
        lead=_AVOIDABLE if has_verdict else _CORRUPTED,
        notes=[*results.notes, *_note_other_data(dataset, separations)],
    )


def _show_data(known: list[tuple[SeparationRecord, Dataset | None]]) -> list[Block]:
    if not known:
        return []
    return [
        Heading("How far apart the classes are", "data", "Data"),
        *(block for s, points in known for block in show_record(s, points)),
    ]


def _show_method(
    results: Results, known: list[tuple[SeparationRecord, Dataset | None]]
) -> list[Block]:
    settings = list_settings(results.records, describe_suites(results))
    exact = [fact for s, points in known for fact in list_exact_values(s, points)]
    return [
        Heading("How it was made", "method", "How it was made"),
        Facts([*settings.items(), *exact], "Settings"),
        Table(
            "Models",
            (Column("model"), Column("training noise"), Column("identity")),
            list_models(results.groups.subjects),
            level="detail",
            limit=1000,
        ),
    ]


def _list_separations(records: Records) -> list[SeparationRecord]:
    fingerprints = {cell.fingerprint for cell in records}
    return [s for s in records.separations if s.fingerprint in fingerprints]


def _match_data(separation: SeparationRecord, dataset: Dataset | None) -> Dataset | None:
    """Return the data set if it is the one that the separation was measured on."""
    is_same = dataset is not None and dataset.fingerprint == separation.fingerprint
    return dataset if is_same else None


def _note_other_data(dataset: Dataset | None, separations: list[SeparationRecord]) -> list[str]:
    known = {s.fingerprint for s in separations}
    if dataset is None or not separations or dataset.fingerprint in known:
        return []
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
