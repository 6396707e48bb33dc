"""The finding: certificates of smoothed models that a results file holds."""

from __future__ import annotations

from datetime import UTC, datetime

from shaketable.adversary.smoothing.numbers import (
    AllCertificates,
    AllCertificatesJson,
    Certificates,
)
from shaketable.adversary.target import Attacked
from shaketable.core.keys import digest
from shaketable.core.versions import list_versions
from shaketable.evaluation.certificate_record import CertificateRecord
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups


def make_record(found: Certificates) -> CertificateRecord:
    """Return what a results file keeps of certificates."""
    about = found.attacked
    who = about.model_id or f"function {about.model}"
    drawn = found.sigma, found.draws, found.select, found.confidence
    settings = repr((*drawn, about.bounds, about.seed))
    return CertificateRecord(
        key=f"{digest('certificates', about.fingerprint, about.points.id, who, settings):016x}",
        points=about.points,
        data=about.data,
        fingerprint=about.fingerprint,
        model=about.model,
        inside=about.model.removesuffix(f", smoothed {found.sigma:g}"),
        model_id=about.model_id,
        is_table=about.is_table,
        sigma=found.sigma,
        draws=found.draws,
        votes=found.select,
        confidence=found.confidence,
        bounds=about.bounds,
        seed=about.seed,
        dimensions=found.d,
        norm=found.p,
        epsilons=found.epsilons,
        codes=found.codes,
        hits=found.hits,
        about_data=about.about_data,
        about_model=about.about_model,
        versions=list_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def restore(r: CertificateRecord) -> Certificates:
    """Return the certificates that a record holds; what attacks found is not kept."""
    return Certificates(
        Attacked.restore(r),
        sigma=r.sigma,
        draws=r.draws,
        select=r.votes,
        confidence=r.confidence,
        hits=r.hits,
        d=r.dimensions,
        p=r.norm,
        epsilons=r.epsilons,
    )


def find(groups: RecordGroups) -> AllCertificates | None:
    """Take the certificates from records; None where they hold none."""
    found = tuple(map(restore, groups.records.certificates))
    return AllCertificates(found) if found else None


FINDINGS.add("certificates", FindingKind(find, json=AllCertificatesJson, needs_cells=False))
