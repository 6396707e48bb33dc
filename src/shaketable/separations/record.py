"""TODO."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.core.norms import half_separation
from shaketable.core.types import FloatArray

if TYPE_CHECKING:
    from shaketable.separations.separation import Separation


@dataclass(frozen=True, eq=False)
class SeparationRecord:
    """What metrics and reports need to know of a class separation."""

    fingerprint: str
    norm: float
    two_r: float
    pair: tuple[int, int]
    classes: tuple[Any, ...]
    by_class: list[list[float | None]] | None
    """Minimum per pair of classes; None where there are too many classes to keep it."""
    by_part: dict[str, float | None]
    nearest: FloatArray | None
    """Every point's distance to its nearest point of another class; None if not measured."""

    @property
    def epsilon_min(self) -> float:
        """Half the separation: the strongest noise under which no accuracy has to be lost."""
        return half_separation(self.two_r, self.norm)

    @classmethod
    def of(cls, separation: Separation, fingerprint: str) -> SeparationRecord:
        """Record of a measured separation."""
        return cls(
            fingerprint, separation.p, separation.two_r, separation.pair, separation.classes,
            class_minima(separation), separation.by_part, separation.nearest,
        )  # fmt: skip


def class_minima(separation: Separation) -> list[list[float | None]] | None:
    """Minimum per pair of classes as plain numbers, None where there is none."""
    if separation.by_class is None:
        return None
    return [[None if math.isnan(v) else v for v in row] for row in separation.by_class.tolist()]
