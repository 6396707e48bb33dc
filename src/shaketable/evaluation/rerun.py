"""Whether results that were made again agree with those of before: cell by cell, and in the mean.

With the same versions and platform, counts must be identical. With others, trainings may differ in
the last digits of numbers and so in everything after that: then results agree if no difference of
mean accuracies is larger than chance explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, cast

import numpy as np

from shaketable.core.checks import list_names
from shaketable.core.spec import display_name
from shaketable.evaluation.command_records import CommandRecord
from shaketable.evaluation.records import DEVICE, Record
from shaketable.statistics.difference import is_shown
from shaketable.statistics.estimate import Estimate, EstimateWithMethodJson
from shaketable.statistics.intervals import mean_difference, mean_difference_over_runs
from shaketable.views.blocks import Block, Column, Entry, Sentence, Table
from shaketable.views.numbers import format_spec
from shaketable.views.terminal import Displayed


class ChangeJson(TypedDict):
    """One model under one corruption, where some cells differ; accuracies in per cent."""

    model: str
    train: str
    corruption: str
    runs: int
    cells: Annotated[int, "how many differ, of one per run"]
    points: Annotated[int, "points of these cells that differ"]
    then: Annotated[float, "mean accuracy"]
    now: float
    difference: EstimateWithMethodJson
    shown: Annotated[bool, "whether it is more than chance explains"]


class ThenAndNowJson(TypedDict):
    """What it was, and what it is."""

    then: str
    now: str


class CommandJson(TypedDict):
    """A command by which cells were made."""

    command: Literal["study", "evaluate"]
    settings: Annotated[dict[str, Any], "keys of a study file"]
    lacks: Annotated[dict[str, str], "what was given in Python and cannot be written down, by key"]
    fingerprint: Annotated[str, "of the data"]
    models: Annotated[dict[str, str], "hashes by name"]
    versions: dict[str, str]
    created: str


class RerunJson(TypedDict):
    """Result of rerun."""

    store: str
    agrees: Annotated[
        bool, "identical or, with other versions or another platform, as chance explains"
    ]
    identical: Annotated[bool, "whether all counts are the same"]
    cells: Annotated[int, "how many were made again"]
    sampled: Annotated[bool, "whether only a random part was made again"]
    missing: Annotated[list[str], "cells that were not made again, by model, corruption and run"]
    cells_of_unknown_commands: Annotated[int, "cells in the file that no kept command made"]
    failures_then: Annotated[
        list[str], "errors of what the file lacks because it failed, which is not compared"
    ]
    changes: Annotated[
        list[ChangeJson], "models and corruptions where some cells differ; accuracies in per cent"
    ]
    versions: Annotated[dict[str, ThenAndNowJson], "versions that differ, by package"]
    platform: ThenAndNowJson
    commands: Annotated[list[CommandJson], "how the file was made"]


@dataclass(frozen=True)
class Change:
    """One model under one corruption, over all runs, where some cells differ."""

    model: str
    train: str
    corruption: str
    runs: int
    cells: int
    """How many differ."""
    points: int
    """How many points of these cells differ in their hits."""
    then: float
    """Mean accuracy."""
    now: float
    difference: Estimate
    """Mean accuracy now minus then, paired by run, or by point if there is one run."""
    shown: bool
    """Whether it is more than chance explains, for all changes together (Bonferroni)."""

    def json(self) -> ChangeJson:
        """Accuracies in per cent, their difference in percentage points."""
        return {
            "model": self.model,
            "train": self.train,
            "corruption": self.corruption,
            "runs": self.runs,
            "cells": self.cells,
            "points": self.points,
            "then": 100 * self.then,
            "now": 100 * self.now,
            "difference": self.difference.json_with_method(),
            "shown": self.shown,
        }


@dataclass(frozen=True, repr=False)
class Rerun(Displayed):
    """What became of results that were made again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shaketable as st
    >>> options = {"train_eps": [0], "test_eps": [0.1], "runs": 1, "k": 1, "n_jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = st.study("iris", "1nn", **options, store=Path(folder) / "study.sqlite")
    ...     result = st.rerun(Path(folder) / "study.sqlite", n_jobs=1)
    >>> result.changes, "outcome" in result.json()
    ((), False)
    """

    store: str
    commands: tuple[CommandRecord, ...]
    cells: int
    """How many were made again."""
    changes: tuple[Change, ...]
    missing: tuple[str, ...]
    """Cells that should have been made again and were not: model and corruption."""
    others: int
    """Cells in the file that no kept command made."""
    failures: tuple[str, ...]
    """Errors of what the file lacks because it failed then, which is not compared."""
    sampled: bool
    """Whether only a random part was made again."""
    versions: Mapping[str, tuple[str, str]]
    """Versions that differ, by package: then and now."""
    platform: tuple[str, str]
    """Then and now."""

    @property
    def identical(self) -> bool:
        """Whether all counts are the same."""
        return not self.changes and not self.missing

    @property
    def same_environment(self) -> bool:
        """Whether versions and platform are those of then."""
        return not self.versions and self.platform[0] == self.platform[1]

    @property
    def agrees(self) -> bool:
        """Whether counts are identical or, with other versions, differ as chance explains."""
        if not self.cells or self.missing or (self.changes and self.same_environment):
            return False
        return not any(change.shown for change in self.changes)

    @property
    def exit_code(self) -> int:
        """0 if it agrees, 1 if not."""
        return 0 if self.agrees else 1

    @property
    def verdict(self) -> str:
        """One sentence that says whether it agrees."""
        differing = sum(change.cells for change in self.changes)
        again = f"{self.cells} cells were made again{', drawn at random' * self.sampled}"
        if self.missing:
            reason = f"{len(self.missing)} are missing: {list_names(self.missing)}"
        elif not self.cells:
            reason = "nothing can be compared"
        elif not self.changes:
            reason = "all counts are identical"
        else:
            reason = f"{differing} differ, {self._explain()}"
        return f"{self.store} {'agrees' if self.agrees else 'does not agree'}: {again}; {reason}"

    def __repr__(self) -> str:
        return f"<Rerun: {self.verdict}>"

    def _explain(self) -> str:
        if self.same_environment:
            return (
                "though versions and platform are those of then; a likely cause is a model with "
                "random numbers that its random_state does not decide"
            )
        if self.agrees:
            return "no more than chance explains, with other versions or another platform"
        shown = sum(change.shown for change in self.changes)
        return f"{shown} mean accuracies by more than chance explains"

    def json(self) -> RerunJson:
        """Return the outcome, all changes, and the commands as they are kept.

        Returns
        -------
        dict
            The comparison.
        """
        return {
            "store": self.store,
            "agrees": self.agrees,
            "identical": self.identical,
            "cells": self.cells,
            "sampled": self.sampled,
            "missing": list(self.missing),
            "cells_of_unknown_commands": self.others,
            "failures_then": list(self.failures),
            "changes": [change.json() for change in self.changes],
            "versions": {
                name: {"then": then, "now": now} for name, (then, now) in self.versions.items()
            },
            "platform": {"then": self.platform[0], "now": self.platform[1]},
            "commands": [
                {
                    "command": cast(Literal["study", "evaluate"], command.command),
                    "settings": command.settings,
                    "lacks": command.lacks,
                    "fingerprint": command.fingerprint,
                    "models": command.models,
                    "versions": command.versions,
                    "created": command.created,
                }
                for command in self.commands
            ],
        }

    def blocks(self) -> list[Block]:
        """Return whether it agrees, versions then and now, and what differs."""
        changed = [f"{name} {then} then, {now} now" for name, (then, now) in self.versions.items()]
        if self.platform[0] != self.platform[1]:
            changed.append("platform {} then, {} now".format(*self.platform))
        blocks: list[Block] = [Sentence(self.verdict)]
        if changed:
            blocks.append(Sentence("; ".join(changed), "other versions"))
        if self.changes:
            blocks.append(_tabulate_changes(self.changes))
        if self.others:
            blocks.append(
                Sentence(
                    f"{self.others} more cells in the file cannot be made again: it does not say "
                    "by which command they were made"
                )
            )
        if self.failures:
            blocks.append(
                Sentence(
                    f"what failed then, {len(self.failures)} in the file, the first with: "
                    f"{self.failures[0]}",
                    "not compared",
                )
            )
        return blocks


def compare_cells(
    then: Sequence[Record], now: Iterable[Record]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return where cells that were made again differ, and names of those that are missing.

    A cell is found by its key or, as keys of trained models depend on versions, by all that its
    key was made of besides these.
    """
    now = list(now)
    by_key = {cell.key: cell for cell in now}
    by_place = {_describe_place(cell): cell for cell in now}
    missing: dict[str, None] = {}
    groups: dict[tuple[Any, ...], list[tuple[Record, Record]]] = {}
    for cell in then:
        again = by_key.get(cell.key) or by_place.get(_describe_place(cell))
        if again is None:
            missing[f"{cell.model} under {display_name(cell.corruption)}, run {cell.run}"] = None
        else:
            groups.setdefault(_describe_condition(cell), []).append((cell, again))
    changed = [pairs for pairs in groups.values() if not all(map(_are_equal, pairs))]
    return tuple(_make_change(pairs, len(changed)) for pairs in changed), tuple(missing)


def find_devices(then: Iterable[Record], now: Iterable[Record]) -> dict[str, tuple[str, str]]:
    """Return where networks computed then and now, if that differs: rounding may differ too."""
    before, after = (
        ", ".join(sorted({cell.versions.get(DEVICE, "cpu") for cell in cells}))
        for cells in (then, now)
    )
    return {} if before == after else {DEVICE: (before, after)}


def _describe_place(cell: Record) -> tuple[Any, ...]:
    """All that tells one cell of a file from others, besides hashes of trained models."""
    return (*_describe_condition(cell), cell.points.id, cell.run)


def _describe_condition(cell: Record) -> tuple[Any, ...]:
    """What cells of all runs have in common."""
    return (cell.fingerprint, cell.model, cell.train, cell.corruption, cell.setting)


def _are_equal(pair: tuple[Record, Record]) -> bool:
    return bool(np.array_equal(pair[0].hits, pair[1].hits))


def _make_change(pairs: Sequence[tuple[Record, Record]], judged: int) -> Change:
    """Compare the cells of all runs of one condition; `judged` is the number of conditions."""
    first = pairs[0][0]
    then, now = ([pair[side].hits for pair in pairs] for side in (0, 1))
    if len(pairs) > 1:
        difference = mean_difference_over_runs(now, then, first.k)
    else:
        difference = mean_difference(now[0], then[0], first.k)
    return Change(
        model=first.model,
        train=first.train,
        corruption=first.corruption,
        runs=len(pairs),
        cells=sum(not _are_equal(pair) for pair in pairs),
        points=sum(int((a != b).sum()) for a, b in zip(then, now, strict=True)),
        then=float(np.mean([pair[0].accuracy for pair in pairs])),
        now=float(np.mean([pair[1].accuracy for pair in pairs])),
        difference=difference,
        shown=is_shown(difference, judged),
    )


def _tabulate_changes(changes: Sequence[Change]) -> Table:
    return Table(
        "mean accuracy, and now minus then with its 95 % interval",
        (
            *map(Column, ("model", "training noise", "test noise", "cells")),
            Column("then", "rate"),
            Column("now", "rate"),
            Column("difference", "points"),
        ),
        [
            (
                c.model,
                format_spec(c.train),
                format_spec(c.corruption),
                f"{c.cells} of {c.runs}",
                c.then,
                c.now,
                Entry(c.difference, shown=c.shown),
            )
            for c in changes
        ],
        shown="more than chance explains",
        what="differences",
    )
