"""How the records of a report were made: data, separation, settings, models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shaketable.audits import class_pairs
from shaketable.data import Dataset
from shaketable.evaluation import versions
from shaketable.norms import norm_title
from shaketable.records import Record, Records, SeparationRecord
from shaketable.scores import scoreboards
from shaketable.subjects import Subject

MAX_PAIRS = 45
"""Pairs of classes that are listed at most."""

MAX_CLASSES = 20
"""Up to this number of classes their minima are shown as a matrix, else as a list."""


def title(records: Records) -> str:
    """Heading that names models and data."""
    models, data = records.models, list(dict.fromkeys(cell.data for cell in records))
    who, where = listed(models, "models"), listed(data, "data sets")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


def listed(names: list[str], kind: str) -> str:
    """Up to three names, or how many there are of a kind."""
    if len(names) > 3:
        return f"{len(names)} {kind}"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


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


def data_facts(data: Dataset) -> dict[str, str]:
    """Which data they are, and with what they were looked at."""
    split = f" ({data.n_train} training, {data.n - data.n_train} test)" if data.n_train else ""
    return {
        "Data": data.name,
        "Fingerprint of the data": data.fingerprint,
        "Points": f"{data.n}{split}",
        "Features of a point": " × ".join(map(str, data.shape)) or "1",
        "Precision of the points": str(data.x.dtype),
        "Classes": _first(list(map(str, data.classes))),
        "Versions": distinct(sorted(f"{name} {v}" for name, v in versions().items())),
        "Written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _first(names: list[str]) -> str:
    more = len(names) - MAX_PAIRS
    return distinct(names[:MAX_PAIRS]) + (f" and {more} more" if more > 0 else "")


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
        "Noise": distinct(_noises(records, noisy)),
        "Noisy copies of every point, k": distinct(c.k for c in noisy),
        "Draws": distinct(c.draws for c in noisy),
        "Noise made on": distinct(c.noise for c in noisy),
        "Bounds": distinct(c.bounds for c in noisy),
        "Runs": distinct(sorted({c.run + 1 for c in cells})[-1:]),
        "Seed": distinct(c.seed for c in cells),
        "Precision of the points": distinct(c.dtype for c in cells),
        "Versions": ", ".join(sorted(versions)),
        "Measured": " to ".join(dict.fromkeys([*created[:1], *created[-1:]])),
        "Time spent on measuring": f"{seconds:.1f} s",
    }


def _noises(records: Records, noisy: list[Record]) -> Iterator[str]:
    """Suites by name, then the corruptions that belong to none."""
    listed = set()
    for board in scoreboards(records):
        listed |= set(board.suite.specs)
        yield f"suite {board.suite.name} ({len(board.suite.specs)} corruptions, {board.sizes})"
    yield from (c.corruption for c in noisy if c.corruption not in listed)


def makers(found: Iterable[Subject]) -> list[tuple[str, str, str]]:
    """Label, training and identity of every subject."""
    return [(s.label, distinct(c.first.train for c in s.clean), s.first.recipe) for s in found]


def distinct(values: Iterable[Any]) -> str:
    """List every value once, in the order they came."""
    return ", ".join(dict.fromkeys(map(str, values)))
