"""Drawing the noise of certificates and counting the answers, in parts that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.adversary.smoothing.finding import make_record
from shaketable.adversary.smoothing.model import Vote
from shaketable.adversary.smoothing.numbers import Certificates, list_epsilons
from shaketable.adversary.target import Target
from shaketable.core.arrays import Parts, keep_arrays, load_arrays
from shaketable.core.checks import HUGE, check_real, unknown_name
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.norms import as_p
from shaketable.core.spec import read_multiple
from shaketable.core.types import IntArray
from shaketable.core.versions import list_versions
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.store import Store
from shaketable.separations.separation import separation
from shaketable.views.progress import show_progress

if TYPE_CHECKING:
    from shaketable.adversary.smoothing.model import Smoothed

_COPIES = 1 << 19
"""Noisy copies of a part."""


def compute_certificates(
    model: Smoothed,
    data: Any,
    epsilons: float | str | Iterable[float | str] | None,
    *,
    norm: str | float,
    name: str | None,
    refit: bool,
    own: bool,
    split: bool,
    unscale: bool,
    points: int | None,
    store: str | Path | None,
    progress: bool,
) -> Certificates:
    """Certify the points of a data set; see `Smoothed.certify`."""
    data, p = as_dataset(data), as_p(norm)
    ladder = _read_epsilons(epsilons, data, p, progress=progress)
    target = Target.of(
        model,
        data,
        bounds=model.bounds,
        seed=model.seed,
        name=name,
        refit=refit,
        own=own,
        split=split,
        unscale=unscale,
        points=points,
    )
    with Store(store) as results:
        keep = None if results.in_memory else results
        hits = count_hits(target, model, keep, progress=progress)
        found = _make_certificates(model, target, hits, p, ladder)
        if not results.in_memory:
            results.add_data(DataRecord.of(data))
            results.add_results([make_record(found)])
    return found


def _make_certificates(
    model: Smoothed, target: Target, hits: IntArray, p: float, ladder: tuple[float, ...]
) -> Certificates:
    return Certificates(
        target.attacked,
        sigma=model.sigma,
        draws=model.draws,
        select=model.select,
        confidence=model.confidence,
        hits=hits,
        d=count_moving(target.data),
        p=p,
        epsilons=ladder or list_epsilons(model.sigma, model.draws, model.confidence),
        target=target,
    )


def count_moving(data: Dataset) -> int:
    """Number of values of a point that noise changes."""
    return data.d if data.table is None else int(data.table.moved.sum())


def count_hits(
    target: Target, model: Smoothed, keep: Parts | None = None, *, progress: bool = False
) -> IntArray:
    """Count for every point in how many draws the model inside gives the class of the vote."""
    vote = target.classifier.answer
    assert isinstance(vote, Vote), "the target is a smoothed model"
    stream = digest("smoothing", SCHEME, target.data.fingerprint, model.seed)
    keep = None if target.classifier.identity is None else keep
    hits = np.empty(len(target.rows), np.int64)
    size = max(1, _COPIES // model.draws)
    parts = [slice(i, i + size) for i in range(0, len(hits), size)]
    title = f"certifying {target.classifier.name}"
    for part in show_progress(parts, title, enabled=progress, total=len(parts)):
        key = _make_key(target, model, part)
        kept = load_arrays(keep, key)
        if kept is None:
            keys = row_keys(stream, target.rows[part], np.arange(model.draws))
            votes = vote.count_answers(target.points[part], keys)
            # of answers that the data lack, code -1, the last column has the count
            kept = {"hits": votes[np.arange(len(votes)), target.codes[part]]}
            keep_arrays(keep, key, kept)
        hits[part] = kept["hits"]
    return hits


def _make_key(target: Target, model: Smoothed, part: slice) -> str:
    """Hash of all that the counts of a part depend on."""
    setting = (
        "smoothing",
        SCHEME,
        str(sorted(list_versions().items())),
        target.data.fingerprint,
        str(target.classifier.identity),
        model.seed,
        model.draws,
        target.rows[part].astype("<i8").tobytes(),
    )
    return f"{digest(*setting):016x}{digest('second half', *setting):016x}"


def _read_epsilons(
    epsilons: float | str | Iterable[float | str] | None,
    data: Dataset,
    p: float,
    *,
    progress: bool,
) -> tuple[float, ...]:
    """Return sizes as numbers, each once, the smallest first."""
    if epsilons is None:
        return ()
    given = [epsilons] if isinstance(epsilons, str | float | int) else [*epsilons]
    factors = [read_multiple(size) for size in given]
    eps_min = 0.0
    if any(factor is not None for factor in factors):
        eps_min = separation(data, norm=p, points=False, progress=progress).epsilon_min
    return tuple(sorted({*_resolve(given, factors, eps_min)}))


def _resolve(
    given: Iterable[float | str], factors: Iterable[float | None], eps_min: float
) -> Iterator[float]:
    for size, factor in zip(given, factors, strict=True):
        if factor is not None:
            yield factor * eps_min
        elif isinstance(size, str):
            raise unknown_name("epsilon", size, ["eps_min"])
        else:
            yield check_real("epsilon", size, "be finite, 0 or more", low=0, high=HUGE)
