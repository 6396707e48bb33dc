"""The page of a separation: what to see of data before their eps_min is trusted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shaketable.data.dataset import Dataset
from shaketable.data.facts import data_facts
from shaketable.data.images import are_images
from shaketable.separations import charts, words
from shaketable.separations.audit import Audit, audit, one_nn_sentence
from shaketable.separations.facts import SeparationFacts
from shaketable.separations.one_nn import OneNN
from shaketable.separations.record import SeparationRecord
from shaketable.separations.separation import Separation
from shaketable.views import images as pictures
from shaketable.views import page

MAX_PICTURES = 100
"""Pairs that are shown as pictures at most."""


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
    """Write what a separation hangs on as one HTML page, and return its path.

    First eps_min and what it means; then the closest pairs, as pictures where points are images,
    and what eps_min would be without them; duplicates; distances between classes and parts; every
    point's nearest opponent, where measured.

    Parameters
    ----------
    path
        File to write; one that exists is replaced.
    separation, dataset
        A separation, and the data it was measured on.
    one_nn
        The 1-NN classifier's answers on these data, where they are to be told.
    audited
        The audit to show; by default one of all that the separation knows.
    title
        Heading of the page; by default it names the data.
    notes
        Sentences a reader should know, shown near the top with those of the data.
    """
    found = audit(separation, dataset) if audited is None else audited
    facts = SeparationFacts.of(SeparationRecord.of(separation, dataset.fingerprint), dataset)
    without = [
        (rank, pair.epsilon_min_without)
        for rank, pair in enumerate(found.pairs, start=1)
        if pair.epsilon_min_without is not None
    ]
    return page.write(
        path,
        "separations/page.html.j2",
        title=title or f"How far apart are the classes of {dataset.name}?",
        notes=[*notes, *dataset.notes()],
        separation=facts,
        audit=found,
        without=without[-1:],
        pictures=_pictures(found, dataset),
        one_nn="" if one_nn is None else one_nn_sentence(one_nn),
        has_parts=dataset.n_train is not None,
        facts=data_facts(dataset),
        figures={
            "closest": [
                *page.drawn(charts.left_out, separation, caption=words.LEFT_OUT),
                *page.drawn(charts.points, dataset, separation, caption=words.POINTS),
            ],
            "nearest": page.drawn(charts.nearest, separation, caption=words.NEAREST),
        },
    )


def _pictures(found: Audit, data: Dataset) -> list[tuple[str, str]]:
    """Both pictures of every pair; none where the points are no images."""
    if not are_images(data):
        return []
    return [
        (pictures.data_uri(data.x[i]), pictures.data_uri(data.x[j]))
        for i, j in (pair.points for pair in found.pairs[:MAX_PICTURES])
    ]
