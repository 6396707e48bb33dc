"""How the records of a report were made: data, separation, settings, models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from shaketable.norms import norm_title
from shaketable.records import Records, SeparationRecord
from shaketable.subjects import Subject

MAX_PAIRS = 45
"""Pairs of classes that are listed at most."""


def title(records: Records) -> str:
    """Heading that names models and data."""
    models, data = records.models, list(dict.fromkeys(cell.data for cell in records))
    who, where = _listed(models, "models"), _listed(data, "data sets")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


def _listed(names: list[str], kind: str) -> str:
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


@dataclass(frozen=True)
class SeparationFacts:
    """A class separation as the page shows it."""

    norm: str
    fingerprint: str
    two_r: float
    epsilon_min: float
    pair: tuple[int, int]
    parts: dict[str, float | None]
    class_pairs: list[tuple[str, str, float]]
    """Minimum of every pair of classes, the closest first."""
    more_pairs: int

    @classmethod
    def of(cls, s: SeparationRecord) -> SeparationFacts:
        """Facts of a recorded separation."""
        pairs = [
            (str(s.classes[i]), str(s.classes[j]), value)
            for i, j in combinations(range(len(s.classes)), 2)
            if (value := s.by_class[i][j]) is not None
        ]
        pairs.sort(key=lambda row: row[2])
        return cls(
            norm_title(s.norm), s.fingerprint, s.two_r, s.epsilon_min, s.pair, s.by_part,
            pairs[:MAX_PAIRS], len(pairs[MAX_PAIRS:]),
        )  # fmt: skip


def facts(records: Records) -> dict[str, str]:
    """How the records were made, for those who want to make them again."""
    cells = list(records)
    noisy = [c for c in cells if c.corruption != "clean"] or cells
    versions = {f"{name} {v}" for c in cells for name, v in c.versions.items()}
    created = sorted(c.created for c in cells if c.created)
    seconds = sum(c.seconds for c in cells if not math.isnan(c.seconds))
    return {
        "Data": distinct(c.data for c in cells),
        "Fingerprint of the data": distinct(c.fingerprint for c in cells),
        "Classes": distinct(str(label) for c in cells[:1] for label in c.points.classes),
        "Test points": distinct(c.n for c in cells),
        "Noise": distinct(c.corruption for c in noisy),
        "Noisy copies of every point, k": distinct(c.k for c in noisy),
        "Draws": distinct(c.draws for c in noisy),
        "Bounds": distinct(c.bounds for c in noisy),
        "Runs": distinct(sorted({c.run + 1 for c in cells})[-1:]),
        "Seed": distinct(c.seed for c in cells),
        "Precision of the points": distinct(c.dtype for c in cells),
        "Versions": ", ".join(sorted(versions)),
        "Measured": " to ".join(dict.fromkeys([*created[:1], *created[-1:]])),
        "Time spent on measuring": f"{seconds:.1f} s",
    }


def makers(found: Iterable[Subject]) -> list[tuple[str, str, str]]:
    """Label, training and identity of every subject."""
    return [(s.label, distinct(c.first.train for c in s.clean), s.first.recipe) for s in found]


def distinct(values: Iterable[Any]) -> str:
    """List every value once, in the order they came."""
    return ", ".join(dict.fromkeys(map(str, values)))
