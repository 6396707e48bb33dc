"""Worst cases in a results file: to rows of numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shaketable.adversary.accuracy import AdversarialAccuracy, Examples, KeptExamples, Trial
from shaketable.adversary.curve import Curve
from shaketable.adversary.region import Constraint
from shaketable.adversary.target import Attacked
from shaketable.adversary.view import find_nearest
from shaketable.core.keys import digest
from shaketable.core.versions import list_versions
from shaketable.evaluation.attack_record import AttackRecord

if TYPE_CHECKING:
    from shaketable.adversary.worst_case import WorstCase
    from shaketable.data.dataset import Dataset


def list_records(found: WorstCase) -> list[AttackRecord]:
    """Return what a results file keeps of a worst case, one row per model, constraint and size."""
    return [_make_record(found, curve, a) for curve in found.curves for a in curve]


def _make_record(found: WorstCase, curve: Curve, a: AdversarialAccuracy) -> AttackRecord:
    about, data = curve.attacked, found.data
    first = next((b for b in curve if len(b.examples)), None)
    noisy, k = found.noisy.get(about.model, {}).get(a.epsilon, (None, 0))
    touches = a.constraint == "none" and a.epsilon == found.eps_min
    distances = a.examples.distances(data, a.p) if data is not None else None
    nearest = find_nearest(distances) if a is first and distances is not None else None
    shown = a.examples if nearest is None else a.examples.choose(nearest)
    return AttackRecord(
        key=_make_key(about, a),
        points=about.points,
        data=about.data,
        fingerprint=about.fingerprint,
        model=about.model,
        model_id=about.model_id,
        norm=a.p,
        epsilon=a.epsilon,
        kind=a.constraint,
        eps_min=found.eps_min,
        is_table=about.is_table,
        bounds=about.bounds,
        seed=about.seed,
        embedding=about.embedding,
        codes=about.codes,
        remains=a.remains.astype(np.int64),
        remains_exactly=a.remains_exactly,
        withstood=a.withstood.astype(np.int64),
        proven_to=a.proven_to,
        fell=a.examples.rows,
        answers=a.examples.codes,
        distances=distances,
        nearest=nearest,
        steps=None if nearest is None or data is None else shown.steps(data).ravel(),
        trials=tuple(asdict(trial) for trial in a.trials),
        proven=a.proven,
        notes=a.notes,
        about_data=about.about_data,
        about_model=about.about_model,
        closest=curve.find_closest(a.epsilon) if touches else None,
        noisy=noisy,
        noisy_k=k,
        versions=list_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _make_key(about: Attacked, a: AdversarialAccuracy) -> str:
    who = about.model_id or f"function {about.model}"
    region = repr((a.p, float(a.epsilon), a.constraint, about.bounds, about.seed))
    what = (about.fingerprint, about.points.id, who, region, about.embedding)
    return f"{digest('worst case', *what):016x}"


def restore(records: Iterable[AttackRecord], data: Dataset | None = None) -> list[WorstCase]:
    """Return the worst cases that records hold: models that were attacked alike are in one.

    Examples are shown where `data` are those of the records.
    """
    groups: dict[tuple[Any, ...], list[AttackRecord]] = {}
    for r in records:
        about = r.fingerprint, r.norm, r.points.id, r.bounds, r.seed
        region = r.kind, r.embedding
        groups.setdefault((about, r.model_id or r.model, region), []).append(r)
    ladders: dict[tuple[Any, ...], list[list[AttackRecord]]] = {}
    for (setting, model, (_, embedding)), rows in groups.items():
        rows.sort(key=lambda r: r.epsilon)
        sizes = tuple(r.epsilon for r in rows)
        ladders.setdefault((setting, sizes, model, embedding), []).append(rows)
    joined: dict[tuple[Any, ...], WorstCase] = {}
    for (setting, sizes, *_), curves in ladders.items():
        found = _restore_model(curves, data)
        regions = frozenset((c.constraint, c.attacked.embedding) for c in found.curves)
        key = setting, sizes, regions
        joined[key] = joined[key] + _rename(found, joined[key].models) if key in joined else found
    return [*joined.values()]


def _restore_model(curves: list[list[AttackRecord]], data: Dataset | None) -> WorstCase:
    from shaketable.adversary.worst_case import WorstCase  # it imports this module

    r = curves[0][-1]
    noisy = {r.epsilon: (r.noisy, r.noisy_k) for r in curves[0] if r.noisy is not None}
    return WorstCase(
        data if data is not None and data.fingerprint == r.fingerprint else None,
        r.norm,
        r.eps_min,
        tuple(_restore_curve(rows) for rows in curves),
        {r.model: noisy} if noisy else {},
    )


def _restore_curve(rows: list[AttackRecord]) -> Curve:
    r = rows[-1]
    attacked = Attacked.restore(r, embedding=r.embedding)
    closest = next((r.closest for r in rows if r.closest is not None), None)
    return Curve(attacked, tuple(map(_restore_accuracy, rows)), closest=closest)


def _restore_accuracy(r: AttackRecord) -> AdversarialAccuracy:
    examples: Examples = KeptExamples(
        r.fell, np.empty(0), r.answers, r.distances, r.nearest, r.steps
    )
    return AdversarialAccuracy(
        p=r.norm,
        epsilon=r.epsilon,
        constraint=cast(Constraint, r.kind),
        withstood=r.withstood.astype(bool),
        remains=r.remains.astype(bool),
        remains_exactly=r.remains_exactly,
        examples=examples,
        trials=tuple(Trial(**trial) for trial in r.trials),
        proven=r.proven,
        notes=r.notes,
        proven_to=r.proven_to,
    )


def _rename(found: WorstCase, taken: list[str]) -> WorstCase:
    """Give a model another name where another one has its own."""
    (name,) = found.models
    if name not in taken:
        return found
    new = next(f"{name} ({i})" for i in range(2, len(taken) + 3) if f"{name} ({i})" not in taken)
    curves = tuple(replace(c, attacked=replace(c.attacked, model=new)) for c in found.curves)
    noisy = {new: found.noisy[name]} if found.noisy else {}
    return replace(found, curves=curves, noisy=noisy)
