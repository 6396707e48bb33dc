"""Reports: records in, one HTML file out that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shaketable.core.errors import InputError
from shaketable.data.dataset import Dataset
from shaketable.evaluation.records import Records
from shaketable.findings import provenance
from shaketable.findings.mce import section as suites
from shaketable.findings.mcv import section as mcv
from shaketable.findings.mscr import charts, words
from shaketable.findings.mscr import section as content
from shaketable.findings.subjects import Subject, subjects
from shaketable.separations.facts import SeparationFacts
from shaketable.separations.page import nearest_figures, points_figures
from shaketable.separations.record import SeparationRecord
from shaketable.views import page


def write_report(
    path: str | Path,
    records: Records,
    *,
    dataset: Dataset | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    reference: str = "",
) -> Path:
    """Write all that the records tell as one HTML page, and return its path.

    The verdict comes first, then what suites measured, the risk of a wrong answer, accuracies and
    differences, the data, and how everything was measured. The file holds its charts and the code
    that draws them.

    Parameters
    ----------
    path
        File to write; one that exists is replaced.
    records
        Of fixed models, of studies, or both.
    dataset
        The data they were made from; two-dimensional points are drawn.
    title
        Heading of the page; by default it names models and data.
    notes
        Sentences a reader should know, shown near the top.
    reference
        Model that the groups of the mCV plot are told against; see `VariationTable`.
    """
    if not len(records):
        raise InputError("records must hold at least one cell; evaluate a model first")
    mine = {cell.fingerprint for cell in records}
    separations = [s for s in records.separations if s.fingerprint in mine]
    every = subjects(records)
    found = [s for s in every if not s.left_to_suites]
    methods: content.Methods = {}
    sections = suites.sections(records, methods)
    boards = mcv.sections(records, methods, reference=reference)
    return page.write(
        path,
        "findings/page.html.j2",
        title=title or provenance.title(records),
        notes=[*notes, *_about(dataset, separations)],
        headlines=[content.headline(s, methods) for s in found],
        risks=[risk for s in found for risk in content.risks(s, methods)],
        accuracies=[content.accuracies(s, methods) for s in found if not s.is_study],
        matrices=[content.matrix(s, methods) for s in found if s.is_study and s.norm],
        differences=content.differences(found, methods),
        suites=sections,
        boards=boards,
        separations=[
            SeparationFacts.of(s, dataset if _is_of(s, dataset) else None) for s in separations
        ],
        facts=provenance.facts(records),
        makers=provenance.makers(every),
        methods=methods,
        figures={
            **_figures(records, found, dataset, separations),
            **suites.figures(records, sections),
            **mcv.figures(boards),
        },
    )


def _figures(
    records: Records,
    found: list[Subject],
    dataset: Dataset | None,
    separations: list[SeparationRecord],
) -> dict[str, list[page.Figure]]:
    """Figures by the part of the page they belong to."""
    fixed = _only(records, [s for s in found if not s.is_study])
    studies = _only(records, [s for s in found if s.is_study])
    columns = max((len(s.clean) for s in found), default=0)
    about = words.ACCURACY if separations else words.PLAIN_ACCURACY
    return {
        "mscr": page.drawn(charts.mscr, records, caption=words.MSCR),
        "accuracy": page.drawn(charts.accuracy, fixed, caption=about),
        "matrix": page.drawn(
            charts.matrix, studies, caption=words.MATRIX, min_width=120 + 74 * columns
        ),
        "study": [
            *page.drawn(charts.accuracy, studies, caption=words.LADDER),
            *page.drawn(charts.tradeoff, studies, caption=words.TRADEOFF),
            *page.drawn(charts.runs, studies, caption=words.RUNS),
        ],
        "data": [
            figure for s in separations for figure in (*nearest_figures(s), *_points(dataset, s))
        ],
    }


def _points(dataset: Dataset | None, separation: SeparationRecord) -> list[page.Figure]:
    if dataset is None or not _is_of(separation, dataset):
        return []
    return points_figures(separation, dataset)


def _is_of(separation: SeparationRecord, dataset: Dataset | None) -> bool:
    return dataset is not None and dataset.fingerprint == separation.fingerprint


def _only(records: Records, chosen: list[Subject]) -> Records:
    """Cells of these subjects alone."""
    keys = {
        cell.key for subject in chosen for s in subject.all_series for cell in (*s.noisy, *s.clean)
    }
    return Records(tuple(c for c in records if c.key in keys), records.separations)


def _about(dataset: Dataset | None, separations: list[SeparationRecord]) -> list[str]:
    if (
        dataset is None
        or not separations
        or dataset.fingerprint in {s.fingerprint for s in separations}
    ):
        return []
    return [f"The points of {dataset.name} are not drawn: they are not the data of these results."]
