"""How the records of a page were made: data, settings, versions, models."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shaketable.evaluation.records import DEVICE, Records
from shaketable.findings.missing import RESULTS_FILE
from shaketable.findings.subjects import Subject
from shaketable.views.text import join_distinct, join_names


def make_title(records: Records) -> str:
    """Return a heading that names models and data."""
    models = list(dict.fromkeys([*records.models, *(a.model for a in records.beside_cells)]))
    data = list(
        dict.fromkeys(
            [
                *(cell.data for cell in records),
                *(a.data for a in records.beside_cells),
                *(d.name for d in records.data if not models),
            ]
        )
    )
    where = join_names(data, "data sets") if data else "these data"
    if not models:
        return f"How far apart are the classes of {where}?"
    who = join_names(models, "models")
    return f"How robust {'is' if len(models) == 1 else 'are'} {who} on {where}?"


def list_commands(records: Records) -> list[tuple[str, str]]:
    """Return when and by which command every part was made, as a shell takes it."""
    listed = []
    for command in records.commands:
        about = f"{command.command}, {command.created}"
        if command.lacks:
            about += f"; given in Python: {join_distinct(command.lacks)}"
        listed.append((about, command.write(records.source or RESULTS_FILE)))
    return listed


def group_notes(records: Records, notes: Iterable[str]) -> dict[str, list[str]]:
    """Return notes by what they are about: data, models, measurement."""
    known = {note for data in records.data for note in data.notes}
    known |= {note for each in records.beside_cells for note in each.about_data}
    names = [*records.models, *(each.model for each in records.beside_cells)]
    groups: dict[str, list[str]] = {"data": [], "models": [], "measurement": []}
    for note in dict.fromkeys(notes):
        of_model = any(note.startswith((f"{name}:", f"{name} ", f"{name},")) for name in names)
        about = "data" if note in known else "models" if of_model else "measurement"
        groups[about].append(note)
    return {about: texts for about, texts in groups.items() if texts}


def list_settings(
    records: Records, suites: Iterable[tuple[tuple[str, ...], str]]
) -> dict[str, str]:
    """Return the settings that are needed to reproduce the records, by name.

    `suites` are pairs of the corruptions of a scored suite and a description of it, which replaces
    them.
    """
    cells = list(records)
    if not cells:
        return {}
    noisy = [c for c in cells if not c.is_clean] or cells
    versions = {f"{name} {v}" for c in cells for name, v in c.versions.items() if name != DEVICE}
    devices = [c.versions[DEVICE] for c in cells if DEVICE in c.versions]
    platforms = [command.platform for command in records.commands if command.recipes]
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
        **({"Machine": join_distinct(platforms)} if platforms else {}),
        "Measured": " to ".join(dict.fromkeys([*created[:1], *created[-1:]])),
        "Time spent on measuring": f"{seconds:.1f} s",
    }


def list_models(subjects: Iterable[Subject]) -> list[tuple[str, str, str]]:
    """Return label, training noise and identity of every subject."""
    return [
        (s.label, join_distinct(c.first.train for c in s.clean), s.first.recipe) for s in subjects
    ]
