"""Results files joined into a new one: all their cells, which must not contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shaketable.core.errors import InputError
from shaketable.core.norms import norm_title
from shaketable.core.writing import write_beside
from shaketable.evaluation.attack_record import AttackRecord
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.records import GroupingRecord, Record, Records
from shaketable.evaluation.store import Store
from shaketable.separations.separation import SeparationRecord


@dataclass(frozen=True)
class Merged:
    """What a new results file holds."""

    cells: int
    shared: int
    """Cells that were in more than one file."""
    models: tuple[str, ...]
    """Names of the models; two that differ may have the same name."""
    renamed: tuple[tuple[str, str], ...]
    """Models that had several names: a name before, and the last one, which they have now."""
    others: tuple[tuple[str, int], ...]
    """Results besides cells: their kind and number; only kinds that there are."""


def merge_stores(paths: Sequence[str | Path], out: str | Path) -> Merged:
    """Write a new results file with all that several hold.

    A cell that several files hold must have the same counts in all, and the same goes for
    separations and groups of data; else it is an `InputError` that names it, and nothing is
    written. A model with several names gets that of the last file. What attacks and searches keep
    to go on from stays behind: it holds no results.
    """
    if Path(out).exists():
        raise InputError(f"results file {str(out)!r} exists already; name a new file")
    files: dict[str, Records] = {}
    commands: list[CommandRecord] = []
    for path in paths:
        with Store(path, must_exist=True) as store:
            files[str(path)] = store.everything()
            commands += store.commands()
    if len(files) < 2:
        raise InputError(f"merge joins two results files or more, got {len(files)}; name another")
    cells, homes = _join_cells(files)
    separations = _join(files, "separations", "norm", _describe_separation)
    groupings = _join(files, "groupings", "name", _describe_grouping)
    attacks = _join_attacks(files)
    rare = {r.key: r for records in files.values() for r in records.rare}
    certificates = {r.key: r for records in files.values() for r in records.certificates}
    names: dict[str, list[str]] = {}
    for cell in (cell for records in files.values() for cell in records):
        names.setdefault(cell.recipe, []).append(cell.model)
    with write_beside(out, "results file") as beside, Store(beside) as store:
        store.add(cells.values())
        for separation in separations:
            store.add_separation(separation)
        for suite in dict.fromkeys(suite for records in files.values() for suite in records.suites):
            store.add_suite(suite)
        for grouping in groupings:
            store.add_grouping(grouping)
        for command in commands:
            store.add_command(command)
        for data in {d.fingerprint: d for records in files.values() for d in records.data}.values():
            store.add_data(data)
        store.add_results(attacks)
        store.add_results(rare.values())
        store.add_results(certificates.values())
        for failure in (f for records in files.values() for f in records.failures):
            if failure.key not in cells:
                store.add_failure(failure)
        for each in sorted(
            (r for records in files.values() for r in records.registrations),
            key=lambda each: each.created,
        ):
            store.register(each.text, created=each.created)
        store.rename({recipe: given[-1] for recipe, given in names.items() if len(set(given)) > 1})
        models = {cell.recipe: cell.model for cell in store.records()}
    return Merged(
        len(cells),
        sum(len(found) > 1 for found in homes.values()),
        tuple(models.values()),
        tuple(
            (name, given[-1])
            for given in names.values()
            for name in dict.fromkeys(given)
            if name != given[-1]
        ),
        tuple(
            (kind, number)
            for kind, number in (
                ("worst cases", len(attacks)),
                ("rare failures", len(rare)),
                ("smoothing", len(certificates)),
            )
            if number
        ),
    )


def _join_cells(files: dict[str, Records]) -> tuple[dict[str, Record], dict[str, list[str]]]:
    """Every cell once, and the files that hold it."""
    cells: dict[str, Record] = {}
    homes: dict[str, list[str]] = {}
    for path, records in files.items():
        for cell in records:
            first = cells.setdefault(cell.key, cell)
            homes.setdefault(cell.key, []).append(path)
            if not _are_equal(first, cell):
                raise _refuse(homes[cell.key], _describe_cell(first, cell))
            if first.answers is None:
                cells[cell.key] = cell
    return cells, homes


def _are_equal(first: Record, second: Record) -> bool:
    """Whether two records of a cell have the same counts and, where both have them, answers."""
    if first.predictions is None or second.predictions is None:
        same = first.predictions is second.predictions
    else:
        same = np.array_equal(first.predictions, second.predictions)
    if first.answers is not None and second.answers is not None:
        same = same and first.answers.agrees_with(second.answers)
    return same and np.array_equal(first.hits, second.hits)


def _describe_cell(first: Record, second: Record) -> str:
    points = int((first.hits != second.hits).sum()) if first.n == second.n else first.n
    counts = f"{first.correct} and {second.correct} of {first.n * first.k} draws correct"
    return (
        f"model {first.model} under {first.corruption} on {first.data} (k {first.k}, seed "
        f"{first.setting.seed}, run {first.run}): {counts}, {points} points differ"
    )


def _join(files: dict[str, Records], field: str, name: str, describe: Any) -> list[Any]:
    """Every separation or grouping once; an error if two files differ in one."""
    found: dict[tuple[str, Any], tuple[str, Any]] = {}
    for path, records in files.items():
        for one in getattr(records, field):
            home, first = found.setdefault((one.fingerprint, getattr(one, name)), (path, one))
            if describe(first)[1:] != describe(one)[1:]:
                raise _refuse([home, path], describe(first)[0])
    return [one for _, one in found.values()]


def _join_attacks(files: dict[str, Records]) -> list[AttackRecord]:
    """What attacks found, every region once: of several the one that found most."""
    found: dict[str, AttackRecord] = {}
    for attack in (attack for records in files.values() for attack in records.attacks):
        first = found.setdefault(attack.key, attack)
        if (len(attack.fell), bool(attack.proven)) > (len(first.fell), bool(first.proven)):
            found[attack.key] = attack
    return [*found.values()]


def _describe_separation(separation: SeparationRecord) -> tuple[Any, ...]:
    """Name in messages, and what must agree."""
    name = f"the {norm_title(separation.norm)} separation of the data {separation.fingerprint[:8]}"
    return name, separation.two_r, tuple(separation.pair)


def _describe_grouping(grouping: GroupingRecord) -> tuple[Any, ...]:
    """Name in messages, and what must agree."""
    name = f"the groups by {grouping.name} of the data {grouping.fingerprint[:8]}"
    return name, grouping.labels, tuple(grouping.codes.tolist())


def _refuse(paths: Sequence[str], what: str) -> InputError:
    return InputError(
        f"results files {paths[0]!r} and {paths[-1]!r} must agree in what both hold, and do not in "
        f"{what}; measure it again, and merge the file that is right"
    )
