"""How the records of a report were made: data, separation, settings, models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from shaketable.evaluation.records import Record, Records
from shaketable.findings.mce.scores import scoreboards
from shaketable.findings.subjects import Subject
from shaketable.views.numbers import distinct, listed

MAX_PAIRS = 45
"""Pairs of classes that are listed at most."""


def title(records: Records) -> str:
    """Heading that names models and data."""
    models, data = records.models, list(dict.fromkeys(cell.data for cell in records))
    who, where = listed(models, "models"), listed(data, "data sets")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


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
