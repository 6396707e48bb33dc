"""What a results file keeps of certificates by smoothing: counts of noisy answers, no points."""

from __future__ import annotations

from dataclasses import dataclass, field

from shaketable.core.types import IntArray
from shaketable.evaluation.records import Points


@dataclass(frozen=True, eq=False, kw_only=True)
class CertificateRecord:
    """One smoothed model at its points: how often the model inside gives the class of the vote."""

    key: str
    """Hash of model, data, points and settings: of the same, the last one counts."""
    points: Points
    data: str
    fingerprint: str
    """Fingerprint of the data."""
    model: str
    """Name of the smoothed model."""
    inside: str
    """Name of the model inside."""
    model_id: str
    """Identifies the smoothed model; empty for one of a function without an ID."""
    is_table: bool
    """Whether the data are a table of several kinds of columns."""
    sigma: float
    draws: int
    votes: int
    """Noisy copies whose answers select the class."""
    confidence: float
    bounds: str
    seed: int
    dimensions: int
    """Number of values of a point that noise changes."""
    norm: float
    """Norm of the sizes that are shown."""
    epsilons: tuple[float, ...]
    """Sizes that are shown."""
    codes: IntArray
    """Class codes of the vote at the points."""
    hits: IntArray
    """Draws in which the model inside gives this class, per point."""
    about_data: tuple[str, ...]
    """Notes on the data."""
    about_model: tuple[str, ...]
    """Notes on the model."""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
