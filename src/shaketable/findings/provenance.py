"""How the records of a report were made: data, separation, settings, models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from shaketable.evaluation.records import Record, Records
from shaketable.findings.mce.scores import scoreboards
from shaketable.findings.subjects import Subject
from shaketable.views.text import join_distinct, join_names

MAX_PAIRS = 45
"""Pairs of classes that are listed at most."""


def title(records: Records) -> str:
    """Heading that names models and data."""
    models, data = records.models, list(dict.fromkeys(cell.data for cell in records))
    who, where = join_names(models, "models"), join_names(data, "data sets")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


def facts(records: Records) -> dict[str, str]:
    """How the records were made, for those who want to make them again."""
    cells = list(records)
    noisy = [c for c in cells if c.corruption != "clean"] or cells
    versions = {f"{name} {v}" for c in cells for name, v in c.versions.items()}
    created = sorted(c.created for c in cells if c.created)
    seconds = sum(c.seconds for c in cells if not math.isnan(c.seconds))
    return {
        "Data": join_distinct(c.data for c in cells),
        "Fingerprint of the data": join_distinct(c.fingerprint for c in cells),
        "Classes": join_distinct(str(label) for c in cells[:1] for label in c.points.classes),
        "Test points": join_distinct(c.n for c in cells),
        "Noise": join_distinct(_noises(records, noisy)),
        "Noisy copies of every point, k": join_distinct(c.k for c in noisy),
        "Draws": join_distinct(c.draws for c in noisy),
        "Noise made on": join_distinct(c.noise for c in noisy),
        "Bounds": join_distinct(c.bounds for c in noisy),
        "Runs": join_distinct(sorted({c.run + 1 for c in cells})[-1:]),
        "Seed": join_distinct(c.seed for c in cells),
        "Precision of the points": join_distinct(c.dtype for c in cells),
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
    return [(s.label, join_distinct(c.first.train for c in s.clean), s.first.recipe) for s in found]
