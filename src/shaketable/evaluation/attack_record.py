"""What a results file keeps of a worst case: which points fell to which attacks, no points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Points


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackRecord:
    """One model within one epsilon under one constraint: which of its points attacks moved."""

    key: str
    """Hash of model, data, points, region and seed: of the same, the last one counts."""
    points: Points
    """The points that were attacked."""
    data: str
    fingerprint: str
    """Fingerprint of the data."""
    model: str
    model_id: str
    """Identifies the model; empty for a function without an ID."""
    norm: float
    epsilon: float
    kind: str
    """Constraint of the adversary, such as ``none`` or ``genuine-max``."""
    eps_min: float | None
    """Half the separation of the data in this norm; None if there is none."""
    is_table: bool
    """Whether the data are a table of several kinds of columns."""
    bounds: str
    seed: int
    codes: IntArray
    """Class codes that the model gives the points as they are; -1 is none of the classes."""
    remains: IntArray
    """1 for points whose region is not empty, else 0."""
    remains_exactly: bool
    withstood: IntArray
    """1 for points of whose region no misclassified point is known, else 0."""
    proven_to: FloatArray
    """For every point a distance up to which it is proven to withstand; empty if nothing is."""
    fell: IntArray
    """Rows of the data for which an adversarial example was found."""
    answers: IntArray
    """Class codes of the examples."""
    distances: FloatArray | None
    """Of the examples from their points."""
    nearest: IntArray | None
    """The examples that `steps` are for, as places in `fell`; None where none are shown."""
    steps: FloatArray | None
    """How far every number of these points moved, one point after the other."""
    trials: tuple[dict[str, Any], ...]
    """Attacks in their order, with what each tried, found and asked."""
    proven: str
    notes: tuple[str, ...]
    about_data: tuple[str, ...]
    """Notes on the data."""
    about_model: tuple[str, ...]
    """Notes on the model."""
    closest: IntArray | None
    """Places of the points whose balls touch that of another class at eps_min; None elsewhere."""
    noisy: IntArray | None
    """Correctly classified draws of random noise of the same size, per point; None if not asked."""
    noisy_k: int
    """Draws per point of this noise."""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""
