"""Requirements on the probability of rare failures, such as ``risk[linf(eps_min)] <= 1e-6``."""

from __future__ import annotations

from collections.abc import Sequence

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.findings.groups import RecordGroups
from shaketable.findings.rare.numbers import RareRisk
from shaketable.findings.requirements.quantities import Case, Entry, RareQuantity
from shaketable.findings.requirements.requirement import Requirement


def list_rare_entries(
    groups: RecordGroups,
    requirement: Requirement,
    quantity: RareQuantity,
    cases: Sequence[Case[RareRisk]],
) -> list[Entry]:
    """Return the probabilities that a requirement is about, or their differences."""
    if requirement.bracket.label or requirement.bracket.group or requirement.worst:
        raise InputError(
            f"requirement {requirement.text!r}: risk is about all points of a model; leave out "
            "classes and groups"
        )
    labels = {case.label for case in quantity.list_cases(groups, "")}
    for name in requirement.models:
        if labels and name not in labels:
            raise unknown_name(f"model in requirement {requirement.text!r}:", name, labels)
    wanted = set(requirement.models) or labels
    if not wanted or wanted - {case.label for case in cases}:
        under = f" under {requirement.under}" if requirement.under else ""
        command = either("shaketable risk … --store STORE", "risk(…, store=)")
        raise InputError(
            f"requirement {requirement.text!r} needs probabilities of wrong answers{under} on "
            f"record, got none for {list_names(sorted(wanted)) or 'any model'}; measure them by "
            f"{command}"
        )
    pairs: list[tuple[Case[RareRisk], ...]] = [(case,) for case in cases if case.label in wanted]
    if requirement.is_difference:
        first, second = ([c for c in cases if c.label == name] for name in requirement.models)
        pairs = [(a, b) for a in first for b in second if a.pairing == b.pairing]
        if not pairs:
            raise InputError(
                f"requirement {requirement.text!r} needs two models under the same noise on the "
                "same points; measure both with the same data, corruption and bounds"
            )
    return [
        Entry(
            " minus ".join(case.label for case in pair),
            pair[0],
            (quantity.subtract if len(pair) == 2 else quantity.estimate)(
                *(case.source for case in pair)
            ),
            len(pair[0].source.record.points.rows),
            measured=min(case.source.record.created for case in pair),
        )
        for pair in pairs
    ]
