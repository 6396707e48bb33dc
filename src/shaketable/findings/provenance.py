"""How the records of a page were made: data, settings, versions, models."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shaketable.evaluation.records import DEVICE, Records
from shaketable.findings.subjects import Subject
from shaketable.views.text import join_distinct, join_names


def make_title(records: Records) -> str:
    """Return a heading that names models and data."""
    models, data = records.models, list(dict.fromkeys(cell.data for cell in records))
    who, where = join_names(models, "models"), join_names(data, "data sets")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


def list_settings(
    records: Records, suites: Iterable[tuple[tuple[str, ...], str]]
) -> dict[str, str]:
    """Return the settings that are needed to reproduce the records, by name.

    `suites` are pairs of the corruptions of a scored suite and a description of it, which replaces
    them.
    """
    cells = list(records)
    noisy = [c for c in cells if not c.is_clean] or cells
    versions = {f"{name} {v}" for c in cells for name, v in c.versions.items() if name != DEVICE}
    devices = [c.versions[DEVICE] for c in cells if DEVICE in c.versions]
    created = sorted(c.created for c in cells if c.created)
    seconds = sum(c.seconds for c in cells if not math.isnan(c.seconds))
    in_suites = {spec for specs, _ in suites for spec in specs}
    names = [name for _, name in suites]
    names += [c.corruption for c in noisy if c.corruption not in in_suites]
    return {
        "Data": join_distinct(c.data for c in cells),
        "Fingerprint of the data": join_distinct(c.fingerprint for c in cells),
        "Classes": join_distinct(str(label) for c in cells[:1] for label in c.points.classes),
        "Test points": join_distinct(c.n for c in cells),
        "Noise": join_distinct(names),
        "Noisy copies of every point, k": join_distinct(c.setting.k for c in noisy),
        "Draws": join_distinct(c.setting.draws for c in noisy),
        "Noise drawn on": join_distinct(c.setting.noise for c in noisy),
        "Bounds": join_distinct(c.setting.bounds for c in noisy),
        "Runs": join_distinct(sorted({c.run + 1 for c in cells})[-1:]),
        "Seed": join_distinct(c.setting.seed for c in cells),
        "Precision of the points": join_distinct(c.setting.dtype for c in cells),
        **({"Networks computed on": join_distinct(devices)} if devices else {}),
        "Versions": ", ".join(sorted(versions)),
        "Measured": " to ".join(dict.fromkeys([*created[:1], *created[-1:]])),
        "Time spent on measuring": f"{seconds:.1f} s",
    }


def list_models(subjects: Iterable[Subject]) -> list[tuple[str, str, str]]:
    """Return label, training noise and identity of every subject."""
    return [
        (s.label, join_distinct(c.first.train for c in s.clean), s.first.recipe) for s in subjects
    ]
