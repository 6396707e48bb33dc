"""What some results do not hold, and the commands that would add it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shaketable.core.norms import norm_name
from shaketable.core.options import list_options, write_words
from shaketable.corruptions.suites.per_feature import METRIC
from shaketable.data.options import DataOptions
from shaketable.evaluation.evaluate_options import EvaluateOptions
from shaketable.evaluation.records import AS_GIVEN, Records
from shaketable.findings.inputs.finding import FlippedInputs
from shaketable.models.options import ModelOptions
from shaketable.separations.options import SeparationOptions
from shaketable.views.blocks import Block, Facts, Heading, Sentence

if TYPE_CHECKING:
    from shaketable.findings.results import Results

RESULTS_FILE = "RESULTS.sqlite"
"""Stands in commands for the results file where there is none."""

_ABOUT = "Each command adds what is missing to the results file; words in capitals are yours"


def show_missing(results: Results) -> list[Block]:
    """Return the section of what was not measured, a command for each; nothing if all was."""
    missing = list_missing(results)
    if not missing:
        return []
    return [
        Heading("What was not measured", "missing", "Not measured"),
        Sentence(_ABOUT, level="detail"),
        Facts([*missing.items()], code=True),
    ]


def list_missing(results: Results) -> dict[str, str]:
    """Return what was not measured, each with the command that would add it."""
    records = results.records
    kinds = {data.kind for data in records.data}
    store = records.source or RESULTS_FILE
    fitted = any(cell.train == AS_GIVEN for cell in records)
    norm = next((s.norm for s in records.separations), float("inf"))
    missing: dict[str, str] = {}
    if not records.separations:
        known = list_options(DataOptions)
        words = write_words(
            SeparationOptions, {k: v for k, v in _find_settings(records).items() if k in known}
        )
        missing["how far apart the classes are, and eps_min"] = _write(
            "separation", *words, "--store", store
        )
    if not any(condition.at_eps_min for condition in results.groups.conditions):
        what = "noise of size eps_min" if len(records) else "models under noise of size eps_min"
        words = _write_evaluate(records, corruptions=[f"{norm_name(norm)}(eps_min)"])
        missing[what] = _write("evaluate", *words, "--store", store)
    if "images" in kinds and not any(s.kind == "common" for s in records.suites):
        words = _write_evaluate(records, suite=["common-19"])
        missing["common corruptions of images"] = _write("evaluate", *words, "--store", store)
    if fitted and kinds & {"table", "points"}:
        if not any(suite.metric == METRIC for suite in records.suites):
            words = _write_evaluate(records)
            what = "which feature is most fragile"
            missing[what] = _write("evaluate", *words, "--features", "--store", store)
        if not records.groupings:
            words = _write_evaluate(records, by=["COLUMN"])
            missing["groups of points"] = _write("evaluate", *words, "--store", store)
    if not records.attacks:
        words = [*_write_evaluate(records), "--eps", "eps_min"]
        missing["the worst case"] = _write("adversary", *words, "--store", store)
    if "requirements" not in results.findings and len(records):
        missing["requirements"] = _write("check", store, "--require", "accuracy >= 90%")
    inputs = results.findings.get("inputs")
    if isinstance(inputs, FlippedInputs) and inputs.redrawn is None:
        data = _find_settings(records)["data"]
        words = [store, "--inputs", "--data", data, "-o", "report.html"]
        missing["the inputs that flip, shown"] = _write("report", *words)
    return missing


def _write(*words: str) -> str:
    return shlex.join(["shaketable", *words])


def _write_evaluate(records: Records, **more: Any) -> list[str]:
    """Flags that load the same data and models, and these."""
    return write_words(EvaluateOptions, {**_find_settings(records), **more})


def _find_settings(records: Records) -> Mapping[str, Any]:
    """How the last evaluation loaded data and models; words in capitals where none says it."""
    known = list_options(DataOptions).keys() | list_options(ModelOptions).keys() | {"seed"}
    known &= list_options(EvaluateOptions).keys()
    # evaluations first: other commands take --points of test points alone
    newest = [*reversed(records.commands)]
    for command in (*(c for c in newest if c.recipes), *(c for c in newest if not c.recipes)):
        keys = known if command.recipes else known - {"points"}
        settings = {k: v for k, v in command.settings.items() if k in keys}
        if "data" in settings and "data" not in command.lacks:
            return {"model": ["MODEL"], **settings}
    return {"data": "DATA", "model": ["MODEL"]}
