"""A separation as pages show it: plain values, ready for a template."""

from __future__ import annotations

from dataclasses import dataclass

from shaketable.core.norms import norm_title
from shaketable.data.dataset import Dataset
from shaketable.separations.pair import (
    compare_with_columns,
    describe_deviations,
    describe_gaps,
    list_gaps,
)
from shaketable.separations.separation import SeparationRecord, rank_class_pairs

MAX_PAIRS = 45
"""Largest number of pairs of classes that are listed."""

MAX_CLASSES = 20
"""Largest number of classes whose minima are shown as a matrix; of more, as a list."""


@dataclass(frozen=True)
class Minimum:
    """Minimum between two classes, and its place among all such minima."""

    value: float
    near: float
    """Closeness on a scale from 1 for the closest two classes to 0 for the farthest."""

    @property
    def least(self) -> bool:
        """Whether no other two classes are closer."""
        return self.near == 1


@dataclass(frozen=True)
class SeparationFacts:
    """A class separation as a page shows it."""

    norm: str
    fingerprint: str
    two_r: float
    epsilon_min: float
    pair: tuple[int, int]
    """Rows of the closest points; those of the source if the data are known."""
    differing: str
    """In which features these points differ; empty for images, and if the data are not known."""
    parts: dict[str, float | None]
    """Minima within and between the parts."""
    classes: list[str]
    matrix: list[tuple[str, list[Minimum | None]]]
    """Label and minima of every class; empty for two classes and for more than 20."""
    class_pairs: list[tuple[str, str, float]]
    """Classes and their minimum, for the closest pairs of classes."""
    more_pairs: int
    """Number of pairs of classes that are not listed."""
    by_class_known: bool
    """Whether the minima between classes were kept."""
    deviations: str
    """eps_min in standard deviations of columns; empty for images and if the data are not known."""
    half: str
    """Which fraction of 2r eps_min is, as the beginning of a sentence."""

    @classmethod
    def of(cls, s: SeparationRecord, data: Dataset | None = None) -> SeparationFacts:
        """Facts of a separation; `data` are those it was measured on, if known."""
        ranked = rank_class_pairs(s.classes, s.by_class)
        pairs = [(str(a), str(b), value) for a, b, value in ranked]
        i, j = s.pair
        classes = [str(label) for label in s.classes]
        shown = s.by_class if 2 < len(classes) <= MAX_CLASSES else None
        return cls(
            norm=norm_title(s.norm),
            fingerprint=s.fingerprint,
            two_r=s.two_r,
            epsilon_min=s.epsilon_min,
            pair=s.pair if data is None else (data.source_row(i), data.source_row(j)),
            differing="" if data is None else describe_gaps(list_gaps(data, s.pair, s.norm)),
            parts=s.by_part,
            classes=classes,
            matrix=[] if shown is None else _matrix(classes, shown),
            class_pairs=pairs[:MAX_PAIRS],
            more_pairs=len(pairs[MAX_PAIRS:]),
            by_class_known=s.by_class is not None,
            deviations=""
            if data is None
            else describe_deviations(compare_with_columns(data, s.epsilon_min)),
            half="Half of it" if s.norm >= 1 else "The 2^(1/p)-th part of it",
        )


def _matrix(
    classes: list[str], by_class: list[list[float | None]]
) -> list[tuple[str, list[Minimum | None]]]:
    known = [value for row in by_class for value in row if value is not None]
    least, span = min(known), max(known) - min(known)

    def entry(value: float | None) -> Minimum | None:
        return None if value is None else Minimum(value, 1 - (value - least) / (span or 1.0))

    return [
        (label, [entry(value) for value in row])
        for label, row in zip(classes, by_class, strict=True)
    ]
