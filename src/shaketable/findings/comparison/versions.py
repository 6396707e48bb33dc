"""Versions: what two results files, an old and a new one, hold on the same points and noise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from shaketable.core.checks import list_names
from shaketable.core.errors import InputError, either
from shaketable.core.schemas import NotesJson
from shaketable.evaluation.records import Record, Records
from shaketable.evaluation.store import Store
from shaketable.evaluation.store_guards import store_without_cells
from shaketable.findings.comparison.finding import Comparison, ComparisonJson
from shaketable.findings.comparison.pairs import Pair, compute_gaps, group_by_data, make_pairs
from shaketable.findings.comparison.view import make_blocks
from shaketable.findings.groups import Condition, RecordGroups
from shaketable.views.blocks import Block, Heading, Sentence
from shaketable.views.terminal import Displayed, print_notes

Subject = tuple[str, str]
"""Name of a model, and its training noise."""


class VersionsJson(ComparisonJson):
    """Differences between two results files."""

    old: Annotated[str, "Results file that the other is compared with."]
    new: Annotated[str, "Results file of the first models."]
    notes: NotesJson


@dataclass(frozen=True, eq=False)
class Versions(Displayed):
    """Differences in accuracy between the models of two results files, new minus old."""

    old: str
    new: str
    comparison: Comparison
    notes: tuple[str, ...]

    def json(self) -> VersionsJson:
        """Return the files, every difference in percentage points, and notes."""
        return {
            "old": self.old,
            "new": self.new,
            **self.comparison.json(),
            "notes": list(self.notes),
        }

    def blocks(self) -> list[Block]:
        """Return which model is more accurate, then the differences."""
        compute_gaps(self.comparison.pairs)
        return make_blocks(self.comparison, is_alone=True)

    def print(self) -> None:
        """Print which model is more accurate, the differences, and notes to stderr."""
        super().print()
        print_notes(self.notes)


@dataclass(frozen=True, eq=False)
class Changes(Displayed):
    """The same as a finding of the new file, with a section of its own."""

    versions: Versions

    def json(self) -> dict[str, VersionsJson]:
        """Return the differences under a key of their own."""
        return {"changes": self.versions.json()}

    def blocks(self) -> list[Block]:
        """Return which model is more accurate now, then the differences."""
        v = self.versions
        heading = Heading(f"What changed since {Path(v.old).name}?", "changes", "Changes")
        return [
            heading,
            *(_move(block) for block in v.blocks() if not isinstance(block, Heading)),
            *(Sentence(note, tone="quiet") for note in v.notes),
        ]


def _move(block: Block) -> Block:
    """Let answers stand in this section, not above all."""
    if isinstance(block, Sentence):
        return replace(block, level="summary", place="") if block.level == "headline" else block
    return block


def compare_stores(old: str | Path, new: str | Path) -> Versions:
    """Compare models of the same name in two results files, or the only model of each.

    Differences are on the points and under the noise that both files hold; notes say what only one
    of them holds.
    """
    paths = [str(old), str(new)]
    if os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
        raise InputError(f"compare takes two results files, got {paths[0]!r} twice; name another")
    both = []
    for path in paths:
        with Store(path, must_exist=True) as store:
            both.append(store.records())
        if not len(both[-1]):
            raise store_without_cells(path)
    names = [Path(path).name for path in paths]
    names = paths if names[0] == names[1] else names
    matched = _match_models(both, names)
    same_name = any(first[0] == second[0] for first, second in matched)
    tagged = [
        _tag(records, name if same_name else "", str(side))
        for side, (records, name) in enumerate(zip(both, names, strict=True))
    ]
    conditions = RecordGroups(tagged[0] + tagged[1]).conditions
    subjects = [
        {_get_recipe(cell): (c.model, c.train) for c, cell in zip(plain, records, strict=True)}
        for plain, records in zip(both, tagged, strict=True)
    ]
    pairs: list[Pair] = []
    for on_data in group_by_data(conditions):
        old_labels, new_labels = (_find_labels(on_data, known) for known in subjects)
        chosen = [
            (new_labels[second], old_labels[first])
            for first, second in matched
            if first in old_labels and second in new_labels
        ]
        pairs += make_pairs(on_data, chosen)
    if not pairs:
        raise InputError(
            f"results files {names[0]!r} and {names[1]!r} must share points and noise to be "
            f"compared, {_find_reason(both)}"
        )
    notes = [*_note_same(both, matched), *_note_alone(pairs, conditions, subjects, names)]
    return Versions(paths[0], paths[1], Comparison(tuple(pairs)), tuple(dict.fromkeys(notes)))


def _match_models(both: Sequence[Records], names: Sequence[str]) -> list[tuple[Subject, Subject]]:
    """Pairs of models to compare.

    Those of the same name and training noise; or, if each file has one model, those two.
    """
    old, new = (list(dict.fromkeys((c.model, c.train) for c in records)) for records in both)
    common = [(subject, subject) for subject in old if subject in new]
    if common or not len(old) == len(new) == 1:
        if common:
            return common
        models = [list_names(list(dict.fromkeys(name for name, _ in s))) for s in (old, new)]
        raise InputError(
            f"results files must hold models of the same names, or one model each, got {models[0]} "
            f"in {names[0]!r} and {models[1]} in {names[1]!r}; evaluate with "
            + either("--model NAME=MODEL", "name=")
        )
    return [(old[0], new[0])]


def _tag(records: Records, file: str, side: str) -> Records:
    """Return the records with models that are those of one file only."""

    def tag(cell: Record) -> Record:
        return replace(
            cell,
            key=f"{side}{cell.key}",
            model=f"{cell.model} in {file}" if file else cell.model,
            recipe=f"{cell.recipe} {side}",
            model_id=f"{cell.model_id} {side}",
        )

    return replace(records, cells=tuple(map(tag, records)))


def _get_recipe(cell: Record) -> tuple[str, str]:
    return cell.recipe, cell.train


def _find_labels(
    conditions: Sequence[Condition], subjects: Mapping[tuple[str, str], Subject]
) -> dict[Subject, str]:
    """Labels of the models of one file, by name and training noise."""
    return {
        subjects[_get_recipe(series.first)]: label
        for condition in conditions
        for label, series in condition.series.items()
        if _get_recipe(series.first) in subjects
    }


def _find_reason(both: Sequence[Records]) -> str:
    """Why two files have nothing in common."""
    old, new = ({c.fingerprint: c.data for c in records} for records in both)
    if not old.keys() & new.keys():
        names = [list_names(list(dict.fromkeys(data.values()))) for data in (old, new)]
        return f"and their data differ: {names[0]}, and {names[1]}; evaluate both on the same data"
    return "and their points differ; evaluate both on the same test part, studies with one seed"


def _note_same(
    both: Sequence[Records], matched: Sequence[tuple[Subject, Subject]]
) -> Iterator[str]:
    """Say which models are no other ones in the new file."""
    for pair in matched:
        old, new = (
            {c.model_id for c in records if (c.model, c.train) == subject}
            for records, subject in zip(both, pair, strict=True)
        )
        if old & new:
            yield f"model {pair[1][0]} is the same in both files"


def _note_alone(
    pairs: Sequence[Pair],
    conditions: Sequence[Condition],
    subjects: Sequence[Mapping[tuple[str, str], Subject]],
    names: Sequence[str],
) -> Iterator[str]:
    """Say which models and corruptions only one file has."""
    compared = {gap.condition for pair in pairs for gap in pair.gaps}
    labels = {label for pair in pairs for label in (pair.first, pair.second)}
    for name, known in zip(names, subjects, strict=True):
        here = [
            (condition, label)
            for condition in conditions
            for label, series in condition.series.items()
            if _get_recipe(series.first) in known
        ]
        alone = [
            known[_get_recipe(c.series[label].first)][0] for c, label in here if label not in labels
        ]
        if alone:
            yield f"only {name} has {list_names(list(dict.fromkeys(alone)))}, not compared"
        noises = dict.fromkeys(
            c.noise for c, label in here if c not in compared and label in labels
        )
        if noises:
            yield f"only {name} has results under {list_names(list(noises))}, not compared"
