"""What requirements need on record: which corruptions and suites, and how to measure them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from shaketable.core.checks import list_names, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.corruptions.parse import has_size_eps_min, parse
from shaketable.corruptions.registry import EpsMin
from shaketable.corruptions.suites.suite import Suite, suite
from shaketable.findings.choosing import list_ways
from shaketable.findings.groups import RecordGroups
from shaketable.findings.requirements.quantities import (
    SeriesQuantity,
    SuiteQuantity,
    find_quantity,
    list_labels,
)
from shaketable.findings.requirements.requirement import Requirement
from shaketable.findings.suite_results import PARTS

_SUITES = {
    "mce_lp": "pnorm",
    "ice": "ice",
    "mce": "common-19",
    "mce_15": "common-15",
    "mce_xn": "common-xn",
}
"""Suites that metrics are measured with if none is named."""


def list_needs(requirements: Iterable[Requirement]) -> list[str | Suite]:
    """Return the corruptions and suites that a model must be evaluated under."""
    needs: dict[str, str | Suite] = {}
    for requirement in requirements:
        spec, suite_name = _find_need(requirement)
        if suite_name:
            needs[suite_name] = suite(suite_name)
        elif spec and spec != "clean":
            needs[spec] = spec
    return list(needs.values())


def check_needs(requirements: Iterable[Requirement], levels: Sequence[str | Suite]) -> None:
    """Raise an `InputError` for a requirement that is not measured under these specs and suites."""
    for requirement in requirements:
        if flag := _find_missing(requirement, levels):
            _, noise = flag
            raise InputError(
                f"requirement {requirement.text!r} needs {noise}, which would not be measured; "
                f"add {shlex.join(flag)}"
            )


def check_models(requirements: Iterable[Requirement], names: Iterable[str]) -> None:
    """Raise an `InputError` for a requirement about models other than those of these names.

    Labels of models begin with their names: ``rf, training noise clean``, ``resnet9(C1)``.
    """
    known = tuple(names)
    for requirement in requirements:
        for model in requirement.models:
            if not model.startswith(known):
                raise unknown_name(f"model in requirement {requirement.text!r}:", model, known)


def _find_missing(
    requirement: Requirement, levels: Sequence[str | Suite]
) -> tuple[str, str] | None:
    """Return the flag that adds what a requirement needs, and its value; None for nothing."""
    quantity = find_quantity(requirement.metric, requirement.text)
    under = requirement.under
    specs = [s for level in levels for s in ([level] if isinstance(level, str) else level.names)]
    suites = [level for level in levels if isinstance(level, Suite)]
    if isinstance(quantity, SuiteQuantity):
        metrics = {quantity.metric} | ({"mce"} if quantity.metric in PARTS else set())
        known = any(s.metric in metrics and under in ("", s.name) for s in suites)
        return None if known else ("--suite", under or _SUITES.get(quantity.metric, "NAME"))
    if isinstance(quantity, SeriesQuantity) and not under and quantity.default == "eps_min":
        known = any(map(has_size_eps_min, specs))
        return None if known else ("--corruptions", "linf(eps_min)")
    if not under or under == "clean" or suites:  # what suites hold depends on the data
        return None
    known = any(_is_same(under, spec) for spec in specs)
    return None if known else ("--corruptions", under)


def _is_same(first: str, second: str) -> bool:
    """Whether two specs name the same corruption, whatever eps_min of the data is."""
    trials: tuple[EpsMin, ...] = (lambda _: 1.0, lambda _: 2.0)
    return all(list_ways(first, trial) & list_ways(second, trial) for trial in trials)


def _find_need(requirement: Requirement) -> tuple[str, str]:
    """Return the corruption that a requirement needs, or else the name of the suite."""
    quantity = find_quantity(requirement.metric, requirement.text)
    under = requirement.under
    if isinstance(quantity, SuiteQuantity):
        name = under or _SUITES.get(quantity.metric, "")
        if not name:
            raise InputError(
                f"requirement {requirement.text!r} must name its suite, such as "
                f"{requirement.metric}[two-factor]; see shaketable list suites"
            )
        return "", name
    if not isinstance(quantity, SeriesQuantity):
        raise InputError(
            f"requirement {requirement.text!r} does not say which corruptions {requirement.metric} "
            f"needs; name them with {either('--corruptions', 'corruptions=')}"
        )
    default = {"clean": "clean", "eps_min": "linf(eps_min)"}.get(quantity.default, "")
    if not under and not default:
        raise InputError(
            f"requirement {requirement.text!r} must name the corruption, such as "
            f"{requirement.metric}[linf(0.1)]"
        )
    return under or default, ""


def suggest_command(
    groups: RecordGroups, requirement: Requirement, lacking: Iterable[str], store: str
) -> str:
    """Say what is not on record for which models, and the flags or arguments that measure it."""
    try:
        spec, suite_name = _find_need(requirement)
    except InputError as error:
        return str(error)
    known = dict(list_labels(groups))
    labels = [label for label in known if label in set(lacking)]
    noise = f"suite {suite_name}" if suite_name else spec
    flags = ["--suite", suite_name] if suite_name else ["--corruptions", spec]
    command = shlex.join([*flags, "--store", store or "STORE"])
    others = ""
    if len(labels) < len(known) and not requirement.models:
        others = f"; or name the models that it is about: model(NAME).{requirement.metric}"
    call = f"corruptions={f'suite({suite_name!r})' if suite_name else repr(spec)}, store="
    how = either(f"the command that measured these, with {command}", f"evaluate(…, {call})")
    remedy = f"measure it by {how}{others}"
    if not suite_name:
        try:
            parse(spec, eps_min=lambda _: 1.0)
        except InputError as error:  # it cannot be measured either
            remedy = str(error)
    return (
        f"requirement {requirement.text!r} needs {noise} on record for {list_names(labels)}, got "
        f"{list_names(list(dict.fromkeys(c.noise for c in groups.conditions)))}; {remedy}"
    )
