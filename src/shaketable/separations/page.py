"""The page of a separation: what to check in the data before their eps_min is trusted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shaketable.data.dataset import Dataset
from shaketable.data.facts import describe_data
from shaketable.data.images import are_images
from shaketable.separations import charts, words
from shaketable.separations.audit import Audit, audit
from shaketable.separations.facts import SeparationFacts
from shaketable.separations.one_nn import OneNN
from shaketable.separations.separation import Separation, SeparationRecord
from shaketable.views import page
from shaketable.views.images import to_data_uri

MAX_IMAGE_PAIRS = 100
"""Largest number of pairs that are shown as images."""


def write_separation(
    path: str | Path,
    separation: Separation,
    dataset: Dataset,
    *,
    one_nn: OneNN | None = None,
    audited: Audit | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write a separation and its audit as one HTML page, and return its path.

    The page shows eps_min and what it means; the closest pairs, as images where points are images,
    and eps_min without them; duplicates; distances between classes and parts; and the distance of
    every point to its nearest opponent, if it was measured.

    Parameters
    ----------
    path
        File to write; an existing one is replaced.
    separation, dataset
        A separation, and the data it was measured on.
    one_nn
        Result of the 1-NN classifier on these data, to be shown too.
    audited
        The audit to show; by default one of all pairs that the separation lists.
    title
        Heading of the page; by default it names the data.
    notes
        Sentences to show near the top, before those of the data.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = st.load("bands(n=40)")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_separation(Path(folder) / "page.html", st.separation(data), data).name)
    page.html
    """
    report = audit(separation, dataset) if audited is None else audited
    facts = SeparationFacts.of(SeparationRecord.of(separation, dataset.fingerprint), dataset)
    without = [
        (rank, pair.epsilon_min_without)
        for rank, pair in enumerate(report.pairs, start=1)
        if pair.epsilon_min_without is not None
    ]
    return page.write(
        path,
        "separations/page.html.j2",
        title=title or f"How far apart are the classes of {dataset.name}?",
        notes=[*notes, *dataset.notes()],
        separation=facts,
        audit=report,
        without=without[-1:],
        images=_images(report, dataset),
        one_nn="" if one_nn is None else words.one_nn_sentence(one_nn),
        has_parts=dataset.n_train is not None,
        facts=describe_data(dataset),
        figures={
            "closest": [*left_out_figures(separation), *points_figures(separation, dataset)],
            "nearest": nearest_figures(separation),
        },
    )


def left_out_figures(separation: Separation) -> list[page.Figure]:
    """Chart of eps_min without the closest pairs; none if fewer than two pairs are known."""
    if len(separation.closest) < 2:
        return []
    return page.make_figures(charts.left_out_chart(separation), caption=words.LEFT_OUT)


def points_figures(
    separation: Separation | SeparationRecord, dataset: Dataset, *, place: str = ""
) -> list[page.Figure]:
    """Scatter of the points; none unless they have two features, both plain numbers."""
    if dataset.d != 2 or dataset.table is not None:
        return []
    chart = charts.points_chart(separation, dataset)
    return page.make_figures(chart, place=place, caption=words.POINTS)


def nearest_figures(
    separation: Separation | SeparationRecord, *, place: str = ""
) -> list[page.Figure]:
    """Chart of the distances to nearest opponents; none if they were not measured.

    `place` is as in `page.make_figures`.
    """
    if separation.nearest is None:
        return []
    return page.make_figures(charts.nearest_chart(separation), place=place, caption=words.NEAREST)


def _images(report: Audit, data: Dataset) -> list[tuple[str, str]]:
    """Both images of every pair, as ``data:`` addresses; none where the points are no images."""
    if not are_images(data):
        return []
    return [
        (to_data_uri(data.x[i]), to_data_uri(data.x[j]))
        for i, j in (pair.points for pair in report.pairs[:MAX_IMAGE_PAIRS])
    ]
