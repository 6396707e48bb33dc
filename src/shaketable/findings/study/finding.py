"""The finding: accuracy under test noise of models trained with noise of several sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.study import view
from shaketable.findings.study.numbers import StudyEntry, list_accuracies, list_mscr
from shaketable.findings.study.optima import RowOptimum, list_optima
from shaketable.findings.subjects import Subject
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


@dataclass(frozen=True, eq=False)
class Study(Displayed):
    """Models that a study trained with noise of several sizes."""

    subjects: tuple[Subject, ...]

    @cached_property
    def accuracies(self) -> dict[Subject, list[StudyEntry]]:
        """Accuracies of every model, one entry per training noise and test noise."""
        return {subject: list_accuracies(subject) for subject in self.subjects}

    @cached_property
    def mscr(self) -> dict[Subject, list[StudyEntry]]:
        """MSCR of every model, one entry per training noise."""
        return {subject: list_mscr(subject) for subject in self.subjects}

    @cached_property
    def optima(self) -> dict[Subject, list[RowOptimum]]:
        """The best training noise of every model, one entry per test noise."""
        return {subject: list_optima(subject) for subject in self.subjects}

    def json(self) -> dict[str, Any]:
        """Return settings and entries; accuracies and MSCR in per cent.

        A setting in which the models differ is None; every entry has its own.
        """
        settings = [
            {
                "data": s.first.data,
                "norm": s.norm_json,
                "eps_min": s.eps_min,
                "k": s.first.k,
                "seed": s.first.setting.seed,
                "draws": s.first.setting.draws,
                "bounds": s.first.setting.bounds,
            }
            for s in self.subjects
        ]
        first = settings[0]
        return {
            **{
                name: value if all(other[name] == value for other in settings) else None
                for name, value in first.items()
            },
            "cells": [entry.json() for entries in self.accuracies.values() for entry in entries],
            "mscr": [entry.json() for entries in self.mscr.values() for entry in entries],
            "row_optima": [optimum.json() for row in self.optima.values() for optimum in row],
        }

    def blocks(self) -> list[Block]:
        """Return matrices, the best training noises, trade-off and convergence."""
        return view.make_blocks(self)


def find(groups: RecordGroups) -> Study | None:
    """Take the finding from records; None if no model was trained by a study."""
    subjects = tuple(s for s in groups.subjects if s.is_study)
    return Study(subjects) if subjects else None


FINDINGS.add("study", FindingKind(find))
