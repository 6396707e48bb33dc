"""The finding: what is required of the models, and whether they meet it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, NotRequired, TypedDict

from shaketable.core.errors import ShaketableError
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.check import (
    Check,
    CheckJson,
    Decision,
    check,
    find_registered,
    list_entries,
)
from shaketable.findings.requirements.requirement import Requirement, parse_requirement
from shaketable.findings.requirements.view import show_decisions
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed


class UndecidedJson(TypedDict):
    """A requirement that the records do not decide."""

    requirement: str
    reason: str


class RequirementsJson(TypedDict):
    """What is required, and whether it is met."""

    check: NotRequired[
        Annotated[
            CheckJson,
            "Decisions on what --require asks for, else on what the commands of the file asked "
            "for, as the command check prints them.",
        ]
    ]
    undecided_requirements: list[UndecidedJson]


@dataclass(frozen=True, eq=False)
class Decisions(Displayed):
    """Decisions on all requirements that are asked for, or that a results file keeps."""

    check: Check | None
    """None if the records decide no requirement."""
    errors: Mapping[str, ShaketableError] = field(default_factory=dict)
    """Why a requirement cannot be decided, by its text."""
    since: Mapping[str, str] = field(default_factory=dict)
    """When a requirement was first asked for, by its text; empty for those of this command."""

    def of(self, label: str) -> tuple[Decision, ...]:
        """Decisions about the model with this label; not those about two models."""
        decisions = () if self.check is None else self.check.decisions
        return tuple(decision for decision in decisions if decision.model == label)

    def json(self) -> RequirementsJson:
        """Return decisions, rates in per cent, and what cannot be decided."""
        undecided: RequirementsJson = {
            "undecided_requirements": [
                {"requirement": text, "reason": str(error)} for text, error in self.errors.items()
            ]
        }
        return undecided if self.check is None else {"check": self.check.json(), **undecided}

    def blocks(self) -> list[Block]:
        """Return one row per decision, the outcome, and what cannot be decided."""
        reasons = {text: str(error) for text, error in self.errors.items()}
        return show_decisions(self.check, self.since, reasons)


def decide(
    groups: RecordGroups,
    requirements: Iterable[Requirement],
    *,
    since: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    careful: bool = False,
) -> Decisions:
    """Decide those requirements that the records can decide; they share the error probability."""
    errors: dict[str, ShaketableError] = {}
    decidable: list[Requirement] = []
    for requirement in requirements:
        try:
            list_entries(groups, requirement, "")
        except ShaketableError as error:
            errors[requirement.text] = error
        else:
            decidable.append(requirement)
    found = None
    if decidable:
        found = check(groups, decidable, confidence=confidence, careful=careful)
    return Decisions(found, errors, since or {})


def list_kept(records: Records) -> dict[str, str]:
    """Requirements that commands of these records asked for, and when they did first."""
    kept: dict[str, str] = {}
    for command in sorted(records.commands, key=lambda command: command.created):
        texts = command.settings.get("require", ())
        for text in [texts] if isinstance(texts, str) else texts:
            if text.endswith(".toml"):  # its sentences are in the commands that read it
                continue
            kept.setdefault(parse_requirement(text).text, command.created)
    return kept


def find(groups: RecordGroups) -> Decisions | None:
    """Decide what is registered, else what the commands asked for; None if nothing is required."""
    registered = find_registered(groups.records)
    kept = {} if registered else list_kept(groups.records)
    requirements = registered.requirements if registered else map(parse_requirement, kept)
    if not (registered or kept):
        return None
    settings = [command.settings for command in groups.records.commands]
    return decide(
        groups,
        requirements,
        since=kept,
        confidence=max(
            (s["confidence"] / 100 for s in settings if "confidence" in s), default=0.95
        ),
        careful=any(s.get("careful") for s in settings),
    )


FINDINGS.add("requirements", FindingKind(find, json=RequirementsJson))
