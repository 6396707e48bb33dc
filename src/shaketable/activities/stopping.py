"""Requirements and stopping rules, as options name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaketable.core.errors import InputError
from shaketable.core.options import write_settings
from shaketable.findings.requirements.requirement import (
    Requirement,
    parse_requirements,
    read_file,
)
from shaketable.findings.stopping.numbers import Decided, Precision, parse_quantity

if TYPE_CHECKING:
    from shaketable.evaluation.evaluate_options import MeasureOptions, RequirementOptions
    from shaketable.evaluation.records import Records


def read_requirements(
    options: RequirementOptions, *, registered: bool = False
) -> tuple[Requirement, ...]:
    """Requirements, as sentences or from files; `registered`: there may be others to decide."""
    texts: list[str] = []
    for text in options.require:
        texts += read_file(text) if text.endswith(".toml") else [text]
    if not texts and not registered and (options.junit or options.markdown):
        flag = "--junit" if options.junit else "--markdown"
        raise InputError(f"{flag} writes what is required; add --require, such as 'mscr >= -1'")
    return parse_requirements(texts) if texts else ()


def write_kept(options: RequirementOptions) -> dict[str, Any]:
    """Settings that a results file keeps: requirements as sentences, also those from files."""
    texts = tuple(requirement.text for requirement in read_requirements(options))
    return write_settings(replace(options, require=texts))


def read_rule(
    options: MeasureOptions, requirements: Sequence[Requirement], *, models: int = 1
) -> Precision | Decided | None:
    """Stopping rule; `models` are evaluated one after another."""
    if options.precision is not None:
        points, of = options.precision
        return Precision(points, of=of)
    if not options.stop_early:
        return None
    if not requirements:
        raise InputError("--stop-early needs what is to be decided; add --require 'mscr >= -1'")
    if models > 1 and (differences := [r for r in requirements if r.is_difference]):
        raise InputError(
            f"--stop-early decides one model at a time, and {differences[0].text!r} is about two; "
            "use --precision"
        )
    return Decided(requirements, models=models)


def read_goal(options: MeasureOptions) -> list[Requirement]:
    """Return what has to be precise, so that it is measured; nothing for all accuracies."""
    if options.precision is None or not options.precision[1]:
        return []
    points, of = options.precision
    return [replace(parse_quantity(of), text=f"--precision '{points:g} of {of}'")]


def note_shortfall(rule: object, records: Records, unit: str) -> list[str]:
    """Say if the precision asked for is not reached, or only without what failed."""
    notes = []
    if isinstance(rule, Precision) and rule.forecast(records) > 1:
        notes.append(f"± {rule.half_width:g} percentage points are not reached with all {unit}")
    if rule is not None and records.failures:
        notes.append("the stopping rule knows only what was measured, not what failed")
    return notes
