"""What a results file keeps of rare failures: their probability at every point, no points."""

from __future__ import annotations

from dataclasses import dataclass, field

from shaketable.core.types import FloatArray, IntArray
from shaketable.evaluation.records import Points
from shaketable.statistics.rare import PointRisks


@dataclass(frozen=True, eq=False, kw_only=True)
class RareRecord:
    """One model under one corruption: the probability of a wrong answer at each of its points.

    Arrays have one number per point; `statistics.rare.PointRisks` says what they are.
    """

    key: str
    """Hash of model, data, points, corruption and settings: of the same, the last one counts."""
    points: Points
    data: str
    fingerprint: str
    """Fingerprint of the data."""
    model: str
    model_id: str
    """Identifies the model; empty for a function without an ID."""
    corruption: str
    bounds: str
    seed: int
    budget: int
    """Answers of the model per point, about, that were allowed."""
    method: IntArray
    value: FloatArray
    error: FloatArray
    sample: IntArray
    hits: IntArray
    queries: IntArray
    reach: FloatArray
    why_plain: str
    """Why there are plain draws alone; empty where margins were followed."""
    about_data: tuple[str, ...]
    """Notes on the data."""
    about_model: tuple[str, ...]
    """Notes on the model."""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""

    @property
    def risks(self) -> PointRisks:
        """The probabilities, from which all intervals are computed."""
        return PointRisks(
            self.method, self.value, self.error, self.sample, self.hits, self.queries, self.reach
        )
