"""TODO."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset
from shaketable.separations.audit import class_pairs
from shaketable.separations.record import SeparationRecord

MAX_PAIRS = 45
"""Pairs of classes that are listed at most."""

MAX_CLASSES = 20
"""Up to this number of classes their minima are shown as a matrix, else as a list."""


@dataclass(frozen=True)
class Cell:
    """Minimum of two classes, and its place among all of them."""

    value: float
    near: float
    """1 for the closest two classes, 0 for the farthest."""

    @property
    def least(self) -> bool:
        """Whether no two classes are closer."""
        return self.near == 1


@dataclass(frozen=True)
class SeparationFacts:
    """A class separation as a page shows it."""

    norm: str
    fingerprint: str
    two_r: float
    epsilon_min: float
    pair: tuple[int, int]
    """Rows of the closest points, in the source where the data are known."""
    parts: dict[str, float | None]
    classes: list[str]
    matrix: list[tuple[str, list[Cell | None]]]
    """Label and minima of every class; empty for two classes, and for many."""
    class_pairs: list[tuple[str, str, float]]
    """Minimum of every pair of classes, the closest first."""
    more_pairs: int
    by_class_known: bool
    half: str
    """What eps_min is of 2r, to begin a sentence with."""

    @classmethod
    def of(cls, s: SeparationRecord, data: Dataset | None = None) -> SeparationFacts:
        """Facts of a recorded separation; `data` are those it was measured on, where known."""
        pairs = [(str(a), str(b), value) for a, b, value in class_pairs(s.classes, s.by_class)]
        i, j = s.pair
        classes = [str(label) for label in s.classes]
        shown = s.by_class if 2 < len(classes) <= MAX_CLASSES else None
        return cls(
            norm=norm_title(s.norm),
            fingerprint=s.fingerprint,
            two_r=s.two_r,
            epsilon_min=s.epsilon_min,
            pair=s.pair if data is None else (data.source_row(i), data.source_row(j)),
            parts=s.by_part,
            classes=classes,
            matrix=[] if shown is None else _matrix(classes, shown),
            class_pairs=pairs[:MAX_PAIRS],
            more_pairs=len(pairs[MAX_PAIRS:]),
            by_class_known=s.by_class is not None,
            half="Half of it" if s.norm >= 1 else "The 2^(1/p)-th part of it",
        )


def _matrix(
    classes: list[str], by_class: list[list[float | None]]
) -> list[tuple[str, list[Cell | None]]]:
    known = [value for row in by_class for value in row if value is not None]
    least, span = min(known), max(known) - min(known)

    def cell(value: float | None) -> Cell | None:
        return None if value is None else Cell(value, 1 - (value - least) / (span or 1.0))

    return [
        (label, [cell(value) for value in row])
        for label, row in zip(classes, by_class, strict=True)
    ]
