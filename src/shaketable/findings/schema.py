"""JSON that is put together from several packages, and the JSON Schema of any."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, NotRequired, TypeAlias, TypedDict

from shaketable.core.norms import NormJson
from shaketable.core.schemas import NotesJson, Schema, make_schema
from shaketable.corruptions.balls.numbers import OverlapJson, VolumeFactorJson
from shaketable.findings.comparison.versions import VersionsJson
from shaketable.findings.correlation.finding import AskedCorrelationsJson
from shaketable.findings.errata.errata import ErrataJson, HasErrataJson
from shaketable.findings.finding import load_kinds
from shaketable.findings.mcv.finding import SetVariationJson
from shaketable.findings.mcv.variation import VariationTableJson


class DeviationsJson(TypedDict):
    """Value of eps_min in one norm, in standard deviations of columns."""

    norm: NormJson
    columns: dict[str, float]


class ReportJson(TypedDict):
    """Results of evaluate, study and report."""

    eps_min_deviations: NotRequired[
        Annotated[
            list[DeviationsJson],
            "For tables: eps_min in standard deviations of every column that noise changes, by "
            "norm.",
        ]
    ]
    changes: NotRequired[Annotated[VersionsJson, "Since the results file of --compare."]]
    errata: NotRequired[ErrataJson]
    notes: NotesJson


class SetVariationFigureJson(SetVariationJson, HasErrataJson):
    """Boards of all suites of sets."""


class CorrelationsFigureJson(AskedCorrelationsJson, HasErrataJson):
    """Correlations that were asked for, one per data set."""


FigureJson: TypeAlias = Annotated[
    Annotated[SetVariationFigureJson, "Of a results file."]
    | Annotated[VariationTableJson, "Of a table of scores, in the units of the table."]
    | Annotated[CorrelationsFigureJson, "Of correlation, one per data set."]
    | Annotated[list[VolumeFactorJson | OverlapJson], "Of balls: volumes or overlaps."],
    "Result of figure: of those that have numbers",
]


def make_result_schema(name: str, kind: str) -> Schema:
    """Make the JSON Schema of what a command prints.

    Parameters
    ----------
    name
        What it describes, such as ``report``; a part of its identifier.
    kind
        Its type, as ``module:name``; to `ReportJson`, the keys of all findings are added.
    """
    module, _, attribute = kind.partition(":")
    described = getattr(import_module(module), attribute)
    kinds = load_kinds()[0].values() if described is ReportJson else ()
    return make_schema(name, described, [kind.json for kind in kinds])
