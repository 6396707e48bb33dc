"""The part of a separation that is stored with results, and the minima between classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shaketable.core.norms import half_separation
from shaketable.core.types import FloatArray

if TYPE_CHECKING:
    from shaketable.separations.separation import Separation


@dataclass(frozen=True, eq=False)
class SeparationRecord:
    """A class separation as metrics and reports use it."""

    fingerprint: str
    """Fingerprint of the data."""
    norm: float
    """Order of the norm."""
    two_r: float
    pair: tuple[int, int]
    """Rows of the closest points of different classes."""
    classes: tuple[Any, ...]
    by_class: list[list[float | None]] | None
    """Minimum between each two classes; None if there are too many classes to keep it."""
    by_part: dict[str, float | None]
    """Minima train-train, train-test, test-test; empty if the data have only one part."""
    nearest: FloatArray | None
    """Distance of every point to its nearest point of another class; None if not measured."""

    @property
    def epsilon_min(self) -> float:
        """Half the separation: the strongest noise under which no accuracy has to be lost."""
        return half_separation(self.two_r, self.norm)

    @classmethod
    def of(cls, separation: Separation, fingerprint: str) -> SeparationRecord:
        """Record of a measured separation."""
        return cls(
            fingerprint=fingerprint,
            norm=separation.p,
            two_r=separation.two_r,
            pair=separation.pair,
            classes=separation.classes,
            by_class=class_minima(separation),
            by_part=separation.by_part,
            nearest=separation.nearest,
        )


def class_minima(separation: Separation) -> list[list[float | None]] | None:
    """Minimum between each two classes as plain numbers, None where there is no pair."""
    if separation.by_class is None:
        return None
    return [[None if math.isnan(v) else v for v in row] for row in separation.by_class.tolist()]


def rank_class_pairs(
    classes: Sequence[Any], by_class: Sequence[Sequence[float | None]] | None
) -> list[tuple[Any, Any, float]]:
    """Every pair of classes with its minimum distance, the closest first.

    >>> rank_class_pairs("abc", [[None, 2.0, 1.0], [2.0, None, None], [1.0, None, None]])
    [('a', 'c', 1.0), ('a', 'b', 2.0)]
    """
    if by_class is None:
        return []
    pairs = [
        (classes[i], classes[j], value)
        for i, j in combinations(range(len(classes)), 2)
        if (value := by_class[i][j]) is not None
    ]
    return sorted(pairs, key=lambda pair: pair[2])
