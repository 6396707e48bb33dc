"""The finding: accuracy under test noise of models trained with noise of several sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypedDict, cast

from shaketable.core.norms import NormJson
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.study import view
from shaketable.findings.study.numbers import (
    RowOptimum,
    RowOptimumJson,
    StudyAccuracyJson,
    StudyEntry,
    StudyMSCRJson,
    list_accuracies,
    list_mscr,
    list_optima,
)
from shaketable.findings.subjects import Subject
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class StudySettingJson(TypedDict):
    """Setting of a study; null where its entries differ."""

    data: Annotated[str | None, "Setting of a study; null if its entries differ."]
    norm: NormJson | None
    eps_min: float | None
    k: int | None
    seed: int | None
    draws: str | None
    bounds: str | None


class StudyJson(StudySettingJson):
    """Models that a study trained with noise of several sizes."""

    cells: Annotated[
        list[StudyAccuracyJson],
        "Accuracies of a study in per cent, one entry per training noise and test noise.",
    ]
    mscr: Annotated[
        list[StudyMSCRJson],
        "MSCR of a study in per cent, one entry per training noise; null where it is undefined.",
    ]
    row_optima: Annotated[
        list[RowOptimumJson],
        "The best training noise of every test noise, with 95 % confidence for all rows of a "
        "matrix together.",
    ]


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

    def json(self) -> StudyJson:
        """Return settings and entries; accuracies and MSCR in per cent.

        A setting in which the models differ is None; every entry has its own.
        """
        settings: list[StudySettingJson] = [
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
        shared = {
            name: value if all(dict(other)[name] == value for other in settings) else None
            for name, value in settings[0].items()
        }
        return {
            **cast(StudySettingJson, shared),
            "cells": [e.accuracy_json() for entries in self.accuracies.values() for e in entries],
            "mscr": [e.mscr_json() for entries in self.mscr.values() for e in entries],
            "row_optima": [optimum.json() for row in self.optima.values() for optimum in row],
        }

    def blocks(self) -> list[Block]:
        """Return matrices, the best training noises, trade-off and convergence."""
        return view.make_blocks(self)


def find(groups: RecordGroups) -> Study | None:
    """Take the finding from records; None if no model was trained by a study."""
    subjects = tuple(s for s in groups.subjects if s.is_study)
    return Study(subjects) if subjects else None


FINDINGS.add("study", FindingKind(find, json=StudyJson))
